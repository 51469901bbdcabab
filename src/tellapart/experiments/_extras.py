"""Libraries that only experiments need."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def extra(name: str) -> Any:
    """Import a library of the extra ``experiments``, or say how to get it."""
    try:
        return import_module(name)
    except ImportError as error:
        raise ImportError(f"This experiment needs {name}: pip install 'tellapart[experiments]'.") from error
