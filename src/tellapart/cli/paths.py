"""The files that a command reads and writes: none of them may be written over another."""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeAlias

#: Paths by what names them on the command line: ``{"A": "a.csv", "--json": None}``. Those that are None are not given.
Paths: TypeAlias = Mapping[str, "str | os.PathLike[str] | None"]


def check_distinct(inputs: Paths, outputs: Paths) -> None:
    """Raise `InputError` if an output is an input, a part of one, or another output.

    Links, hard links, ``..`` and names that the file system takes for one another are seen through. Pipes and devices
    (``/dev/null``) may be written to more than once.

    Parameters
    ----------
    inputs
        Files and folders to read. Names that are not paths, such as ``mnist``, match nothing.
    outputs
        Files and folders to write; ``-`` is the standard output.
    """
    from .._util.errors import InputError

    read, written = list(_given(inputs)), [(name, path) for name, path in _given(outputs) if not _is_device(path)]
    for k, (name, path) in enumerate(written):
        for other, source in read:
            if is_same(path, source):
                raise InputError(
                    "output-overwrites-input",
                    f"{name} would overwrite {other}: both are {str(path)!r}.",
                    "Write to another file.",
                )
            if _is_part(path, source):
                raise InputError(
                    "output-inside-input",
                    f"{name} would write {str(path)!r} into {other}, the folder {str(source)!r}, whose contents are "
                    "read.",
                    "Write to another folder.",
                )
        for other, target in written[:k]:
            if is_same(path, target):
                raise InputError(
                    "same-file-twice", f"{other} and {name} are the same file: {str(path)!r}.", "Give each its own."
                )


def is_same(a: Path, b: Path) -> bool:
    """Whether two paths are one file or folder, or would be once they are written."""
    try:
        return os.path.samefile(a, b)
    except (OSError, ValueError):  # one of them is not there yet
        pass
    first, second = (_resolve(path) for path in (a, b))
    if first is None or second is None:
        return False
    if first == second:
        return True
    if first.parent != second.parent and not is_same(first.parent, second.parent):
        return False
    return _fold(first.name) == _fold(second.name) and _takes_for_one(first.parent, first.name, second.name)


def _given(paths: Paths) -> Iterator[tuple[str, Path]]:
    for name, path in paths.items():
        if path is not None and os.fspath(path) not in ("", "-"):
            yield name, _expand(os.fspath(path))


def _expand(path: str) -> Path:
    from ..data.locate import split_member

    try:
        return split_member(path)[0]  # of run.npz:images the file
    except (OSError, ValueError, RuntimeError):  # the home of nobody, or no path at all
        return Path(path)


def _resolve(path: Path) -> Path | None:
    try:
        return path.resolve()
    except (OSError, ValueError, RuntimeError):  # a loop of links
        return None


def _is_device(path: Path) -> bool:
    """Whether something is there that is neither a file nor a folder."""
    try:
        return path.exists() and not path.is_file() and not path.is_dir()
    except (OSError, ValueError):
        return False


def _is_part(path: Path, folder: Path) -> bool:
    """Whether what is written lies in a folder that is read, and is or would become a part of the sample."""
    from ..data.formats.image_folder import SUFFIXES

    target = _resolve(path)
    try:
        if target is None or not folder.is_dir():
            return False
        inside = any(parent.samefile(folder) for parent in target.parents if parent.exists())
    except (OSError, ValueError):
        return False
    # Of a folder of images or of parts of a table some files are read, by their names; of a store or a model all.
    whole = any((folder / name).exists() for name in (".zarray", ".zgroup", "zarr.json", "config.json"))
    return inside and (whole or target.suffix.lower() in (*SUFFIXES, ".parquet"))


def _fold(name: str) -> str:
    return unicodedata.normalize("NFKC", name).casefold()


def _takes_for_one(folder: Path, first: str, second: str) -> bool:
    """Whether the file system of a folder takes two names for one, as some do that differ only in case."""
    try:
        with TemporaryDirectory(prefix=".tellapart-", dir=folder) as probe:
            (Path(probe) / first).touch()
            return (Path(probe) / second).exists()
    except OSError:  # nothing can be written here, which is reported elsewhere
        return False
