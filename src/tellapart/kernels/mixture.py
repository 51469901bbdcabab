"""Sum of Gaussian kernels with several bandwidths."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from .._util.errors import InputError
from .base import Kernel, log_positive
from .gaussian import LOG2_E, HalfNorms, clamp_exponent
from .plan import Features, Plan
from .registry import register
from .stationary import Radial


@register
class Mixture(Radial):
    """Sum of Gaussian kernels, k(x, y) = Σ_b exp(-|x - y|² / (2 b²)), as used in generative moment matching networks.

    Parameters
    ----------
    bandwidths : sequence of float
        The bandwidths b.

    Examples
    --------
    >>> Mixture([2, 5, 10])(torch.zeros(1, 4)).item()
    3.0
    """

    normalised = False
    unit = LOG2_E

    def __init__(self, bandwidths: Sequence[float] | Tensor) -> None:
        super().__init__()
        del self.log_bandwidth
        logs = log_positive("bandwidths", bandwidths)
        if logs.ndim != 1 or not len(logs):
            raise InputError(
                "wrong-shape", f"`bandwidths` must be a non-empty list of numbers, got shape {tuple(logs.shape)}."
            )
        self.log_bandwidths = nn.Parameter(logs)

    @property
    def bandwidths(self) -> Tensor:
        """The bandwidths."""
        return self.log_bandwidths.detach().exp()

    def scale(self) -> Tensor:
        """Return 1 / b of the smallest bandwidth b."""
        return (-self.log_bandwidths.detach().min()).exp()

    def features(self, x: Tensor, plan: Plan) -> Features:
        """Return z and -|z|²/2. The gradient of the latter takes one pass over z; autograd's takes four."""
        z, norms = super().features(x, plan)
        return z, HalfNorms.apply(z, self.scale()) if plan.fused_backward and z.requires_grad else norms

    def factors(self) -> Tensor:
        """Return the factors from the exponent of the smallest bandwidth to those of all bandwidths."""
        logs = self.log_bandwidths
        return ((logs.detach().min() - logs) * 2).exp()

    def tile(self, a: Features, b: Features, plan: Plan, out: Tensor | None = None) -> Tensor:
        """Return k, with an explicit gradient if only the points require one."""
        if plan.fused_backward and torch.is_grad_enabled() and not self.log_bandwidths.requires_grad:
            tile: Tensor = _MixtureTile.apply(*a, *b, self.factors().tolist(), plan)
            return tile
        return super().tile(a, b, plan, out)

    def with_bandwidth_gradient(self, exponent: Tensor, plan: Plan) -> Tensor:
        """Return the exponent unchanged: here the profile depends on the bandwidths."""
        return exponent

    def profile(self, exponent: Tensor, anchored: bool) -> Tensor:
        """Return the sum of the Gaussians of all bandwidths."""
        total = torch.zeros_like(exponent)
        for factor in self.factors().to(exponent.dtype):
            part = clamp_exponent(exponent * factor)
            total += part.mul_(1 / LOG2_E).expm1_() if anchored else part.exp2_()
        return total

    def config(self) -> dict[str, Any]:
        """Return the bandwidths."""
        return {"bandwidths": self.bandwidths.tolist()}

    @classmethod
    def examples(cls, d: int) -> list[Kernel]:
        """Return a mixture of three bandwidths."""
        return [cls([0.5, 1.0, 4.0])]

    def extra_repr(self) -> str:
        """Return the arguments shown by ``repr``."""
        return f"bandwidths={[float(f'{b:.4g}') for b in self.bandwidths]}"


class _MixtureTile(torch.autograd.Function):
    """k = Σ_b exp2(f_b e) with e_ij = z_i·z_j + h_i + h_j, as a function of z and h.

    The derivative Σ_b f_b exp2(f_b e) is accumulated in the forward pass. The backward pass then needs no exponentials
    and one matrix product per side instead of a chain of operations per bandwidth.
    """

    @staticmethod
    def forward(ctx: Any, za: Tensor, ha: Tensor, zb: Tensor, hb: Tensor, factors: list[float], plan: Plan) -> Tensor:
        # No lower bound is needed: the engine flushes denormal numbers.
        exponent = torch.addmm(hb, za, zb.T).add_(ha[:, None]).to(plan.dtype).clamp_(max=0)
        wanted = any(ctx.needs_input_grad)
        k, part = torch.zeros_like(exponent), torch.empty_like(exponent)
        per_unit = [factor / LOG2_E for factor in factors]
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
            # Both blocks are the same points. The engine adds both gradients; their sum takes one product, not two.
            W, asks_zb, asks_hb = W + W.T, False, False
        return (
            W @ zb if asks_za else None,
            W.sum(1) if asks_ha else None,
            W.T @ za if asks_zb else None,
            W.sum(0) if asks_hb else None,
            None,
            None,
        )
