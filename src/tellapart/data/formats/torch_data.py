"""Data sets and loaders of torch."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..._util.errors import InputError, InputTypeError
from ..arrays import Array, as_array
from ..sampling import sample_stream
from .base import Format, Opened, Request

#: Items that are stacked together.
_ITEMS = 256
#: Bytes after which the memory is looked at again.
_STEP = 2**26


class TorchData(Format):
    """A ``Dataset`` or ``DataLoader``: the rows, or of items with labels the first element."""

    name = "torch data sets and loaders"

    def matches(self, data: Any) -> bool:
        """Whether this is a data set or a loader."""
        known = sys.modules.get("torch.utils.data")  # whoever has one has imported it
        return known is not None and isinstance(data, (known.Dataset, known.DataLoader))

    def open(self, request: Request) -> Opened:
        """Read the rows wanted."""
        from torch.utils.data import DataLoader, Dataset, IterableDataset

        data, label, options = request.data, request.label, request.options
        if isinstance(data, Dataset) and not isinstance(data, IterableDataset):
            total = _count_items(data, label)
            numbers = request.choose_rows(total)
            batches = _stack_items((data[int(k)] for k in numbers), label)
            return Opened(_join_batches(batches, request, len(numbers)), numbers, total=total)
        if isinstance(data, DataLoader):
            batches = (as_array(_take_first(batch, label), label) for batch in data)
        else:
            batches = _stack_items(iter(data), label)
        if options.max_rows is None:
            return Opened(_join_batches(batches, request, None))
        pieces, numbers, total = sample_stream(
            _check_shapes(batches, label), options.max_rows, options.seed, lambda batch, rows: batch[rows]
        )
        return Opened(_join_batches(iter(pieces), request, None), numbers, total=total)


def _stack_items(items: Iterator[Any], label: str) -> Iterator[Array]:
    """Single items, some at a time."""
    held: list[Array] = []
    for item in items:
        held.append(as_array(_take_first(item, label), label))
        if held[-1].shape != held[0].shape:
            raise InputError(
                "ragged-rows", f"{label} has items of different shapes: {held[0].shape} and {held[-1].shape}."
            )
        if len(held) == _ITEMS:
            yield np.stack(held)
            held = []
    if held:
        yield np.stack(held)


def _check_shapes(batches: Iterator[Array], label: str) -> Iterator[Array]:
    """The same batches, once each is known to have rows of the shape of the first."""
    shape = None
    for batch in batches:
        if batch.ndim == 0:
            raise InputError("not-rows", f"{label} gives single numbers. Give batches with one row for each point.")
        shape = batch.shape[1:] if shape is None else shape
        if batch.shape[1:] != shape:
            raise InputError("ragged-rows", f"{label} has items of different shapes: {shape} and {batch.shape[1:]}.")
        yield batch


def _join_batches(batches: Iterator[Array], request: Request, total: int | None) -> Array:
    """One array of all batches; stops before they fill the memory."""
    held: list[Array] = []
    size, checked = 0, 0
    for batch in _check_shapes(batches, request.label):
        # A loader may use the memory of a batch again.
        held.append(batch.copy())
        size += batch.nbytes
        if len(held) == 1 and total is not None:
            request.check_memory(2 * size / max(1, len(batch)) * total)
        if size > checked + _STEP:
            request.check_memory(size)
            checked = size
    if not held:
        raise InputError("no-rows", f"{request.label} is empty: it has no rows.")
    request.check_memory(2 * size)
    return np.concatenate(held)


def _take_first(item: Any, label: str) -> Any:
    """The data of an item, which may come with a label."""
    if isinstance(item, dict):
        raise InputTypeError(
            "unreadable-items", f"{label} gives dictionaries. Make it give tensors, or tuples that start with a tensor."
        )
    if isinstance(item, (tuple, list)):
        if not item:
            raise InputError("unreadable-items", f"{label} gives empty tuples.")
        return item[0]
    return item


def _count_items(data: Any, label: str) -> int:
    try:
        return len(data)
    except TypeError:
        raise InputTypeError(
            "unknown-length", f"{label} is a Dataset without a length. Give a DataLoader of it."
        ) from None
