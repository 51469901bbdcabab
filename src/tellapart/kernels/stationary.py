"""Kernels of the difference x - y over a bandwidth."""

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

#: Below this typical exponent, k - 1 carries more digits than k.
_NEARLY_CONSTANT = 1 / 8
#: The largest error of an exponent that is let pass before distances are computed in float64.
_TOLERANCE = 1e-4


class Stationary(Kernel):
    """A kernel of (x - y) / bandwidth with k(x, x) = 1; the base of the others here.

    A subclass says how far two points are apart (`exponent`, which is 0 or negative) and what the kernel makes
    of it (`profile`). Where the plan says ``fused_backward``, features are scaled by the present bandwidth as by a
    constant, and its gradient is taken in the tile (`with_bandwidth_gradient`): that costs a multiplication rather than
    a matrix product.
    """

    normalised = True
    #: The exponent falls with this power of the bandwidth.
    degree = 2
    #: Exponents are in units of 1/unit: log2(e) for a kernel that takes powers of 2.
    unit = 1.0

    def __init__(self, bandwidth: float = 1.0) -> None:
        super().__init__()
        self.log_bandwidth = nn.Parameter(log_positive("bandwidth", bandwidth))
        if self.log_bandwidth.ndim:
            raise InputError(
                "wrong-shape", "bandwidth must be one number. For one scale a coordinate use ARD, for several Mixture."
            )

    @property
    def bandwidth(self) -> float:
        """The bandwidth."""
        return float(self.log_bandwidth.detach().exp())

    def scale(self) -> Tensor:
        """What points are multiplied with before they are compared."""
        return (-self.log_bandwidth).exp()

    def extra_repr(self) -> str:
        """Arguments for ``repr``."""
        return ", ".join(filter(None, [f"bandwidth={self.bandwidth:.4g}", super().extra_repr()]))

    @torch.no_grad()
    def plan(self, probe: Tensor, *, additive: bool = False, dtype: torch.dtype | None = None) -> Plan:
        """Centre on the probe, and decide by its spread."""
        flat = probe.flatten(1)
        dtype = dtype or flat.dtype
        origin = flat.mean(0)
        typical, cancelling = self.spread((flat - origin) * self.scale().to(flat.dtype))
        distance_dtype = torch.float64 if cancelling * torch.finfo(dtype).eps > _TOLERANCE else dtype
        return Plan(
            dtype, distance_dtype, origin, anchored=additive and typical < _NEARLY_CONSTANT, fused_backward=additive
        )

    def features(self, x: Tensor, plan: Plan) -> Features:
        """The centred and scaled points."""
        assert plan.origin is not None
        x = x.flatten(1)
        # In the type of the data until it is in units of the bandwidth: only then is any other type large enough.
        centred = x.to(torch.promote_types(x.dtype, plan.distance_dtype)) - plan.origin
        scale = self.scale().to(centred.dtype) * math.sqrt(self.unit)
        scale = scale.detach() if plan.fused_backward else scale
        z = centred * scale if centred.requires_grad or scale.requires_grad else centred.mul_(scale)
        return z.to(plan.distance_dtype)

    def tile(self, a: Features, b: Features, plan: Plan, out: Tensor | None = None) -> Tensor:
        """k, or k - 1 if the plan is anchored."""
        return self.profile(self.with_bandwidth_gradient(self.exponent(a, b, out).to(plan.dtype), plan), plan.anchored)

    def with_bandwidth_gradient(self, exponent: Tensor, plan: Plan) -> Tensor:
        """The same exponent, now with a gradient with respect to the bandwidth."""
        if not (plan.fused_backward and torch.is_grad_enabled() and self.log_bandwidth.requires_grad):
            return exponent
        one = ((self.log_bandwidth.detach() - self.log_bandwidth) * self.degree).exp()
        return exponent * one.to(exponent.dtype)

    def spread(self, z: Tensor) -> tuple[float, float]:
        """The typical size of an exponent between these scaled and centred points, and of what may cancel in it."""
        raise NotImplementedError

    def exponent(self, a: Features, b: Features, out: Tensor | None = None) -> Tensor:
        """Minus the distance in the kernel's own sense, up to rounding not above 0."""
        raise NotImplementedError

    def profile(self, exponent: Tensor, anchored: bool) -> Tensor:
        """k (or k - 1) of an exponent, which it may overwrite."""
        raise NotImplementedError


class Radial(Stationary):
    """A kernel of |x - y|²: squared distances by the speed of a matrix product."""

    def features(self, x: Tensor, plan: Plan) -> Features:
        """The centred and scaled points z, and -|z|²/2."""
        z = super().features(x, plan)
        return z, half_norms(z)

    def refine_plan(self, plan: Plan, features: Features) -> Plan:
        """In float64 if some point that the probe missed is so far out that squares cancel."""
        if plan.distance_dtype == torch.float64:
            return plan
        cancelling = -4 * float(features[1].detach().min()) / self.unit
        return (
            replace(plan, distance_dtype=torch.float64)
            if cancelling * torch.finfo(plan.dtype).eps > _TOLERANCE
            else plan
        )

    def spread(self, z: Tensor) -> tuple[float, float]:
        """The mean of |x - y|²/2 over all pairs is that of |x|² about the centre; |x|² + |y|² - 2xy may cancel."""
        squares = torch.linalg.vecdot(z, z)
        return float(squares.mean()), 2 * float(squares.max())

    def exponent(self, a: Features, b: Features, out: Tensor | None = None) -> Tensor:
        """z·z' - |z|²/2 - |z'|²/2."""
        (za, ha), (zb, hb) = a, b
        if torch.is_grad_enabled() or (out is not None and out.dtype != za.dtype):
            out = None
        return torch.addmm(hb, za, zb.T, out=out).add_(ha[:, None])


@register
class RationalQuadratic(Radial):
    """k(x, y) = (1 + |x - y|² / (2 alpha bandwidth²))^-alpha."""

    def __init__(self, bandwidth: float = 1.0, alpha: float = 1.0) -> None:
        super().__init__(bandwidth)
        self.log_alpha = nn.Parameter(log_positive("alpha", alpha))

    def profile(self, exponent: Tensor, anchored: bool) -> Tensor:
        """exp(-alpha log(1 + …)), as k - 1 by expm1."""
        alpha = self.log_alpha.exp().to(exponent.dtype)
        power = -alpha * torch.log1p(exponent.clamp_max(0) / -alpha)
        return _exponential(power, anchored)

    def extra_repr(self) -> str:
        """Arguments for ``repr``."""
        return f"{super().extra_repr()}, alpha={float(self.log_alpha.detach().exp()):.4g}"


@register
class Matern(Radial):
    """Matérn kernel of smoothness ``nu`` = 1/2, 3/2 or 5/2, with s = √(2 nu) |x - y| / bandwidth.

    exp(-s) for 1/2, (1 + s) exp(-s) for 3/2, (1 + s + s²/3) exp(-s) for 5/2.
    """

    def __init__(self, bandwidth: float = 1.0, nu: float = 1.5) -> None:
        super().__init__(bandwidth)
        if nu not in (0.5, 1.5, 2.5):
            raise InputError("unknown-choice", f"nu must be 0.5, 1.5 or 2.5, but is {nu!r}.")
        self.nu = nu
        self.degree = 1 if nu == 0.5 else 2

    def exponent(self, a: Features, b: Features, out: Tensor | None = None) -> Tensor:
        """For nu = 1/2 distances are taken one by one: the root of a rounding error would be a large error."""
        return _minus_distance(a[0], b[0], p=2) if self.nu == 0.5 else super().exponent(a, b, out)

    def profile(self, exponent: Tensor, anchored: bool) -> Tensor:
        """Polynomial times exponential."""
        if self.nu == 0.5:
            return _exponential(exponent, anchored)
        # The slope of k with respect to s² is finite at 0, but that of s is not: keep s just above 0.
        tiny = torch.finfo(exponent.dtype).tiny
        minus_s = (exponent * (-4 * self.nu)).clamp(tiny, exponent_depth(exponent.dtype) ** 2).sqrt().neg()
        polynomial = -minus_s if self.nu == 1.5 else minus_s.square() / 3 - minus_s
        return minus_s.expm1() + polynomial * minus_s.exp() if anchored else (1 + polynomial) * minus_s.exp()

    def config(self) -> dict[str, Any]:
        """The smoothness ``nu``."""
        return {"nu": self.nu}


@register
class Laplacian(Stationary):
    """k(x, y) = exp(-Σ_j |x_j - y_j| / bandwidth)."""

    degree = 1

    def spread(self, z: Tensor) -> tuple[float, float]:
        """Two points are about √2 as far apart as one is from the centre; differences do not cancel."""
        return float(z.abs().sum(1).mean()) * math.sqrt(2), 0.0

    def exponent(self, a: Features, b: Features, out: Tensor | None = None) -> Tensor:
        """Minus the sum of absolute differences."""
        return _minus_distance(a, b, p=1)

    def profile(self, exponent: Tensor, anchored: bool) -> Tensor:
        """The exponential of the exponent (less 1 if anchored)."""
        return _exponential(exponent, anchored)


def half_norms(z: Tensor) -> Tensor:
    """-|z|²/2 of each row, without a copy of z."""
    norms: Tensor = torch.linalg.vector_norm(z, dim=1)
    return norms.square() * -0.5


def exponent_depth(dtype: torch.dtype) -> float:
    """How far below 0 exponents matter: values beyond would be denormal, or become so in a product."""
    return 69.0 if dtype == torch.float32 else 500.0


def _minus_distance(a: Any, b: Any, p: float) -> Tensor:
    distance: Tensor = torch.cdist(a, b, p=p, compute_mode="donot_use_mm_for_euclid_dist")
    return distance.neg()


def _exponential(exponent: Tensor, anchored: bool) -> Tensor:
    exponent = exponent.clamp_min(-exponent_depth(exponent.dtype))
    return exponent.expm1_() if anchored else exponent.exp_()
