"""Tell two samples apart: is there a difference, how sure are we, and where is it?

``import tellapart`` imports nothing heavy. The public names stand in ``__init__.pyi``, for type checkers and for this
module; each comes with its module when it is first used (SPEC 1 of Scientific Python), and what needs kernels or
gradients with torch, which is an extra.
"""

import ast
from typing import Any

with open(f"{__path__[0]}/__init__.pyi", encoding="utf-8") as _stub:
    #: The module that each public name comes from, and "" for a module itself.
    _HOME = {
        alias.name: node.module or ""
        for node in ast.parse(_stub.read()).body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }

__all__ = ["__version__", *_HOME]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        value: Any = version(__name__)
    elif name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    else:
        from ._util.lazy_names import import_name

        value = import_name(__name__, _HOME[name], name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
