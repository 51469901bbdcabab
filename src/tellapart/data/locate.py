"""Where a sample is: a path is looked up once, and the format of what is there is found once."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from .._util.errors import InputError, InputFileError
from .formats import Format, Opened, Request, find_format
from .formats.named import NAMES
from .lazy import Lazy
from .options import ReadOptions
from .source import make_label
from .stores import naming_file, unchanged

T = TypeVar("T")

_MEMBER = re.compile(r"(.+\.(?:npz|safetensors)):(.+)", re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True, eq=False)
class Location:
    """Where a sample is.

    Attributes
    ----------
    given
        What the user passed.
    name
        What to call it in messages.
    data
        The same, or the `Path` at which a file or a folder was found.
    origin
        The path as the user gave it, or the name of a data set; empty for objects in memory.
    member
        Which array of a file with several (``"run.npz:images"``).
    """

    given: Any
    name: str
    data: Any
    origin: str = ""
    member: str | None = None

    @property
    def label(self) -> str:
        """The name and the file, for messages."""
        return make_label(self.name, self.origin)

    @property
    def is_file(self) -> bool:
        """Whether it is a file or a folder."""
        return isinstance(self.data, Path)

    @property
    def path(self) -> str:
        """The path as the user gave it; empty for everything else."""
        return self.origin if self.is_file else ""

    @cached_property
    def format(self) -> Format:
        """The format, found when it is first needed."""
        return find_format(self.request(ReadOptions()))

    def request(self, options: ReadOptions) -> Request:
        """What a format needs to know to read it."""
        return Request(self.data, self.name, options, self.origin, self.member)

    def open(self, options: ReadOptions) -> Opened:
        """Read the rows that are wanted."""
        return self._use(self.request(options), self.format.open)

    def open_lazy(self, options: ReadOptions) -> Lazy | None:
        """Rows that are read when they are used; None where they must be read as a whole."""
        return self._use(self.request(options), self.format.open_lazy)

    def _use(self, request: Request, action: Callable[[Request], T]) -> T:
        """What ``action`` returns. An error that a library raises about a file becomes one that names the file."""
        if not self.is_file:
            return action(request)
        with naming_file(request.label), unchanged(self.data, request.label):
            return action(request)


def locate(data: Any, name: str) -> Location:
    """Look up a path. Everything else is taken as it is, and so is what has been located before.

    Raises
    ------
    InputFileError
        If there is no file or folder at the path.
    InputError
        If what is there cannot be read.
    """
    if isinstance(data, Location):
        return data
    if isinstance(data, os.PathLike) or (isinstance(data, str) and not _is_data_set(data)):
        path, member = _find_path(data, name)
        return Location(data, name, path, os.fsdecode(data), member)
    return Location(data, name, data, data if isinstance(data, str) else "")


def _is_data_set(data: str) -> bool:
    """Whether this is the name of a data set, and no file has this name."""
    return data in NAMES and not os.path.exists(data)


def _find_path(data: Any, name: str) -> tuple[Path, str | None]:
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
