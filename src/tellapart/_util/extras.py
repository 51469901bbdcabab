"""Libraries that only some uses need."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def extra(name: str, *, group: str = "experiments", what: str = "This experiment") -> Any:
    """Import a library of the extra ``group``, or say what needs it and how to get it."""
    try:
        return import_module(name)
    except ImportError as error:
        raise ImportError(f"{what} needs {name}: pip install 'tellapart[{group}]'.") from error
