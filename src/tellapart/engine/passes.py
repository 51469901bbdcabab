"""The loop over tiles: reductions of strips, and the two passes of the gradient."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeAlias

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from .._util import workers
from ..data import in_memory
from ..kernels import Plan, leaves, merge_plans
from .compute import Compute
from .executors import branches, tree
from .prepared import StripSpan
from .tiles import FEW, Tiling, on_diagonal


class Reduction(Protocol):
    """A reduction of tiles: `add` and `close` for each strip, `join` in a tree, `cotangent` in the backward pass.

    Tiles on the diagonal are complete. `strict_upper` restricts them to the part that belongs to U.
    """

    def start(self, rows: StripSpan) -> Any:
        """An empty state for a strip."""

    def add(self, state: Any, rows: StripSpan, columns: StripSpan, member: int, tile: Tensor) -> None:
        """Add a tile, which may be overwritten."""

    def close(self, rows: StripSpan, state: Any) -> Any:
        """Return the result of a strip."""

    def join(self, left: Any, right: Any) -> Any:
        """Join the results of two adjacent ranges of strips without changing them."""

    def results(self, part: Any) -> tuple[Tensor, ...]:
        """Return the results of all strips in float64 on the CPU, with a leading dimension for members."""

    def cotangent(self, rows: StripSpan, columns: StripSpan, tile: Tensor, grads: tuple[Tensor, ...]) -> Tensor:
        """Derivative of the loss with respect to the entries of a tile."""


Kept: TypeAlias = dict[tuple[int, int], tuple[Tensor, list[Tensor], list[Tensor]]]


@dataclass(frozen=True)
class Pass:
    """A reduction that is ready to `run`, or to `measure` its cost."""

    reduction: Reduction
    tiling: Tiling
    compute: Compute

    def run(self) -> tuple[Tensor, ...]:
        """Run the reduction and return its results, with a graph for autograd if any input requires gradients."""
        tiling = self.tiling
        if tiling.differentiable:
            results = _Differentiable.apply(self, *tiling.inputs)
        else:
            refine_plan(tiling, self.compute)
            results = self.reduction.results(self.compute.run(Strips(self.reduction, tiling)))
        return tuple(r[0] for r in results) if tiling.kernel.members == 1 else results


def refine_plan(tiling: Tiling, compute: Compute) -> None:
    """Refine the plan in a pass over all points."""
    here = all(map(in_memory, tiling.prepared.samples))
    refined = replace(compute.here() if here else compute, progress=None).run(Preparation(tiling))
    if refined is not None:
        tiling.replan(refined)


class OnTiles:
    """A job on the strips of a tiling."""

    def __init__(self, tiling: Tiling) -> None:
        self.tiling, self.threads = tiling, tiling.threads

    def allow(self, most: int | None) -> None:
        """Limit the memory used in this process to the given number of bytes, if ``max_memory`` allows more."""
        self.tiling.allow(most)


class Preparation(OnTiles):
    """Job that refines the plan. Its result is None if no refinement is needed."""

    def __init__(self, tiling: Tiling) -> None:
        super().__init__(tiling)
        # Few points are not worth a thread.
        self.threads = 1 if sum(tiling.sizes) <= FEW else self.threads

    def panels(self, workers: int) -> list[range]:
        """Divide the strips into a few panels for each worker."""
        return branches(len(self.tiling.strips), 8 * workers)

    def size(self, panel: range) -> int:
        """The number of strips."""
        return len(panel)

    @torch.no_grad()
    def part(self, panel: range, checkpoint: Callable[[], None], most: int | None = None) -> Plan | None:
        """The plan, refined by some strips."""
        plan = refined = self.tiling.plan
        for strip in panel:
            checkpoint()
            refined = self.tiling.kernel.refine_plan(refined, self.tiling.prepared.strip_features(strip, plan))
        return None if refined is plan else refined

    def join(self, left: Plan | None, right: Plan | None) -> Plan | None:
        """The plan, refined by both parts."""
        return merge_plans(left, right) if left is not None and right is not None else left or right


class Strips(OnTiles):
    """Job of the first pass, which reduces every tile once. Fills ``kept`` if tiles are kept."""

    def __init__(self, reduction: Reduction, tiling: Tiling, kept: Kept | None = None) -> None:
        super().__init__(tiling)
        self.reduction, self.kept = reduction, kept

    def panels(self, workers: int) -> list[range]:
        """One strip for each panel, or several if points would otherwise be read repeatedly."""
        count = len(self.tiling.strips)
        if self.tiling.resident or self.tiling.strips_per_tile > 1:
            return branches(count, count)
        return branches(count, max(-(-count // self.tiling.panel), 4 * workers))

    def size(self, panel: range) -> int:
        """The number of tiles."""
        return sum(map(self.tiling.tiles_of, panel))

    def part(self, panel: range, checkpoint: Callable[[], None], most: int | None = None) -> Any:
        """Reduce the tiles of some strips."""
        reduction, tiling = self.reduction, self.tiling
        strips = [tiling.strips[number] for number in panel]
        states = [reduction.start(rows) for rows in strips]
        for columns in tiling.across(panel[0])[:most]:
            for rows, state in zip(strips, states, strict=True):
                if columns.pooled.start < rows.pooled.start:
                    break
                checkpoint()
                with torch.no_grad():
                    for member, tile in enumerate(self._tiles(rows, columns)):
                        reduction.add(state, rows, columns, member, tile)
        with torch.no_grad():
            return tree(reduction.join, map(reduction.close, strips, states))

    def join(self, left: Any, right: Any) -> Any:
        """Join two adjacent parts as the reduction does."""
        return self.reduction.join(left, right)

    def _tiles(self, rows: StripSpan, columns: StripSpan) -> Iterable[Tensor]:
        if self.kept is None:
            return self.tiling.tiles(rows, columns)
        graph = self.tiling.differentiable_tile(rows, columns)
        if graph[0].requires_grad:
            self.kept[rows.pooled.start, columns.pooled.start] = graph
        tile = graph[0].detach()
        return [tile.clone() if on_diagonal(rows, columns) else tile]


class _Differentiable(torch.autograd.Function):
    """The two passes as an autograd function of the points and the parameters of the kernel."""

    @staticmethod
    def forward(ctx: Any, of: Pass, *inputs: Tensor) -> Any:
        if of.tiling.kernel.members > 1:
            raise TypeError("A grid of kernels cannot be differentiated.")
        ctx.of, ctx.kept = of, {} if of.tiling.keepable else None
        return of.reduction.results(replace(of.compute, executor=None).run(Strips(of.reduction, of.tiling, ctx.kept)))

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> Any:
        grads = tuple(grad[0] for grad in grads)
        with workers.one_core():
            return None, *_through_features(ctx.of.tiling, *_gradients(ctx.of, ctx.kept or {}, grads))


def _through_features(
    tiling: Tiling, of_features: list[Tensor | None], of_parameters: list[Tensor | None]
) -> list[Tensor | None]:
    """Gradients of points and parameters, from the gradients of features and of parameters in tiles."""
    parameters = list(tiling.kernel.parameters())
    outputs = [*parameters, *(leaf for features in tiling.features for leaf in leaves(features))]
    ends = [(t, g) for t, g in zip(outputs, [*of_parameters, *of_features], strict=True) if t.requires_grad]
    inputs = [*tiling.points, *parameters]
    asked = [t for t in inputs if t.requires_grad]
    # The graph is kept: somebody may go back through the result again.
    got = iter(
        torch.autograd.grad([t for t, _ in ends], asked, [g for _, g in ends], retain_graph=True, allow_unused=True)
    )
    return [next(got) if t.requires_grad else None for t in inputs]


def _gradients(of: Pass, kept: Kept, grads: tuple[Tensor, ...]) -> tuple[list[Tensor | None], list[Tensor | None]]:
    """The second pass: recompute every tile and propagate the gradient to features and parameters."""
    reduction, tiling = of.reduction, of.tiling
    # Where a kernel is tiny, what comes in is too large for single precision: bring it to size, and back at the end.
    scale = max(float(grad.abs().max()) for grad in grads) or 1.0
    grads = tuple(grad / scale for grad in grads)
    parameters = list(tiling.kernel.parameters())
    of_sample = [
        [torch.zeros_like(t) if t.requires_grad else None for t in leaves(features)] for features in tiling.features
    ]
    of_parameters = [torch.zeros_like(t) if t.requires_grad else None for t in parameters]
    each = len(of_sample[0])

    def strip(number: int) -> Any:
        rows = tiling.strips[number]
        found: list[tuple[StripSpan, Sequence[Tensor | None]]] = []
        shared: list[Tensor | None] = [None] * len(parameters)
        for columns in tiling.across(number):
            pool.checkpoint()
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

    with workers.pool(min(of.compute.threads, tiling.threads)) as pool:
        for found, shared in pool.map(strip, range(len(tiling.strips))):
            for block, parts in found:
                for total, part in zip(of_sample[block.sample], parts, strict=True):
                    if total is not None and part is not None:
                        total[block.local] += part
            for total, part in zip(of_parameters, shared, strict=True):
                if total is not None and part is not None:
                    total += part
    of_features = [total for totals in of_sample for total in totals]
    return tuple([None if t is None else _rescale(t, scale) for t in some] for some in (of_features, of_parameters))  # type: ignore[return-value]


def _rescale(total: Tensor, scale: float) -> Tensor:
    """total · scale, in place if the scale is a number of single precision too."""
    return total.mul_(scale) if 1e-30 < scale < 1e30 else (total.double() * scale).to(total)


def _plus(a: Tensor | None, b: Tensor | None) -> Tensor | None:
    if a is None or b is None:
        return a if b is None else b
    return a + b
