"""One process at a time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from os import PathLike
from pathlib import Path
from typing import Any


@contextmanager
def exclusive(path: str | PathLike[str]) -> Iterator[None]:
    """Wait until no other process is within such a block for the same path.

    The lock is on a hidden file beside it, which stays; it ends with its process, however that ends. Where the system
    has no such locks (Windows), there is none.
    """
    try:
        fcntl: Any = import_module("fcntl")
    except ImportError:
        yield
        return
    target = Path(path).expanduser()
    with open(target.with_name(f".{target.name}.lock"), "a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
