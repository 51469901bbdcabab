"""Kernels of the difference x - y over a bandwidth."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from .base import Features, Kernel, Plan, log_positive

#: Below this typical exponent, k - 1 carries more digits than k.
_NEARLY_CONSTANT = 1 / 8
#: The largest error of an exponent that is let pass before distances are computed in float64.
_TOLERANCE = 1e-4
_LOG2_E = math.log2(math.e)


class Stationary(Kernel):
    """A kernel of (x - y) / bandwidth with k(x, x) = 1; the base of the others here.

    A subclass says how far two points are apart (`exponent`, which is 0 or negative) and what the kernel makes
    of it (`profile`).
    """

    #: The exponent falls with this power of the bandwidth.
    degree = 2

    def __init__(self, bandwidth: float = 1.0) -> None:
        super().__init__()
        self.log_bandwidth = nn.Parameter(log_positive("bandwidth", bandwidth))
        if self.log_bandwidth.ndim:
            raise ValueError("bandwidth must be one number. For one scale a coordinate use ARD, for several Mixture.")

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
    def plan(self, probe: Tensor, *, additive: bool = False) -> Plan:
        """Centre on the probe; anchor where the kernel is nearly constant on it."""
        flat = probe.flatten(1)
        origin = flat.mean(0)
        near = self.typical((flat - origin).double() * self.scale().double())
        return Plan(flat.dtype, flat.dtype, origin, anchored=additive and near < _NEARLY_CONSTANT)

    def features(self, x: Tensor, plan: Plan) -> Features:
        """The centred and scaled points."""
        return (x.flatten(1).to(plan.work) - plan.origin) * self.scale().to(plan.work)

    def tile(self, a: Features, b: Features, plan: Plan) -> Tensor:
        """k, or k - 1 if the plan is anchored."""
        return self.profile(self.exponent(a, b).to(plan.dtype), plan.anchored)

    def typical(self, z: Tensor) -> float:
        """The typical absolute exponent between scaled and centred points."""
        raise NotImplementedError

    def exponent(self, a: Features, b: Features) -> Tensor:
        """Minus the distance in the kernel's own sense, up to rounding not above 0."""
        raise NotImplementedError

    def profile(self, exponent: Tensor, anchored: bool) -> Tensor:
        """k (or k - 1) of an exponent, which it may overwrite."""
        raise NotImplementedError


class Radial(Stationary):
    """A kernel of |x - y|²: squared distances by the speed of a matrix product."""

    #: Exponents are -unit · |x - y|² / (2 bandwidth²).
    unit = 1.0

    @torch.no_grad()
    def plan(self, probe: Tensor, *, additive: bool = False) -> Plan:
        """Also: distances in float64 where |x|² + |y|² - 2xy would cancel."""
        plan = super().plan(probe, additive=additive)
        z = (probe.flatten(1) - plan.origin).double() * self.scale().double()
        error = 2 * torch.finfo(plan.dtype).eps * float(z.square().sum(1).max())
        return replace(plan, work=torch.float64) if error > _TOLERANCE else plan

    def features(self, x: Tensor, plan: Plan) -> Features:
        """The centred and scaled points z, and -|z|²/2."""
        z = (x.flatten(1).to(plan.work) - plan.origin) * (self.scale().to(plan.work) * math.sqrt(self.unit))
        return z, z.square().sum(1) * -0.5

    def typical(self, z: Tensor) -> float:
        """The mean of |x - y|²/2 over all pairs is the mean of |x|² about the centre."""
        return float(z.square().sum(1).mean())

    def exponent(self, a: Features, b: Features) -> Tensor:
        """z·z' - |z|²/2 - |z'|²/2."""
        (za, ha), (zb, hb) = a, b
        return torch.addmm(hb, za, zb.T).add_(ha[:, None])  # type: ignore[call-overload, arg-type, index, union-attr]


class Gaussian(Radial):
    """k(x, y) = exp(-|x - y|² / (2 bandwidth²)).

    >>> Gaussian(2.0)(torch.tensor([[0.0], [2.0]]))
    tensor([[1.0000, 0.6065],
            [0.6065, 1.0000]], grad_fn=...)
    """

    unit = _LOG2_E

    def profile(self, exponent: Tensor, anchored: bool) -> Tensor:
        """Torch's exp2 takes half the time of its exp, and a third of its expm1."""
        exponent = _clamped(exponent)
        return exponent.mul_(1 / _LOG2_E).expm1_() if anchored else exponent.exp2_()


class ARD(Gaussian):
    """k(x, y) = exp(-Σ_j scale_j² (x_j - y_j)² / (2 bandwidth²)): a scale for each of ``d`` coordinates.

    >>> ARD(3).scales
    tensor([1., 1., 1.], dtype=torch.float64)
    """

    def __init__(self, d: int, bandwidth: float = 1.0, scales: float | Sequence[float] | Tensor = 1.0) -> None:
        super().__init__(bandwidth)
        if not isinstance(d, int) or d < 1:
            raise ValueError(f"d must be the number of coordinates, but is {d!r}.")
        logs = log_positive("scales", scales)
        if logs.ndim and logs.shape != (d,):
            raise ValueError(f"scales must be one number or {d} of them, but has shape {tuple(logs.shape)}.")
        self.log_scales = nn.Parameter(logs.expand(d).clone())

    @property
    def scales(self) -> Tensor:
        """The scale of each coordinate: the larger, the more a difference there counts."""
        return self.log_scales.detach().exp()

    def scale(self) -> Tensor:
        """A factor for each coordinate."""
        return (self.log_scales - self.log_bandwidth).exp()

    def plan(self, probe: Tensor, *, additive: bool = False) -> Plan:
        """Also: check the width of the data."""
        width = probe.flatten(1).shape[1]
        if width != len(self.log_scales):
            raise ValueError(f"The kernel ARD({len(self.log_scales)}) does not fit data with {width} coordinates.")
        return super().plan(probe, additive=additive)

    def config(self) -> dict[str, Any]:
        """The number of coordinates."""
        return {"d": len(self.log_scales)}


class Mixture(Radial):
    """k(x, y) = Σ_b exp(-|x - y|² / (2 b²)) over the ``bandwidths`` b: the kernel of moment matching networks.

    >>> Mixture([2, 5, 10])(torch.zeros(1, 4)).item()
    3.0
    """

    unit = _LOG2_E

    def __init__(self, bandwidths: Sequence[float] | Tensor) -> None:
        super().__init__()
        del self.log_bandwidth
        logs = log_positive("bandwidths", bandwidths)
        if logs.ndim != 1 or not len(logs):
            raise ValueError(f"bandwidths must be a list of numbers, but has shape {tuple(logs.shape)}.")
        self.log_bandwidths = nn.Parameter(logs)

    @property
    def bandwidths(self) -> Tensor:
        """The bandwidths."""
        return self.log_bandwidths.detach().exp()

    def scale(self) -> Tensor:
        """Points in units of the smallest bandwidth."""
        return (-self.log_bandwidths.detach().min()).exp()

    def profile(self, exponent: Tensor, anchored: bool) -> Tensor:
        """The sum of one Gaussian for each bandwidth."""
        logs = self.log_bandwidths
        total = torch.zeros_like(exponent)
        for factor in ((logs.detach().min() - logs) * 2).exp().to(exponent.dtype):
            part = _clamped(exponent * factor)
            total += part.mul_(1 / _LOG2_E).expm1_() if anchored else part.exp2_()
        return total

    def config(self) -> dict[str, Any]:
        """The bandwidths."""
        return {"bandwidths": self.bandwidths.tolist()}

    def extra_repr(self) -> str:
        """Arguments for ``repr``."""
        return f"bandwidths={[float(f'{b:.4g}') for b in self.bandwidths]}"


class RationalQuadratic(Radial):
    """k(x, y) = (1 + |x - y|² / (2 alpha bandwidth²))^-alpha."""

    def __init__(self, bandwidth: float = 1.0, alpha: float = 1.0) -> None:
        super().__init__(bandwidth)
        self.log_alpha = nn.Parameter(log_positive("alpha", alpha))

    def profile(self, exponent: Tensor, anchored: bool) -> Tensor:
        """exp(-alpha log(1 + …)), as k - 1 by expm1."""
        alpha = self.log_alpha.exp().to(exponent.dtype)
        power = -alpha * torch.log1p(exponent.clamp_max(0) / -alpha)
        return power.expm1_() if anchored else power.exp_()

    def extra_repr(self) -> str:
        """Arguments for ``repr``."""
        return f"{super().extra_repr()}, alpha={float(self.log_alpha.detach().exp()):.4g}"


class Matern(Radial):
    """Matérn kernel of smoothness ``nu`` = 1/2, 3/2 or 5/2, with s = √(2 nu) |x - y| / bandwidth.

    exp(-s) for 1/2, (1 + s) exp(-s) for 3/2, (1 + s + s²/3) exp(-s) for 5/2.
    """

    def __init__(self, bandwidth: float = 1.0, nu: float = 1.5) -> None:
        super().__init__(bandwidth)
        if nu not in (0.5, 1.5, 2.5):
            raise ValueError(f"nu must be 0.5, 1.5 or 2.5, but is {nu!r}.")
        self.nu = nu
        self.degree = 1 if nu == 0.5 else 2

    def exponent(self, a: Features, b: Features) -> Tensor:
        """For nu = 1/2 distances are taken one by one: the root of a rounding error would be a large error."""
        return _minus_distance(a[0], b[0], p=2) if self.nu == 0.5 else super().exponent(a, b)

    def profile(self, exponent: Tensor, anchored: bool) -> Tensor:
        """Polynomial times exponential."""
        if self.nu == 0.5:
            return exponent.expm1_() if anchored else exponent.exp_()
        # The slope of k with respect to s² is finite at 0, but that of s is not: keep s just above 0.
        tiny = torch.finfo(exponent.dtype).tiny
        minus_s = (exponent * (-4 * self.nu)).clamp(tiny, _deepest(exponent.dtype) ** 2).sqrt().neg()
        polynomial = -minus_s if self.nu == 1.5 else minus_s.square() / 3 - minus_s
        return minus_s.expm1() + polynomial * minus_s.exp() if anchored else (1 + polynomial) * minus_s.exp()

    def config(self) -> dict[str, Any]:
        """The smoothness."""
        return {"nu": self.nu}


class Laplacian(Stationary):
    """k(x, y) = exp(-Σ_j |x_j - y_j| / bandwidth)."""

    degree = 1

    def typical(self, z: Tensor) -> float:
        """The mean distance from the centre, per coordinate √2 of it between two points."""
        return float(z.abs().sum(1).mean()) * math.sqrt(2)

    def exponent(self, a: Features, b: Features) -> Tensor:
        """Minus the sum of absolute differences."""
        return _minus_distance(a, b, p=1)

    def profile(self, exponent: Tensor, anchored: bool) -> Tensor:
        """The exponential."""
        return exponent.expm1_() if anchored else exponent.exp_()


class Grid(Kernel):
    """One kernel family at many bandwidths, for which distances are computed once. Not to be learned.

    >>> len(Grid([0.5, 1, 2]).bandwidths)
    3
    """

    def __init__(self, bandwidths: Sequence[float] | Tensor, family: type[Stationary] = Gaussian) -> None:
        super().__init__()
        logs = log_positive("bandwidths", bandwidths)
        if logs.ndim != 1 or not len(logs):
            raise ValueError(f"bandwidths must be a list of numbers, but has shape {tuple(logs.shape)}.")
        self.bandwidths = logs.exp()
        self.family = family
        self.members = len(logs)
        self.finest = family(float(self.bandwidths.min())).requires_grad_(False)

    def plan(self, probe: Tensor, *, additive: bool = False) -> Plan:
        """Where each member is anchored or not."""
        plan = self.finest.plan(probe)
        near = [self.family(float(b)).plan(probe, additive=additive).anchored for b in self.bandwidths]
        return replace(plan, parts=tuple(replace(plan, anchored=anchored) for anchored in near))

    def features(self, x: Tensor, plan: Plan) -> Features:
        """Those of the smallest bandwidth."""
        return self.finest.features(x, plan)

    def tiles(self, a: Features, b: Features, plan: Plan) -> Iterator[Tensor]:
        """A tile for each bandwidth."""
        exponent = self.finest.exponent(a, b).to(plan.dtype)
        for bandwidth, part in zip(self.bandwidths, plan.parts, strict=True):
            factor = (self.finest.bandwidth / float(bandwidth)) ** self.finest.degree
            yield self.finest.profile(exponent * factor, part.anchored)


def _deepest(dtype: torch.dtype) -> float:
    """How far below 0 exponents matter: values beyond would be denormal, or become so in a product."""
    return 69.0 if dtype == torch.float32 else 500.0


def _clamped(exponent: Tensor) -> Tensor:
    """Exponents to base 2 not above 0 and not so low that denormal numbers come of them."""
    low = -_deepest(exponent.dtype) * _LOG2_E
    return exponent.clamp(low, 0) if exponent.requires_grad else exponent.clamp_(low, 0)


def _minus_distance(a: Any, b: Any, p: float) -> Tensor:
    distance = torch.cdist(a, b, p=p, compute_mode="donot_use_mm_for_euclid_dist")
    return distance.clamp_max(_deepest(distance.dtype)).neg()
