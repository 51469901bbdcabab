"""Libraries that only some uses need."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from .errors import InputImportError


def extra(name: str, *, group: str = "experiments", what: str = "This experiment") -> Any:
    """Import a library of the extra ``group``, or say what needs it and how to get it."""
    try:
        return import_module(name)
    except ImportError as error:
        text = f"{what} needs {name}: pip install 'tellapart[{group}]'."
        raise InputImportError("missing-extra", text) from error


def need_torch(what: str) -> None:
    """Raise `InputImportError` if torch is not installed."""
    extra("torch", group="torch", what=what)
