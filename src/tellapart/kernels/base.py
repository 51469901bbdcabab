"""What a kernel is: an `nn.Module` that makes a tile of kernel values from two blocks of points."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, TypeAlias

import torch
from torch import Tensor, nn

from ..data import Points

#: What `Kernel.tile` compares: a tensor with one row for each point, or a nested tuple of such tensors, as the
#: kernel in question likes it.
Features: TypeAlias = Any

#: Rows looked at to make a `Plan`.
PROBE = 128


@dataclass(frozen=True)
class Plan:
    """What a kernel settles once about a data set, before it makes tiles of it.

    Attributes
    ----------
    dtype
        The type of the tiles.
    distance_dtype
        The type in which distances are computed: float64 where squares expanded in ``dtype`` would cancel.
    origin
        Subtracted from every point, so that data far from 0 keep their precision.
    anchored
        Tiles hold k - k(x, x) rather than k: MATHS §2, a kernel close to constant keeps its precision.
    fused_backward
        Gradients are taken by the engine and only once, so that short cuts which a second derivative would not
        survive are allowed.
    parts
        The plans of the kernels this one is made of.
    """

    dtype: torch.dtype
    distance_dtype: torch.dtype
    origin: Tensor | None = None
    anchored: bool = False
    fused_backward: bool = False
    parts: tuple[Plan, ...] = ()


class Kernel(nn.Module):
    """A positive semi-definite function of two points.

    A subclass defines `tile`, and `features` if a point is worth preparing once rather than once for each tile.
    Kernels combine with ``+`` and ``*``; a number times a kernel scales it. Parameters that must be positive
    are stored as logarithms.
    """

    #: How many kernels are evaluated side by side (`Grid` has one for each bandwidth).
    members = 1
    #: Whether points are best left in the order in which they come.
    keeps_row_order = False
    #: Whether k(x, x) = 1 for all x, and an anchored plan leaves out just that 1.
    normalised = False
    #: What a test with this kernel measures.
    statistic_name = "MMD²"

    @property
    def witness_function(self) -> Callable[[Tensor], Tensor] | None:
        """h, for a kernel of the form k(x, y) = h(x) h(y), whose MMD is the difference of the means of h; else None."""
        return None

    @property
    def coordinate_scales(self) -> Tensor | None:
        """How much each coordinate counts, for a kernel that weighs them; else None."""
        return None

    def distance(self, statistic: float) -> float:
        """The distance of two samples by the statistic of their test: √MMD², 0 where the estimate is negative."""
        return math.sqrt(max(statistic, 0.0))

    def plan(self, probe: Tensor, *, additive: bool = False, dtype: torch.dtype | None = None) -> Plan:
        """Settle how to compute tiles for data that look like ``probe``, in ``dtype`` (that of the data if None).

        With ``additive``, the kernel may be changed by f(x) + f(y) for any f, which changes neither MMD² nor its
        variance, if that is more accurate.
        """
        return Plan(dtype or probe.dtype, probe.dtype)

    def features(self, x: Tensor, plan: Plan) -> Features:
        """What `tile` compares, one row for each row of ``x``."""
        return x.flatten(1).to(plan.dtype)

    def refined(self, plan: Plan, features: Features) -> Plan:
        """The plan itself, or a better one now that all features are known."""
        return plan

    def tile(self, a: Features, b: Features, plan: Plan, out: Tensor | None = None) -> Tensor:
        """Kernel values between two blocks of features (less a constant if the plan is anchored).

        ``out`` is memory that the tile may be made in, of its shape and type.
        """
        raise NotImplementedError

    def tiles(self, a: Features, b: Features, plan: Plan, out: Tensor | None = None) -> Iterator[Tensor]:
        """One tile for each member."""
        yield self.tile(a, b, plan, out)

    def forward(self, x: Tensor, y: Tensor | None = None) -> Tensor:
        """The whole kernel matrix between the rows of ``x`` and those of ``y`` (or of ``x`` again)."""
        y = x if y is None else y
        if x.ndim < 2 or y.ndim < 2 or x.shape[1:] != y.shape[1:]:
            raise ValueError(
                "A kernel takes two blocks of points with one row for each point and rows of one shape, "
                f"but the shapes are {tuple(x.shape)} and {tuple(y.shape)}."
            )
        plan = self.plan(probe_rows(x, y))
        return self.tile(self.features(x, plan), self.features(y, plan), plan)

    def config(self) -> dict[str, Any]:
        """The arguments, other than parameters, that make this kernel again (see `save`)."""
        return {}

    def __add__(self, other: Kernel) -> Kernel:
        return Sum([self, other]) if isinstance(other, Kernel) else NotImplemented

    def __radd__(self, other: Any) -> Kernel:
        return self if other == 0 else NotImplemented  # so that sum([k1, k2]) works

    def __mul__(self, other: Kernel | float) -> Kernel:
        if isinstance(other, Kernel):
            return Product([self, other])
        return Sum([self], [other]) if isinstance(other, (int, float)) else NotImplemented

    __rmul__ = __mul__

    def extra_repr(self) -> str:
        """Arguments for ``repr``."""
        return ", ".join(f"{name}={value!r}" for name, value in self.config().items())


class Combination(Kernel):
    """A kernel made of other kernels, each with features of its own."""

    def __init__(self, parts: Sequence[Kernel]) -> None:
        super().__init__()
        if not parts:
            raise ValueError(f"{type(self).__name__} needs at least one kernel.")
        self.parts = nn.ModuleList(parts)

    @property
    def kernels(self) -> list[Kernel]:
        """The kernels it is made of."""
        return [part for part in self.parts if isinstance(part, Kernel)]

    def features(self, x: Tensor, plan: Plan) -> Features:
        """The features of every part."""
        return tuple(part.features(x, p) for part, p in zip(self.kernels, plan.parts, strict=True))

    def refined(self, plan: Plan, features: Features) -> Plan:
        """Refined for each part."""
        parts = tuple(part.refined(p, f) for part, p, f in zip(self.kernels, plan.parts, features, strict=True))
        return with_parts(plan, parts)

    def part_tiles(self, a: Features, b: Features, plan: Plan) -> Iterator[Tensor]:
        """The tiles of the parts, one after the other."""
        for part, i, j, p in zip(self.kernels, a, b, plan.parts, strict=True):
            yield part.tile(i, j, p)


class Sum(Combination):
    """k(x, y) = Σ_c weight_c k_c(x, y), made by ``k1 + k2`` and ``0.5 * k``. The weights are fixed."""

    def __init__(self, parts: Sequence[Kernel], weights: Sequence[float] | None = None) -> None:
        super().__init__(parts)
        logs = log_positive("weights", [1.0] * len(parts) if weights is None else weights)
        if logs.shape != (len(parts),):
            raise ValueError(f"weights must be one for each of the {len(parts)} kernels, but there are {logs.numel()}.")
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


def with_parts(plan: Plan, parts: tuple[Plan, ...]) -> Plan:
    """The plan with these parts: the very same plan if the parts are the same."""
    same = all(new is old for new, old in zip(parts, plan.parts, strict=True))
    return plan if same else replace(plan, parts=parts)


def merge_plans(a: Plan, b: Plan) -> Plan:
    """Of two plans that differ at the most in how they were `Kernel.refined`, one that is refined as either is."""
    parts = tuple(merge_plans(p, q) for p, q in zip(a.parts, b.parts, strict=True))
    return with_parts(
        a
        if a.distance_dtype == b.distance_dtype
        else replace(a, distance_dtype=torch.promote_types(a.distance_dtype, b.distance_dtype)),
        parts,
    )


def _common(parts: tuple[Plan, ...]) -> torch.dtype:
    return reduce(torch.promote_types, (part.dtype for part in parts))


def log_positive(name: str, values: float | Sequence[float] | Tensor) -> Tensor:
    """Logarithms in float64 of values that must be positive and finite."""
    try:
        given = torch.as_tensor(values, dtype=torch.float64).detach().clone()
    except (TypeError, ValueError, RuntimeError):
        raise TypeError(f"{name} must be a positive number or a list of them, but is {values!r}.") from None
    if not bool(torch.isfinite(given).all() and (given > 0).all()):
        raise ValueError(f"{name} must be positive and finite, but is {given.tolist()}.")
    return given.log()


def probe_rows(*blocks: Points) -> Tensor:
    """Up to `PROBE` rows, spread evenly over the blocks: what plans are made from."""
    share = max(PROBE // len(blocks), 1)
    return torch.cat([block[:: max(math.ceil(len(block) / share), 1)].detach() for block in blocks])


def take(features: Features, index: slice | Tensor) -> Features:
    """The features of some of the points."""
    return features[index] if isinstance(features, Tensor) else tuple(take(part, index) for part in features)


def leaves(features: Features) -> list[Tensor]:
    """All tensors of a set of features, in order."""
    return [features] if isinstance(features, Tensor) else [leaf for part in features for leaf in leaves(part)]


def map_leaves(function: Callable[[Tensor], Tensor], features: Features) -> Features:
    """The same features with every tensor replaced."""
    return function(features) if isinstance(features, Tensor) else tuple(map_leaves(function, f) for f in features)
