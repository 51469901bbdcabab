"""Sums over rows: time linear in the rows, memory that does not depend on them.

Rows are read in blocks of a fixed size, blocks form runs, and the sums of runs are added in the engine's tree of fixed
shape. So the sums have the same bits on any number of threads, from memory, from files and on the workers of a cluster.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias

import torch
from torch import Tensor

from .._util.errors import InputMemoryError
from ..data import Points
from .compute import Compute
from .executors import tree
from .passes import branches

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


#: A function of the positions of a block of rows and of the block itself: tensors, or tuples and lists of such sums.
BlockFunction: TypeAlias = Callable[[slice, Tensor], Any]


@dataclass(frozen=True)
class Size:
    """What a sum takes: bytes of the sums, bytes for each row of a block, operations for each row."""

    sums: int
    row: int
    operations: float = 0.0


def block_rows(width: int) -> int:
    """Rows of a block: fewer if rows are wide."""
    return max(16, min(BLOCK, NUMBERS // max(width, 1)))


def add_sums(left: Any, right: Any) -> Any:
    """Add tensors, or tuples and lists of sums, element by element; None is the sum of functions that return None.

    >>> add_sums((torch.tensor(1.0), [torch.tensor(2.0)]), (torch.tensor(3.0), [torch.tensor(4.0)]))
    (tensor(4.), [tensor(6.)])
    """
    if left is None:
        return None
    if isinstance(left, (list, tuple)):
        parts = [add_sums(a, b) for a, b in zip(left, right, strict=True)]
        return type(left)(*parts) if hasattr(left, "_fields") else type(left)(parts)
    return left + right


def sum_rows(
    function: BlockFunction,
    points: Points,
    size: Size,
    compute: Compute,
    add: Callable[[Any, Any], Any] = add_sums,
) -> Any:
    """Sum a function of blocks of rows over all blocks, in a tree of fixed shape.

    Parameters
    ----------
    function : callable
        Called with the positions of a block (a slice) and its rows (a tensor). It may return None and write results
        for single rows elsewhere.
    points : Points
        The rows, in memory or in a file.
    size : Size
        What the sums take.
    compute : Compute
        Memory, threads and executor.
    add : callable
        Adds the sums of two adjacent runs of blocks, and changes neither.

    Examples
    --------
    >>> rows = torch.arange(6.0).reshape(3, 2)
    >>> sum_rows(lambda rows, block: block.sum(0), rows, Size(16, 16), Compute())
    tensor([6., 9.])
    """
    return compute.run(RowJob(function, points, size, compute, add))


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
    """The job of `sum_rows`: its strips are runs of blocks."""

    device = torch.device("cpu")

    def __init__(
        self,
        function: BlockFunction,
        points: Points,
        size: Size,
        compute: Compute,
        add: Callable[[Any, Any], Any] = add_sums,
    ) -> None:
        self.function, self.points, self.add = function, points, add
        width = math.prod(points.shape[1:])
        self.block = block_rows(width)
        self.needs = Size(size.sums, size.row + 16 * width, size.operations)
        if not compute.automatic:
            self._shrink(compute.max_memory)
        self.blocks = -(-len(points) // self.block)
        self.run = -(-self.blocks // RUNS)
        self.runs = -(-self.blocks // self.run)
        self.threads = 1 if size.operations * len(points) < WORTH_A_THREAD else self.runs
        self.allow(compute.max_memory)

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

    @torch.no_grad()
    def part(self, panel: range, checkpoint: Callable[[], None], most: int | None = None) -> Any:
        """The sums of some runs."""
        return tree(self.add, (self._sum_run(number, checkpoint, most) for number in panel))

    def _sum_run(self, number: int, checkpoint: Callable[[], None], most: int | None) -> Any:
        stop = min((number + 1) * self.run, self.blocks)
        sums = None
        for place, k in enumerate(range(number * self.run, stop)[:most]):
            checkpoint()
            rows = slice(k * self.block, min((k + 1) * self.block, len(self.points)))
            new = self.function(rows, self.points[rows].detach().cpu().flatten(1))
            sums = self.add(sums, new) if place else new
        return sums

    @torch.no_grad()
    def join(self, left: Any, right: Any) -> Any:
        """Add the sums of adjacent runs."""
        return self.add(left, right)


class Stratum(NamedTuple):
    """The part of a stratum in a run of rows: its number, size, mean features, and the sum of its contrasts."""

    number: int
    size: int
    mean: Tensor
    weights: Tensor


@dataclass(frozen=True, eq=False)
class StratifiedSums:
    """G = FᵀF of centred features F, and C = FᵀW, of a run of rows, in float64; ``+`` adds those of the next run.

    Without strata, ``total`` is the sum of the features of ``rows`` rows, and `close` centres G.

    With strata, features are centred within the part of a stratum in the run, and parts that meet are corrected by the
    difference of their means. So the sums of rows that are equal within each stratum are exactly 0, which the
    difference of large sums would not be. Rows of a stratum are adjacent: ``first`` and ``last`` are the strata of the
    run that may continue outside of it (``last`` is None if they are the same).
    """

    G: Tensor
    C: Tensor
    rows: int
    gram: Gram
    total: Tensor | None = None
    first: Stratum | None = None
    last: Stratum | None = None

    @classmethod
    def of(cls, F: Tensor, W: Tensor, strata: Tensor | None, gram: Gram) -> StratifiedSums:
        """Those of a block: ``F`` is (rows, features), or (rows, d, K) for ``gram="blocks"``."""
        if strata is None:
            G, C = _square(F, gram), (F.flatten(1).T @ W).double()
            total = (F.flatten(1).T @ F.new_ones(len(F))).double().reshape(F.shape[1:])
            return cls(G, C, len(F), gram, total)
        numbers, where, sizes = torch.unique_consecutive(strata, return_inverse=True, return_counts=True)
        totals = torch.zeros((len(numbers), *F.shape[1:]), dtype=torch.float64).index_add_(0, where, F.double())
        means = totals / sizes.reshape(-1, *([1] * (F.dim() - 1)))
        centred = F.double().sub_(means[where]).to(F.dtype)
        ends = [
            Stratum(int(numbers[k]), int(sizes[k]), means[k].clone(), W[where == where[k]].sum(0, dtype=torch.float64))
            for k in (0, -1)
        ]
        last = None if len(numbers) == 1 else ends[1]
        G, C = _square(centred, gram), (centred.flatten(1).T @ W).double()
        return cls(G, C, len(F), gram, None, ends[0], last)

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
        C = C + torch.outer(apart.flatten(), (right.size * left.weights - left.size * right.weights) / size)
        met = Stratum(left.number, size, left.mean - apart * (right.size / size), left.weights + right.weights)
        first = met if self.last is None else self.first
        last = other.last or (None if self.last is None else met)
        return StratifiedSums(G, C, rows, gram, None, first, last)

    def close(self) -> tuple[Tensor, Tensor]:
        """G, centred (within strata), and C of all rows."""
        if self.total is None:
            return self.G, self.C
        return self.G - _outer(self.total / math.sqrt(self.rows), 1.0, self.gram), self.C


def _square(F: Tensor, gram: Gram) -> Tensor:
    """FᵀF in float64: it is multiplied with an inverse of condition 1e5, which single precision would not survive."""
    if gram == "diagonal":
        return (F**2).sum(0, dtype=torch.float64)
    F = F.double()
    return F.T @ F if gram == "full" else torch.einsum("ndk,ndl->dkl", F, F)


def _outer(vector: Tensor, weight: float, gram: Gram) -> Tensor:
    return weight * _square(vector[None], gram)
