"""Columns of tables that are larger than memory, in a temporary file: what is looked at is mapped, and then forgotten.

A table is appended batch by batch, and each column gets a stretch of the file. Everything else is as in memory: kinds,
levels in the order in which they occur, and values have the same bits.
"""

from __future__ import annotations

import mmap
import os
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from .._util.errors import InputError
from .arrays import Array
from .columns import TableColumn
from .lazy import Lazy, Stored
from .limits import format_bytes

#: Bytes of a table in memory from which on its columns are kept in a file, and the least memory for which that is worth
#: it: portions are read into memory too.
MANY_BYTES, LEAST = 2**28, 2**24
#: Bytes that a text takes in addition to its characters, and the maximum for all texts of a column.
_BYTES_PER_TEXT, _TEXTS = 120, 2**31


class MixedKinds(Exception):
    """A column has values of different kinds in different batches, so that only the whole can say what it is."""


def is_large(need: float, max_memory: int | None) -> bool:
    """Whether a table that takes this number of bytes is kept in a file, for which the disk has room."""
    if max_memory is not None and max_memory < LEAST:
        return False
    least = MANY_BYTES if max_memory is None else min(MANY_BYTES, max_memory // 4)
    return least < need <= shutil.disk_usage(tempfile.gettempdir()).free


class SpillFile:
    """A temporary file without a name. It is gone when the last array in it is."""

    def __init__(self, label: str) -> None:
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 - it ends with this object
        self._label, self._end = label, 0

    def __del__(self) -> None:
        self._file.close()

    def reserve(self, dtype: Any, rows: int) -> Stretch:
        """Room for an array of at most this number of rows. What is not written takes no space."""
        stretch = Stretch(self, np.dtype(dtype), self._end, rows)
        size = rows * stretch.dtype.itemsize
        self._end += -(-size // mmap.ALLOCATIONGRANULARITY) * mmap.ALLOCATIONGRANULARITY
        return stretch

    def check_space(self, need: int) -> None:
        """Raise an error if this number of bytes does not fit on the disk."""
        free = shutil.disk_usage(tempfile.gettempdir()).free
        if need > free:
            raise OSError(
                f"{self._label} takes {format_bytes(need)} when decoded, but {tempfile.gettempdir()} has "
                f"{format_bytes(free)} free. Set TMPDIR to a folder with more."
            )

    def write(self, offset: int, values: Array) -> None:
        """Write an array at a place of the file."""
        self._file.seek(offset)
        self._file.write(np.ascontiguousarray(values).data)

    def map(self, offset: int, length: int) -> mmap.mmap:
        """Some bytes of the file as memory."""
        self._file.flush()
        if os.fstat(self._file.fileno()).st_size < offset + length:
            os.ftruncate(self._file.fileno(), offset + length)
        return mmap.mmap(self._file.fileno(), length, access=mmap.ACCESS_READ, offset=offset)


@dataclass(eq=False)
class Stretch:
    """An array in a `SpillFile`, of which the first ``count`` values are written."""

    file: SpillFile
    dtype: np.dtype[Any]
    offset: int
    rows: int
    count: int = 0

    def append(self, values: Array) -> None:
        """Write some more values."""
        assert self.count + len(values) <= self.rows, "there are more rows than were expected"
        self.file.write(self.offset + self.count * self.dtype.itemsize, values.astype(self.dtype, copy=False))
        self.count += len(values)

    def beside(self, values: Array) -> Stretch:
        """Another array in the same file."""
        other = self.file.reserve(values.dtype, len(values))
        other.append(values)
        return other

    def read(self) -> Array:
        """The values, mapped."""
        if not self.count:
            return np.empty(0, self.dtype)
        found: Array = np.frombuffer(self.file.map(self.offset, self.count * self.dtype.itemsize), self.dtype)
        return found


@dataclass(eq=False)
class _Column:
    """What is known of a column so far: the first batch that has values of it, its texts, and where its values are."""

    kind: TableColumn
    stretch: Stretch
    levels: dict[str, int] = field(default_factory=dict)
    absent: bool = True
    bytes: int = 0


class TableWriter:
    """Writes a table batch by batch.

    Parameters
    ----------
    rows
        How many rows there are at most.
    label
        What to call it in messages.
    """

    def __init__(self, rows: int, label: str) -> None:
        self._rows, self._label, self._file = rows, label, SpillFile(label)
        self._columns: dict[str, _Column] = {}
        self.rows = 0

    def append(self, batch: Sequence[TableColumn]) -> None:
        """Write some rows of all columns, or of those that are still wanted.

        Raises
        ------
        MixedKinds
            If a column is of another kind than before.
        """
        if not self._columns:
            self._file.check_space(8 * self._rows * len(batch))
            self._columns = {column.name: _Column(column, self._reserve(column)) for column in batch}
        self.rows += len(batch[0]) if batch else 0
        for column in batch:
            self._append(self._columns[column.name], column)

    def _reserve(self, column: TableColumn) -> Stretch:
        return self._file.reserve(np.int32 if column.kind == "text" else np.float64, self._rows)

    def _append(self, known: _Column, column: TableColumn) -> None:
        there = not column.missing.all()
        if column.kind != known.kind.kind:
            if known.absent and there:  # nothing but missing values so far
                count, known.kind, known.stretch = known.stretch.count, column, self._reserve(column)
                gap = np.full(min(count, 2**16), -1 if column.kind == "text" else np.nan)
                for start in range(0, count, len(gap) or 1):
                    known.stretch.append(gap[: count - start])
            elif not there:
                column = column.as_kind(known.kind.kind)
            else:
                raise MixedKinds(column.name)
        known.absent &= not there
        known.kind = replace(
            known.kind,
            single=known.kind.single and (column.single or not there),
            categorical=known.kind.categorical or column.categorical,
        )
        values = column.values
        if column.kind == "text":
            values = np.array([*self._number(known, column.levels), -1], np.int32)[values]
        known.stretch.append(values)

    def _number(self, known: _Column, levels: Sequence[str]) -> list[int]:
        """The numbers of some texts, in the order in which they first occurred."""
        new = len(known.levels)
        numbers = [known.levels.setdefault(level, len(known.levels)) for level in levels]
        known.bytes += sum(len(level) + _BYTES_PER_TEXT for level, k in zip(levels, numbers, strict=True) if k >= new)
        if known.bytes > _TEXTS:
            raise InputError(
                "not-enough-memory",
                f"{self._label}: column {known.kind.name!r} has so many different texts that they do not fit into "
                "memory.",
                "Leave it out with {drop}.",
                drop=[known.kind.name],
            )
        return numbers

    def close(self) -> dict[str, TableColumn]:
        """The columns by their names, in the order of the first batch."""
        columns = self._columns.items()
        return {name: one.kind.with_values(one.stretch, tuple(one.levels)) for name, one in columns}


class RowWriter:
    """Writes rows of numbers, some at a time.

    Parameters
    ----------
    shape
        The number of rows and their width.
    dtype
        Their type.
    label
        What to call them in messages.
    """

    def __init__(self, shape: tuple[int, int], dtype: np.dtype[Any], label: str) -> None:
        file = SpillFile(label)
        file.check_space(shape[0] * shape[1] * dtype.itemsize)
        self._shape, self._stretch, self._label = shape, file.reserve(dtype, shape[0] * shape[1]), label

    def append(self, rows: Array) -> None:
        """Write some more rows."""
        self._stretch.append(rows.reshape(-1))

    def close(self) -> Lazy:
        """The rows, which are read when they are used."""
        return Stored(RowsInFile(self._stretch, self._shape), self._label)


class RowsInFile:
    """A store of rows in a temporary file of this process. It takes its rows along to other processes."""

    travels = False

    def __init__(self, stretch: Stretch, shape: tuple[int, ...]) -> None:
        self._stretch, self.dtype = stretch, stretch.dtype
        self.shape: tuple[int, ...] = shape

    def rows(self, index: slice | Array) -> Array:
        """Some rows, as a copy."""
        found: Array = self._stretch.read().reshape(self.shape)[index]
        return found.copy() if isinstance(index, slice) else found

    def __reduce__(self) -> Any:
        return _store_rows, (self.rows(slice(None)),)


def _store_rows(rows: Array) -> RowsInFile:
    stretch = SpillFile("A sample").reserve(rows.dtype, rows.size)
    stretch.append(rows.reshape(-1))
    return RowsInFile(stretch, rows.shape)
