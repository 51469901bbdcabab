"""Paths as users give them: what is there, and which array of it is meant."""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path
from typing import Any

from .._util.errors import InputError, InputFileError
from .formats.named import NAMES
from .source import make_label

_MEMBER = re.compile(r"(.+\.(?:npz|safetensors)):(.+)", re.IGNORECASE | re.DOTALL)


def is_path(data: Any) -> bool:
    """Whether data are the path of something, and not the name of a data set."""
    return isinstance(data, os.PathLike) or (isinstance(data, str) and not is_name(data))


def is_name(data: Any) -> bool:
    """Whether data are the name of a data set, and no file is called so."""
    return isinstance(data, str) and data in NAMES and not os.path.exists(data)


def check_path(data: Any, name: str) -> None:
    """Complain if ``data`` is a path at which there is no file or folder."""
    if is_path(data):
        find_path(data, name)


def find_path(data: Any, name: str) -> tuple[Path, str | None]:
    """A path at which there is a file or a folder, and the name of an array in it (``"run.npz:images"``)."""
    text = os.fsdecode(data)
    label = make_label(name, text)
    if not text:
        raise InputError("empty-path", f"{name or 'A sample'} is an empty path. Give the name of a file or folder.")
    try:
        path, member = split_member(text)
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        raise InputFileError(
            "file-not-found", f"{label} does not exist. Check the path: it is looked up from {Path.cwd()}."
        ) from None
    except (OSError, ValueError, RuntimeError) as error:
        raise InputError(
            "unreadable-file", f"{label} cannot be read: {getattr(error, 'strerror', None) or error}."
        ) from None
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise InputError(
            "not-a-file", f"{label} is neither a file nor a folder, but a pipe or a device. Save the data to a file."
        )
    if stat.S_ISREG(mode) and not path.stat().st_size:
        raise InputError("empty-file", f"{label} is an empty file.")
    return path, member


def split_member(path: str) -> tuple[Path, str | None]:
    """A path and the name of an array in it.

    >>> split_member("run.npz:images")[1]
    'images'
    """
    match = _MEMBER.fullmatch(path)
    if match is None or os.path.exists(path):
        return Path(path).expanduser(), None
    return Path(match[1]).expanduser(), match[2]
