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
from itertools import pairwise
from pathlib import Path
from typing import Any, BinaryIO, Protocol

import numpy as np

from .._util.extras import extra
from .arrays import Array, blocks
from .room import size_in_words

#: Rows of a Parquet file that are decoded together.
_BATCH = 65_536


class Plain:
    """An array in a file, uncompressed, of which only the rows that are asked for are read."""

    def __init__(self, path: Path, label: str, offset: int, dtype: np.dtype[Any], shape: tuple[int, ...]) -> None:
        self.path, self.label, self.offset, self.dtype, self.shape = path.absolute(), label, offset, dtype, shape
        with self._open() as file:
            self.stamp = _stamp(file)
        self._set_up()

    def _set_up(self) -> None:
        self._opened: _Open | None = None
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
                with self._open() as file:
                    if _stamp(file) != self.stamp:
                        raise OSError(f"{self.label} has changed since it was opened. Leave it as it is until the end.")
                    self._opened = _Open(file, self.offset, self.dtype, self.shape)
        return self._opened.rows(index, self.label)

    def _open(self) -> BinaryIO:
        try:
            return self.path.open("rb")
        except FileNotFoundError:
            raise FileNotFoundError(
                f"{self.label} is not there. Every process that takes part must find it as {self.path}."
            ) from None


class Chunks(Protocol):
    """An array that can only be read chunk after chunk."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    def blocks(self) -> Iterator[Array]:
        """All rows, some at a time."""


class Spooled:
    """Chunks, copied once to a temporary file by each process that reads them."""

    def __init__(self, chunks: Chunks, label: str) -> None:
        self.chunks, self.label, self.shape, self.dtype = chunks, label, chunks.shape, chunks.dtype
        self._set_up()

    def _set_up(self) -> None:
        self._opened: _Open | None = None
        self._lock = threading.Lock()

    def __getstate__(self) -> dict[str, Any]:
        return {"chunks": self.chunks, "label": self.label, "shape": self.shape, "dtype": self.dtype}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._set_up()

    def rows(self, index: slice | Array) -> Array:
        """Some rows, as a copy."""
        with self._lock:
            if self._opened is None:
                self._opened = self._spool()
        return self._opened.rows(index, self.label)

    def _spool(self) -> _Open:
        need, free = math.prod(self.shape) * self.dtype.itemsize, shutil.disk_usage(tempfile.gettempdir()).free
        if need > free:
            raise OSError(
                f"{self.label} takes {size_in_words(need)} when decoded, but {tempfile.gettempdir()} has "
                f"{size_in_words(free)} free. Set TMPDIR to a folder with more, or save it as .npy."
            )
        with tempfile.TemporaryFile() as file:
            for block in self.chunks.blocks():
                file.write(np.ascontiguousarray(block, self.dtype).data)
            file.flush()
            return _Open(file, 0, self.dtype, self.shape)


class Columns:
    """A .npy file that holds one column after the other."""

    def __init__(self, path: Path) -> None:
        self.path = path.absolute()
        array = np.load(self.path, mmap_mode="r")
        self.shape, self.dtype = array.shape, array.dtype

    def blocks(self) -> Iterator[Array]:
        """All rows, some at a time."""
        return (np.array(block) for _, block in blocks(np.load(self.path, mmap_mode="r")))


class Parquet:
    """Numbers in one or more Parquet files with the same columns."""

    def __init__(self, paths: list[Path], label: str, columns: tuple[str, ...] | None = None) -> None:
        self.paths, self.label = [path.absolute() for path in paths], label
        schemas = [self._file(path).schema_arrow for path in self.paths]
        self.names = columns or tuple(name for name in schemas[0].names if not name.startswith("__index_level_"))
        for path, schema in zip(self.paths, schemas, strict=True):
            if set(self.names) - set(schema.names):
                raise ValueError(f"{label} has parts with different columns: {path.name} is unlike {paths[0].name}.")
        types = {name: schemas[0].field(name).type for name in self.names}
        bad = [f"{name!r} ({kind})" for name, kind in types.items() if not _is_number(kind)]
        if bad:
            raise TypeError(
                f"{label} has columns that do not hold numbers: {', '.join(bad[:5])}{', …' if len(bad) > 5 else ''}. "
                "Encode them as numbers, or use compare, which does."
            )
        self.dtype = np.result_type(*(kind.to_pandas_dtype() for kind in types.values()))
        rows = sum(int(self._file(path).metadata.num_rows) for path in self.paths)
        self.shape: tuple[int, ...] = (rows, len(self.names))

    def with_columns(self, names: tuple[str, ...]) -> Parquet:
        """The same files with their columns in this order."""
        return Parquet(self.paths, self.label, names)

    def blocks(self) -> Iterator[Array]:
        """All rows, some at a time; NaN where a value is missing."""
        for path in self.paths:
            for batch in self._file(path).iter_batches(batch_size=_BATCH, columns=list(self.names)):
                yield np.stack([batch.column(n).to_numpy(zero_copy_only=False) for n in self.names], axis=1)

    def _file(self, path: Path) -> Any:
        parquet = extra("pyarrow.parquet", group="tables", what="Reading Parquet files")
        try:
            return parquet.ParquetFile(path)
        except FileNotFoundError:
            raise FileNotFoundError(f"{self.label}: the part {path} is not there.") from None


class Zarr:
    """An array in a zarr store."""

    def __init__(self, path: str, label: str) -> None:
        self.path, self.label = path, label
        array = self._array()
        self.shape, self.dtype, self.step = array.shape, array.dtype, array.chunks[0]

    def blocks(self) -> Iterator[Array]:
        """All rows, a chunk at a time."""
        array = self._array()
        for start in range(0, self.shape[0], self.step):
            yield np.asarray(array[start : start + self.step])

    def _array(self) -> Any:
        zarr = extra("zarr", group="dask", what="Reading zarr stores")
        try:
            found = zarr.open(self.path, mode="r")
        except (FileNotFoundError, KeyError) as error:
            raise FileNotFoundError(f"{self.label} is not a zarr array: {error}.") from None
        if not hasattr(found, "chunks"):
            raise ValueError(f"{self.label} is a zarr group. Give the path of one of its arrays: {sorted(found)[:5]}.")
        return found


class DaskArray:
    """A Dask array, computed a chunk of rows at a time by the process that reads it."""

    def __init__(self, array: Any, label: str) -> None:
        if any(math.isnan(side) for side in array.shape):
            raise ValueError(f"{label} is a Dask array of unknown length. Call compute_chunk_sizes() on it.")
        self.array, self.shape, self.dtype = array, array.shape, array.dtype

    def blocks(self) -> Iterator[Array]:
        """All rows, a chunk at a time."""
        start = 0
        for size in self.array.chunks[0]:
            yield np.asarray(self.array[start : start + size].compute(scheduler="synchronous"))
            start += size


class _Open:
    """An array in a file that is open. Rows are read from their places: a file that is mapped counts as memory."""

    def __init__(self, file: Any, offset: int, dtype: np.dtype[Any], shape: tuple[int, ...]) -> None:
        self._file = os.dup(file.fileno())
        self._offset, self._dtype, self._shape = offset, dtype, shape
        self._of_row = math.prod(shape[1:]) * dtype.itemsize
        self._lock = threading.Lock()

    def rows(self, index: slice | Array, label: str) -> Array:
        if isinstance(index, slice):
            index = np.arange(*index.indices(self._shape[0]))
        # Rows that lie side by side are read together.
        edges = [0, *(np.flatnonzero(np.diff(index) != 1) + 1).tolist(), len(index)]
        first = index[edges[:-1]].tolist() if len(index) else []
        with self._lock:
            pieces = [self._read(row, b - a, label) for row, (a, b) in zip(first, pairwise(edges), strict=False)]
        return np.frombuffer(bytearray().join(pieces), self._dtype).reshape(len(index), *self._shape[1:])

    def _read(self, row: int, count: int, label: str) -> bytes:
        os.lseek(self._file, self._offset + row * self._of_row, os.SEEK_SET)
        wanted, found = count * self._of_row, b""
        while len(found) < wanted:
            more = os.read(self._file, wanted - len(found))
            if not more:
                raise OSError(f"{label} has become shorter while it was read. Leave it as it is until the end.")
            found = found + more if found else more
        return found

    def __del__(self) -> None:
        if hasattr(self, "_file"):
            os.close(self._file)


def _stamp(file: BinaryIO) -> tuple[int, int]:
    found = os.fstat(file.fileno())
    return found.st_size, found.st_mtime_ns


def _is_number(kind: Any) -> bool:
    return str(kind).startswith(("int", "uint", "float", "double", "halffloat", "bool"))
