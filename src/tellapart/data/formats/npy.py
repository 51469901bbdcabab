"""NumPy's .npy files: one array, of which single rows can be read."""

from __future__ import annotations

import io
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..._util.errors import InputError
from ..arrays import Array, check_rows
from ..lazy import Lazy, Stored
from ..limits import count_as_float
from ..stores import Plain, Spooled
from .base import FileFormat, Opened, Request, read_chunks, take_from_blocks

#: Bytes that the description of an array may take.
_LONGEST_HEADER = 2**16
#: Bytes of a file with one column after the other that are read together.
_BLOCK = 2**24


class Npy(FileFormat):
    """Files that ``numpy.save`` writes."""

    name = ".npy"
    suffixes = (".npy",)

    def open(self, request: Request) -> Opened:
        """Read the rows wanted; the others stay in the file."""
        header = read_layout(request.data, request.label)
        check_rows(header.shape, request.label)
        if header.columns_first:
            return read_chunks(ColumnsFirst(request.data, request.label, header), request)
        request.check_memory(floats_need(header.shape, header.dtype, request.count_rows(header.shape[0])))
        numbers = request.choose_rows(header.shape[0])
        return Opened(_plain(request, header).rows(numbers), numbers, total=header.shape[0])

    def open_lazy(self, request: Request) -> Lazy:
        """Rows that are read from the file when they are used."""
        header = read_layout(request.data, request.label)
        check_rows(header.shape, request.label)
        if header.columns_first:
            return Stored(Spooled(ColumnsFirst(request.data, request.label, header), request.label), request.label)
        return Stored(_plain(request, header), request.label)


class Header(NamedTuple):
    """How an array lies in a file: its shape and type, whether columns come first, and where it starts."""

    shape: tuple[int, ...]
    columns_first: bool
    dtype: np.dtype[Any]
    start: int

    @property
    def nbytes(self) -> int:
        """How many bytes the array takes."""
        return math.prod(self.shape) * self.dtype.itemsize


class ColumnsFirst:
    """A .npy file that holds one column after the other (NumPy's Fortran order)."""

    in_file = True

    def __init__(self, path: Path, label: str, header: Header) -> None:
        self.shape, self.dtype = header.shape, header.dtype
        self._numbers = Plain(path, label, header.start, header.dtype, (math.prod(header.shape), 1))

    def blocks(self) -> Iterator[Array]:
        """All rows, some at a time."""
        rows, *sides = self.shape
        columns = math.prod(sides)
        step = max(1, _BLOCK // (columns * self.dtype.itemsize))
        for start in range(0, rows, step):
            stop = min(start + step, rows)
            places = np.arange(columns)[:, None] * rows + np.arange(start, stop)
            block = self._numbers.rows(places.reshape(-1)).reshape(columns, stop - start)
            yield block.reshape(*sides[::-1], stop - start).T

    def take(self, numbers: Array) -> Iterator[Array]:
        """The rows at these positions, some at a time."""
        return take_from_blocks(self.blocks(), numbers)


def read_layout(path: Path, label: str) -> Header:
    """Where the array of a .npy file is; a file that is shorter than it says is refused."""
    with path.open("rb") as file:
        header = read_header(file, label)
    check_dtype(header.dtype, label)
    if header.start + header.nbytes > path.stat().st_size:
        raise InputError(
            "truncated-file", f"{label} is cut short: its shape {header.shape} needs more bytes than it has."
        )
    return header


def read_header(file: Any, label: str) -> Header:
    """The description of an array at the beginning of a stream."""
    start = file.read(8)
    size = 2 if start[6:7] == b"\x01" else 4
    length = file.read(size)
    count = int.from_bytes(length, "little")
    if count > _LONGEST_HEADER:
        raise InputError("damaged-file", f"{label} does not hold a NumPy array: its header claims {count} bytes.")
    head = io.BytesIO(start + length + file.read(count))
    try:
        version = np.lib.format.read_magic(head)
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, columns_first, dtype = read(head)
    except (ValueError, EOFError) as error:
        raise InputError("damaged-file", f"{label} does not hold a NumPy array: {error}.") from None
    if any(side < 0 for side in shape):
        raise InputError("damaged-file", f"{label} does not hold a NumPy array: its shape is {shape}.")
    return Header(tuple(shape), columns_first, dtype, 8 + size + count)


def check_dtype(dtype: np.dtype[Any], label: str) -> None:
    """Raise `InputError` for arrays that do not hold numbers; those of Python objects could run code."""
    if dtype.hasobject:
        raise InputError(
            "unsupported-values", f"{label} holds Python objects, which are not read. Save numbers, with dtype=float."
        )


def floats_need(shape: tuple[int, ...], dtype: np.dtype[Any], rows: int) -> float:
    """Bytes of some rows as they came, and of the floats that come of them where they are not floats already."""
    floats = 0 if dtype.kind == "f" and dtype.itemsize in (4, 8) else 4 if dtype.itemsize <= 2 else 8
    return count_as_float((rows, *shape[1:])) * (dtype.itemsize + floats)


def _plain(request: Request, header: Header) -> Plain:
    return Plain(request.data, request.label, header.start, header.dtype, header.shape)
