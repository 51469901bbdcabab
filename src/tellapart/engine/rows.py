"""Sums over rows: time linear in the rows, memory that does not depend on them.

Rows are read in blocks of a fixed size, blocks form runs, and the sums of runs are added in the engine's tree of fixed
shape. So the sums have the same bits on any number of threads, from memory, from files and on the workers of a cluster.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from .._util.errors import InputMemoryError
from ..data import Points
from ..data.lazy import Lazy, Reindexed
from .compute import Compute
from .executors import branches, tree

Array: TypeAlias = "np.ndarray[Any, Any]"

#: Rows of a block, and the maximum number of values in a block of wide rows.
BLOCK, NUMBERS = 1_024, 2**22
#: Maximum number of runs: more would not keep more threads busy, and each has sums of its own.
RUNS = 32
#: Bytes of sums that justify a separate pass over the rows: a pass costs little compared with what is summed in it.
WORTH_A_PASS = 24 * 2**20
#: Operations that justify a thread.
WORTH_A_THREAD = 1e9
#: Sums that wait to be added, in addition to those that threads compute: the stack of the tree.
_WAITING = 1 + math.ceil(math.log2(RUNS))

Gram: TypeAlias = Literal["full", "blocks", "diagonal"]


#: A function of the positions of a block of rows and of the block itself: arrays, or tuples and lists of such sums.
BlockFunction: TypeAlias = Callable[[slice, Array], Any]


@dataclass(frozen=True)
class Size:
    """What a sum takes: bytes of the sums, bytes for each row of a block, operations for each row."""

    sums: int
    row: int
    operations: float = 0.0


def block_rows(width: int) -> int:
    """Rows of a block: fewer if rows are wide."""
    return max(16, min(BLOCK, NUMBERS // max(width, 1)))


def as_matrix(rows: Any) -> Array:
    """Rows as a matrix in memory, one row a point; the memory of arrays, and of tensors on the CPU, is shared."""
    values: Array = rows if isinstance(rows, np.ndarray) else rows.detach().cpu().numpy()
    return values.reshape(len(values), math.prod(values.shape[1:]))


def take_matrix(points: Points, rows: Array) -> Array:
    """The rows at some positions as a matrix, read in the order in which they lie."""
    order = np.argsort(rows, kind="stable")
    found = as_matrix(points[rows[order]])
    taken = np.empty_like(found)
    taken[order] = found
    return taken


def add_at(totals: Array, places: Array, values: Array) -> None:
    """Add rows of values to the rows of ``totals`` at these places, one after the other.

    >>> totals = np.zeros((2, 1))
    >>> add_at(totals, np.array([1, 0, 1]), np.array([[1.0], [2.0], [4.0]]))
    >>> totals.ravel()
    array([2., 5.])
    """
    order = np.argsort(places, kind="stable")
    starts = np.flatnonzero(np.diff(places[order], prepend=-1))
    totals[places[order[starts]]] += np.add.reduceat(values[order], starts, axis=0) if len(starts) else 0


def add_sums(left: Any, right: Any) -> Any:
    """Add arrays, or tuples and lists of sums, element by element; None is the sum of functions that return None.

    >>> add_sums((1.0, [2.0]), (3.0, [4.0]))
    (4.0, [6.0])
    """
    if left is None:
        return None
    if isinstance(left, (list, tuple)):
        parts = [add_sums(a, b) for a, b in zip(left, right, strict=True)]
        return type(left)(*parts) if hasattr(left, "_fields") else type(left)(parts)
    return left + right


def sum_rows(
    function: BlockFunction,
    points: Points | Array,
    size: Size,
    compute: Compute,
    add: Callable[[Any, Any], Any] = add_sums,
    align: int = 1,
) -> Any:
    """Sum a function of blocks of rows over all blocks, in a tree of fixed shape.

    Parameters
    ----------
    function : callable
        Called with the positions of a block (a slice) and its rows (a matrix, which it must not change). It may return
        None and write results for single rows elsewhere.
    points : Points or ndarray
        The rows, in memory or in a file.
    size : Size
        What the sums take.
    compute : Compute
        Memory, threads and executor.
    add : callable
        Adds the sums of two adjacent runs of blocks, and changes neither.
    align : int
        The number of rows of a block is a multiple of this.

    Examples
    --------
    >>> rows = np.arange(6.0).reshape(3, 2)
    >>> sum_rows(lambda rows, block: block.sum(0), rows, Size(16, 16), Compute())
    array([6., 9.])
    """
    return compute.run(RowJob(function, points, size, compute, add, align))


def group_into_passes(sizes: Sequence[Size], compute: Compute) -> list[list[int]]:
    """Numbers of sums that are computed in the same pass: within half of the memory, and not worth another pass.

    Sums are independent, so the grouping does not change any bit.
    """
    room = max(min(compute.max_memory // 2 // (_WAITING + 1), WORTH_A_PASS), 1)
    groups: list[list[int]] = []
    taken = 0
    for k, size in enumerate(sizes):
        if not groups or taken + size.sums > room:
            groups.append([])
            taken = 0
        groups[-1].append(k)
        taken += size.sums
    return groups


class RowJob:
    """The job of `sum_rows`: its strips are runs of blocks.

    Sent to other processes, it has no rows: a task gets those of its panel, or their positions if they are in files.
    """

    def __init__(
        self,
        function: BlockFunction,
        points: Points | Array,
        size: Size,
        compute: Compute,
        add: Callable[[Any, Any], Any] = add_sums,
        align: int = 1,
    ) -> None:
        self.function, self.points, self.add = function, points, add
        self.first, self.stop = 0, len(points)
        width = math.prod(points.shape[1:])
        self.block = block_rows(width)
        self.needs = Size(size.sums, size.row + 16 * width, size.operations)
        if not compute.automatic:
            self._shrink(compute.max_memory)
        self.block = max(1, self.block // align) * align
        self.blocks = -(-self.stop // self.block)
        self.run = -(-self.blocks // RUNS)
        self.runs = -(-self.blocks // self.run)
        self.threads = 1 if size.operations * len(points) < WORTH_A_THREAD else self.runs
        self.allow(compute.max_memory)

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"points": _divide(self.points, slice(0, 0))[1]}

    def data_of(self, panel: range) -> Any:
        """The rows of a panel, or their positions; None if all processes have them."""
        start, stop = (number * self.run * self.block for number in (panel.start, panel.stop))
        data, _ = _divide(self.points, slice(start, stop))
        return None if data is None else (start, data)

    def with_data(self, data: tuple[int, Array]) -> RowJob:
        """The job with the rows of a panel."""
        job = object.__new__(RowJob)
        start, own = data
        points = Reindexed(self.points.parts, own) if isinstance(self.points, Reindexed) else own
        vars(job).update(vars(self) | {"first": start, "points": points})
        return job

    def _shrink(self, most: int) -> None:
        """Use smaller blocks if the user allows less memory than these take."""
        room = most // 4 // self.needs.row
        if room < 16 or 4 * self.needs.sums > most:
            need = max(64 * self.needs.row, 4 * self.needs.sums)
            raise InputMemoryError(
                "not-enough-memory",
                f"The computation takes {need:,} bytes, but {most:,} are allowed.",
                "Allow more with {max_memory}, or give fewer {permutations}.",
                max_memory=...,
                permutations=...,
            )
        self.block = min(self.block, 1 << (room.bit_length() - 1))

    def allow(self, most: int | None) -> None:
        """Use no more threads than the memory has room for."""
        if most is not None:
            each = 2 * self.needs.sums + self.block * self.needs.row
            left = most - (_WAITING - 1) * self.needs.sums
            self.threads = max(1, min(self.threads, left // max(each, 1)))

    def panels(self, workers: int) -> list[range]:
        """Ranges of runs, several for each worker."""
        return branches(self.runs, min(self.runs, 4 * workers if workers > 1 else RUNS))

    def size(self, panel: range) -> int:
        """The number of blocks."""
        return min(panel.stop * self.run, self.blocks) - panel.start * self.run

    def part(self, panel: range, checkpoint: Callable[[], None], most: int | None = None) -> Any:
        """The sums of some runs."""
        # Extreme rows may overflow in a feature: what is made of the sums copes with numbers that are not finite.
        with np.errstate(all="ignore"):
            return tree(self.add, (self._sum_run(number, checkpoint, most) for number in panel))

    def _sum_run(self, number: int, checkpoint: Callable[[], None], most: int | None) -> Any:
        stop = min((number + 1) * self.run, self.blocks)
        sums = None
        for place, k in enumerate(range(number * self.run, stop)[:most]):
            checkpoint()
            rows = slice(k * self.block, min((k + 1) * self.block, self.stop))
            new = self.function(rows, as_matrix(self.points[rows.start - self.first : rows.stop - self.first]))
            sums = self.add(sums, new) if place else new
        return sums

    def join(self, left: Any, right: Any) -> Any:
        """Add the sums of adjacent runs."""
        with np.errstate(all="ignore"):
            return self.add(left, right)


def _divide(points: Points | Array, rows: slice) -> tuple[Array | None, Points | Array]:
    """What some rows need that others do not, and what all of them need."""
    if not isinstance(points, Lazy) or points.in_memory or not points.travels:
        return as_matrix(points[rows]), as_matrix(points[:0]).copy()
    if isinstance(points, Reindexed):
        return points.order[rows], Reindexed(points.parts, points.order[:0])
    return None, points


class Stratum(NamedTuple):
    """The part of a stratum in a run of rows: its number, size, mean features, and the sum of its contrasts."""

    number: int
    size: int
    mean: Array
    weights: Array


@dataclass(frozen=True, eq=False)
class StratifiedSums:
    """G = FᵀF of centred features F, and C = FᵀW, of a run of rows, in float64; ``+`` adds those of the next run.

    Without strata, ``total`` is the sum of the features of ``rows`` rows, and `close` centres G.

    With strata, features are centred within the part of a stratum in the run, and parts that meet are corrected by the
    difference of their means. So the sums of rows that are equal within each stratum are exactly 0, which the
    difference of large sums would not be. Rows of a stratum are adjacent: ``first`` and ``last`` are the strata of the
    run that may continue outside of it (``last`` is None if they are the same).
    """

    G: Array
    C: Array
    rows: int
    gram: Gram
    total: Array | None = None
    first: Stratum | None = None
    last: Stratum | None = None

    @classmethod
    def of(cls, F: Array, W: Array, strata: Array | None, gram: Gram) -> StratifiedSums:
        """Those of a block: ``F`` is (rows, features), or (rows, d, K) for ``gram="blocks"``."""
        flat = as_matrix(F)
        if strata is None:
            C, total = (flat.T @ W).astype(np.float64), np.ones(len(F), F.dtype) @ flat
            return cls(_square(F, gram), C, len(F), gram, total.astype(np.float64).reshape(F.shape[1:]))
        starts = np.flatnonzero(np.diff(strata, prepend=strata[0] - 1))
        sizes = np.diff(np.append(starts, len(strata)))
        double = flat.astype(np.float64)
        means = np.add.reduceat(double, starts, axis=0) / sizes[:, None]
        double -= np.repeat(means, sizes, axis=0)
        centred = double.astype(F.dtype)
        shape = F.shape[1:]
        first, last = (
            Stratum(int(strata[rows][0]), int(sizes[k]), means[k].reshape(shape).copy(), W[rows].sum(0, np.float64))
            for k, rows in ((0, slice(sizes[0])), (-1, slice(starts[-1], None)))
        )
        G, C = _square(centred.reshape(F.shape), gram), (centred.T @ W).astype(np.float64)
        return cls(G, C, len(F), gram, None, first, None if len(starts) == 1 else last)

    def __add__(self, other: StratifiedSums) -> StratifiedSums:
        G, C, rows, gram = self.G + other.G, self.C + other.C, self.rows + other.rows, self.gram
        if self.total is not None and other.total is not None:
            return StratifiedSums(G, C, rows, gram, self.total + other.total)
        left, right = self.last or self.first, other.first
        assert left is not None
        assert right is not None
        if left.number != right.number:
            return StratifiedSums(G, C, rows, gram, None, self.first, other.last or right)
        apart, size = left.mean - right.mean, left.size + right.size
        G = G + _outer(apart, left.size * right.size / size, gram)
        C = C + np.outer(apart, (right.size * left.weights - left.size * right.weights) / size)
        met = Stratum(left.number, size, left.mean - apart * (right.size / size), left.weights + right.weights)
        first = met if self.last is None else self.first
        last = other.last or (None if self.last is None else met)
        return StratifiedSums(G, C, rows, gram, None, first, last)

    def close(self) -> tuple[Array, Array]:
        """G, centred (within strata), and C of all rows."""
        if self.total is None:
            return self.G, self.C
        return self.G - _outer(self.total / math.sqrt(self.rows), 1.0, self.gram), self.C


def _square(F: Array, gram: Gram) -> Array:
    """FᵀF in float64: it is multiplied with an inverse of condition 1e5, which single precision would not survive."""
    if gram == "diagonal":
        return np.asarray((F * F).sum(0, dtype=np.float64))
    F = F.astype(np.float64)
    if gram == "full":
        return np.asarray(F.T @ F)
    columns = np.ascontiguousarray(F.transpose(1, 2, 0))
    return np.asarray(columns @ columns.transpose(0, 2, 1))


def _outer(vector: Array, weight: float, gram: Gram) -> Array:
    return weight * _square(vector[None], gram)
