"""Checks that the files a command writes do not overwrite its inputs or each other."""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeAlias

#: Paths by their name on the command line: ``{"A": "a.csv", "--json": None}``. None means that the option is not given.
Paths: TypeAlias = Mapping[str, "str | os.PathLike[str] | None"]


def check_distinct(inputs: Paths, outputs: Paths) -> None:
    """Raise `InputError` if an output is an input, lies inside an input folder, or equals another output.

    Symbolic links, hard links, ``..`` and names that the file system considers equal are resolved. Pipes and devices
    (``/dev/null``) may be written to more than once.

    Parameters
    ----------
    inputs : mapping of str to path or None
        Files and folders to read. Names that are not paths, such as ``mnist``, match nothing.
    outputs : mapping of str to path or None
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
                    f"{name} would write {str(path)!r} into the input folder {str(source)!r} ({other}).",
                    "Write to another folder.",
                )
        for other, target in written[:k]:
            if is_same(path, target):
                raise InputError(
                    "same-file-twice", f"{other} and {name} are the same file: {str(path)!r}.", "Use different files."
                )


def is_same(a: Path, b: Path) -> bool:
    """Return whether two paths are the same file or folder, or would be after writing."""
    try:
        return os.path.samefile(a, b)
    except (OSError, ValueError):  # a path does not exist yet
        pass
    first, second = (_resolve(path) for path in (a, b))
    if first is None or second is None:
        return False
    if first == second:
        return True
    if first.parent != second.parent and not is_same(first.parent, second.parent):
        return False
    return _fold(first.name) == _fold(second.name) and _considers_equal(first.parent, first.name, second.name)


def _given(paths: Paths) -> Iterator[tuple[str, Path]]:
    for name, path in paths.items():
        if path is not None and os.fspath(path) not in ("", "-"):
            yield name, _expand(os.fspath(path))


def _expand(path: str) -> Path:
    from ..data.locate import split_member

    try:
        return split_member(path)[0]  # the file part of run.npz:images
    except (OSError, ValueError, RuntimeError):  # an unknown home directory, or not a path
        return Path(path)


def _resolve(path: Path) -> Path | None:
    try:
        return path.resolve()
    except (OSError, ValueError, RuntimeError):  # a loop of links
        return None


def _is_device(path: Path) -> bool:
    """Return whether the path exists and is neither a file nor a folder."""
    try:
        return path.exists() and not path.is_file() and not path.is_dir()
    except (OSError, ValueError):
        return False


def _is_part(path: Path, folder: Path) -> bool:
    """Return whether ``path`` lies in the input ``folder`` and would be read as a part of the sample."""
    from ..data.formats.image_folder import SUFFIXES

    target = _resolve(path)
    try:
        if target is None or not folder.is_dir():
            return False
        inside = any(parent.samefile(folder) for parent in target.parents if parent.exists())
    except (OSError, ValueError):
        return False
    # Every file of a Zarr store or a model belongs to it; in other folders only images and Parquet files are read.
    whole = any((folder / name).exists() for name in (".zarray", ".zgroup", "zarr.json", "config.json"))
    return inside and (whole or target.suffix.lower() in (*SUFFIXES, ".parquet"))


def _fold(name: str) -> str:
    return unicodedata.normalize("NFKC", name).casefold()


def _considers_equal(folder: Path, first: str, second: str) -> bool:
    """Return whether the file system of ``folder`` considers two names equal (for example, ignores case)."""
    try:
        with TemporaryDirectory(prefix=".tellapart-", dir=folder) as probe:
            (Path(probe) / first).touch()
            return (Path(probe) / second).exists()
    except OSError:  # the folder is not writable, which is reported elsewhere
        return False
