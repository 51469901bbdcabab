"""The engine: what is needed of a kernel matrix, without the matrix.

A *tile* holds the kernel values between two blocks of points; it is made, reduced and dropped. The kernel matrix
of the pooled points without its diagonal is U + Uᵀ with U strictly upper triangular, and only U is ever looked at:
tiles on the diagonal are cut to their upper triangle. A *strip* is a block's row of tiles. Strips are the tasks of
the threads, and their results are added in order, so that a result has the same bits for every number of threads.

Everything is differentiable in two passes: the first keeps only sums, the second makes the tiles again and pushes
the gradient, which for one entry is a_i + b_j + c + γ k_ij (MATHS §3), through the kernel. Where all tiles
together are small, they are kept between the passes.

Cost: N²/2 kernel evaluations for N points, and memory for the features and a few tiles for each thread.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple, Protocol

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from . import _memory, _workers
from .kernels import Features, Kernel, leaves, map_leaves, probe_rows, take

#: Rows and columns of a tile on a CPU, where it should stay in a core's cache, and on a device.
TILE, TILE_ON_DEVICE = (512, 512), (4096, 4096)
#: Few points are cut into flat tiles: there is less to compute in vain below the diagonal.
FEW, TILE_OF_FEW = 2048, (128, 1024)
#: Tiles are kept for the second pass if all of them, with what autograd saves, take less than this.
KEEP_BYTES = 2**27

Memory = int | float | str | None
Progress = Callable[[int, int], None]


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
    max_memory: Memory = None,
    progress: Progress | None = None,
) -> Sums:
    """The sums of MATHS §0, differentiable with respect to X, Y and the parameters of the kernel.

    With ``additive`` (the default) the kernel may be changed by f(x) + f(y) where that is more accurate, which
    changes no estimator of MMD² and no variance. Costs (m + n)²/2 kernel evaluations, memory O((m + n) d).
    """
    tiling = Tiling(kernel, [X, Y], additive=additive, max_memory=max_memory)
    rows, squares, diagonals = _reduce(_SumsReduction(tiling), tiling, progress)
    m, n = tiling.sizes
    return Sums(
        m=m,
        n=n,
        rx=rows[..., 0, :m],
        ry=rows[..., 1, m:],
        rho=rows[..., 1, :m],
        kap=rows[..., 0, m:],
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
    max_memory: Memory = None,
    progress: Progress | None = None,
) -> Forms:
    """Quadratic forms of the pooled kernel matrix without its diagonal, for all columns of ``S`` at once (MATHS §4).

    ``S`` has a row for each point of the samples, one after the other; any type of number will do, and a
    matrix of bytes saves memory. Costs N²/2 kernel evaluations and N²B operations of a matrix product.
    Differentiable like `sums`.
    """
    tiling = Tiling(kernel, samples, additive=True, max_memory=max_memory, columns=S.shape[1])
    if len(S) != sum(tiling.sizes):
        raise ValueError(f"S must have {sum(tiling.sizes)} rows, one for each point, but has {len(S)}.")
    return Forms(*_reduce(_FormsReduction(tiling, S), tiling, progress))


def bin_sums(
    kernel: Kernel,
    samples: Sequence[Tensor],
    bins: Tensor,
    count: int,
    *,
    max_memory: Memory = None,
    progress: Progress | None = None,
) -> Tensor:
    """The ``count`` × ``count`` matrix of sums over pairs of bins, without the diagonal of the kernel (MATHS §5).

    ``bins`` gives the bin of every point. Costs little more than the kernel evaluations if bins lie together.
    Not differentiable.
    """
    tiling = Tiling(kernel, samples, additive=True, max_memory=max_memory)
    with torch.no_grad():
        (result,) = _reduce(_BinsReduction(tiling, bins, count), tiling, progress)
    return result


def product(kernel: Kernel, A: Tensor, B: Tensor, weights: Tensor, *, max_memory: Memory = None) -> Tensor:
    """k(A, B) @ weights for all rows of ``A``, in float64. Not differentiable."""
    with torch.no_grad():
        plan = kernel.plan(probe_rows(A, B))
        b = kernel.features(B, plan)
    weights = weights.to(A.device, plan.dtype)
    height, width = _tile_size(A.device, len(A) + len(B), plan.dtype, weights.shape[1], 1, max_memory)

    @torch.no_grad()
    def strip(rows: slice, checkpoint: Callable[[], None]) -> Tensor:
        a = kernel.features(A[rows], plan)
        total = torch.zeros(rows.stop - rows.start, weights.shape[1], dtype=torch.float64)
        for columns in _cut(0, len(B), width):
            checkpoint()
            total += (kernel.tile(a, take(b, columns), plan) @ weights[columns]).cpu()
        return total

    with _executor(A.device) as run:
        return torch.cat(list(run(strip, _cut(0, len(A), height))))


def block_sums(kernel: Kernel, X: Tensor, Y: Tensor, size: int) -> tuple[Tensor, Tensor, Tensor]:
    """Totals of Kxx, Kyy and Kxy without their diagonals, within each of the len(X) // size pairs of blocks.

    Costs O(len(X) · size) kernel evaluations (for small blocks, O(len(X) · 64)). Differentiable by autograd.
    """
    count = min(len(X), len(Y)) // size
    plan = kernel.plan(probe_rows(X, Y), additive=True)
    together = max(64 // size, 1) * size
    off_diagonal = 1 - torch.eye(size, dtype=plan.dtype, device=X.device)[:, :, None]
    totals: list[list[Tensor]] = []
    x, y = (kernel.features(points[: count * size], plan) for points in (X, Y))
    for start in range(0, count * size, together):
        a, b = (take(points, slice(start, start + together)) for points in (x, y))
        tiles = (kernel.tile(p, q, plan) for p, q in ((a, a), (b, b), (a, b)))
        grouped = (tile.reshape(len(tile) // size, size, -1, size).diagonal(dim1=0, dim2=2) for tile in tiles)
        totals.append([(group * off_diagonal).sum((0, 1), dtype=torch.float64) for group in grouped])
    xx, yy, xy = (torch.cat(parts) for parts in zip(*totals, strict=True))
    return xx, yy, xy


class Block(NamedTuple):
    """Some consecutive points of one sample: their place in the sample, and among all pooled points."""

    sample: int
    local: slice
    pooled: slice


class Tiling:
    """Points of one or more samples, prepared by a kernel, and how they are cut into tiles."""

    def __init__(
        self,
        kernel: Kernel,
        samples: Sequence[Tensor],
        *,
        additive: bool,
        max_memory: Memory,
        columns: int = 2,
    ) -> None:
        self.kernel = kernel
        self.device = samples[0].device
        self.sizes = [len(sample) for sample in samples]
        self.starts = [sum(self.sizes[:k]) for k in range(len(samples))]
        self.plan = kernel.plan(probe_rows(*samples), additive=additive)
        self.features = [kernel.features(sample, self.plan) for sample in samples]
        self.detached = [map_leaves(Tensor.detach, features) for features in self.features]
        self.height, self.width = _tile_size(
            self.device, sum(self.sizes), self.plan.dtype, columns, kernel.members, max_memory
        )
        self.strips = [block for k in range(len(samples)) for block in self._blocks(k, 0, self.height)]
        # A tile with what autograd saves of it takes about five times its own size.
        needed = sum(self.sizes) ** 2 // 2 * self.plan.dtype.itemsize * 5
        self.keepable = needed <= min(KEEP_BYTES, _memory.budget(max_memory) // 2)

    def _blocks(self, sample: int, start: int, length: int) -> list[Block]:
        before = self.starts[sample]
        return [
            Block(sample, local, slice(before + local.start, before + local.stop))
            for local in _cut(start, self.sizes[sample], length)
        ]

    def across(self, rows: Block) -> list[Block]:
        """The columns of a strip's tiles: from the diagonal to the end. The first begins where the rows begin."""
        later = range(rows.sample + 1, len(self.sizes))
        parts = [(rows.sample, rows.local.start), *((sample, 0) for sample in later)]
        return [block for sample, start in parts for block in self._blocks(sample, start, self.width)]

    def tiles(self, rows: Block, columns: Block) -> Iterator[Tensor]:
        """The tiles of all members between two blocks."""
        a, b = (take(self.detached[block.sample], block.local) for block in (rows, columns))
        return self.kernel.tiles(a, b, self.plan)

    def differentiable_tile(self, rows: Block, columns: Block) -> tuple[Tensor, list[Tensor], list[Tensor]]:
        """A tile with a graph behind it, and the leaves of that graph on the side of the rows and the columns."""
        a, b = (
            map_leaves(
                lambda f: f[block.local].detach().requires_grad_(f.requires_grad),  # noqa: B023
                self.features[block.sample],
            )
            for block in (rows, columns)
        )
        with torch.enable_grad():
            tile = self.kernel.tile(a, b, self.plan)
        return tile, leaves(a), leaves(b)


class Reduction(Protocol):
    """What is done with tiles: `add` and `close` in the threads, `merge` in order, `cotangent` on the way back.

    A tile on the diagonal is given as it is. `strict_upper` cuts it to the part that belongs to U.
    """

    def start(self, rows: Block) -> Any:
        """An empty state for a strip."""

    def add(self, state: Any, rows: Block, columns: Block, member: int, tile: Tensor) -> None:
        """Take in one tile, which may be overwritten."""

    def close(self, rows: Block, state: Any) -> Any:
        """What is handed on of a strip, still in its thread."""

    def merge(self, rows: Block, state: Any) -> None:
        """Take in a whole strip."""

    def results(self) -> tuple[Tensor, ...]:
        """What came of all strips, each with a leading dimension for members, in float64 on the CPU."""

    def cotangent(self, rows: Block, columns: Block, tile: Tensor, grads: tuple[Tensor, ...]) -> Tensor:
        """The derivative of the loss with respect to every entry of a tile."""


def strict_upper(tile: Tensor, rows: Block, columns: Block) -> Tensor:
    """The tile without what lies on or below the diagonal of the whole matrix, in place."""
    return tile.triu_(1) if rows.pooled.start == columns.pooled.start else tile


class _SumsReduction:
    """Row sums over each of the two samples, squared norms of the three blocks, and their diagonals."""

    def __init__(self, tiling: Tiling) -> None:
        self.tiling = tiling
        self.rows, self.squares, self.diagonals = self._zeros(0)

    def _zeros(self, start: int) -> tuple[Tensor, Tensor, Tensor]:
        members, total = self.tiling.kernel.members, sum(self.tiling.sizes)
        return (
            torch.zeros(members, 2, total - start, dtype=torch.float64),
            torch.zeros(members, 3, dtype=torch.float64),
            torch.zeros(members, 3, dtype=torch.float64),
        )

    def start(self, rows: Block) -> Any:
        return self._zeros(rows.pooled.start)

    def add(self, state: Any, rows: Block, columns: Block, member: int, tile: Tensor) -> None:
        sums, squares, diagonals = (part[member] for part in state)
        for which, diagonal in self._diagonals(rows, columns, tile):
            diagonals[which] += diagonal.sum(dtype=torch.float64).cpu()
        tile = strict_upper(tile, rows, columns)
        start = rows.pooled.start
        sums[columns.sample, : len(tile)] += tile.sum(1).cpu()
        sums[rows.sample, columns.pooled.start - start : columns.pooled.stop - start] += tile.sum(0).cpu()
        norms = torch.linalg.vector_norm(tile, dim=1).cpu().double()
        squares[self._pair(rows, columns)] += norms.dot(norms) * self._times(rows, columns)

    def close(self, rows: Block, state: Any) -> Any:
        return state

    def merge(self, rows: Block, state: Any) -> None:
        sums, squares, diagonals = state
        self.rows[..., rows.pooled.start :] += sums
        self.squares += squares
        self.diagonals += diagonals

    def results(self) -> tuple[Tensor, ...]:
        return self.rows, self.squares, self.diagonals

    def cotangent(self, rows: Block, columns: Block, tile: Tensor, grads: tuple[Tensor, ...]) -> Tensor:
        sums, squares, diagonals = grads
        slope = 2 * self._times(rows, columns) * float(squares[self._pair(rows, columns)])
        down = sums[columns.sample, rows.pooled].to(tile)[:, None]
        result = (down + sums[rows.sample, columns.pooled].to(tile)).add_(tile, alpha=slope)
        result = strict_upper(result, rows, columns)
        for which, diagonal in self._diagonals(rows, columns, result):
            diagonal += float(diagonals[which])
        return result

    def _diagonals(self, rows: Block, columns: Block, tile: Tensor) -> Iterator[tuple[int, Tensor]]:
        """k(X_i, X_i) or k(Y_i, Y_i); with m = n also k(X_i, Y_i), each where the tile has them."""
        if rows.pooled.start == columns.pooled.start:
            yield rows.sample, tile.diagonal()
        m, n = self.tiling.sizes
        offset = rows.local.start - columns.local.start
        if m == n and rows.sample != columns.sample and -len(tile) < offset < tile.shape[1]:
            yield 2, tile.diagonal(offset)

    @staticmethod
    def _pair(rows: Block, columns: Block) -> int:
        return rows.sample if rows.sample == columns.sample else 2

    @staticmethod
    def _times(rows: Block, columns: Block) -> int:
        """How often an entry of U stands in the squared norm of its block."""
        return 2 if rows.sample == columns.sample else 1


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
        small = len(S) * self.width * tiling.plan.dtype.itemsize <= KEEP_BYTES
        self.prepared = self._with_ones(slice(0, len(S))) if small else None

    def _with_ones(self, rows: slice) -> Tensor:
        """Rows of S and columns of ones: the row sums of U come for nothing."""
        S = self.S[rows]
        result = torch.ones(len(S), self.width, dtype=self.tiling.plan.dtype, device=self.tiling.device)
        result[:, : S.shape[1]] = S
        return result

    def _columns(self, block: Block) -> Tensor:
        return self._with_ones(block.pooled) if self.prepared is None else self.prepared[block.pooled]

    def start(self, rows: Block) -> Any:
        shape = (self.tiling.kernel.members, rows.local.stop - rows.local.start, self.width)
        return torch.zeros(shape, dtype=self.tiling.plan.dtype, device=self.tiling.device)

    def add(self, state: Any, rows: Block, columns: Block, member: int, tile: Tensor) -> None:
        state[member].addmm_(strict_upper(tile, rows, columns), self._columns(columns))

    def close(self, rows: Block, state: Any) -> Any:
        count = self.S.shape[1]
        S = self._columns(rows)[:, :count]
        forms = (S * state[..., :count]).sum(1, dtype=torch.float64)
        sums = state.sum(1, dtype=torch.float64)
        crosses = sums[:, :count] + (S * state[..., -1:]).sum(1, dtype=torch.float64)
        return [2 * forms.cpu(), crosses.cpu(), 2 * sums[:, -1].cpu()]

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


Kept = dict[tuple[int, int], tuple[Tensor, list[Tensor], list[Tensor]]]


def _reduce(reduction: Reduction, tiling: Tiling, progress: Progress | None) -> tuple[Tensor, ...]:
    """Run a reduction, on the record of autograd if anything asks for gradients."""
    inputs = [*(leaf for features in tiling.features for leaf in leaves(features)), *tiling.kernel.parameters()]
    if torch.is_grad_enabled() and any(t.requires_grad for t in inputs):
        results = _Differentiable.apply(reduction, tiling, progress, *inputs)
    else:
        _stream(reduction, tiling, None, progress)
        results = reduction.results()
    return tuple(r[0] for r in results) if tiling.kernel.members == 1 else results


class _Differentiable(torch.autograd.Function):
    """The two passes."""

    @staticmethod
    def forward(ctx: Any, reduction: Reduction, tiling: Tiling, progress: Progress | None, *inputs: Tensor) -> Any:
        if tiling.kernel.members > 1:
            raise TypeError("A grid of kernels cannot be differentiated.")
        ctx.reduction, ctx.tiling, ctx.inputs = reduction, tiling, inputs
        ctx.kept = {} if tiling.keepable else None
        _stream(reduction, tiling, ctx.kept, progress)
        return reduction.results()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> Any:
        grads = tuple(grad[0] for grad in grads)
        return None, None, None, *_gradients(ctx.reduction, ctx.tiling, ctx.inputs, ctx.kept or {}, grads)


def _stream(reduction: Reduction, tiling: Tiling, kept: Kept | None, progress: Progress | None) -> None:
    """The first pass: every tile once, into the reduction. Fills ``kept`` if tiles are to be kept."""

    def strip(rows: Block, checkpoint: Callable[[], None]) -> Any:
        state = reduction.start(rows)
        for columns in tiling.across(rows):
            checkpoint()
            if kept is not None:
                graph = tiling.differentiable_tile(rows, columns)
                if graph[0].requires_grad:
                    kept[rows.pooled.start, columns.pooled.start] = graph
                tiles: Iterable[Tensor] = [graph[0].detach()]
                if rows.pooled.start == columns.pooled.start:
                    tiles = [graph[0].detach().clone()]
            else:
                tiles = tiling.tiles(rows, columns)
            with torch.no_grad():
                for member, tile in enumerate(tiles):
                    reduction.add(state, rows, columns, member, tile)
        with torch.no_grad():
            return reduction.close(rows, state)

    total = sum(tiling.sizes)
    with _executor(tiling.device) as run:
        for rows, state in zip(tiling.strips, run(strip, tiling.strips), strict=True):
            reduction.merge(rows, state)
            if progress is not None:
                progress(total**2 - (total - rows.pooled.stop) ** 2, total**2)


def _gradients(
    reduction: Reduction, tiling: Tiling, inputs: tuple[Tensor, ...], kept: Kept, grads: tuple[Tensor, ...]
) -> list[Tensor | None]:
    """The second pass: every tile again, and the gradient through it."""
    totals = [torch.zeros_like(t) if t.requires_grad else None for t in inputs]
    each = len(leaves(tiling.features[0]))
    of_sample = [totals[k * each : (k + 1) * each] for k in range(len(tiling.sizes))]
    of_parameters = totals[len(tiling.sizes) * each :]
    parameters = inputs[len(tiling.sizes) * each :]

    def strip(rows: Block, checkpoint: Callable[[], None]) -> Any:
        found: list[tuple[Block, Sequence[Tensor | None]]] = []
        shared: list[Tensor | None] = [None] * len(parameters)
        for columns in tiling.across(rows):
            checkpoint()
            key = rows.pooled.start, columns.pooled.start
            tile, a, b = kept.pop(key, None) or tiling.differentiable_tile(rows, columns)
            if not tile.requires_grad:
                continue
            cotangent = reduction.cotangent(rows, columns, tile.detach(), grads)
            asked = [*a, *b, *parameters]
            wanted = [t for t in asked if t.requires_grad]
            got = iter(torch.autograd.grad(tile, wanted, cotangent, allow_unused=True))
            parts = [next(got) if t.requires_grad else None for t in asked]
            found += [(rows, parts[:each]), (columns, parts[each : 2 * each])]
            shared = [_plus(old, new) for old, new in zip(shared, parts[2 * each :], strict=True)]
        return found, shared

    with _executor(tiling.device) as run:
        for found, shared in run(strip, tiling.strips):
            for block, parts in found:
                for total, part in zip(of_sample[block.sample], parts, strict=True):
                    if total is not None and part is not None:
                        total[block.local] += part
            for total, part in zip(of_parameters, shared, strict=True):
                if total is not None and part is not None:
                    total += part
    return totals


def _plus(a: Tensor | None, b: Tensor | None) -> Tensor | None:
    if a is None or b is None:
        return a if b is None else b
    return a + b


def _cut(start: int, stop: int, length: int) -> list[slice]:
    """Cut a range into as few nearly equal parts not above ``length`` as there can be, at multiples of 8."""
    count = math.ceil((stop - start) / length)
    edges = [start + (stop - start) * k // count // 8 * 8 for k in range(count)] + [stop]
    return [slice(a, b) for a, b in zip(edges, edges[1:], strict=False)]


def _tile_size(
    device: torch.device, points: int, dtype: torch.dtype, columns: int, members: int, max_memory: Memory
) -> tuple[int, int]:
    """Rows and columns of a tile: the standard size, or less where the memory allowed is less."""
    budget = _memory.budget(max_memory)
    on_cpu = device.type == "cpu"
    height, width = TILE_ON_DEVICE if not on_cpu else TILE_OF_FEW if points <= FEW else TILE
    threads = torch.get_num_threads() if on_cpu else 1

    def need() -> int:
        return threads * dtype.itemsize * (6 * height * width + 3 * members * height * (columns + 16))

    while width > 64 and need() > budget:
        height, width = max(height // 2, 64), width // 2
    if need() > budget:
        raise MemoryError(
            f"max_memory is {budget:,} bytes, but tiles of {height} × {width} for {threads} threads take {need():,}. "
            "Allow more, or use fewer threads (torch.set_num_threads) or fewer permutations."
        )
    return height, width


@contextmanager
def _executor(device: torch.device) -> Iterator[Callable[..., Iterator[Any]]]:
    """A map from strips to results in order: over threads on the CPU, one after the other on a device."""
    if device.type != "cpu":
        yield lambda strip, tasks: (strip(task, lambda: None) for task in tasks)
        return
    with _workers.pool() as pool:
        yield lambda strip, tasks: pool.map(lambda task: strip(task, pool.checkpoint), tasks)
