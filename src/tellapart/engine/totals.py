"""Sums from which MMD² and its variance are computed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import torch
from torch import Tensor

from ..data import TensorPoints
from ..kernels import Kernel, probe_rows, take
from .compute import Compute
from .passes import Pass
from .prepared import StripSpan
from .tiles import Tiling, on_diagonal, strict_upper


@dataclass(frozen=True)
class Sums:
    """The sums of MATHS §0, of the kernel less a constant (and, for some kernels, less some f(x) + f(y)).

    With a `Grid` every tensor has a leading dimension for the bandwidths.
    """

    m: int
    n: int
    rx: Tensor
    ry: Tensor
    rho: Tensor
    kap: Tensor
    fxx: Tensor
    fyy: Tensor
    fxy: Tensor
    trace_x: Tensor
    trace_y: Tensor
    dxy: Tensor | None

    @cached_property
    def sxx(self) -> Tensor:
        """The total of Kxx without its diagonal."""
        return self.rx.sum(-1)

    @cached_property
    def syy(self) -> Tensor:
        """The total of Kyy without its diagonal."""
        return self.ry.sum(-1)

    @cached_property
    def sxy(self) -> Tensor:
        """The total of Kxy."""
        return self.rho.sum(-1)

    @cached_property
    def rxx(self) -> Tensor:
        """|rx|²."""
        return self.rx.square().sum(-1)

    @cached_property
    def ryy(self) -> Tensor:
        """|ry|²."""
        return self.ry.square().sum(-1)

    @cached_property
    def rxy(self) -> Tensor:
        """|rho|²."""
        return self.rho.square().sum(-1)

    @cached_property
    def cxy(self) -> Tensor:
        """|kap|²."""
        return self.kap.square().sum(-1)

    @cached_property
    def tx(self) -> Tensor:
        """rx·rho."""
        return (self.rx * self.rho).sum(-1)

    @cached_property
    def ty(self) -> Tensor:
        """ry·kap."""
        return (self.ry * self.kap).sum(-1)

    @cached_property
    def pooled_rows(self) -> Tensor:
        """|K̃e|² and eᵀK̃e of the pooled matrix without its diagonal, side by side."""
        rows = torch.cat([self.rx + self.rho, self.kap + self.ry], -1)
        return torch.stack([rows.square().sum(-1), rows.sum(-1)], -1)


def sums(
    kernel: Kernel,
    X: TensorPoints,
    Y: TensorPoints,
    *,
    additive: bool = True,
    squares: bool = True,
    compute: Compute | None = None,
) -> Sums:
    """The sums of MATHS §0, differentiable with respect to X, Y and the parameters of the kernel.

    With ``additive`` (the default) the kernel may be changed by f(x) + f(y) where that is more accurate, which
    changes no estimator of MMD² and no variance. Without ``squares`` the squared norms fxx, fyy and fxy, which only
    the variance needs, are left at 0. Costs (m + n)²/2 kernel evaluations, memory O((m + n) d).
    """
    work, finish = sums_pass(kernel, X, Y, additive=additive, squares=squares, compute=compute or Compute())
    return finish(work.run())


def sums_pass(
    kernel: Kernel, X: TensorPoints, Y: TensorPoints, *, additive: bool = True, squares: bool = True, compute: Compute
) -> tuple[Pass, Callable[[tuple[Tensor, ...]], Sums]]:
    """The pass of `sums`, and a function that converts its results to `Sums`."""
    tiling = Tiling(kernel, [X, Y], additive=additive, compute=compute)
    return Pass(_SumsReduction(tiling, squares), tiling, compute), partial(_as_sums, len(X), len(Y))


def _as_sums(m: int, n: int, results: tuple[Tensor, ...]) -> Sums:
    rows, norms, diagonals = results
    return Sums(
        m=m,
        n=n,
        rx=rows[..., 0, :m],
        ry=rows[..., 1, m:],
        rho=rows[..., 1, :m],
        kap=rows[..., 0, m:],
        fxx=norms[..., 0],
        fyy=norms[..., 1],
        fxy=norms[..., 2],
        trace_x=diagonals[..., 0],
        trace_y=diagonals[..., 1],
        dxy=diagonals[..., 2] if m == n else None,
    )


def block_sums(kernel: Kernel, X: Tensor, Y: Tensor, size: int) -> tuple[Tensor, Tensor, Tensor]:
    """Totals of Kxx, Kyy and Kxy without their diagonals, within each of the len(X) // size pairs of blocks.

    Costs O(len(X) · size) kernel evaluations (for small blocks, O(len(X) · 64)). Differentiable by autograd.
    """
    count = min(len(X), len(Y)) // size
    plan = kernel.plan(probe_rows(X, Y), additive=True)
    rows_per_tile = max(64 // size, 1) * size
    off_diagonal = 1 - torch.eye(size, dtype=plan.dtype, device=X.device)[:, :, None]
    totals: list[list[Tensor]] = []
    x, y = (kernel.features(points[: count * size], plan) for points in (X, Y))
    for start in range(0, count * size, rows_per_tile):
        a, b = (take(points, slice(start, start + rows_per_tile)) for points in (x, y))
        tiles = (kernel.tile(p, q, plan) for p, q in ((a, a), (b, b), (a, b)))
        grouped = (tile.reshape(len(tile) // size, size, -1, size).diagonal(dim1=0, dim2=2) for tile in tiles)
        totals.append([(group * off_diagonal).sum((0, 1), dtype=torch.float64) for group in grouped])
    xx, yy, xy = (torch.cat(parts) for parts in zip(*totals, strict=True))
    return xx, yy, xy


class _SumsReduction:
    """Row sums over each of the two samples, squared norms of the three blocks, and their diagonals."""

    def __init__(self, tiling: Tiling, with_squares: bool) -> None:
        self.tiling, self.with_squares = tiling, with_squares

    def _zeros(self, start: int) -> tuple[Tensor, Tensor, Tensor]:
        members, total = self.tiling.kernel.members, sum(self.tiling.sizes)
        return (
            torch.zeros(members, 2, total - start, dtype=torch.float64),
            torch.zeros(members, 3, dtype=torch.float64),
            torch.zeros(members, 3, dtype=torch.float64),
        )

    def start(self, rows: StripSpan) -> Any:
        return self._zeros(rows.pooled.start)

    def add(self, state: Any, rows: StripSpan, columns: StripSpan, member: int, tile: Tensor) -> None:
        sums, squares, diagonals = (part[member] for part in state)
        for which, diagonal in self._diagonals(rows, columns, tile):
            diagonals[which] += diagonal.sum(dtype=torch.float64).cpu()
        tile = strict_upper(tile, rows, columns)
        start = rows.pooled.start
        sums[columns.sample, : len(tile)] += tile.sum(1).cpu()
        sums[rows.sample, columns.pooled.start - start : columns.pooled.stop - start] += tile.sum(0).cpu()
        if self.with_squares:
            norms = torch.linalg.vector_norm(tile, dim=1).cpu().double()
            squares[self._pair(rows, columns)] += norms.dot(norms) * self._times(rows, columns)

    def close(self, rows: StripSpan, state: Any) -> Any:
        return state

    def join(self, left: Any, right: Any) -> Any:
        # Each has the row sums from its first strip on, and the left one begins first.
        (sums, squares, diagonals), (more, of_right, of_diagonals) = left, right
        sums = sums.clone()
        sums[..., sums.shape[-1] - more.shape[-1] :] += more
        return sums, squares + of_right, diagonals + of_diagonals

    def results(self, part: Any) -> tuple[Tensor, ...]:
        rows, squares, diagonals = part
        return rows, squares, diagonals

    def cotangent(self, rows: StripSpan, columns: StripSpan, tile: Tensor, grads: tuple[Tensor, ...]) -> Tensor:
        sums, squares, diagonals = grads
        slope = 2 * self._times(rows, columns) * float(squares[self._pair(rows, columns)])
        down = sums[columns.sample, rows.pooled].to(tile)[:, None]
        result = down + sums[rows.sample, columns.pooled].to(tile)
        result = result.add_(tile, alpha=slope) if slope else result
        result = strict_upper(result, rows, columns)
        for which, diagonal in self._diagonals(rows, columns, result):
            diagonal += float(diagonals[which])
        return result

    def _diagonals(self, rows: StripSpan, columns: StripSpan, tile: Tensor) -> Iterator[tuple[int, Tensor]]:
        """k(X_i, X_i) or k(Y_i, Y_i), and k(X_i, Y_i) if m = n, for the entries in this tile."""
        if on_diagonal(rows, columns):
            yield rows.sample, tile.diagonal(rows.pooled.start - columns.pooled.start)
        m, n = self.tiling.sizes
        offset = rows.local.start - columns.local.start
        if m == n and rows.sample != columns.sample and -len(tile) < offset < tile.shape[1]:
            yield 2, tile.diagonal(offset)

    @staticmethod
    def _pair(rows: StripSpan, columns: StripSpan) -> int:
        return rows.sample if rows.sample == columns.sample else 2

    @staticmethod
    def _times(rows: StripSpan, columns: StripSpan) -> int:
        """Number of times that an entry of U is counted in the squared norm of its block."""
        return 2 if rows.sample == columns.sample else 1
