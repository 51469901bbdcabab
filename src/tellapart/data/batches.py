"""Data that come in batches, and functions applied in batches: data sets, loaders, features."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset, IterableDataset

from .arrays import Array, as_array, check_finite
from .images import Images
from .room import check_room, choose, draw

_FEWER = "Give max_rows= to draw some of its rows."
_ITEMS = 256


def is_batched(data: Any) -> bool:
    """Whether this is a data set or a loader of torch."""
    return isinstance(data, (Dataset, DataLoader))


def read_batched(data: Any, label: str, max_rows: int | None, seed: int) -> tuple[Array, Array]:
    """The rows of a data set or loader, without labels, and where they stood."""
    if isinstance(data, Dataset) and not isinstance(data, IterableDataset):
        total = _length(data, label)
        numbers = choose(total, max_rows, seed)
        batches = _stacked((data[int(k)] for k in numbers), label)
        return _joined(batches, label, len(numbers)), numbers
    if isinstance(data, DataLoader):
        batches = (as_array(_first(batch, label), label) for batch in data)
    else:
        batches = _stacked(iter(data), label)
    if max_rows is None:
        values = _joined(batches, label, None)
        return values, np.arange(len(values))
    pieces, numbers = draw(_alike(batches, label), max_rows, seed, lambda batch, rows: batch[rows])
    return _joined(iter(pieces), label, None), numbers


def apply_features(content: Images | Array, function: Callable[[Tensor], Any], label: str, batch_size: int) -> Tensor:
    """The function's output for all rows, batch by batch, without gradients and with a module in eval mode.

    Images come as floats between 0 and 1 of shape (n, channels, h, w); other rows as floats of shape (n, d).
    """
    if not callable(function):
        raise TypeError(f"features must be a function or an nn.Module, but is {function!r}.")
    module = function if isinstance(function, nn.Module) else None
    weight = next((p for p in module.parameters() if p.is_floating_point()), None) if module is not None else None
    dtype, device = (torch.float32, None) if weight is None else (weight.dtype, weight.device)
    training = [part for part in module.modules() if part.training] if module is not None else []
    parts = []
    try:
        if module is not None:
            module.eval()
        with torch.no_grad():
            for start in range(0, len(content), batch_size):
                rows = slice(start, start + batch_size)
                if isinstance(content, Images):
                    batch = content.planes(rows, dtype)
                else:
                    batch = torch.from_numpy(content[rows].astype(np.float64)).to(dtype)
                parts.append(_checked(function(batch.to(device)), len(batch), label))
    finally:
        # Part by part: a module may have kept some of its parts in eval mode on purpose.
        for part in training:
            part.training = True
    if len({part.shape[1] for part in parts}) > 1:
        raise ValueError(f"features= gave different numbers of coordinates for different rows of {label}.")
    found = torch.cat(parts)
    check_finite(found.numpy(), f"The output of features= for {label}", advice="Mend the function.")
    return found


def _checked(output: Any, rows: int, label: str) -> Tensor:
    if not isinstance(output, (Tensor, np.ndarray)):
        raise TypeError(f"features= must return a tensor or an array, but returned {type(output).__name__}.")
    values = torch.as_tensor(output).detach().cpu()
    if values.ndim == 0 or len(values) != rows:
        raise ValueError(
            f"features= must return one row for each row, but for {rows} rows of {label} it returned shape "
            f"{tuple(values.shape)}."
        )
    if values.is_complex() or values[0].numel() == 0:
        raise ValueError(f"features= must return numbers, but returned {values.dtype} of shape {tuple(values.shape)}.")
    return values.reshape(rows, -1).to(torch.float64 if values.dtype == torch.float64 else torch.float32)


def _stacked(items: Iterator[Any], label: str) -> Iterator[Array]:
    """Single items, some at a time."""
    held: list[Array] = []
    for item in items:
        held.append(as_array(_first(item, label), label))
        if held[-1].shape != held[0].shape:
            raise ValueError(f"{label} has items of different shapes: {held[0].shape} and {held[-1].shape}.")
        if len(held) == _ITEMS:
            yield np.stack(held)
            held = []
    if held:
        yield np.stack(held)


def _alike(batches: Iterator[Array], label: str) -> Iterator[Array]:
    """The same batches, once each is known to have rows of the shape of the first."""
    shape = None
    for batch in batches:
        if batch.ndim == 0:
            raise ValueError(f"{label} gives single numbers. Give batches with one row for each point.")
        shape = batch.shape[1:] if shape is None else shape
        if batch.shape[1:] != shape:
            raise ValueError(f"{label} has items of different shapes: {shape} and {batch.shape[1:]}.")
        yield batch


def _joined(batches: Iterator[Array], label: str, total: int | None) -> Array:
    """One array of all batches; stops before they fill the memory."""
    held: list[Array] = []
    size, checked = 0, 0
    for batch in _alike(batches, label):
        # A loader may use the memory of a batch again.
        held.append(batch.copy())
        size += batch.nbytes
        if len(held) == 1 and total is not None:
            check_room(2 * size / len(batch) * total, label, _FEWER)
        if size > checked + 2**26:
            check_room(size, label, _FEWER)
            checked = size
    if not held:
        raise ValueError(f"{label} is empty: it has no rows.")
    return np.concatenate(held)


def _first(item: Any, label: str) -> Any:
    """The data of an item, which may come with a label."""
    if isinstance(item, dict):
        raise TypeError(f"{label} gives dictionaries. Make it give tensors, or tuples that start with a tensor.")
    if isinstance(item, (tuple, list)):
        if not item:
            raise ValueError(f"{label} gives empty tuples.")
        return item[0]
    return item


def _length(data: Any, label: str) -> int:
    try:
        return len(data)
    except TypeError:
        raise TypeError(f"{label} is a Dataset without a length. Give a DataLoader of it.") from None
