"""Numbers in memory: arrays, tensors, nested lists, whatever has ``__array__`` or ``__dlpack__``."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from ..arrays import Array, as_array
from ..content.images import WHITE
from ..lazy import Lazy, Stored
from ..precision import precision_of
from ..sample import Sample
from ..stores import Plain
from .base import Format, Opened, Request


class Arrays(Format):
    """Everything that is neither a path nor of another format."""

    name = "arrays"

    def matches(self, data: Any) -> bool:
        """Whether this is neither a path nor the name of a data set."""
        return not isinstance(data, (str, os.PathLike))

    def open(self, request: Request) -> Opened:
        """The array, which shares its memory."""
        data = request.data
        if isinstance(data, Sample):
            return Opened(as_stored(as_array(data.values, request.label), data), names=data.names)
        if isinstance(data, Lazy):
            array = as_stored(as_array(data[:], request.label), data)
        else:
            array = as_array(data, request.label)
        return Opened(array, precision=precision_of(getattr(data, "dtype", array.dtype)))

    def open_lazy(self, request: Request) -> Lazy | None:
        """The rows of an array that is mapped into memory, read from its file; others are in memory anyway."""
        if isinstance(request.data, Lazy):
            return request.data
        store = _find_file(request.data, request.label) if isinstance(request.data, np.memmap) else None
        return None if store is None else Stored(store, request.label)


def stored_type(rows: Sample | Lazy) -> str:
    """The name of the number type that rows were stored in; empty where it is not known."""
    if isinstance(rows, Sample):
        return rows.stored
    return type_name(rows.store.dtype) if isinstance(rows, Stored) else ""


def type_name(dtype: Any) -> str:
    """The name of a number type of NumPy or torch.

    >>> type_name(np.dtype("uint8"))
    'uint8'
    """
    return str(dtype).removeprefix("torch.")


def as_stored(array: Array, rows: Sample | Lazy) -> Array:
    """An array in the type that its rows were stored in, where that says which number is white."""
    stored = stored_type(rows)
    return array.astype(stored) if stored in WHITE else array


def _find_file(array: np.memmap[Any, Any], label: str) -> Plain | None:
    """The file of an array that is mapped into memory, if its rows lie there one after the other."""
    whole = array
    while isinstance(whole.base, np.memmap):
        whole = whole.base
    if not array.flags.c_contiguous or not isinstance(whole.filename, (str, os.PathLike)) or whole.mode == "c":
        return None
    offset = whole.offset + array.ctypes.data - whole.ctypes.data
    return Plain(Path(whole.filename), label, offset, array.dtype, array.shape)
