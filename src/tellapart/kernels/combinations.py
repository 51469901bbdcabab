"""Kernels made of kernels: sums and products."""

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
    """A kernel made of other kernels, each with features of its own."""

    def __init__(self, parts: Sequence[Kernel]) -> None:
        super().__init__()
        if not parts:
            raise InputError("no-kernels", f"{type(self).__name__} needs at least one kernel.")
        self.parts = nn.ModuleList(parts)

    def components(self) -> Mapping[str, Sequence[Kernel]]:
        """The kernels it is made of, as its argument."""
        return {"parts": self.kernels}

    @classmethod
    def examples(cls, d: int) -> list[Kernel]:
        """A kernel of one part, which is the part."""
        from .products import Linear

        return [cls([Linear()])]

    @property
    def kernels(self) -> list[Kernel]:
        """The kernels it is made of."""
        return [part for part in self.parts if isinstance(part, Kernel)]

    def features(self, x: Tensor, plan: Plan) -> Features:
        """The features of every part."""
        return tuple(part.features(x, p) for part, p in zip(self.kernels, plan.parts, strict=True))

    def refine_plan(self, plan: Plan, features: Features) -> Plan:
        """The plan of each part, refined by its features."""
        parts = tuple(part.refine_plan(p, f) for part, p, f in zip(self.kernels, plan.parts, features, strict=True))
        return replace_parts(plan, parts)

    def part_tiles(self, a: Features, b: Features, plan: Plan) -> Iterator[Tensor]:
        """The tiles of the parts, one after the other."""
        for part, i, j, p in zip(self.kernels, a, b, plan.parts, strict=True):
            yield part.tile(i, j, p)


@register
class Sum(Combination):
    """k(x, y) = Σ_c weight_c k_c(x, y), made by ``k1 + k2`` and ``0.5 * k``. The weights are fixed."""

    def __init__(self, parts: Sequence[Kernel], weights: Sequence[float] | None = None) -> None:
        super().__init__(parts)
        logs = log_positive("weights", [1.0] * len(parts) if weights is None else weights)
        if logs.shape != (len(parts),):
            raise InputError(
                "wrong-shape",
                f"weights must be one for each of the {len(parts)} kernels, but there are {logs.numel()}.",
            )
        self.log_weights = nn.Parameter(logs, requires_grad=False)

    def plan(self, probe: Tensor, *, additive: bool = False, dtype: torch.dtype | None = None) -> Plan:
        """Each part makes its own plan."""
        parts = tuple(part.plan(probe, additive=additive, dtype=dtype) for part in self.kernels)
        return Plan(_common(parts), probe.dtype, parts=parts)

    def tile(self, a: Features, b: Features, plan: Plan, out: Tensor | None = None) -> Tensor:
        """The weighted sum of the parts' tiles."""
        weighted = map(torch.mul, self.part_tiles(a, b, plan), self.log_weights.exp().to(plan.dtype))
        return reduce(torch.add, weighted).to(plan.dtype)

    def extra_repr(self) -> str:
        """The weights, unless all are 1."""
        return f"weights={self.log_weights.exp().tolist()}" if self.log_weights.any() else ""


@register
class Product(Combination):
    """k(x, y) = Π_c k_c(x, y), made by ``k1 * k2``."""

    def __init__(self, parts: Sequence[Kernel]) -> None:
        super().__init__(parts)
        self.normalised = all(part.normalised for part in parts)

    def plan(self, probe: Tensor, *, additive: bool = False, dtype: torch.dtype | None = None) -> Plan:
        """Anchored if every part is: Π(1 + t_c) - 1 is then computed from the small t_c."""
        additive = additive and self.normalised
        parts = tuple(part.plan(probe, additive=additive, dtype=dtype) for part in self.kernels)
        anchored = all(part.anchored for part in parts)
        if not anchored:
            parts = tuple(part.plan(probe, dtype=dtype) for part in self.kernels)
        return Plan(_common(parts), probe.dtype, anchored=anchored, parts=parts)

    def tile(self, a: Features, b: Features, plan: Plan, out: Tensor | None = None) -> Tensor:
        """The product of the parts' tiles."""
        tiles = self.part_tiles(a, b, plan)
        if plan.anchored:
            return reduce(lambda s, t: s + t + s * t, tiles).to(plan.dtype)
        return reduce(torch.mul, tiles).to(plan.dtype)


def _common(parts: tuple[Plan, ...]) -> torch.dtype:
    """The type that holds the tiles of all parts."""
    return reduce(torch.promote_types, (part.dtype for part in parts))
