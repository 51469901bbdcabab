"""Reductions that are sums over rows: time linear in the rows, memory that does not depend on them.

Rows are taken in blocks of a fixed size, blocks in runs, and runs are joined in the engine's tree of fixed shape. So
the sums have the same bits on any number of threads, from memory, from files and on the workers of a cluster.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias

import torch
from torch import Tensor

from .._util.errors import InputMemoryError
from ..data import Points
from .compute import Compute
from .executors import tree
from .passes import branches

#: Rows of a block, and the numbers that a block of wide rows may have.
BLOCK, NUMBERS = 1_024, 2**22
#: Runs at the most: more would not keep more threads busy, and each has sums of its own.
RUNS = 32
#: Bytes of sums that are worth a pass over the rows of their own: passes cost little beside what is summed in them.
WORTH_A_PASS = 24 * 2**20
#: Operations that are worth a thread.
WORTH_A_THREAD = 1e9
#: Sums that wait to be joined, beside those that threads are making: the stack of the tree.
_WAITING = 1 + math.ceil(math.log2(RUNS))

Gram: TypeAlias = Literal["full", "blocks", "diagonal"]


class RowReduction(Protocol):
    """What is done with blocks of rows."""

    def start(self) -> Any:
        """Empty sums."""

    def add(self, sums: Any, rows: slice, block: Tensor) -> Any:
        """The sums with those of a block, which is rows ``rows`` of all; it may write into ``sums``."""

    def join(self, left: Any, right: Any) -> Any:
        """The sums of two neighbouring runs as one, both left as they are."""


@dataclass(frozen=True)
class Size:
    """What a reduction takes: bytes of its sums, bytes for each row of a block, operations for each row."""

    sums: int
    row: int
    operations: float = 0.0


def block_rows(coordinates: int) -> int:
    """Rows of a block: fewer where rows are wide."""
    return max(16, min(BLOCK, NUMBERS // max(coordinates, 1)))


def reduce_rows(reduction: RowReduction, points: Points, size: Size, compute: Compute) -> Any:
    """What comes of all rows."""
    return compute.run(Rows(reduction, points, size, compute))


def fitting(sizes: Sequence[Size], compute: Compute) -> list[list[int]]:
    """Numbers of reductions that may run together within half of the memory, and are not worth another pass; in order.

    Each has sums of its own, so how they are grouped changes no bit.
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


class Rows:
    """The job of a `RowReduction`: its strips are runs of blocks."""

    device = torch.device("cpu")

    def __init__(self, reduction: RowReduction, points: Points, size: Size, compute: Compute) -> None:
        self.reduction, self.points = reduction, points
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
        """Smaller blocks, where the user allows no more memory than for these."""
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
        """Take no more threads than have room."""
        if most is not None:
            each = 2 * self.needs.sums + self.block * self.needs.row
            left = most - (_WAITING - 1) * self.needs.sums
            self.threads = max(1, min(self.threads, left // max(each, 1)))

    def panels(self, workers: int) -> list[range]:
        """Some for each worker."""
        return branches(self.runs, min(self.runs, 4 * workers if workers > 1 else RUNS))

    def size(self, panel: range) -> int:
        """The number of blocks."""
        return min(panel.stop * self.run, self.blocks) - panel.start * self.run

    @torch.no_grad()
    def part(self, panel: range, checkpoint: Callable[[], None], most: int | None = None) -> Any:
        """The sums of some runs."""
        return tree(self.reduction.join, (self._run(number, checkpoint, most) for number in panel))

    def _run(self, number: int, checkpoint: Callable[[], None], most: int | None) -> Any:
        sums = self.reduction.start()
        stop = min((number + 1) * self.run, self.blocks)
        for k in range(number * self.run, stop)[:most]:
            checkpoint()
            rows = slice(k * self.block, min((k + 1) * self.block, len(self.points)))
            sums = self.reduction.add(sums, rows, self.points[rows].detach().cpu().flatten(1))
        return sums

    @torch.no_grad()
    def join(self, left: Any, right: Any) -> Any:
        """As the reduction does."""
        return self.reduction.join(left, right)


class Stratum(NamedTuple):
    """The part of a stratum that has been seen: its number, rows, mean features, and the sum of its contrasts."""

    number: int
    size: int
    mean: Tensor
    weights: Tensor


class StratifiedSums(NamedTuple):
    """G = FᵀF of centred features F, and C = FᵀW, of a run of rows, in float64.

    Without strata, ``total`` is the sum of the features of ``rows`` rows, which are centred when there are no more.

    With strata, features are centred within the part of a stratum that is at hand, and parts that meet are corrected by
    the difference of their means. So rows that are equal within each stratum have sums of exactly 0, which a difference
    of large sums would not. Rows of a stratum follow each other: ``first`` and ``last`` are those strata of the run
    that may go on outside of it (``last`` is None if they are the same).
    """

    G: Tensor
    C: Tensor
    rows: int
    total: Tensor | None = None
    first: Stratum | None = None
    last: Stratum | None = None

    @classmethod
    def of(cls, F: Tensor, W: Tensor, strata: Tensor | None, gram: Gram) -> StratifiedSums:
        """Those of a block: ``F`` (rows, features), or (rows, d, K) for ``gram="blocks"``."""
        if strata is None:
            G, C = _square(F, gram), (F.flatten(1).T @ W).double()
            total = (F.flatten(1).T @ F.new_ones(len(F))).double().reshape(F.shape[1:])
            return cls(G, C, len(F), total)
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
        return cls(G, C, len(F), None, ends[0], last)

    def join(self, other: StratifiedSums, gram: Gram) -> StratifiedSums:
        """Those of two neighbouring runs."""
        G, C, rows = self.G + other.G, self.C + other.C, self.rows + other.rows
        if self.total is not None and other.total is not None:
            return StratifiedSums(G, C, rows, self.total + other.total)
        left, right = self.last or self.first, other.first
        assert left is not None
        assert right is not None
        if left.number != right.number:
            return StratifiedSums(G, C, rows, None, self.first, other.last or right)
        apart, size = left.mean - right.mean, left.size + right.size
        G = G + _outer(apart, left.size * right.size / size, gram)
        C = C + torch.outer(apart.flatten(), (right.size * left.weights - left.size * right.weights) / size)
        met = Stratum(left.number, size, left.mean - apart * (right.size / size), left.weights + right.weights)
        first = met if self.last is None else self.first
        last = other.last or (None if self.last is None else met)
        return StratifiedSums(G, C, rows, None, first, last)

    def close(self, gram: Gram) -> tuple[Tensor, Tensor]:
        """G centred (within strata), and C, when there are no more rows."""
        if self.total is None:
            return self.G, self.C
        return self.G - _outer(self.total / math.sqrt(self.rows), 1.0, gram), self.C


def _square(F: Tensor, gram: Gram) -> Tensor:
    """FᵀF in float64: it is multiplied by an inverse whose condition is 1e5, and single precision would not survive."""
    if gram == "diagonal":
        return (F**2).sum(0, dtype=torch.float64)
    F = F.double()
    return F.T @ F if gram == "full" else torch.einsum("ndk,ndl->dkl", F, F)


def _outer(vector: Tensor, weight: float, gram: Gram) -> Tensor:
    return weight * _square(vector[None], gram)
