"""Dask arrays, computed a chunk of rows at a time by the process that reads them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..._util.errors import InputError
from ..arrays import Array, check_rows
from ..lazy import Lazy, Stored
from ..stores import Spooled
from .base import Format, Opened, Request, read_chunks


class Dask(Format):
    """Dask arrays."""

    name = "Dask arrays"

    def matches(self, data: Any) -> bool:
        """Whether this is a Dask array."""
        return type(data).__module__.startswith("dask.array")

    def open(self, request: Request) -> Opened:
        """Compute the rows wanted."""
        return read_chunks(DaskChunks(request.data, request.label), request)

    def open_lazy(self, request: Request) -> Lazy:
        """Rows that are computed once, to a temporary file."""
        chunks = DaskChunks(request.data, request.label)
        check_rows(chunks.shape, request.label)
        return Stored(Spooled(chunks, request.label), request.label)


class DaskChunks:
    """A Dask array, a chunk of rows at a time."""

    in_file = False

    def __init__(self, array: Any, label: str) -> None:
        if any(math.isnan(side) for side in array.shape):
            raise InputError(
                "unknown-length", f"{label} is a Dask array of unknown length. Call compute_chunk_sizes() on it."
            )
        self.array, self.shape, self.dtype = array, array.shape, array.dtype

    def blocks(self) -> Iterator[Array]:
        """All rows, a chunk at a time."""
        start = 0
        for size in self.array.chunks[0]:
            yield np.asarray(self.array[start : start + size].compute(scheduler="synchronous"))
            start += size

    def take(self, numbers: Array) -> Iterator[Array]:
        """The rows at these positions; chunks without any are not computed."""
        start = 0
        for size in self.array.chunks[0]:
            first, last = np.searchsorted(numbers, (start, start + size))
            if last > first:
                block = np.asarray(self.array[start : start + size].compute(scheduler="synchronous"))
                yield block[numbers[first:last] - start]
            start += size
