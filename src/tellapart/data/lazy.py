"""Rows that are read when they are used, so that there may be more of them than fit into memory."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeVar, runtime_checkable

import numpy as np

from .._util.tensors import is_tensor, loaded_torch
from .arrays import Array
from .finite import check_values
from .precision import DOUBLE, Precision, round_array
from .sample import float_array, positions

if TYPE_CHECKING:
    from torch import Tensor

#: One row for each point: in memory, or where `Lazy` reads them.
Points: TypeAlias = "Array | Lazy"
#: The same for what computes with torch: tensors, or rows that are read as tensors.
TensorPoints: TypeAlias = "Tensor | Lazy"
AnyPoints = TypeVar("AnyPoints", bound="Array | Tensor | Lazy")


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
    """Rows that are read when they are used. Indexing it gives an array, as indexing an array does.

    `open_lazy` makes it of a file, `reindex` of some rows of others. Values are checked as they are read.
    """

    shape: tuple[int, ...]
    #: Of NumPy; of torch where rows are read as tensors.
    dtype: Any
    device: Any = "cpu"
    #: Whether all rows are in memory, and only their order is new.
    in_memory = False
    #: Whether other processes can read the rows from their files.
    travels = True

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: slice | Tensor | Array) -> Any:
        raise NotImplementedError

    def astype(self, dtype: np.dtype[Any]) -> Lazy:
        """The same rows in another float type; those of other rows have the type of these."""
        return self

    def rounded(self, precision: Precision) -> Lazy:
        """The same rows in a coarser precision; those of other rows have the precision of these."""
        return self

    def check_unchanged(self) -> None:
        """Raise `InputChangedError` if a file that rows are read from has been written to since it was opened."""


class Stored(Lazy):
    """The rows of a store as floats of one type."""

    def __init__(
        self, store: Store, label: str, dtype: np.dtype[Any] | None = None, precision: Precision = DOUBLE
    ) -> None:
        self.store, self.label, self.precision = store, label, precision
        self.shape = store.shape if len(store.shape) > 1 else (*store.shape, 1)
        self.dtype = dtype or float_array(np.empty(0, store.dtype), label).dtype
        self.travels = getattr(store, "travels", True)

    def astype(self, dtype: np.dtype[Any]) -> Stored:
        """The same rows in another float type."""
        return Stored(self.store, self.label, dtype, self.precision)

    def rounded(self, precision: Precision) -> Stored:
        """The same rows in a coarser precision."""
        return Stored(self.store, self.label, self.dtype, precision)

    def __getitem__(self, rows: slice | Tensor | Array) -> Array:
        if isinstance(rows, slice):
            found = self.store.rows(rows)
        else:
            index = positions(rows, len(self))
            order = np.argsort(index, kind="stable")
            found = np.empty((len(index), *self.store.shape[1:]), self.store.dtype)
            # Files are read from their beginning to their end, in whatever order the rows are wanted.
            found[order] = self.store.rows(index[order])
        values = float_array(found, self.label)
        if len(values):
            check_values(values, self.label, np.arange(len(self))[rows] if isinstance(rows, slice) else index)
        return round_array(values.astype(self.dtype, copy=False), self.precision)

    def check_unchanged(self) -> None:
        """Raise `InputChangedError` if the file has been written to."""
        if isinstance(self.store, Checkable):
            self.store.check_unchanged()

    def __repr__(self) -> str:
        return f"Lazy({self.label}, shape={self.shape}, dtype={self.dtype})"


class Reindexed(Lazy):
    """Some rows of one or more samples, taken one after the other as one, in any order."""

    def __init__(self, parts: Sequence[Array | Tensor | Lazy], order: Array) -> None:
        self.parts, self.order = tuple(parts), order
        self.shape = (len(order), *parts[0].shape[1:])
        self.dtype, self.device = parts[0].dtype, getattr(parts[0], "device", "cpu")
        self.in_memory = all(map(in_memory, parts))
        self.travels = all(isinstance(part, Lazy) and part.travels for part in parts)

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"parts": tuple(map(compact, self.parts))}

    def __getitem__(self, rows: slice | Tensor | Array) -> Any:
        wanted = self.order[rows if isinstance(rows, slice) else positions(rows, len(self))]
        found = self._empty(len(wanted))
        start = 0
        for part in self.parts:
            here = np.flatnonzero((wanted >= start) & (wanted < start + len(part)))
            if len(here):
                found[here] = part[wanted[here] - start]
            start += len(part)
        return found

    def check_unchanged(self) -> None:
        """Raise `InputChangedError` if a file of any part has been written to."""
        check_unchanged(*self.parts)

    def _empty(self, rows: int) -> Any:
        if isinstance(self.dtype, np.dtype):
            return np.empty((rows, *self.shape[1:]), self.dtype)
        return loaded_torch().empty((rows, *self.shape[1:]), dtype=self.dtype, device=self.device)


def compact(points: AnyPoints) -> AnyPoints:
    """The same rows, to be sent: a tensor that is part of a larger one would take that along."""
    if is_tensor(points) and points.untyped_storage().nbytes() > points.nbytes:
        return points.clone()  # type: ignore[return-value]
    return points


def in_memory(points: Array | Tensor | Lazy) -> bool:
    """Whether reading these rows reads no file."""
    return points.in_memory if isinstance(points, Lazy) else True


def reindex(parts: Sequence[AnyPoints], order: Array) -> AnyPoints | Lazy:
    """Rows ``order`` of the samples taken together. Unless they are few, none is copied or read before it is used.

    >>> reindex([np.zeros((2, 1)), np.ones((2, 1))], np.array([3, 0, 2]))[:].ravel()
    array([1., 0., 1.])
    """
    few = not any(isinstance(part, Lazy) for part in parts) and sum(map(_count_bytes, parts)) <= _FEW_BYTES
    rows = Reindexed(parts, order)
    return rows[:] if few else rows


def load_few(parts: Sequence[Points], most: int) -> tuple[Points, ...]:
    """The same samples, in memory if all of them together take at most ``most`` bytes.

    Single rows of a file in random order take longer to read than to be computed with.
    """
    size = sum(map(_count_bytes, parts))
    return tuple(part[:] if isinstance(part, Lazy) and size <= most else part for part in parts)


def check_unchanged(*samples: Array | Tensor | Lazy) -> None:
    """Raise `InputChangedError` if a file that rows were read from has been written to since."""
    for points in samples:
        if isinstance(points, Lazy):
            points.check_unchanged()


def take_rows(points: AnyPoints, rows: Array) -> AnyPoints | Lazy:
    """Some rows: copied if they are in memory, and not read yet if they are not."""
    return reindex([points], rows) if isinstance(points, Lazy) else points[rows]  # type: ignore[return-value]


def _count_bytes(points: Array | Tensor | Lazy) -> int:
    return math.prod(points.shape) * int(points.dtype.itemsize)
