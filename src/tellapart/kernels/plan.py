"""The plan of a kernel for a data set, and operations on its features."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import torch
from torch import Tensor

from ..data import TensorPoints

#: Input of `Kernel.tile`: a tensor with one row per point, or a nested tuple of such tensors.
Features: TypeAlias = Any

#: Number of rows from which a `Plan` is made.
PROBE = 128


@dataclass(frozen=True)
class Plan:
    """Numerical choices of a kernel for a data set, made once before any tile is computed.

    Attributes
    ----------
    dtype : torch.dtype
        Type of the tiles.
    distance_dtype : torch.dtype
        Type in which distances are computed: float64 if expanded squares would cancel in ``dtype``.
    origin : Tensor or None
        Vector subtracted from every point, to keep the precision of data far from 0.
    anchored : bool
        Whether tiles contain k - k(x, x) instead of k, to keep the precision of a nearly constant kernel (MATHS §2).
    fused_backward : bool
        Whether only first derivatives are needed, which the engine computes. This allows gradients that cannot be
        differentiated again.
    parts : tuple of Plan
        Plans of the kernels that this one is composed of.
    """

    dtype: torch.dtype
    distance_dtype: torch.dtype
    origin: Tensor | None = None
    anchored: bool = False
    fused_backward: bool = False
    parts: tuple[Plan, ...] = ()


def replace_parts(plan: Plan, parts: tuple[Plan, ...]) -> Plan:
    """Return a plan with other parts, or the same object if the parts are unchanged."""
    same = all(new is old for new, old in zip(parts, plan.parts, strict=True))
    return plan if same else replace(plan, parts=parts)


def merge_plans(a: Plan, b: Plan) -> Plan:
    """Merge two plans that differ only by `Kernel.refine_plan` into one that satisfies both."""
    parts = tuple(merge_plans(p, q) for p, q in zip(a.parts, b.parts, strict=True))
    return replace_parts(
        a
        if a.distance_dtype == b.distance_dtype
        else replace(a, distance_dtype=torch.promote_types(a.distance_dtype, b.distance_dtype)),
        parts,
    )


def probe_rows(*blocks: TensorPoints) -> Tensor:
    """Return up to `PROBE` rows, spaced evenly over the blocks, from which to make a plan."""
    share = max(PROBE // len(blocks), 1)
    return torch.cat([block[:: max(math.ceil(len(block) / share), 1)].detach() for block in blocks])


def take(features: Features, index: slice | Tensor) -> Features:
    """Return the features of the points selected by ``index``."""
    return features[index] if isinstance(features, Tensor) else tuple(take(part, index) for part in features)


def leaves(features: Features) -> list[Tensor]:
    """Return all tensors of features, in order."""
    return [features] if isinstance(features, Tensor) else [leaf for part in features for leaf in leaves(part)]


def map_leaves(function: Callable[[Tensor], Tensor], features: Features) -> Features:
    """Apply a function to every tensor of features."""
    return function(features) if isinstance(features, Tensor) else tuple(map_leaves(function, f) for f in features)
