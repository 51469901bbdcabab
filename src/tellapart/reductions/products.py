"""Products of the kernel matrix with a few vectors: quadratic forms, sums over bins, values at other points."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch
from torch import Tensor

from ..kernels import Kernel, take
from .engine import Progress, executor, reduce
from .tiles import Block, Memory, Tiling, cut, strict_upper


@dataclass(frozen=True)
class Forms:
    """sᵀK̃s (``forms``) and sᵀK̃e (``crosses``) for each column s of a matrix, and eᵀK̃e (``total``)."""

    forms: Tensor
    crosses: Tensor
    total: Tensor


def quadratic_forms(
    kernel: Kernel,
    samples: Sequence[Tensor],
    S: Tensor,
    *,
    dtype: torch.dtype | None = None,
    max_memory: Memory = None,
    progress: Progress | None = None,
) -> Forms:
    """Quadratic forms of the pooled kernel matrix without its diagonal, for all columns of ``S`` at once (MATHS §4).

    ``S`` has a row for each point of the samples, one after the other; any type of number will do, and a
    matrix of bytes saves memory. Tiles are in ``dtype``, that of the data if None.
    Costs N²/2 kernel evaluations and N²B operations of a matrix product. Differentiable like `sums`.
    """
    tiling = Tiling(kernel, samples, additive=True, max_memory=max_memory, columns=S.shape[1], dtype=dtype)
    if len(S) != sum(tiling.sizes):
        raise ValueError(f"S must have {sum(tiling.sizes)} rows, one for each point, but has {len(S)}.")
    return Forms(*reduce(_FormsReduction(tiling, S), tiling, progress))


def bin_sums(
    kernel: Kernel,
    samples: Sequence[Tensor],
    bins: Tensor,
    count: int,
    *,
    dtype: torch.dtype | None = None,
    max_memory: Memory = None,
    progress: Progress | None = None,
) -> Tensor:
    """The ``count`` × ``count`` matrix of sums over pairs of bins, without the diagonal of the kernel (MATHS §5).

    ``bins`` gives the bin of every point. Costs little more than the kernel evaluations if bins lie together.
    Not differentiable.
    """
    tiling = Tiling(kernel, samples, additive=True, max_memory=max_memory, dtype=dtype)
    with torch.no_grad():
        (result,) = reduce(_BinsReduction(tiling, bins, count), tiling, progress)
    return result


def product(kernel: Kernel, A: Tensor, B: Tensor, weights: Tensor, *, max_memory: Memory = None) -> Tensor:
    """k(A, B) @ weights for all rows of ``A``, in float64. Not differentiable."""
    with torch.no_grad():
        tiling = Tiling(kernel, [A, B], additive=False, max_memory=max_memory, columns=weights.shape[1])
    plan, (a, b) = tiling.plan, tiling.detached
    weights = weights.to(A.device, plan.dtype)

    @torch.no_grad()
    def strip(rows: slice, checkpoint: Callable[[], None]) -> Tensor:
        total = torch.zeros(rows.stop - rows.start, weights.shape[1], dtype=torch.float64)
        for columns in cut(0, len(B), tiling.width):
            checkpoint()
            total += (kernel.tile(take(a, rows), take(b, columns), plan) @ weights[columns]).cpu()
        return total

    with executor(A.device) as run:
        return torch.cat(list(run(strip, cut(0, len(A), tiling.height))))


class _FormsReduction:
    """Quadratic forms sᵀK̃s = 2 sᵀUs, from U S."""

    def __init__(self, tiling: Tiling, S: Tensor) -> None:
        self.tiling, self.S = tiling, S
        members, count = tiling.kernel.members, S.shape[1]
        self.forms = torch.zeros(members, count, dtype=torch.float64)
        self.crosses = torch.zeros(members, count, dtype=torch.float64)
        self.total = torch.zeros(members, dtype=torch.float64)
        # Matrix products are fastest on rows of whole cache lines.
        self.width = math.ceil((count + 1) / 16) * 16

    def _columns(self, block: Block) -> Tensor:
        """Rows of S and columns of ones: the row sums of U come for nothing."""
        S = self.S[block.pooled]
        result = self.tiling.scratch("columns", (len(S), self.width))
        result[:, : S.shape[1]] = S
        result[:, S.shape[1] :] = 1
        return result

    def start(self, rows: Block) -> Any:
        members, height = self.tiling.kernel.members, rows.local.stop - rows.local.start
        return self.tiling.scratch("products", (members * height, self.width)).zero_().view(members, height, -1)

    def add(self, state: Any, rows: Block, columns: Block, member: int, tile: Tensor) -> None:
        state[member].addmm_(strict_upper(tile, rows, columns), self._columns(columns))

    def close(self, rows: Block, state: Any) -> Any:
        S = self._columns(rows)[:, : self.S.shape[1]]
        # One member after the other: what they need together would not stay in a core's cache.
        return [torch.stack(parts) for parts in zip(*(self._closed(S, product) for product in state), strict=True)]

    @staticmethod
    def _closed(S: Tensor, product: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        count = S.shape[1]
        forms = (S * product[:, :count]).sum(0, dtype=torch.float64)
        sums = product.sum(0, dtype=torch.float64)
        crosses = sums[:count] + (S * product[:, -1:]).sum(0, dtype=torch.float64)
        return 2 * forms.cpu(), crosses.cpu(), 2 * sums[-1].cpu()

    def merge(self, rows: Block, state: Any) -> None:
        for total, part in zip(self.results(), state, strict=True):
            total += part

    def results(self) -> tuple[Tensor, ...]:
        return self.forms, self.crosses, self.total

    def cotangent(self, rows: Block, columns: Block, tile: Tensor, grads: tuple[Tensor, ...]) -> Tensor:
        forms, crosses, total = grads
        used = forms.nonzero()[:, 0]
        a, b = (self.S[block.pooled].to(tile) for block in (rows, columns))
        result = (a[:, used] * (2 * forms[used]).to(tile)) @ b[:, used].T
        result += (a @ crosses.to(tile))[:, None] + (b @ crosses.to(tile)) + 2 * float(total)
        return strict_upper(result, rows, columns)


class _BinsReduction:
    """Sums over pairs of bins."""

    def __init__(self, tiling: Tiling, bins: Tensor, count: int) -> None:
        self.tiling = tiling
        self.sums = torch.zeros(tiling.kernel.members, count, count, dtype=torch.float64)
        bins = bins.cpu()

        @cache
        def indicator(start: int, stop: int) -> tuple[Tensor, Tensor]:
            present, position = bins[start:stop].unique(return_inverse=True)
            one_hot = torch.nn.functional.one_hot(position, len(present))
            return present, one_hot.to(tiling.device, tiling.plan.dtype)

        self._indicator = indicator

    def start(self, rows: Block) -> Any:
        present, _ = self._indicator(rows.pooled.start, rows.pooled.stop)
        return torch.zeros(len(self.sums), len(present), self.sums.shape[1], dtype=torch.float64)

    def add(self, state: Any, rows: Block, columns: Block, member: int, tile: Tensor) -> None:
        _, left = self._indicator(rows.pooled.start, rows.pooled.stop)
        present, right = self._indicator(columns.pooled.start, columns.pooled.stop)
        state[member][:, present] += (left.T @ strict_upper(tile, rows, columns) @ right).cpu()

    def close(self, rows: Block, state: Any) -> Any:
        return state

    def merge(self, rows: Block, state: Any) -> None:
        present, _ = self._indicator(rows.pooled.start, rows.pooled.stop)
        self.sums[:, present, :] += state
        self.sums[:, :, present] += state.transpose(1, 2)

    def results(self) -> tuple[Tensor, ...]:
        return (self.sums,)

    def cotangent(self, rows: Block, columns: Block, tile: Tensor, grads: tuple[Tensor, ...]) -> Tensor:
        raise TypeError("Bin sums are not differentiable.")
