"""Kernel of the number of coordinates that differ: for categories, codes and strings of equal length."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from .._util.errors import InputError
from .base import Kernel, log_positive
from .plan import Features, Plan
from .registry import register


@register
class Hamming(Kernel):
    """Hamming kernel, k(x, y) = exp(-#{i: x_i ≠ y_i} / bandwidth).

    Coordinates are codes that are only compared for equality. `tellapart.features.characters` converts strings to
    codes.

    Parameters
    ----------
    bandwidth : float, default 1.0
        Number of differing coordinates for which k = 1/e.

    Examples
    --------
    >>> Hamming(2.0)(torch.tensor([[1.0, 5.0], [1.0, 7.0]]))
    tensor([[1.0000, 0.6065],
            [0.6065, 1.0000]], grad_fn=<ExpBackward0>)
    """

    def __init__(self, bandwidth: float = 1.0) -> None:
        super().__init__()
        self.log_bandwidth = nn.Parameter(log_positive("bandwidth", bandwidth))
        if self.log_bandwidth.ndim:
            raise InputError(
                "wrong-shape", f"`bandwidth` must be a number, got shape {tuple(self.log_bandwidth.shape)}."
            )

    @property
    def bandwidth(self) -> float:
        """Number of differing coordinates for which k = 1/e."""
        return float(self.log_bandwidth.detach().exp())

    def features(self, x: Tensor, plan: Plan) -> Features:
        """Return the codes in their own type, because another type might not distinguish them."""
        return x.detach().flatten(1)

    def tile(self, a: Features, b: Features, plan: Plan, out: Tensor | None = None) -> Tensor:
        """Return exp(-count / bandwidth) of the counts of differing coordinates."""
        unequal = torch.cdist(a, b, p=0.0).to(plan.dtype)
        return (-unequal / self.log_bandwidth.exp().to(plan.dtype)).exp()

    def extra_repr(self) -> str:
        """Return the arguments shown by ``repr``."""
        return f"bandwidth={self.bandwidth:.4g}"
