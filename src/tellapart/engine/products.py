"""Products of the kernel matrix with vectors: quadratic forms, sums over bins, values at other points."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from ..data import TensorPoints
from ..kernels import Kernel
from .compute import Compute
from .executors import branches
from .passes import OnTiles, Pass, refine_plan
from .prepared import StripSpan
from .tiles import Tiling, strict_upper


@dataclass(frozen=True)
class Forms:
    """sᵀK̃s (``forms``) and sᵀK̃e (``crosses``) for each column s of a matrix, and eᵀK̃e (``total``)."""

    forms: Tensor
    crosses: Tensor
    total: Tensor


def quadratic_forms(
    kernel: Kernel,
    samples: Sequence[TensorPoints],
    S: Tensor,
    *,
    dtype: torch.dtype | None = None,
    compute: Compute | None = None,
) -> Forms:
    """Quadratic forms of the pooled kernel matrix without its diagonal, for all columns of ``S`` at once (MATHS §4).

    ``S`` has a row for each point of the samples, one after the other; any type of number will do, and a
    matrix of bytes saves memory. Tiles are in ``dtype``, that of the data if None.
    Costs N²/2 kernel evaluations and N²B operations of a matrix product. Differentiable like `sums`.
    """
    return Forms(*forms_pass(kernel, samples, S, dtype=dtype, compute=compute or Compute()).run())


def forms_pass(
    kernel: Kernel, samples: Sequence[TensorPoints], S: Tensor, *, dtype: torch.dtype | None = None, compute: Compute
) -> Pass:
    """The pass of `quadratic_forms`. Its results are the fields of `Forms`."""
    tiling = Tiling(kernel, samples, additive=True, compute=compute, columns=S.shape[1], dtype=dtype)
    if len(S) != sum(tiling.sizes):
        raise ValueError(f"S must have {sum(tiling.sizes)} rows, one for each point, but has {len(S)}.")
    return Pass(_FormsReduction(tiling, S), tiling, compute)


def bin_sums(
    kernel: Kernel,
    samples: Sequence[TensorPoints],
    bins: Tensor,
    count: int,
    *,
    dtype: torch.dtype | None = None,
    compute: Compute | None = None,
) -> Tensor:
    """The ``count`` × ``count`` matrix of sums over pairs of bins, without the diagonal of the kernel (MATHS §5).

    ``bins`` gives the bin of every point. Costs little more than the kernel evaluations if bins lie together.
    Not differentiable.
    """
    with torch.no_grad():
        (result,) = bins_pass(kernel, samples, bins, count, dtype=dtype, compute=compute or Compute()).run()
    return result


def bins_pass(
    kernel: Kernel,
    samples: Sequence[TensorPoints],
    bins: Tensor,
    count: int,
    *,
    dtype: torch.dtype | None = None,
    compute: Compute,
) -> Pass:
    """The pass of `bin_sums`, its only result. Create and run it without gradients."""
    tiling = Tiling(kernel, samples, additive=True, compute=compute, dtype=dtype)
    return Pass(_BinsReduction(tiling, bins, count), tiling, compute)


def product(
    kernel: Kernel, A: TensorPoints, B: TensorPoints, weights: Tensor, *, compute: Compute | None = None
) -> Tensor:
    """k(A, B) @ weights for all rows of ``A``, in float64. Not differentiable."""
    compute = (compute or Compute()).here()
    with torch.no_grad():
        tiling = Tiling(kernel, [A, B], additive=False, compute=compute, columns=weights.shape[1])
        refine_plan(tiling, compute)
        return torch.cat(compute.run(_Product(tiling, weights.to(A.device, tiling.plan.dtype))))


class _Product(OnTiles):
    """Job that multiplies the kernel matrix of the two samples with the weights."""

    def __init__(self, tiling: Tiling, weights: Tensor) -> None:
        super().__init__(tiling)
        self.weights = weights

    def panels(self, workers: int) -> list[range]:
        count = sum(strip.sample == 0 for strip in self.tiling.strips)
        return branches(count, count)

    def size(self, panel: range) -> int:
        return len(panel)

    @torch.no_grad()
    def part(self, panel: range, checkpoint: Callable[[], None], most: int | None = None) -> list[Tensor]:
        (strip,) = panel
        rows = self.tiling.strips[strip]
        total = torch.zeros(rows.local.stop - rows.local.start, self.weights.shape[1], dtype=torch.float64)
        for columns in self.tiling.across(strip)[:most]:
            if columns.sample == 1:
                checkpoint()
                (tile,) = self.tiling.tiles(rows, columns)
                total += (tile @ self.weights[columns.local]).cpu()
        return [total]

    def join(self, left: list[Tensor], right: list[Tensor]) -> list[Tensor]:
        return left + right


class _FormsReduction:
    """Quadratic forms sᵀK̃s = 2 sᵀUs, from U S."""

    def __init__(self, tiling: Tiling, S: Tensor) -> None:
        self.tiling, self.S = tiling, S
        # Matrix products are fastest on rows of whole cache lines.
        self.width = math.ceil((S.shape[1] + 1) / 16) * 16

    def _columns(self, block: StripSpan) -> Tensor:
        """Rows of S and a column of ones, which gives the row sums of U at no cost."""
        S = self.S[block.pooled]
        result = self.tiling.scratch("columns", (len(S), self.width))
        result[:, : S.shape[1]] = S
        result[:, S.shape[1] :] = 1
        return result

    def start(self, rows: StripSpan) -> Any:
        members, height = self.tiling.kernel.members, rows.local.stop - rows.local.start
        return torch.zeros(members, height, self.width, dtype=self.tiling.plan.dtype, device=self.tiling.device)

    def add(self, state: Any, rows: StripSpan, columns: StripSpan, member: int, tile: Tensor) -> None:
        state[member].addmm_(strict_upper(tile, rows, columns), self._columns(columns))

    def close(self, rows: StripSpan, state: Any) -> Any:
        S = self._columns(rows)[:, : self.S.shape[1]]
        # One member after the other: what they need together would not stay in a core's cache.
        return [
            torch.stack(parts) for parts in zip(*(self._sum_products(S, product) for product in state), strict=True)
        ]

    @staticmethod
    def _sum_products(S: Tensor, product: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        count = S.shape[1]
        forms = (S * product[:, :count]).sum(0, dtype=torch.float64)
        sums = product.sum(0, dtype=torch.float64)
        crosses = sums[:count] + (S * product[:, -1:]).sum(0, dtype=torch.float64)
        return 2 * forms.cpu(), crosses.cpu(), 2 * sums[-1].cpu()

    def join(self, left: Any, right: Any) -> Any:
        return [a + b for a, b in zip(left, right, strict=True)]

    def results(self, part: Any) -> tuple[Tensor, ...]:
        return tuple(part)

    def cotangent(self, rows: StripSpan, columns: StripSpan, tile: Tensor, grads: tuple[Tensor, ...]) -> Tensor:
        forms, crosses, total = grads
        used = forms.nonzero()[:, 0]
        a, b = (self.S[block.pooled].to(tile) for block in (rows, columns))
        result = (a[:, used] * (2 * forms[used]).to(tile)) @ b[:, used].T
        result += (a @ crosses.to(tile))[:, None] + (b @ crosses.to(tile)) + 2 * float(total)
        return strict_upper(result, rows, columns)


class _BinsReduction:
    """Sums over pairs of bins."""

    def __init__(self, tiling: Tiling, bins: Tensor, count: int) -> None:
        self.tiling, self.count = tiling, count
        self.bins = bins.cpu()
        self._indicators: dict[int, tuple[Tensor, Tensor]] = {}

    def _indicator(self, block: StripSpan) -> tuple[Tensor, Tensor]:
        """Bins of a block and the indicator matrix of its points, cached for each strip."""
        found = self._indicators.get(block.pooled.start)
        if found is None or len(found[1]) != block.pooled.stop - block.pooled.start:
            present, position = self.bins[block.pooled].unique(return_inverse=True)
            one_hot = torch.nn.functional.one_hot(position, len(present))
            found = present, one_hot.to(self.tiling.device, self.tiling.plan.dtype)
            self._indicators[block.pooled.start] = found
        return found

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"_indicators": {}}

    def start(self, rows: StripSpan) -> Any:
        present, _ = self._indicator(rows)
        return torch.zeros(self.tiling.kernel.members, len(present), self.count, dtype=torch.float64)

    def add(self, state: Any, rows: StripSpan, columns: StripSpan, member: int, tile: Tensor) -> None:
        _, left = self._indicator(rows)
        present, right = self._indicator(columns)
        state[member][:, present] += (left.T @ strict_upper(tile, rows, columns) @ right).cpu()

    def close(self, rows: StripSpan, state: Any) -> Any:
        present, _ = self._indicator(rows)
        return present, state

    def join(self, left: Any, right: Any) -> Any:
        present, position = torch.cat([left[0], right[0]]).unique(return_inverse=True)
        sums = torch.zeros(left[1].shape[0], len(present), self.count, dtype=torch.float64)
        for where, part in zip(position.split([len(left[0]), len(right[0])]), (left[1], right[1]), strict=True):
            sums[:, where] += part
        return present, sums

    def results(self, part: Any) -> tuple[Tensor, ...]:
        present, upper = part
        sums = torch.zeros(upper.shape[0], self.count, self.count, dtype=torch.float64)
        sums[:, present] = upper
        return (sums + sums.transpose(1, 2),)

    def cotangent(self, rows: StripSpan, columns: StripSpan, tile: Tensor, grads: tuple[Tensor, ...]) -> Tensor:
        raise TypeError("Bin sums are not differentiable.")
