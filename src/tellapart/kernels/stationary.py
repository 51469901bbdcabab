"""Stationary kernels: functions of (x - y) / bandwidth."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from .._util.errors import InputError
from .base import Kernel, log_positive
from .plan import Features, Plan
from .registry import register

#: Typical exponent below which k - 1 has more significant digits than k.
_NEARLY_CONSTANT = 1 / 8
#: Largest tolerated error of an exponent; beyond it distances are computed in float64.
_TOLERANCE = 1e-4


class Stationary(Kernel):
    """Base class of kernels of (x - y) / bandwidth with k(x, x) = 1.

    A subclass implements `exponent`, a negative distance of two points, and `profile`, the kernel value of an exponent.
    With ``plan.fused_backward``, features treat the bandwidth as a constant, and its gradient is computed in the tile
    (`with_bandwidth_gradient`), which takes a multiplication instead of a matrix product.

    Parameters
    ----------
    bandwidth : float, default 1.0
        The bandwidth.
    """

    normalised = True
    #: The exponent is proportional to bandwidth^-degree.
    degree = 2
    #: Factor of exponents: log2(e) for a kernel that computes powers of 2.
    unit = 1.0

    def __init__(self, bandwidth: float = 1.0) -> None:
        super().__init__()
        self.log_bandwidth = nn.Parameter(log_positive("bandwidth", bandwidth))
        if self.log_bandwidth.ndim:
            raise InputError(
                "wrong-shape",
                "`bandwidth` must be a number. Use ARD for one scale per coordinate, Mixture for several.",
            )

    @property
    def bandwidth(self) -> float:
        """The bandwidth."""
        return float(self.log_bandwidth.detach().exp())

    def scale(self) -> Tensor:
        """Return the factor that points are multiplied by."""
        return (-self.log_bandwidth).exp()

    def extra_repr(self) -> str:
        """Return the arguments shown by ``repr``."""
        return ", ".join(filter(None, [f"bandwidth={self.bandwidth:.4g}", super().extra_repr()]))

    @torch.no_grad()
    def plan(self, probe: Tensor, *, additive: bool = False, dtype: torch.dtype | None = None) -> Plan:
        """Return a plan that centers the data at the mean of the probe and depends on its spread."""
        flat = probe.flatten(1)
        dtype = dtype or flat.dtype
        origin = flat.mean(0)
        typical, cancelling = self.spread((flat - origin) * self.scale().to(flat.dtype))
        distance_dtype = torch.float64 if cancelling * torch.finfo(dtype).eps > _TOLERANCE else dtype
        return Plan(
            dtype, distance_dtype, origin, anchored=additive and typical < _NEARLY_CONSTANT, fused_backward=additive
        )

    def features(self, x: Tensor, plan: Plan) -> Features:
        """Return the centered and scaled points."""
        assert plan.origin is not None
        x = x.flatten(1)
        # Scale in the type of the data: before scaling, values may exceed the range of another type.
        centred = x.to(torch.promote_types(x.dtype, plan.distance_dtype)) - plan.origin
        scale = self.scale().to(centred.dtype) * math.sqrt(self.unit)
        scale = scale.detach() if plan.fused_backward else scale
        z = centred * scale if centred.requires_grad or scale.requires_grad else centred.mul_(scale)
        return z.to(plan.distance_dtype)

    def tile(self, a: Features, b: Features, plan: Plan, out: Tensor | None = None) -> Tensor:
        """Return k, or k - 1 if the plan is anchored."""
        return self.profile(self.with_bandwidth_gradient(self.exponent(a, b, out).to(plan.dtype), plan), plan.anchored)

    def with_bandwidth_gradient(self, exponent: Tensor, plan: Plan) -> Tensor:
        """Return the same exponent with a gradient with respect to the bandwidth."""
        if not (plan.fused_backward and torch.is_grad_enabled() and self.log_bandwidth.requires_grad):
            return exponent
        # The value is 1; only its gradient matters.
        unit_factor = ((self.log_bandwidth.detach() - self.log_bandwidth) * self.degree).exp()
        return exponent * unit_factor.to(exponent.dtype)

    def spread(self, z: Tensor) -> tuple[float, float]:
        """Return the typical size of an exponent of scaled and centered points, and that of its canceling terms."""
        raise NotImplementedError

    def exponent(self, a: Features, b: Features, out: Tensor | None = None) -> Tensor:
        """Return minus the distance (at most 0, up to rounding)."""
        raise NotImplementedError

    def profile(self, exponent: Tensor, anchored: bool) -> Tensor:
        """Return k (or k - 1 if anchored) of an exponent, which may be overwritten."""
        raise NotImplementedError


class Radial(Stationary):
    """Base class of kernels of |x - y|², computed with a matrix product."""

    def features(self, x: Tensor, plan: Plan) -> Features:
        """Return the centered and scaled points z, and -|z|²/2."""
        z = super().features(x, plan)
        return z, half_norms(z)

    def refine_plan(self, plan: Plan, features: Features) -> Plan:
        """Use float64 if a point outside the probe is so far from the center that squares cancel."""
        if plan.distance_dtype == torch.float64:
            return plan
        cancelling = -4 * float(features[1].detach().min()) / self.unit
        return (
            replace(plan, distance_dtype=torch.float64)
            if cancelling * torch.finfo(plan.dtype).eps > _TOLERANCE
            else plan
        )

    def spread(self, z: Tensor) -> tuple[float, float]:
        """Return the mean of |z|², which is that of |z - z'|²/2, and 2 max |z|², as |z|² + |z'|² - 2zz' may cancel."""
        squares = torch.linalg.vecdot(z, z)
        return float(squares.mean()), 2 * float(squares.max())

    def exponent(self, a: Features, b: Features, out: Tensor | None = None) -> Tensor:
        """Return z·z' - |z|²/2 - |z'|²/2."""
        (za, ha), (zb, hb) = a, b
        if torch.is_grad_enabled() or (out is not None and out.dtype != za.dtype):
            out = None
        return torch.addmm(hb, za, zb.T, out=out).add_(ha[:, None])


@register
class RationalQuadratic(Radial):
    """Rational quadratic kernel, k(x, y) = (1 + |x - y|² / (2 alpha bandwidth²))^-alpha.

    Parameters
    ----------
    bandwidth : float, default 1.0
        The bandwidth.
    alpha : float, default 1.0
        The exponent.
    """

    def __init__(self, bandwidth: float = 1.0, alpha: float = 1.0) -> None:
        super().__init__(bandwidth)
        self.log_alpha = nn.Parameter(log_positive("alpha", alpha))

    def profile(self, exponent: Tensor, anchored: bool) -> Tensor:
        """Return exp(-alpha log(1 + …)), or expm1 of the same exponent if anchored."""
        alpha = self.log_alpha.exp().to(exponent.dtype)
        power = -alpha * torch.log1p(exponent.clamp_max(0) / -alpha)
        return _exponential(power, anchored)

    def extra_repr(self) -> str:
        """Return the arguments shown by ``repr``."""
        return f"{super().extra_repr()}, alpha={float(self.log_alpha.detach().exp()):.4g}"


@register
class Matern(Radial):
    """Matérn kernel.

    With s = √(2 nu) |x - y| / bandwidth, it is exp(-s) for nu = 1/2, (1 + s) exp(-s) for nu = 3/2, and
    (1 + s + s²/3) exp(-s) for nu = 5/2.

    Parameters
    ----------
    bandwidth : float, default 1.0
        The bandwidth.
    nu : {0.5, 1.5, 2.5}, default 1.5
        The smoothness.
    """

    def __init__(self, bandwidth: float = 1.0, nu: float = 1.5) -> None:
        super().__init__(bandwidth)
        if nu not in (0.5, 1.5, 2.5):
            raise InputError("unknown-choice", f"`nu` must be 0.5, 1.5 or 2.5, got {nu!r}.")
        self.nu = nu
        self.degree = 1 if nu == 0.5 else 2

    def exponent(self, a: Features, b: Features, out: Tensor | None = None) -> Tensor:
        """Return the exponent; for nu = 1/2 without expanded squares, as the square root amplifies rounding errors."""
        return _minus_distance(a[0], b[0], p=2) if self.nu == 0.5 else super().exponent(a, b, out)

    def profile(self, exponent: Tensor, anchored: bool) -> Tensor:
        """Return the product of the polynomial and the exponential (minus 1 if anchored)."""
        if self.nu == 0.5:
            return _exponential(exponent, anchored)
        # At 0 the derivative of k with respect to s² is finite, but that of s = √s² is not: keep s just above 0.
        tiny = torch.finfo(exponent.dtype).tiny
        minus_s = (exponent * (-4 * self.nu)).clamp(tiny, exponent_depth(exponent.dtype) ** 2).sqrt().neg()
        polynomial = -minus_s if self.nu == 1.5 else minus_s.square() / 3 - minus_s
        return minus_s.expm1() + polynomial * minus_s.exp() if anchored else (1 + polynomial) * minus_s.exp()

    def config(self) -> dict[str, Any]:
        """Return the smoothness ``nu``."""
        return {"nu": self.nu}


@register
class Laplacian(Stationary):
    """Laplacian kernel, k(x, y) = exp(-Σ_j |x_j - y_j| / bandwidth).

    Parameters
    ----------
    bandwidth : float, default 1.0
        The bandwidth.
    """

    degree = 1

    def spread(self, z: Tensor) -> tuple[float, float]:
        """Return √2 times the mean distance from the center, and 0: no terms cancel."""
        return float(z.abs().sum(1).mean()) * math.sqrt(2), 0.0

    def exponent(self, a: Features, b: Features, out: Tensor | None = None) -> Tensor:
        """Return minus the sum of absolute differences."""
        return _minus_distance(a, b, p=1)

    def profile(self, exponent: Tensor, anchored: bool) -> Tensor:
        """Return the exponential of the exponent (minus 1 if anchored)."""
        return _exponential(exponent, anchored)


def half_norms(z: Tensor) -> Tensor:
    """Return -|z|²/2 of each row, without a copy of z."""
    norms: Tensor = torch.linalg.vector_norm(z, dim=1)
    return norms.square() * -0.5


def exponent_depth(dtype: torch.dtype) -> float:
    """Return the largest absolute exponent: smaller powers, or products of two of them, would be denormal."""
    return 69.0 if dtype == torch.float32 else 500.0


def _minus_distance(a: Any, b: Any, p: float) -> Tensor:
    distance: Tensor = torch.cdist(a, b, p=p, compute_mode="donot_use_mm_for_euclid_dist")
    return distance.neg()


def _exponential(exponent: Tensor, anchored: bool) -> Tensor:
    exponent = exponent.clamp_min(-exponent_depth(exponent.dtype))
    return exponent.expm1_() if anchored else exponent.exp_()
