"""Kernels of how many coordinates differ: for categories, codes and strings of one length."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from .._util.errors import InputError
from .base import Kernel, log_positive
from .plan import Features, Plan
from .registry import register


@register
class Hamming(Kernel):
    """k(x, y) = exp(-#{i: x_i ≠ y_i} / bandwidth): a product over coordinates of 1 and exp(-1/bandwidth).

    Points are codes; nothing but whether they are equal counts.
    `tellapart.features.characters` makes codes of strings.

    >>> Hamming(2.0)(torch.tensor([[1.0, 5.0], [1.0, 7.0]]))
    tensor([[1.0000, 0.6065],
            [0.6065, 1.0000]], grad_fn=<ExpBackward0>)
    """

    def __init__(self, bandwidth: float = 1.0) -> None:
        super().__init__()
        self.log_bandwidth = nn.Parameter(log_positive("bandwidth", bandwidth))
        if self.log_bandwidth.ndim:
            raise InputError(
                "wrong-shape", f"bandwidth must be one number, but has shape {tuple(self.log_bandwidth.shape)}."
            )

    @property
    def bandwidth(self) -> float:
        """How many coordinates must differ for k to fall to 1/e."""
        return float(self.log_bandwidth.detach().exp())

    def features(self, x: Tensor, plan: Plan) -> Features:
        """The codes in their own type: another might make equal what is not."""
        return x.detach().flatten(1)

    def tile(self, a: Features, b: Features, plan: Plan, out: Tensor | None = None) -> Tensor:
        """Counts of unequal coordinates, over the bandwidth."""
        unequal = torch.cdist(a, b, p=0.0).to(plan.dtype)
        return (-unequal / self.log_bandwidth.exp().to(plan.dtype)).exp()

    def extra_repr(self) -> str:
        """Arguments for ``repr``."""
        return f"bandwidth={self.bandwidth:.4g}"
