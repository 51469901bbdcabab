"""The engine: what is needed of a kernel matrix, without the matrix.

Points are cut into blocks. A *tile* holds the kernel values between two blocks; it is made, reduced and dropped.
Only tiles on and above the diagonal are made. A *strip* is a block's row of tiles: strips are the tasks of the
threads, and their results are added in order, so that a result has the same bits for every number of threads.

Everything is differentiable in two passes: the first keeps only sums, the second makes the tiles again and pushes
the gradient, which for one entry is a_i + b_j + c + γ k_ij (MATHS §3), through the kernel. Where all tiles
together are small, they are kept between the passes.

Cost: N²/2 kernel evaluations for N points, and memory for the features and a few tiles for each thread.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any, Protocol

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from . import _memory, _workers
from .kernels import Features, Kernel, leaves, map_leaves, probe_rows, take

#: Rows of a tile: a tile of this size stays in a core's cache (CPU), or fills the device (GPU).
TILE = {"cpu": 512}
TILE_ON_DEVICE = 4096
#: Tiles are kept for the second pass if all of them, with what autograd saves, take less than this.
KEEP_BYTES = 2**27

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Sums:
    """The sums of MATHS §0, of the kernel less its ``offset`` (and, for some kernels, less some f(x) + f(y)).

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

    @property
    def sxx(self) -> Tensor:
        """The total of Kxx without its diagonal."""
        return self.rx.sum(-1)

    @property
    def syy(self) -> Tensor:
        """The total of Kyy without its diagonal."""
        return self.ry.sum(-1)

    @property
    def sxy(self) -> Tensor:
        """The total of Kxy."""
        return self.rho.sum(-1)


@dataclass(frozen=True)
class Forms:
    """sᵀK̃s (``forms``) and sᵀK̃e (``crosses``) for each column s of a matrix, and eᵀK̃e (``total``)."""

    forms: Tensor
    crosses: Tensor
    total: Tensor


def sums(
    kernel: Kernel,
    X: Tensor,
    Y: Tensor,
    *,
    additive: bool = True,
    max_memory: int | float | str | None = None,
    progress: Progress | None = None,
) -> Sums:
    """The sums of MATHS §0, differentiable with respect to X, Y and the parameters of the kernel.

    With ``additive`` (the default) the kernel may be changed by f(x) + f(y) where that is more accurate, which
    changes no estimator of MMD² and no variance. Costs (m + n)²/2 kernel evaluations, memory O((m + n) d).
    """
    tiling = Tiling(kernel, [X, Y], additive=additive, max_memory=max_memory)
    rows, squares, diagonals = _reduce(_SumsReduction(tiling), tiling, progress)
    if kernel.members == 1:
        rows, squares, diagonals = rows[0], squares[0], diagonals[0]
    m, n = tiling.sizes
    return Sums(
        m=m,
        n=n,
        rx=rows[..., :m, 0],
        ry=rows[..., m:, 1],
        rho=rows[..., :m, 1],
        kap=rows[..., m:, 0],
        fxx=squares[..., 0],
        fyy=squares[..., 1],
        fxy=squares[..., 2],
        trace_x=diagonals[..., 0],
        trace_y=diagonals[..., 1],
        dxy=diagonals[..., 2] if m == n else None,
    )


def quadratic_forms(
    kernel: Kernel,
    samples: Sequence[Tensor],
    S: Tensor,
    *,
    max_memory: int | float | str | None = None,
    progress: Progress | None = None,
) -> Forms:
    """Quadratic forms of the pooled kernel matrix without its diagonal, for all columns of ``S`` at once (MATHS §4).

    ``S`` has a row for each point of the samples, one after the other; any type of number will do, and a
    matrix of bytes saves memory. Costs N²/2 kernel evaluations and N²B operations of a matrix product.
    """
    tiling = Tiling(kernel, samples, additive=True, max_memory=max_memory, columns=S.shape[1])
    if len(S) != sum(tiling.sizes):
        raise ValueError(f"S must have {sum(tiling.sizes)} rows, one for each point, but has {len(S)}.")
    results = _reduce(_FormsReduction(tiling, S), tiling, progress)
    return Forms(*(r[0] if kernel.members == 1 else r for r in results))


def bin_sums(
    kernel: Kernel,
    samples: Sequence[Tensor],
    bins: Tensor,
    count: int,
    *,
    max_memory: int | float | str | None = None,
    progress: Progress | None = None,
) -> Tensor:
    """The ``count`` × ``count`` matrix of sums over pairs of bins, without the diagonal of the kernel (MATHS §5).

    ``bins`` gives the bin of every point. Costs little more than the kernel evaluations if bins lie together.
    Not differentiable.
    """
    tiling = Tiling(kernel, samples, additive=True, max_memory=max_memory)
    reduction = _BinsReduction(tiling, bins, count)
    _stream(reduction, tiling, {}, progress)
    (result,) = reduction.results()
    return result[0] if kernel.members == 1 else result


def product(
    kernel: Kernel, A: Tensor, B: Tensor, weights: Tensor, *, max_memory: int | float | str | None = None
) -> Tensor:
    """k(A, B) @ weights for all rows of ``A``, in float64. Not differentiable."""
    plan = kernel.plan(probe_rows(A, B))
    tile = _tile_size(A, plan.dtype, weights.shape[1], kernel.members, _memory.budget(max_memory))
    with torch.no_grad():
        b = map_leaves(Tensor.detach, kernel.features(B, plan))
    weights = weights.to(A.device, plan.dtype)

    @torch.no_grad()
    def strip(rows: slice) -> Tensor:
        a = kernel.features(A[rows], plan)
        total = torch.zeros(rows.stop - rows.start, weights.shape[1], dtype=torch.float64)
        for columns in _blocks(len(B), tile):
            total += (kernel.tile(a, take(b, columns), plan) @ weights[columns]).double().cpu()
        return total

    with _executor(A.device) as run:
        return torch.cat(list(run(strip, _blocks(len(A), tile))))


def block_sums(kernel: Kernel, X: Tensor, Y: Tensor, size: int) -> tuple[Tensor, Tensor, Tensor]:
    """Totals of Kxx, Kyy and Kxy without their diagonals, within each of the len(X) // size pairs of blocks.

    Costs O(len(X) · size) kernel evaluations (for small blocks, O(len(X) · 64)). Differentiable by autograd.
    """
    count = min(len(X), len(Y)) // size
    plan = kernel.plan(probe_rows(X, Y), additive=True)
    together = max(64 // size, 1)
    off_diagonal = 1 - torch.eye(size, dtype=plan.dtype, device=X.device)
    totals: list[list[Tensor]] = []
    x, y = (kernel.features(points[: count * size], plan) for points in (X, Y))
    for rows in (slice(k * size, min(k + together, count) * size) for k in range(0, count, together)):
        a, b = take(x, rows), take(y, rows)
        tiles = (kernel.tile(p, q, plan) for p, q in ((a, a), (b, b), (a, b)))
        grouped = (tile.reshape(len(tile) // size, size, -1, size).diagonal(dim1=0, dim2=2) for tile in tiles)
        totals.append([(g * off_diagonal[:, :, None]).sum((0, 1), dtype=torch.float64) for g in grouped])
    xx, yy, xy = (torch.cat(parts) for parts in zip(*totals, strict=True))
    return xx, yy, xy


class Tiling:
    """Points of one or more samples, prepared by a kernel and cut into blocks that each lie in one sample."""

    def __init__(
        self,
        kernel: Kernel,
        samples: Sequence[Tensor],
        *,
        additive: bool,
        max_memory: int | float | str | None,
        columns: int = 2,
    ) -> None:
        self.kernel = kernel
        self.sizes = [len(sample) for sample in samples]
        self.device = samples[0].device
        self.plan = kernel.plan(probe_rows(*samples), additive=additive)
        self.features = kernel.features(torch.cat(list(samples)), self.plan)
        self.detached = map_leaves(Tensor.detach, self.features)
        budget = _memory.budget(max_memory)
        tile = _tile_size(samples[0], self.plan.dtype, columns, kernel.members, budget)
        self.blocks: list[slice] = []
        self.sample_of: list[int] = []
        start = 0
        for k, size in enumerate(self.sizes):
            self.blocks += [slice(start + b.start, start + b.stop) for b in _blocks(size, tile)]
            self.sample_of += [k] * (len(self.blocks) - len(self.sample_of))
            start += size
        # A tile with what autograd saves of it takes about five times its own size.
        self.keepable = start**2 / 2 * self.plan.dtype.itemsize * 5 <= min(KEEP_BYTES, budget // 2)

    def tiles(self, i: int, j: int) -> Iterator[Tensor]:
        """The tiles of all members between blocks i and j."""
        a, b = (take(self.detached, self.blocks[k]) for k in (i, j))
        return self.kernel.tiles(a, b, self.plan)

    def differentiable_tile(self, i: int, j: int, wanted: list[bool]) -> tuple[Tensor, list[Tensor], list[Tensor]]:
        """A tile with a graph behind it, and the leaves of that graph that belong to block i and to block j."""
        flags = iter(wanted * 2)
        a, b = (
            map_leaves(lambda f: f.detach().requires_grad_(next(flags)), take(self.detached, self.blocks[k]))
            for k in (i, j)
        )
        with torch.enable_grad():
            tile = self.kernel.tile(a, b, self.plan)
        return tile, *([f for f in leaves(x) if f.requires_grad] for x in (a, b))  # type: ignore[return-value]


class Reduction(Protocol):
    """What is done with tiles: `add` in the threads, `merge` in order, `cotangent` on the way back."""

    def start(self, i: int) -> Any:
        """An empty state for strip i."""

    def add(self, state: Any, i: int, j: int, member: int, tile: Tensor) -> None:
        """Take in one tile. On the diagonal (i = j) the tile is symmetric and has the values k(x, x)."""

    def merge(self, i: int, state: Any) -> None:
        """Take in a whole strip."""

    def results(self) -> tuple[Tensor, ...]:
        """What came of all strips, each with a leading dimension for members, in float64 on the CPU."""

    def cotangent(self, i: int, j: int, tile: Tensor, grads: tuple[Tensor, ...]) -> Tensor:
        """The derivative of the loss with respect to every entry of a tile."""


class _SumsReduction:
    """Row sums over each of the two samples, squared norms of the three blocks, and their diagonals."""

    def __init__(self, tiling: Tiling) -> None:
        self.tiling = tiling
        members, total = tiling.kernel.members, sum(tiling.sizes)
        self.rows = torch.zeros(members, total, 2, dtype=torch.float64)
        self.squares = torch.zeros(members, 3, dtype=torch.float64)
        self.diagonals = torch.zeros(members, 3, dtype=torch.float64)
        # With m = n, k(X_i, Y_i) stands on the diagonal of the tiles between equal blocks of X and Y.
        self.paired = len(tiling.blocks) // 2 if tiling.sizes[0] == tiling.sizes[1] else -1

    def start(self, i: int) -> Any:
        start = self.tiling.blocks[i].start
        members, total = self.tiling.kernel.members, sum(self.tiling.sizes)
        rows = torch.zeros(members, total - start, 2, dtype=torch.float64)
        return rows, torch.zeros(members, 3, dtype=torch.float64), torch.zeros(members, 3, dtype=torch.float64)

    def add(self, state: Any, i: int, j: int, member: int, tile: Tensor) -> None:
        rows, squares, diagonals = state
        of_i, of_j = self.tiling.sample_of[i], self.tiling.sample_of[j]
        if i == j:
            diagonals[member, of_i] += tile.diagonal().sum(dtype=torch.float64).item()
            tile = tile.fill_diagonal_(0)
        elif j - i == self.paired:
            diagonals[member, 2] += tile.diagonal().sum(dtype=torch.float64).item()
        start = self.tiling.blocks[i].start
        rows[member, : len(tile), of_j] += tile.sum(1).cpu()
        if i != j:
            block = self.tiling.blocks[j]
            rows[member, block.start - start : block.stop - start, of_i] += tile.sum(0).cpu()
        times = 2 if i != j and of_i == of_j else 1
        norms = torch.linalg.vector_norm(tile, dim=1).cpu().double()
        squares[member, of_i if of_i == of_j else 2] += times * norms.dot(norms)

    def merge(self, i: int, state: Any) -> None:
        rows, squares, diagonals = state
        self.rows[:, self.tiling.blocks[i].start :] += rows
        self.squares += squares
        self.diagonals += diagonals

    def results(self) -> tuple[Tensor, ...]:
        return self.rows, self.squares, self.diagonals

    def cotangent(self, i: int, j: int, tile: Tensor, grads: tuple[Tensor, ...]) -> Tensor:
        rows, squares, diagonals = (grad[0] for grad in grads)
        (of_i, of_j), (block_i, block_j) = ((seq[i], seq[j]) for seq in (self.tiling.sample_of, self.tiling.blocks))
        times = 2 if i != j and of_i == of_j else 1
        slope = 2 * times * float(squares[of_i if of_i == of_j else 2])
        down = rows[block_i, of_j].to(tile)[:, None]
        if i == j:
            return (tile * slope + down).fill_diagonal_(float(diagonals[of_i]))
        result = torch.add(down, rows[block_j, of_i].to(tile)).add_(tile, alpha=slope)
        if j - i == self.paired:
            result.diagonal().add_(float(diagonals[2]))
        return result


class _FormsReduction:
    """Quadratic forms, from U S where K̃ = U + Uᵀ: U has the tiles above the diagonal and half of those on it."""

    def __init__(self, tiling: Tiling, S: Tensor) -> None:
        self.tiling, self.S = tiling, S
        members, columns = tiling.kernel.members, S.shape[1]
        self.forms = torch.zeros(members, columns, dtype=torch.float64)
        self.crosses = torch.zeros(members, columns, dtype=torch.float64)
        self.total = torch.zeros(members, dtype=torch.float64)

    def start(self, i: int) -> Any:
        block = self.tiling.blocks[i]
        shape = (self.tiling.kernel.members, block.stop - block.start, self.S.shape[1] + 1)
        return torch.zeros(shape, dtype=self.tiling.plan.dtype, device=self.tiling.device)

    def columns(self, i: int) -> Tensor:
        """The rows of S for block i with a column of ones: the row sums of U come for nothing."""
        S = self.S[self.tiling.blocks[i]]
        out = torch.ones(len(S), S.shape[1] + 1, dtype=self.tiling.plan.dtype, device=self.tiling.device)
        out[:, :-1] = S
        return out

    def add(self, state: Any, i: int, j: int, member: int, tile: Tensor) -> None:
        if i == j:
            tile = tile.fill_diagonal_(0)
        state[member].addmm_(tile, self.columns(j), alpha=0.5 if i == j else 1.0)

    def merge(self, i: int, state: Any) -> None:
        state = state.double()
        S = self.columns(i)[:, :-1].double()
        sums = state.sum(1).cpu()
        self.forms += 2 * (S * state[..., :-1]).sum(1).cpu()
        self.crosses += sums[:, :-1] + (state[..., -1] @ S).cpu()
        self.total += 2 * sums[:, -1]

    def results(self) -> tuple[Tensor, ...]:
        return self.forms, self.crosses, self.total

    def cotangent(self, i: int, j: int, tile: Tensor, grads: tuple[Tensor, ...]) -> Tensor:
        forms, crosses, total = (grad[0] for grad in grads)
        a, b = (self.S[self.tiling.blocks[k]].to(tile) for k in (i, j))
        used = forms.nonzero()[:, 0].to(tile.device)
        result = (a[:, used] * forms.to(tile)[used]) @ b[:, used].T
        row, column = ((s @ crosses.to(tile)) for s in (a, b))
        if i == j:
            return result.add_(row[:, None]).add_(float(total)).fill_diagonal_(0)
        return result.mul_(2).add_(row[:, None]).add_(column).add_(2 * float(total))


class _BinsReduction:
    """Sums over pairs of bins."""

    def __init__(self, tiling: Tiling, bins: Tensor, count: int) -> None:
        self.tiling = tiling
        self.sums = torch.zeros(tiling.kernel.members, count, count, dtype=torch.float64)
        self.present: list[Tensor] = []
        self.indicators: list[Tensor] = []
        for block in tiling.blocks:
            present, position = bins[block].cpu().unique(return_inverse=True)
            indicator = torch.nn.functional.one_hot(position, len(present))
            self.present.append(present)
            self.indicators.append(indicator.to(tiling.device, tiling.plan.dtype))

    def start(self, i: int) -> Any:
        return torch.zeros(len(self.sums), len(self.present[i]), self.sums.shape[1], dtype=torch.float64)

    def add(self, state: Any, i: int, j: int, member: int, tile: Tensor) -> None:
        if i == j:
            tile = tile.fill_diagonal_(0).mul_(0.5)
        state[member][:, self.present[j]] += (self.indicators[i].T @ tile @ self.indicators[j]).cpu()

    def merge(self, i: int, state: Any) -> None:
        self.sums[:, self.present[i], :] += state
        self.sums[:, :, self.present[i]] += state.transpose(1, 2)

    def results(self) -> tuple[Tensor, ...]:
        return (self.sums,)

    def cotangent(self, i: int, j: int, tile: Tensor, grads: tuple[Tensor, ...]) -> Tensor:
        raise TypeError("bin sums are not differentiable")


Kept = dict[tuple[int, int], tuple[Tensor, list[Tensor], list[Tensor]]]


def _reduce(reduction: Reduction, tiling: Tiling, progress: Progress | None) -> tuple[Tensor, ...]:
    """Run a reduction, on the record of autograd if anything asks for gradients."""
    inputs = [*leaves(tiling.features), *tiling.kernel.parameters()]
    if torch.is_grad_enabled() and any(t.requires_grad for t in inputs) and tiling.kernel.members == 1:
        return _Differentiable.apply(reduction, tiling, progress, *inputs)  # type: ignore[no-any-return]
    _stream(reduction, tiling, None, progress)
    return reduction.results()


class _Differentiable(torch.autograd.Function):
    """The two passes."""

    @staticmethod
    def forward(ctx: Any, reduction: Reduction, tiling: Tiling, progress: Progress | None, *inputs: Tensor) -> Any:
        ctx.reduction, ctx.tiling, ctx.inputs = reduction, tiling, inputs
        ctx.wanted = [t.requires_grad for t in inputs]
        ctx.kept = {} if tiling.keepable else None
        _stream(reduction, tiling, ctx.kept, progress, ctx.wanted)
        return reduction.results()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> Any:
        got = _gradients(ctx.reduction, ctx.tiling, ctx.inputs, ctx.wanted, ctx.kept or {}, grads)
        return None, None, None, *got


def _stream(
    reduction: Reduction,
    tiling: Tiling,
    kept: Kept | None,
    progress: Progress | None,
    wanted: Sequence[bool] = (),
) -> None:
    """The first pass: every tile once, into the reduction. Fills ``kept`` if tiles are to be kept."""
    count = len(tiling.blocks)
    points = len(leaves(tiling.features))

    def strip(i: int, checkpoint: Callable[[], None]) -> Any:
        state = reduction.start(i)
        for j in range(i, count):
            checkpoint()
            if wanted and kept is not None:
                kept[i, j] = tiling.differentiable_tile(i, j, list(wanted[:points]))
                values = kept[i, j][0].detach()
                reduction.add(state, i, j, 0, values.clone() if i == j else values)
                continue
            with torch.no_grad():
                for member, tile in enumerate(tiling.tiles(i, j)):
                    reduction.add(state, i, j, member, tile)
        return state

    with _executor(tiling.device) as run:
        for i, state in enumerate(run(strip, range(count))):
            reduction.merge(i, state)
            if progress is not None:
                progress(count**2 - (count - i - 1) ** 2, count**2)


def _gradients(
    reduction: Reduction,
    tiling: Tiling,
    inputs: tuple[Tensor, ...],
    wanted: list[bool],
    kept: Kept,
    grads: tuple[Tensor, ...],
) -> list[Tensor | None]:
    """The second pass: every tile again, and the gradient through it."""
    points = len(leaves(tiling.features))
    parameters = [p for p, w in zip(inputs[points:], wanted[points:], strict=True) if w]
    totals = [torch.zeros_like(t) if w else None for t, w in zip(inputs, wanted, strict=True)]
    of_points = [t for t in totals[:points] if t is not None]
    of_parameters = [t for t in totals[points:] if t is not None]

    def strip(i: int, checkpoint: Callable[[], None]) -> Any:
        down: list[Tensor | None] = [None] * len(of_points)
        across: list[tuple[int, Sequence[Tensor | None]]] = []
        shared: list[Tensor | None] = [None] * len(parameters)
        for j in range(i, len(tiling.blocks)):
            checkpoint()
            tile, a, b = kept.pop((i, j), None) or tiling.differentiable_tile(i, j, wanted[:points])
            if not tile.requires_grad:
                continue
            cotangent = reduction.cotangent(i, j, tile.detach(), grads)
            got = torch.autograd.grad(tile, [*a, *b, *parameters], cotangent, allow_unused=True)
            down = [_plus(old, new) for old, new in zip(down, got[: len(a)], strict=True)]
            across.append((j, got[len(a) : 2 * len(a)]))
            shared = [_plus(old, new) for old, new in zip(shared, got[2 * len(a) :], strict=True)]
        return down, across, shared

    with _executor(tiling.device) as run:
        for i, (down, across, shared) in enumerate(run(strip, range(len(tiling.blocks)))):
            for j, parts in [(i, down), *across]:
                for total, part in zip(of_points, parts, strict=True):
                    if part is not None:
                        total[tiling.blocks[j]] += part
            for total, part in zip(of_parameters, shared, strict=True):
                if part is not None:
                    total += part
    return totals


def _plus(a: Tensor | None, b: Tensor | None) -> Tensor | None:
    if a is None or b is None:
        return a if b is None else b
    return a + b


def _blocks(size: int, tile: int) -> list[slice]:
    """Cut ``size`` rows into as few blocks of nearly equal length, none above ``tile``, as there can be."""
    count = math.ceil(size / tile)
    edges = [size * k // count for k in range(count + 1)]
    return [slice(a, b) for a, b in zip(edges, edges[1:], strict=False)]


def _tile_size(points: Tensor, dtype: torch.dtype, columns: int, members: int, budget: int) -> int:
    """Rows of a tile: the standard size, or less where the memory allowed is less."""
    size = TILE.get(points.device.type, TILE_ON_DEVICE)
    threads = torch.get_num_threads() if points.device.type == "cpu" else 1

    def need(size: int) -> int:
        return threads * dtype.itemsize * (6 * size**2 + 3 * members * size * (columns + 1))

    while size > 64 and need(size) > budget:
        size //= 2
    if need(size) > budget:
        raise MemoryError(
            f"max_memory is {budget:,} bytes, but tiles of {size} rows for {threads} threads take {need(size):,}. "
            "Allow more, or use fewer threads (torch.set_num_threads) or fewer permutations."
        )
    return size


class _executor:
    """Maps strips to results in order: over threads on the CPU, one after the other on a device."""

    def __init__(self, device: torch.device) -> None:
        self.context = _workers.pool() if device.type == "cpu" else nullcontext()

    def __enter__(self) -> Callable[..., Iterator[Any]]:
        pool = self.context.__enter__()
        if pool is None:
            return lambda strip, tasks: (strip(task, lambda: None) for task in tasks)
        return lambda strip, tasks: pool.map(lambda task: strip(task, pool.checkpoint), tasks)

    def __exit__(self, *exception: Any) -> None:
        self.context.__exit__(*exception)
