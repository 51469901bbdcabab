"""What a kernel settles once about a data set, and what it makes of its points."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import torch
from torch import Tensor

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


def replace_parts(plan: Plan, parts: tuple[Plan, ...]) -> Plan:
    """The plan with these parts: the very same plan if the parts are the same."""
    same = all(new is old for new, old in zip(parts, plan.parts, strict=True))
    return plan if same else replace(plan, parts=parts)


def merge_plans(a: Plan, b: Plan) -> Plan:
    """Of two plans that differ at the most in how they were `Kernel.refine_plan`, one as fine as both."""
    parts = tuple(merge_plans(p, q) for p, q in zip(a.parts, b.parts, strict=True))
    return replace_parts(
        a
        if a.distance_dtype == b.distance_dtype
        else replace(a, distance_dtype=torch.promote_types(a.distance_dtype, b.distance_dtype)),
        parts,
    )


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
