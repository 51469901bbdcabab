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
    of it (`profile`). Features are scaled by the present bandwidth as by a constant; its gradient is taken in the
    tile (`attached`), where it costs a multiplication rather than a matrix product.
    """

    #: The exponent falls with this power of the bandwidth.
    degree = 2
    #: Exponents are in units of 1/unit: log2(e) for a kernel that takes powers of 2.
    unit = 1.0

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
        """Centre on the probe, and decide by its spread."""
        flat = probe.flatten(1)
        origin = flat.mean(0)
        typical, error = self.spread((flat - origin) * self.scale().to(flat.dtype))
        work = torch.float64 if error > _TOLERANCE else flat.dtype
        return Plan(flat.dtype, work, origin, anchored=additive and typical < _NEARLY_CONSTANT)

    def features(self, x: Tensor, plan: Plan) -> Features:
        """The centred and scaled points."""
        centred = x.flatten(1).to(plan.work) - plan.origin
        scale = self.scale().detach().to(plan.work) * math.sqrt(self.unit)
        return centred * scale if centred.requires_grad else centred.mul_(scale)

    def tile(self, a: Features, b: Features, plan: Plan) -> Tensor:
        """k, or k - 1 if the plan is anchored."""
        return self.profile(self.attached(self.exponent(a, b).to(plan.dtype)), plan.anchored)

    def attached(self, exponent: Tensor) -> Tensor:
        """The same exponent, now with a gradient with respect to the bandwidth."""
        if not (torch.is_grad_enabled() and self.log_bandwidth.requires_grad):
            return exponent
        one = ((self.log_bandwidth.detach() - self.log_bandwidth) * self.degree).exp()
        return exponent * one.to(exponent.dtype)

    def spread(self, z: Tensor) -> tuple[float, float]:
        """The typical size, and the possible error, of an exponent between these scaled and centred points."""
        raise NotImplementedError

    def exponent(self, a: Features, b: Features) -> Tensor:
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
        assert isinstance(z, Tensor)
        return z, torch.linalg.vector_norm(z, dim=1).square() * -0.5

    def spread(self, z: Tensor) -> tuple[float, float]:
        """The mean of |x - y|²/2 over all pairs is that of |x|² about the centre; |x|² + |y|² - 2xy may cancel."""
        squares = torch.linalg.vecdot(z, z)
        return float(squares.mean()), 2 * torch.finfo(z.dtype).eps * float(squares.max())

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

    def log_scale(self) -> Tensor:
        """The logarithm of `scale`."""
        return -self.log_bandwidth

    def scale(self) -> Tensor:
        """What points are multiplied with before they are compared."""
        return self.log_scale().exp()

    def tile(self, a: Features, b: Features, plan: Plan) -> Tensor:
        """With a gradient written out, which takes half the time of autograd's."""
        if torch.is_grad_enabled():
            return _GaussianTile.apply(*a, *b, self.log_scale(), self, plan)  # type: ignore[no-any-return, misc]
        return super().tile(a, b, plan)

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

    def log_scale(self) -> Tensor:
        """One for each coordinate."""
        return self.log_scales - self.log_bandwidth

    def plan(self, probe: Tensor, *, additive: bool = False) -> Plan:
        """Also: check the width of the data."""
        width = probe.flatten(1).shape[1]
        if width != len(self.log_scales):
            raise ValueError(f"The kernel ARD({len(self.log_scales)}) does not fit data with {width} coordinates.")
        return super().plan(probe, additive=additive)

    def features(self, x: Tensor, plan: Plan) -> Features:
        """Here -|z|²/2 has a gradient with respect to the scales; that of z·z' is taken in the tile."""
        z, _ = super().features(x, plan)
        return z, _HalfNorms.apply(z, self.log_scale())  # type: ignore[return-value]

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

    def attached(self, exponent: Tensor) -> Tensor:
        """The profile itself depends on the bandwidths."""
        return exponent

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

    def spread(self, z: Tensor) -> tuple[float, float]:
        """Two points are about √2 as far apart as one is from the centre; differences do not cancel."""
        return float(z.abs().sum(1).mean()) * math.sqrt(2), 0.0

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


class _GaussianTile(torch.autograd.Function):
    """exp2(e) with e_ij = z_i·z_j + h_i + h_j, as a function of z, h, and log s where z = s x.

    With W = ∂L/∂e, the gradient of log s_k is 2 Σ_i z_ik (W z)_ik (and that of h): one matrix product, where the
    way through ∂L/∂z takes two. If s is one number it is Σ_ij 2 W_ij e_ij, which takes none.
    """

    @staticmethod
    def forward(
        ctx: Any, za: Tensor, ha: Tensor, zb: Tensor, hb: Tensor, log_scale: Tensor, kernel: Gaussian, plan: Plan
    ) -> Tensor:
        exponent = torch.addmm(hb, za, zb.T).add_(ha[:, None])
        k = kernel.profile(exponent.to(plan.dtype), plan.anchored)
        ctx.anchored, ctx.one_scale = plan.anchored, log_scale.ndim == 0
        ctx.save_for_backward(za, zb, k)
        return k

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        (G,), (za, zb, k) = grads, ctx.saved_tensors
        asks_za, asks_ha, asks_zb, asks_hb, asks_scale, _, _ = ctx.needs_input_grad
        k = k + 1 if ctx.anchored else k
        W = (G * k).mul_(1 / _LOG2_E).to(za.dtype)
        Wz = W @ zb if asks_za or (asks_scale and not ctx.one_scale) else None
        of_scale = None
        if asks_scale and ctx.one_scale:
            of_scale = 2 * torch.linalg.vecdot(G, torch.xlogy(k, k)).sum(dtype=torch.float64)
        elif asks_scale:
            of_scale = 2 * torch.linalg.vecdot(za, Wz, dim=0).double()
        return (
            Wz if asks_za else None,
            W.sum(1) if asks_ha else None,
            W.T @ za if asks_zb else None,
            W.sum(0) if asks_hb else None,
            of_scale,
            None,
            None,
        )


class _HalfNorms(torch.autograd.Function):
    """h = -|z|²/2, as a function of z and of log s where z = s x."""

    @staticmethod
    def forward(ctx: Any, z: Tensor, log_scale: Tensor) -> Tensor:
        ctx.save_for_backward(z)
        return torch.linalg.vector_norm(z, dim=1).square() * -0.5

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        (g,), (z,) = grads, ctx.saved_tensors
        of_scale = torch.zeros(z.shape[1], dtype=torch.float64, device=z.device)
        if ctx.needs_input_grad[1]:
            for part, weights in zip(z.split(256), g.split(256), strict=True):
                of_scale -= weights @ part.square()
        return z * -g[:, None] if ctx.needs_input_grad[0] else None, of_scale


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
