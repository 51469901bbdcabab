"""Where lazy rows lie: plain files, of which any row can be had, and chunks, which are first copied to such a file.

Tests take rows in random order. From a plain file that is cheap; of a compressed chunk all would be decoded for every
row. So chunks are decoded once, into a temporary file without a name, which is gone when its process is.
"""

from __future__ import annotations

import math
import os
import shutil
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from itertools import pairwise
from pathlib import Path
from typing import Any, BinaryIO, Protocol, TypeAlias

import numpy as np

from .._util.errors import InputChangedError, InputError, InputFileError
from .arrays import Array
from .limits import format_bytes

#: Size and time of a file: another stamp, another content.
Stamp: TypeAlias = tuple[int, int]


class _OpenedOnce:
    """An array that each process opens when it first wants rows, once for all its threads."""

    def __init__(self, label: str) -> None:
        self.label = label
        self._set_up()

    def _set_up(self) -> None:
        self._opened: OpenArray | None = None
        self._lock = threading.Lock()

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name not in ("_opened", "_lock")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._set_up()

    def rows(self, index: slice | Array) -> Array:
        """Some rows, as a copy."""
        with self._lock:
            if self._opened is None:
                self._opened = self._open_array()
        return self._opened.rows(index, self.label)

    def _open_array(self) -> OpenArray:
        raise NotImplementedError


class Plain(_OpenedOnce):
    """An array in a file, uncompressed, of which only the rows that are asked for are read."""

    def __init__(self, path: Path, label: str, offset: int, dtype: np.dtype[Any], shape: tuple[int, ...]) -> None:
        super().__init__(label)
        self.path, self.offset, self.dtype, self.shape = path.absolute(), offset, dtype, shape
        with self._open() as file:
            self.stamp = _stamp(file)

    def _open_array(self) -> OpenArray:
        with self._open() as file:
            if _stamp(file) != self.stamp:
                raise _changed(self.label)
            return OpenArray(file, self.offset, self.dtype, self.shape)

    def check_unchanged(self) -> None:
        """Raise `InputChangedError` if the file has been written to since it was opened: rows would be mixed."""
        if self._opened is not None:
            stamp = self._opened.stamp()
        else:  # others have read it
            with self._open() as file:
                stamp = _stamp(file)
        if stamp != self.stamp:
            raise _changed(self.label)

    def _open(self) -> BinaryIO:
        try:
            return self.path.open("rb")
        except FileNotFoundError:
            raise InputFileError(
                "file-not-found",
                f"{self.label} is not there. Every process that takes part must find it as {self.path}.",
            ) from None


class Chunks(Protocol):
    """An array that can only be read chunk after chunk."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    #: Whether it is read from files, so that its errors are those of files.
    in_file: bool

    def blocks(self) -> Iterator[Array]:
        """All rows, some at a time."""


class Spooled(_OpenedOnce):
    """Chunks, copied once to a temporary file by each process that reads them."""

    def __init__(self, chunks: Chunks, label: str) -> None:
        super().__init__(label)
        self.chunks, self.shape, self.dtype = chunks, chunks.shape, chunks.dtype

    def _open_array(self) -> OpenArray:
        need, free = math.prod(self.shape) * self.dtype.itemsize, shutil.disk_usage(tempfile.gettempdir()).free
        if need > free:
            raise OSError(
                f"{self.label} takes {format_bytes(need)} when decoded, but {tempfile.gettempdir()} has "
                f"{format_bytes(free)} free. Set TMPDIR to a folder with more, or save it as .npy."
            )
        with tempfile.TemporaryFile() as file:
            rows = 0
            for block in self._decode():
                file.write(np.ascontiguousarray(block, self.dtype).data)
                rows += len(block)
            file.flush()
            if rows != self.shape[0]:
                raise InputError(
                    "damaged-file", f"{self.label} is damaged: it has {rows} rows instead of {self.shape[0]}."
                )
            return OpenArray(file, 0, self.dtype, self.shape)

    def _decode(self) -> Iterator[Array]:
        blocks = self.chunks.blocks()
        while True:
            with naming_file(self.label) if self.chunks.in_file else nullcontext():
                block = next(blocks, None)
            if block is None:
                return
            yield block


@contextmanager
def naming_file(label: str) -> Iterator[None]:
    """What a library finds wrong with a file becomes one error that names the file; errors of our own code do not."""
    try:
        yield
    except (InputError, ImportError, MemoryError):
        raise
    except Exception as error:
        if isinstance(error, OSError) and error.strerror:
            raise InputError("unreadable-file", f"{label} cannot be read: {error.strerror}.") from error
        if not _is_about_data(error):
            raise
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
        raise InputError(
            "damaged-file", f"{label} is damaged, or not in the format that its name says: {reason}."
        ) from error


def _is_about_data(error: Exception) -> bool:
    """Whether an error is one that a library raises for a file that it cannot make sense of.

    That is one of its own class, one of those that Python has for bad values, or whatever was raised within its code:
    on unexpected contents some libraries stumble over a missing attribute or key. The same in our code is a bug.
    """
    if type(error).__module__ != "builtins" or isinstance(error, (ValueError, EOFError, OSError, RecursionError)):
        return True
    step = error.__traceback__
    while step is not None and step.tb_next is not None:
        step = step.tb_next
    return step is not None and not str(step.tb_frame.f_globals.get("__name__")).startswith("tellapart.")


class OpenArray:
    """An array in a file that is open.

    Rows are read from their places. A file that is mapped would count as memory, and would end the process if it were
    cut short meanwhile.
    """

    def __init__(self, file: Any, offset: int, dtype: np.dtype[Any], shape: tuple[int, ...]) -> None:
        self._file = os.fdopen(os.dup(file.fileno()), "rb", buffering=0)
        self._offset, self._dtype, self._shape = offset, dtype, shape
        self._bytes_per_row = math.prod(shape[1:]) * dtype.itemsize
        self._lock = threading.Lock()

    def rows(self, index: slice | Array, label: str) -> Array:
        """Some rows, as a copy."""
        if isinstance(index, slice):
            index = np.arange(*index.indices(self._shape[0]))
        out = np.empty((len(index), *self._shape[1:]), self._dtype)
        into = out.reshape(-1).view(np.uint8).data
        # Rows that lie side by side are read together.
        edges = [0, *(np.flatnonzero(np.diff(index) != 1) + 1).tolist(), len(index)]
        with self._lock:
            for a, b in pairwise(edges):
                if b > a:
                    size = self._bytes_per_row
                    self._read(self._offset + int(index[a]) * size, into[a * size : b * size], label)
        return out

    def _read(self, start: int, into: memoryview, label: str) -> None:
        self._file.seek(start)
        while into:
            count = self._file.readinto(into)
            if not count:
                raise InputChangedError(
                    "file-changed", f"{label} has become shorter while it was read. Leave it as it is until the end."
                )
            into = into[count:]

    def stamp(self) -> Stamp:
        """Size and time of the file as it is now."""
        return _stamp(self._file)

    def __del__(self) -> None:
        if hasattr(self, "_file"):
            self._file.close()


@contextmanager
def unchanged(path: Path, label: str) -> Iterator[None]:
    """Raise `InputChangedError` if a file is written to within the block."""
    before = stamp_of(path) if path.is_file() else None
    yield
    if before is not None:
        check_stamp(path, before, label)


def stamp_of(path: Path) -> Stamp:
    """Size and time of the file at a path."""
    found = path.stat()
    return found.st_size, found.st_mtime_ns


def check_stamp(path: Path, stamp: Stamp, label: str) -> None:
    """Raise `InputChangedError` if a file has been written to, or is gone, since it had this stamp."""
    try:
        same = stamp_of(path) == stamp
    except FileNotFoundError:
        same = False
    if not same:
        raise _changed(label)


def _stamp(file: Any) -> Stamp:
    found = os.fstat(file.fileno())
    return found.st_size, found.st_mtime_ns


def _changed(label: str) -> InputChangedError:
    return InputChangedError(
        "file-changed", f"{label} has changed since it was opened. Leave it as it is until the end."
    )
