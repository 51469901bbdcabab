"""Names of a package that come with their modules when they are first used, so that importing it imports little."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from .extras import need_torch


def lazy_names(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """Return the ``__getattr__`` of a package.

    Parameters
    ----------
    package
        Its ``__name__``.
    homes
        For each name the module of the package that has it, or "" for a module itself.

    Examples
    --------
    >>> lazy_names("tellapart.data", {"read": "read"})("read").__name__
    'read'
    """

    def get(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = import_name(package, homes[name], name)
        setattr(sys.modules[package], name, value)
        return value

    return get


def import_name(package: str, home: str, name: str) -> Any:
    """What is called ``name`` in a module of a package; `InputImportError` if that needs torch and it is not there."""
    try:
        return getattr(import_module(f".{home}", package), name) if home else import_module(f".{name}", package)
    except ImportError:
        need_torch(f"{package.split('.')[0]}.{name}")
        raise
