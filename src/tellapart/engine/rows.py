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
                f"It takes {need:,} bytes, but max_memory is {most:,}.",
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
    """The part of a stratum that has been seen: its number, the sum of its features and its rows."""

    number: int
    total: Tensor
    size: int

    def __add__(self, other: Any) -> Stratum:
        return Stratum(self.number, self.total + other.total, self.size + other.size)


class StratifiedSums(NamedTuple):
    """G = FᵀF of features F centred within strata, and C = FᵀW, of a run of rows, in float64.

    Rows of a stratum follow each other. The first and the last stratum of a run may go on outside of it: their sums are
    kept open, and G is centred within those between them. Where one stratum holds all rows, ``last`` is None.
    """

    G: Tensor
    C: Tensor
    first: Stratum
    last: Stratum | None

    @classmethod
    def of(cls, F: Tensor, W: Tensor, strata: Tensor | None, gram: Gram) -> StratifiedSums:
        """Those of a block: ``F`` (rows, features), or (rows, d, K) for ``gram="blocks"``."""
        G, C = _square(F, gram), (F.flatten(1).T @ W).double()
        if strata is None:
            total = (F.flatten(1).T @ F.new_ones(len(F))).double().reshape(F.shape[1:])
            return cls(G, C, Stratum(0, total, len(F)), None)
        numbers, where, sizes = torch.unique_consecutive(strata, return_inverse=True, return_counts=True)
        totals = torch.zeros((len(numbers), *F.shape[1:]), dtype=torch.float64).index_add_(0, where, F.double())
        ends = [Stratum(int(numbers[k]), totals[k].clone(), int(sizes[k])) for k in (0, -1)]
        if len(numbers) == 1:
            return cls(G, C, ends[0], None)
        within = slice(1, len(numbers) - 1)
        return cls(G - _outer(totals[within], sizes[within], gram), C, *ends)

    def join(self, other: StratifiedSums, gram: Gram) -> StratifiedSums:
        """Those of two neighbouring runs."""
        G, C = self.G + other.G, self.C + other.C
        end = self.last or self.first
        if end.number == other.first.number:
            met = end + other.first
            if self.last is None:
                return StratifiedSums(G, C, met, other.last)
            if other.last is None:
                return StratifiedSums(G, C, self.first, met)
            return StratifiedSums(_less(G, met, gram), C, self.first, other.last)
        if self.last is not None:
            G = _less(G, self.last, gram)
        if other.last is not None:
            G = _less(G, other.first, gram)
        return StratifiedSums(G, C, self.first, other.last or other.first)

    def close(self, gram: Gram) -> tuple[Tensor, Tensor]:
        """G centred within all strata, and C, when there are no more rows."""
        G = _less(self.G, self.first, gram)
        return (G if self.last is None else _less(G, self.last, gram)), self.C


def _square(F: Tensor, gram: Gram) -> Tensor:
    """FᵀF in float64: it is multiplied by an inverse whose condition is 1e5, and single precision would not survive."""
    if gram == "diagonal":
        return (F**2).sum(0, dtype=torch.float64)
    F = F.double()
    return F.T @ F if gram == "full" else torch.einsum("ndk,ndl->dkl", F, F)


def _outer(totals: Tensor, sizes: Tensor, gram: Gram) -> Tensor:
    scale = sizes.double().sqrt().reshape(-1, *([1] * (totals.dim() - 1)))
    return _square(totals / scale, gram)


def _less(G: Tensor, stratum: Stratum, gram: Gram) -> Tensor:
    return G - _outer(stratum.total[None], torch.tensor([stratum.size]), gram)
