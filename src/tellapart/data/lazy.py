"""Rows that are read when they are used, so that there may be more of them than fit into memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np
import torch
from torch import Tensor

from .arrays import Array
from .finite import check_values
from .precision import DOUBLE, Precision, round_tensor
from .sample import float_tensor, positions

#: One row for each point: in memory, or where `Lazy` reads them.
Points: TypeAlias = "Tensor | Lazy"


#: Rows in memory that take less than this are put in order at once, which is faster than block by block.
_FEW_BYTES = 2**22


class Store(Protocol):
    """Where rows are: a file, or many. It travels to other processes, which open the files themselves."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    def rows(self, index: slice | Array) -> Array:
        """Some rows, by a slice or by positions in increasing order."""


@runtime_checkable
class Checkable(Protocol):
    """A store that knows whether its file is still what it was."""

    def check_unchanged(self) -> None:
        """Raise `InputChangedError` if it is not."""


class Lazy:
    """Rows that are read when they are used. Indexing it gives a tensor, as indexing a tensor does.

    `open_lazy` makes it of a file, `reindex` of some rows of others. Values are checked as they are read.
    """

    shape: tuple[int, ...]
    dtype: torch.dtype
    device = torch.device("cpu")
    #: Whether all rows are in memory, and only their order is new.
    in_memory = False

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: slice | Tensor | Array) -> Tensor:
        raise NotImplementedError


class Stored(Lazy):
    """The rows of a store as float tensors of one type, on one device."""

    def __init__(
        self,
        store: Store,
        label: str,
        dtype: torch.dtype | None = None,
        device: Any = "cpu",
        precision: Precision = DOUBLE,
    ) -> None:
        self.store, self.label, self.precision = store, label, precision
        self.shape = store.shape if len(store.shape) > 1 else (*store.shape, 1)
        self.dtype = dtype or float_tensor(np.empty(0, store.dtype), label).dtype
        self.device = torch.device(device)

    def to(self, what: torch.dtype | torch.device | str) -> Stored:
        """The same rows in another float type, or for a device to compute with."""
        if isinstance(what, torch.dtype):
            return Stored(self.store, self.label, what, self.device, self.precision)
        return Stored(self.store, self.label, self.dtype, what, self.precision)

    def rounded(self, precision: Precision) -> Stored:
        """The same rows in a coarser precision."""
        return Stored(self.store, self.label, self.dtype, self.device, precision)

    def __getitem__(self, rows: slice | Tensor | Array) -> Tensor:
        if isinstance(rows, slice):
            found = self.store.rows(rows)
        else:
            index = positions(rows, len(self))
            order = np.argsort(index, kind="stable")
            found = np.empty((len(index), *self.store.shape[1:]), self.store.dtype)
            # Files are read from their beginning to their end, in whatever order the rows are wanted.
            found[order] = self.store.rows(index[order])
        values = float_tensor(found, self.label)
        if len(values):
            check_values(values, self.label, np.arange(len(self))[rows] if isinstance(rows, slice) else index)
        return round_tensor(values.to(self.dtype), self.precision).to(self.device)

    def __repr__(self) -> str:
        return f"Lazy({self.label}, shape={self.shape}, dtype={self.dtype})"


class Reindexed(Lazy):
    """Some rows of one or more samples, taken one after the other as one, in any order."""

    def __init__(self, parts: Sequence[Points], order: Array) -> None:
        self.parts, self.order = tuple(parts), order
        self.shape = (len(order), *parts[0].shape[1:])
        self.dtype, self.device = parts[0].dtype, parts[0].device
        self.in_memory = all(map(in_memory, parts))

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"parts": tuple(map(compact, self.parts))}

    def __getitem__(self, rows: slice | Tensor | Array) -> Tensor:
        wanted = self.order[rows if isinstance(rows, slice) else positions(rows, len(self))]
        found = torch.empty(len(wanted), *self.shape[1:], dtype=self.dtype, device=self.device)
        start = 0
        for part in self.parts:
            here = np.flatnonzero((wanted >= start) & (wanted < start + len(part)))
            if len(here):
                found[torch.from_numpy(here)] = part[torch.from_numpy(wanted[here] - start)]
            start += len(part)
        return found


class PairedRows(Lazy):
    """Pairs of rows, those of one sample with those of another."""

    def __init__(self, first: Points, second: Points) -> None:
        self.sides = first, second
        self.shape = (len(first), 2, *first.shape[1:])
        self.dtype, self.device = first.dtype, first.device
        self.in_memory = in_memory(first) and in_memory(second)

    def __getitem__(self, rows: slice | Tensor | Array) -> Tensor:
        return torch.stack([side[rows] for side in self.sides], dim=1)


def compact(points: Points) -> Points:
    """The same rows, to be sent: a tensor that is part of a larger one would take that along."""
    if isinstance(points, Tensor) and points.untyped_storage().nbytes() > points.nbytes:
        return points.clone()
    return points


def in_memory(points: Points) -> bool:
    """Whether reading these rows reads no file."""
    return isinstance(points, Tensor) or points.in_memory


def reindex(parts: Sequence[Points], order: Array) -> Points:
    """Rows ``order`` of the samples taken together. Unless they are few, none is copied or read before it is used.

    >>> reindex([torch.zeros(2, 1), torch.ones(2, 1)], np.array([3, 0, 2]))[:].flatten()
    tensor([1., 0., 1.])
    """
    tensors = [part for part in parts if isinstance(part, Tensor)]
    if len(tensors) == len(parts) and sum(tensor.nbytes for tensor in tensors) <= _FEW_BYTES:
        return torch.cat(tensors)[torch.from_numpy(order).to(tensors[0].device)]
    return Reindexed(parts, order)


def check_unchanged(*samples: Points) -> None:
    """Raise `InputChangedError` if a file that rows were read from has been written to since."""
    for points in samples:
        if isinstance(points, Stored) and isinstance(points.store, Checkable):
            points.store.check_unchanged()
        elif isinstance(points, Reindexed):
            check_unchanged(*points.parts)
        elif isinstance(points, PairedRows):
            check_unchanged(*points.sides)


def take_rows(points: Points, rows: Array) -> Points:
    """Some rows: copied if they are in memory, and not read yet if they are not."""
    return points[rows] if isinstance(points, Tensor) else reindex([points], rows)
