"""One process at a time."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import IO

from .errors import InputError
from .files import fcntl, try_lock
from .text import printable


@contextmanager
def exclusive(path: str | PathLike[str], on_wait: Callable[[], None]) -> Iterator[None]:
    """Wait until no other process is within such a block for the same path; ``on_wait`` is called if that takes time.

    The lock is held on a hidden file in the same folder, which is not removed. It is released when the process ends,
    however it ends. On systems without such locks (Windows), nothing is locked.
    """
    target = Path(path).expanduser()
    with open_lock(target.with_name(f".{target.name}.lock")) as file:
        if not try_lock(file):
            on_wait()
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def open_lock(path: Path) -> IO[str]:
    """A file to be locked, made if it is not there. No link is followed, and no pipe is waited for."""
    # Windows has neither.
    careful = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    number = os.open(path, os.O_RDWR | os.O_CREAT | careful, 0o666)
    if not stat.S_ISREG(os.fstat(number).st_mode):
        os.close(number)
        raise InputError("not-a-file", f"{printable(str(path))} is not a file.")
    return os.fdopen(number, "r+")
