"""The Gaussian kernel, with a scale for each coordinate, and with many bandwidths."""

from __future__ import annotations

import math
from collections.abc import Sequence
from operator import index
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from .base import Features, Plan, log_positive
from .stationary import Radial, deepest, half_norms

_LOG2_E = math.log2(math.e)


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

    def tile(self, a: Features, b: Features, plan: Plan, out: Tensor | None = None) -> Tensor:
        """With a gradient written out, which takes half the time of autograd's."""
        if plan.fused_backward and torch.is_grad_enabled():
            tile: Tensor = _GaussianTile.apply(*a, *b, self.log_scale(), self, plan)
            return tile
        return super().tile(a, b, plan, out)

    def profile(self, exponent: Tensor, anchored: bool) -> Tensor:
        """Torch's exp2 takes half the time of its exp, and a third of its expm1."""
        exponent = _clamped(exponent)
        return exponent.mul_(1 / _LOG2_E).expm1_() if anchored else exponent.exp2_()


class ARD(Gaussian):
    """k(x, y) = exp(-Σ_j scale_j² (x_j - y_j)² / (2 bandwidth²)): a scale for each of ``d`` coordinates.

    Parameters
    ----------
    d
        The number of coordinates.
    bandwidth
        For all coordinates together. It is learned too, unless ``kernel.log_bandwidth.requires_grad_(False)``.
    scales
        One for all coordinates, or one for each: the larger, the more a difference there counts.

    >>> ARD(3).scales
    tensor([1., 1., 1.], dtype=torch.float64)
    """

    def __init__(self, d: int, bandwidth: float = 1.0, scales: float | Sequence[float] | Tensor = 1.0) -> None:
        super().__init__(bandwidth)
        if isinstance(d, bool) or not hasattr(d, "__index__") or d < 1:
            raise ValueError(f"d must be the number of coordinates, but is {d!r}.")
        d = index(d)
        logs = log_positive("scales", scales)
        if logs.ndim and logs.shape != (d,):
            raise ValueError(f"scales must be one number or {d} of them, but has shape {tuple(logs.shape)}.")
        self.log_scales = nn.Parameter(logs.expand(d).clone())

    @property
    def scales(self) -> Tensor:
        """The scale of each coordinate: the larger, the more a difference there counts."""
        return self.log_scales.detach().exp()

    @property
    def coordinate_scales(self) -> Tensor:
        """The same, as every kernel is asked for it."""
        return self.scales

    def log_scale(self) -> Tensor:
        """One for each coordinate."""
        return self.log_scales - self.log_bandwidth

    def plan(self, probe: Tensor, *, additive: bool = False, dtype: torch.dtype | None = None) -> Plan:
        """Also: check the width of the data."""
        width = probe.flatten(1).shape[1]
        if width != len(self.log_scales):
            raise ValueError(f"The kernel ARD({len(self.log_scales)}) does not fit data with {width} coordinates.")
        return super().plan(probe, additive=additive, dtype=dtype)

    def features(self, x: Tensor, plan: Plan) -> Features:
        """Here -|z|²/2 has a gradient with respect to the scales; that of z·z' is taken in the tile."""
        z, norms = super().features(x, plan)
        return z, _HalfNorms.apply(z, self.log_scale()) if plan.fused_backward else norms

    def extra_repr(self) -> str:
        """Also the scales, if they are few."""
        few = len(self.log_scales) <= 8
        return super().extra_repr() + (f", scales={[float(f'{s:.3g}') for s in self.scales]}" if few else "")

    def config(self) -> dict[str, Any]:
        """The number of coordinates."""
        return {"d": len(self.log_scales)}


class Mixture(Radial):
    """k(x, y) = Σ_b exp(-|x - y|² / (2 b²)) over the ``bandwidths`` b: the kernel of moment matching networks.

    >>> Mixture([2, 5, 10])(torch.zeros(1, 4)).item()
    3.0
    """

    normalised = False
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

    def features(self, x: Tensor, plan: Plan) -> Features:
        """Here -|z|²/2 has a gradient that takes one pass over z, and not autograd's four."""
        z, norms = super().features(x, plan)
        return z, _HalfNorms.apply(z, self.scale()) if plan.fused_backward and z.requires_grad else norms

    def factors(self) -> Tensor:
        """What the exponent of the smallest bandwidth is multiplied with for each of them."""
        logs = self.log_bandwidths
        return ((logs.detach().min() - logs) * 2).exp()

    def tile(self, a: Features, b: Features, plan: Plan, out: Tensor | None = None) -> Tensor:
        """With a gradient written out if only the points ask for it: one slope for all bandwidths together."""
        if plan.fused_backward and torch.is_grad_enabled() and not self.log_bandwidths.requires_grad:
            tile: Tensor = _MixtureTile.apply(*a, *b, self.factors().tolist(), plan)
            return tile
        return super().tile(a, b, plan, out)

    def attached(self, exponent: Tensor, plan: Plan) -> Tensor:
        """The profile itself depends on the bandwidths."""
        return exponent

    def profile(self, exponent: Tensor, anchored: bool) -> Tensor:
        """The sum of one Gaussian for each bandwidth."""
        total = torch.zeros_like(exponent)
        for factor in self.factors().to(exponent.dtype):
            part = _clamped(exponent * factor)
            total += part.mul_(1 / _LOG2_E).expm1_() if anchored else part.exp2_()
        return total

    def config(self) -> dict[str, Any]:
        """The bandwidths."""
        return {"bandwidths": self.bandwidths.tolist()}

    def extra_repr(self) -> str:
        """Arguments for ``repr``."""
        return f"bandwidths={[float(f'{b:.4g}') for b in self.bandwidths]}"


class _GaussianTile(torch.autograd.Function):
    """exp2(e) with e_ij = z_i·z_j + h_i + h_j, as a function of z, h, and log s where z = s x.

    With W = ∂L/∂e, the gradient of log s_k is 2 Σ_i z_ik (W z)_ik (and that of h): one matrix product, where the
    way through ∂L/∂z takes two. If s is one number it is Σ_ij 2 W_ij e_ij, which takes none.
    """

    @staticmethod
    def forward(
        ctx: Any,
        za: Tensor,
        ha: Tensor,
        zb: Tensor,
        hb: Tensor,
        log_scale: Tensor,
        kernel: Gaussian,
        plan: Plan,
    ) -> Tensor:
        exponent = torch.addmm(hb, za, zb.T).add_(ha[:, None])
        k = kernel.profile(exponent.to(plan.dtype), plan.anchored)
        ctx.anchored, ctx.one_scale = plan.anchored, log_scale.ndim == 0
        ctx.save_for_backward(za, zb, k)
        return k

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> Any:
        (G,), (za, zb, k) = grads, ctx.saved_tensors
        asks_za, asks_ha, asks_zb, asks_hb, asks_scale, _, _ = ctx.needs_input_grad
        log_k = torch.log1p(k) if ctx.anchored else None
        k = k + 1 if ctx.anchored else k
        W = (G * k).mul_(1 / _LOG2_E).to(za.dtype)
        Wz = W @ zb if asks_za or (asks_scale and not ctx.one_scale) else None
        of_scale = None
        if asks_scale and ctx.one_scale:
            k_log_k = torch.xlogy(k, k) if log_k is None else k * log_k
            of_scale = 2 * torch.linalg.vecdot(G, k_log_k).sum(dtype=torch.float64)
        elif asks_scale:
            assert Wz is not None
            of_scale = 2 * (Wz * za if asks_za else Wz.mul_(za)).sum(0).double()
        return (
            Wz if asks_za else None,
            W.sum(1) if asks_ha else None,
            W.T @ za if asks_zb else None,
            W.sum(0) if asks_hb else None,
            of_scale,
            None,
            None,
        )


class _MixtureTile(torch.autograd.Function):
    """k = Σ_b exp2(f_b e) with e_ij = z_i·z_j + h_i + h_j, as a function of z and h.

    The slope Σ_b f_b exp2(f_b e) is summed on the way, so that the way back takes no exponentials, and one matrix
    product for each side instead of a chain of operations for each bandwidth.
    """

    @staticmethod
    def forward(ctx: Any, za: Tensor, ha: Tensor, zb: Tensor, hb: Tensor, factors: list[float], plan: Plan) -> Tensor:
        # No need to keep exponents from below: the engine flushes denormal numbers.
        exponent = torch.addmm(hb, za, zb.T).add_(ha[:, None]).to(plan.dtype).clamp_(max=0)
        wanted = any(ctx.needs_input_grad)
        k, part = torch.zeros_like(exponent), torch.empty_like(exponent)
        per_unit = [factor / _LOG2_E for factor in factors]
        slope = torch.full_like(exponent, sum(per_unit) if plan.anchored else 0.0) if wanted else None
        for factor, weight in zip(factors, per_unit, strict=True):
            if plan.anchored:
                part = torch.mul(exponent, weight, out=part).expm1_()
            else:
                part = torch.mul(exponent, factor, out=part).exp2_()
            k += part
            if slope is not None:
                slope.add_(part, alpha=weight)
        if slope is not None:
            ctx.save_for_backward(za, zb, slope)
        return k

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> Any:
        (G,), (za, zb, slope) = grads, ctx.saved_tensors
        asks_za, asks_ha, asks_zb, asks_hb, _, _ = ctx.needs_input_grad
        W = (G * slope).to(za.dtype)
        if asks_za and asks_zb and za.data_ptr() == zb.data_ptr() and za.shape == zb.shape:
            # Points with themselves: the engine adds up both sides, and their sum takes one product instead of two.
            W, asks_zb, asks_hb = W + W.T, False, False
        return (
            W @ zb if asks_za else None,
            W.sum(1) if asks_ha else None,
            W.T @ za if asks_zb else None,
            W.sum(0) if asks_hb else None,
            None,
            None,
        )


class _HalfNorms(torch.autograd.Function):
    """h = -|z|²/2, as a function of z and of log s where z = s x."""

    @staticmethod
    def forward(ctx: Any, z: Tensor, log_scale: Tensor) -> Tensor:
        ctx.save_for_backward(z)
        return half_norms(z)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> Any:
        (g,), (z,) = grads, ctx.saved_tensors
        of_scale = torch.zeros(z.shape[1], dtype=torch.float64, device=z.device)
        if ctx.needs_input_grad[1]:
            for part, weights in zip(z.split(256), g.split(256), strict=True):
                of_scale -= weights @ part.square()
        return z * -g[:, None] if ctx.needs_input_grad[0] else None, of_scale


def _clamped(exponent: Tensor) -> Tensor:
    """Exponents to base 2 not above 0 and not so low that denormal numbers come of them."""
    low = -deepest(exponent.dtype) * _LOG2_E
    return exponent.clamp(low, 0) if exponent.requires_grad else exponent.clamp_(low, 0)
