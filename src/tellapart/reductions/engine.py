"""The only place that loops over tiles: threads, order, and the two passes of the gradient."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol, TypeAlias

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from .. import _workers
from ..kernels import leaves
from .tiles import Block, Tiling, on_diagonal

Progress: TypeAlias = Callable[[int, int], None]


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


Kept: TypeAlias = dict[tuple[int, int], tuple[Tensor, list[Tensor], list[Tensor]]]


def reduce(reduction: Reduction, tiling: Tiling, progress: Progress | None) -> tuple[Tensor, ...]:
    """Run a reduction, on the record of autograd if anything asks for gradients."""
    inputs = [
        *(leaf for features in tiling.features for leaf in leaves(features)),
        *tiling.kernel.parameters(),
    ]
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
        # Copies: what is returned holds on to ctx, and ctx to the reduction. Its own tensors would never be freed.
        return tuple(result.clone() for result in reduction.results())

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
                tile = graph[0].detach()
                tiles: Iterable[Tensor] = [tile.clone() if on_diagonal(rows, columns) else tile]
            else:
                tiles = tiling.tiles(rows, columns)
            with torch.no_grad():
                for member, tile in enumerate(tiles):
                    reduction.add(state, rows, columns, member, tile)
        with torch.no_grad():
            return reduction.close(rows, state)

    total = sum(tiling.sizes)
    with executor(tiling.device) as run:
        for rows, state in zip(tiling.strips, run(strip, tiling.strips), strict=True):
            reduction.merge(rows, state)
            if progress is not None:
                progress(total**2 - (total - rows.pooled.stop) ** 2, total**2)


def _gradients(
    reduction: Reduction, tiling: Tiling, inputs: tuple[Tensor, ...], kept: Kept, grads: tuple[Tensor, ...]
) -> list[Tensor | None]:
    """The second pass: every tile again, and the gradient through it."""
    # Where a kernel is tiny, what comes in is too large for single precision: bring it to size, and back at the end.
    scale = max(float(grad.abs().max()) for grad in grads) or 1.0
    grads = tuple(grad / scale for grad in grads)
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
            if not tiling.asks_for_gradients(rows, columns):
                continue
            key = rows.pooled.start, columns.pooled.start
            tile, a, b = kept.pop(key) if key in kept else tiling.differentiable_tile(rows, columns)
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

    with executor(tiling.device) as run:
        for found, shared in run(strip, tiling.strips):
            for block, parts in found:
                for total, part in zip(of_sample[block.sample], parts, strict=True):
                    if total is not None and part is not None:
                        total[block.local] += part
            for total, part in zip(of_parameters, shared, strict=True):
                if total is not None and part is not None:
                    total += part
    return [None if total is None else _scaled(total, scale) for total in totals]


def _scaled(total: Tensor, scale: float) -> Tensor:
    """total · scale, in place if the scale is a number of single precision too."""
    return total.mul_(scale) if 1e-30 < scale < 1e30 else (total.double() * scale).to(total)


def _plus(a: Tensor | None, b: Tensor | None) -> Tensor | None:
    if a is None or b is None:
        return a if b is None else b
    return a + b


@contextmanager
def executor(device: torch.device) -> Iterator[Callable[..., Iterator[Any]]]:
    """A map from strips to results in order: over threads on the CPU, one after the other on a device."""
    if device.type != "cpu":
        yield lambda strip, tasks: (strip(task, lambda: None) for task in tasks)
        return
    with _workers.pool() as pool:
        yield lambda strip, tasks: pool.map(lambda task: strip(task, pool.checkpoint), tasks)
