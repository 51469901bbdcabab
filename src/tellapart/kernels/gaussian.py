"""Gaussian kernels with one bandwidth or one scale per coordinate."""

from __future__ import annotations

import math
from collections.abc import Sequence
from operator import index
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from .._util.errors import InputError
from .base import Kernel, log_positive
from .plan import Features, Plan
from .registry import Saved, register
from .stationary import Radial, exponent_depth, half_norms

#: Exponents are base 2: torch's exp2 is about twice as fast as its exp.
LOG2_E = math.log2(math.e)


@register
class Gaussian(Radial):
    """Gaussian kernel, k(x, y) = exp(-|x - y|² / (2 bandwidth²)).

    Parameters
    ----------
    bandwidth : float, default 1.0
        The bandwidth.

    Examples
    --------
    >>> Gaussian(2.0)(torch.tensor([[0.0], [2.0]]))
    tensor([[1.0000, 0.6065],
            [0.6065, 1.0000]], grad_fn=...)
    """

    unit = LOG2_E

    def log_scale(self) -> Tensor:
        """The logarithm of `scale`."""
        return -self.log_bandwidth

    def scale(self) -> Tensor:
        """Return the factor that points are multiplied by."""
        return self.log_scale().exp()

    def tile(self, a: Features, b: Features, plan: Plan, out: Tensor | None = None) -> Tensor:
        """Return k, or k - 1 if the plan is anchored. The explicit gradient takes half the time of autograd's."""
        if plan.fused_backward and torch.is_grad_enabled():
            tile: Tensor = _GaussianTile.apply(*a, *b, self.log_scale(), self, plan)
            return tile
        return super().tile(a, b, plan, out)

    def profile(self, exponent: Tensor, anchored: bool) -> Tensor:
        """Return exp(-d²/2b²) from the base-2 exponent (minus 1 if anchored)."""
        exponent = clamp_exponent(exponent)
        return exponent.mul_(1 / LOG2_E).expm1_() if anchored else exponent.exp2_()


@register
class ARD(Gaussian):
    """Gaussian kernel with a scale per coordinate, k(x, y) = exp(-Σ_j scale_j² (x_j - y_j)² / (2 bandwidth²)).

    Parameters
    ----------
    d : int
        Number of coordinates.
    bandwidth : float, default 1.0
        Common bandwidth. It is learned too, unless ``kernel.log_bandwidth.requires_grad_(False)`` is called.
    scales : float or array_like of shape (d,), default 1.0
        Scales of the coordinates. The larger a scale, the larger the influence of its coordinate.

    Examples
    --------
    >>> ARD(3).scales
    tensor([1., 1., 1.], dtype=torch.float64)
    """

    def __init__(self, d: int, bandwidth: float = 1.0, scales: float | Sequence[float] | Tensor = 1.0) -> None:
        super().__init__(bandwidth)
        if isinstance(d, bool) or not hasattr(d, "__index__") or d < 1:
            raise InputError("out-of-range", f"`d` must be a positive integer, got {d!r}.")
        d = index(d)
        logs = log_positive("scales", scales)
        if logs.ndim and logs.shape != (d,):
            raise InputError(
                "wrong-shape", f"`scales` must be a number or have shape ({d},), got shape {tuple(logs.shape)}."
            )
        self.log_scales = nn.Parameter(logs.expand(d).clone())

    @property
    def scales(self) -> Tensor:
        """Scales of the coordinates."""
        return self.log_scales.detach().exp()

    @property
    def coordinate_scales(self) -> Tensor:
        """The same as `scales`."""
        return self.scales

    def log_scale(self) -> Tensor:
        """The logarithm of `scale`, one for each coordinate."""
        return self.log_scales - self.log_bandwidth

    def plan(self, probe: Tensor, *, additive: bool = False, dtype: torch.dtype | None = None) -> Plan:
        """Return the plan of a Gaussian kernel, after checking the number of coordinates."""
        width = probe.flatten(1).shape[1]
        if width != len(self.log_scales):
            raise InputError(
                "shapes-differ", f"The kernel ARD({len(self.log_scales)}) got data with {width} coordinates."
            )
        return super().plan(probe, additive=additive, dtype=dtype)

    def features(self, x: Tensor, plan: Plan) -> Features:
        """Return z and -|z|²/2. The latter has a gradient with respect to the scales; that of z·z' is in the tile."""
        z, norms = super().features(x, plan)
        return z, HalfNorms.apply(z, self.log_scale()) if plan.fused_backward else norms

    def extra_repr(self) -> str:
        """Return the bandwidth, and the scales if there are at most 8."""
        few = len(self.log_scales) <= 8
        return super().extra_repr() + (f", scales={[float(f'{s:.3g}') for s in self.scales]}" if few else "")

    def config(self) -> dict[str, Any]:
        """Return the number of coordinates."""
        return {"d": len(self.log_scales)}

    @classmethod
    def rebuild(cls, saved: Saved) -> ARD:
        """Create a kernel with as many scales as the file contains."""
        d = len(saved.tensor("log_scales", ndim=1))
        saved.check_size("d", d)
        return cls(d)

    @classmethod
    def examples(cls, d: int) -> list[Kernel]:
        """Return a kernel with different scales."""
        return [cls(d, 1.2, [0.5 + k for k in range(d)])]


class _GaussianTile(torch.autograd.Function):
    """exp2(e) with e_ij = z_i·z_j + h_i + h_j, as a function of z, h, and log s where z = s x.

    With W = ∂L/∂e, the gradient of log s_k is 2 Σ_i z_ik (W z)_ik (plus that of h). This takes one matrix product;
    the chain rule through ∂L/∂z takes two. If s is a scalar, the gradient is Σ_ij 2 W_ij e_ij, without a product.
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
        W = (G * k).mul_(1 / LOG2_E).to(za.dtype)
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


class HalfNorms(torch.autograd.Function):
    """h = -|z|²/2, as a function of z and of log s where z = s x."""

    @staticmethod
    def forward(ctx: Any, z: Tensor, log_scale: Tensor) -> Tensor:
        """Return -|z|²/2."""
        ctx.save_for_backward(z)
        return half_norms(z)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> Any:
        """Return the gradients with respect to z and log s."""
        (g,), (z,) = grads, ctx.saved_tensors
        of_scale = torch.zeros(z.shape[1], dtype=torch.float64, device=z.device)
        if ctx.needs_input_grad[1]:
            for part, weights in zip(z.split(256), g.split(256), strict=True):
                of_scale -= weights @ part.square()
        return z * -g[:, None] if ctx.needs_input_grad[0] else None, of_scale


def clamp_exponent(exponent: Tensor) -> Tensor:
    """Clip base-2 exponents to at most 0, and from below so that powers are not denormal."""
    low = -exponent_depth(exponent.dtype) * LOG2_E
    return exponent.clamp(low, 0) if exponent.requires_grad else exponent.clamp_(low, 0)
