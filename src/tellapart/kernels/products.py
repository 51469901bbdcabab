"""Kernels of the inner product x·y."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from .._util.errors import InputError
from .base import Kernel
from .plan import Features, Plan
from .registry import register


@register
class Linear(Kernel):
    """Linear kernel, k(x, y) = x·y. Its MMD is the distance between the means."""

    def plan(self, probe: Tensor, *, additive: bool = False, dtype: torch.dtype | None = None) -> Plan:
        """Return a plan that centers the points if ``additive``: centering changes x·y by f(x) + f(y)."""
        return Plan(dtype or probe.dtype, probe.dtype, probe.flatten(1).mean(0) if additive else None)

    def features(self, x: Tensor, plan: Plan) -> Features:
        """Return the points, centered if the plan has an origin."""
        x = x.flatten(1)
        return (x if plan.origin is None else x - plan.origin).to(plan.dtype)

    def tile(self, a: Features, b: Features, plan: Plan, out: Tensor | None = None) -> Tensor:
        """Return the inner products of all pairs."""
        return torch.mm(a, b.T)


@register
class Polynomial(Kernel):
    """Polynomial kernel, k(x, y) = (gamma x·y + coef0)^degree.

    Parameters
    ----------
    degree : int, default 3
        The degree. Degree 3 gives the kernel inception distance (KID).
    gamma : float, optional
        Positive factor. By default 1/d for points with d coordinates.
    coef0 : float, default 1.0
        Non-negative constant.
    """

    def __init__(self, degree: int = 3, gamma: float | None = None, coef0: float = 1.0) -> None:
        super().__init__()
        if not isinstance(degree, int) or degree < 1:
            raise InputError("out-of-range", f"`degree` must be a positive integer, got {degree!r}.")
        if gamma is not None and not gamma > 0:
            raise InputError("out-of-range", f"`gamma` must be positive, got {gamma!r}.")
        if not coef0 >= 0:
            raise InputError(
                "out-of-range",
                f"`coef0` must be non-negative (otherwise k is not positive definite), got {coef0!r}.",
            )
        self.degree, self.gamma, self.coef0 = degree, gamma, coef0

    def plan(self, probe: Tensor, *, additive: bool = False, dtype: torch.dtype | None = None) -> Plan:
        """Return a plan that uses float64 if the points are far from 0 relative to their spread."""
        flat = probe.flatten(1).double()
        spread = (flat - flat.mean(0)).square().sum(1).mean()
        far = bool(flat.square().sum(1).max() > 100 * spread)
        dtype = torch.float64 if far else dtype or probe.dtype
        return Plan(dtype, dtype)

    def features(self, x: Tensor, plan: Plan) -> Features:
        """Return the points in the type of the plan."""
        return x.flatten(1).to(plan.distance_dtype)

    def tile(self, a: Features, b: Features, plan: Plan, out: Tensor | None = None) -> Tensor:
        """Return (gamma x·y + coef0)^degree of all pairs."""
        product = torch.mm(a, b.T)
        gamma = 1 / a.shape[1] if self.gamma is None else self.gamma
        return (product * gamma + self.coef0) ** self.degree

    def config(self) -> dict[str, Any]:
        """Return the constructor arguments."""
        return {"degree": self.degree, "gamma": self.gamma, "coef0": self.coef0}
