"""Sums and products of kernels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import reduce

import torch
from torch import Tensor, nn

from .._util.errors import InputError
from .base import Kernel, log_positive
from .plan import Features, Plan, replace_parts
from .registry import register


class Combination(Kernel):
    """Kernel composed of other kernels, each with its own features."""

    def __init__(self, parts: Sequence[Kernel]) -> None:
        super().__init__()
        if not parts:
            raise InputError("no-kernels", f"{type(self).__name__} needs at least one kernel.")
        self.parts = nn.ModuleList(parts)

    def components(self) -> Mapping[str, Sequence[Kernel]]:
        """Return the combined kernels as the argument ``parts``."""
        return {"parts": self.kernels}

    @classmethod
    def examples(cls, d: int) -> list[Kernel]:
        """Return a combination of a single kernel."""
        from .products import Linear

        return [cls([Linear()])]

    @property
    def kernels(self) -> list[Kernel]:
        """The combined kernels."""
        return [part for part in self.parts if isinstance(part, Kernel)]

    def features(self, x: Tensor, plan: Plan) -> Features:
        """Return the features of each part."""
        return tuple(part.features(x, p) for part, p in zip(self.kernels, plan.parts, strict=True))

    def refine_plan(self, plan: Plan, features: Features) -> Plan:
        """Refine the plan of each part."""
        parts = tuple(part.refine_plan(p, f) for part, p, f in zip(self.kernels, plan.parts, features, strict=True))
        return replace_parts(plan, parts)

    def part_tiles(self, a: Features, b: Features, plan: Plan) -> Iterator[Tensor]:
        """Yield the tile of each part."""
        for part, i, j, p in zip(self.kernels, a, b, plan.parts, strict=True):
            yield part.tile(i, j, p)


@register
class Sum(Combination):
    """Weighted sum of kernels, k(x, y) = Σ_c weight_c k_c(x, y), created by ``k1 + k2`` and ``0.5 * k``.

    Parameters
    ----------
    parts : sequence of Kernel
        The kernels.
    weights : sequence of float, optional
        Positive weights, which are not learned. By default all 1.
    """

    def __init__(self, parts: Sequence[Kernel], weights: Sequence[float] | None = None) -> None:
        super().__init__(parts)
        logs = log_positive("weights", [1.0] * len(parts) if weights is None else weights)
        if logs.shape != (len(parts),):
            raise InputError(
                "wrong-shape",
                f"`weights` must contain one weight per kernel ({len(parts)}), got {logs.numel()}.",
            )
        self.log_weights = nn.Parameter(logs, requires_grad=False)

    def plan(self, probe: Tensor, *, additive: bool = False, dtype: torch.dtype | None = None) -> Plan:
        """Return a plan with the plans of all parts."""
        parts = tuple(part.plan(probe, additive=additive, dtype=dtype) for part in self.kernels)
        return Plan(_common(parts), probe.dtype, parts=parts)

    def tile(self, a: Features, b: Features, plan: Plan, out: Tensor | None = None) -> Tensor:
        """Return the weighted sum of the tiles of the parts."""
        weighted = map(torch.mul, self.part_tiles(a, b, plan), self.log_weights.exp().to(plan.dtype))
        return reduce(torch.add, weighted).to(plan.dtype)

    def extra_repr(self) -> str:
        """Return the weights, unless all are 1."""
        return f"weights={self.log_weights.exp().tolist()}" if self.log_weights.any() else ""


@register
class Product(Combination):
    """Product of kernels, k(x, y) = Π_c k_c(x, y), created by ``k1 * k2``.

    Parameters
    ----------
    parts : sequence of Kernel
        The kernels.
    """

    def __init__(self, parts: Sequence[Kernel]) -> None:
        super().__init__(parts)
        self.normalised = all(part.normalised for part in parts)

    def plan(self, probe: Tensor, *, additive: bool = False, dtype: torch.dtype | None = None) -> Plan:
        """Return a plan that is anchored if all parts are: Π(1 + t_c) - 1 is then computed from the small t_c."""
        additive = additive and self.normalised
        parts = tuple(part.plan(probe, additive=additive, dtype=dtype) for part in self.kernels)
        anchored = all(part.anchored for part in parts)
        if not anchored:
            parts = tuple(part.plan(probe, dtype=dtype) for part in self.kernels)
        return Plan(_common(parts), probe.dtype, anchored=anchored, parts=parts)

    def tile(self, a: Features, b: Features, plan: Plan, out: Tensor | None = None) -> Tensor:
        """Return the product of the tiles of the parts."""
        tiles = self.part_tiles(a, b, plan)
        if plan.anchored:
            return reduce(lambda s, t: s + t + s * t, tiles).to(plan.dtype)
        return reduce(torch.mul, tiles).to(plan.dtype)


def _common(parts: tuple[Plan, ...]) -> torch.dtype:
    """Return the common type of the tiles of all parts."""
    return reduce(torch.promote_types, (part.dtype for part in parts))
