"""Writing files so that they appear whole or not at all."""

from __future__ import annotations

import os
import secrets
import tempfile
from os import PathLike
from pathlib import Path


def check_writable(path: str | PathLike[str], what: str) -> None:
    """Complain, before long work, where ``path`` could not be written after it.

    >>> check_writable("no such folder/report.html", "The report")
    Traceback (most recent call last):
    ...
    FileNotFoundError: The report cannot be written: the folder no such folder does not exist.
    """
    target = Path(path).expanduser()
    if target.is_dir():
        raise IsADirectoryError(f"{what} cannot be written: {target} is a folder. Give the name of a file.")
    if not target.parent.is_dir():
        raise FileNotFoundError(f"{what} cannot be written: the folder {target.parent} does not exist.")
    if _special(target):
        return
    try:
        # Permissions are not the only reason: a file system may be full of rules. So try it.
        with tempfile.TemporaryFile(dir=target.parent):
            pass
    except OSError as error:
        raise PermissionError(
            f"{what} cannot be written: the folder {target.parent} does not take new files ({error.strerror})."
        ) from None


def write_whole(path: str | PathLike[str], text: str) -> None:
    """Write ``text`` to a file of another name in the same folder, and then give it its name."""
    target = Path(path).expanduser()
    if _special(target):
        target.write_text(text, encoding="utf-8")
        return
    draft = target.with_name(f".tellapart-{os.getpid()}-{secrets.token_hex(4)}.tmp")
    try:
        with draft.open("x", encoding="utf-8", newline="\n") as file:
            file.write(text)
        os.replace(draft, target)
    finally:
        draft.unlink(missing_ok=True)


def _special(path: Path) -> bool:
    """Whether this is a pipe or a device, such as /dev/stdout, which must not be replaced by a file."""
    return path.exists() and not path.is_file()
