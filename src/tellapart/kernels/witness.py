"""Kernel of a single learned function."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor

from .._util.errors import InputError
from .base import Kernel
from .plan import Features, Plan, probe_rows
from .registry import Saved, register

#: Maximum number of rows, and of distances (16 MB), computed at a time.
_ROWS, _DISTANCES = 1024, 2**21


@register
class Witness(Kernel):
    """Kernel k(x, y) = h(x) h(y) of a witness function h(x) = Σ_i weight_i κ(x, point_i).

    Its MMD is the difference of the means of h.

    Parameters
    ----------
    kernel : Kernel
        The kernel κ.
    points : Tensor of shape (n, ...)
        The points.
    weights : Tensor of shape (n,)
        The weights of the points.

    Examples
    --------
    >>> from tellapart.kernels import Gaussian
    >>> Witness(Gaussian(1.0), torch.zeros(1, 2), torch.ones(1)).values(torch.zeros(3, 2))
    tensor([1., 1., 1.], dtype=torch.float64)
    """

    points: Tensor
    weights: Tensor
    statistic_name = distance_name = "difference of means"

    def __init__(self, kernel: Kernel, points: Tensor, weights: Tensor) -> None:
        super().__init__()
        if weights.shape != points.shape[:1]:
            raise InputError(
                "wrong-shape",
                f"`weights` must have shape ({len(points)},), one weight per point, got {tuple(weights.shape)}.",
            )
        self.kernel = kernel.requires_grad_(False)
        self.register_buffer("points", points.detach().clone())
        self.register_buffer("weights", weights.detach().clone())

    @property
    def witness_function(self) -> Callable[[Tensor], Tensor]:
        """The witness function h."""
        return self.values

    def distance(self, statistic: float) -> float:
        """Return the difference of means, or 0 if it is negative."""
        return max(statistic, 0.0)

    def values(self, x: Tensor) -> Tensor:
        """Return h at every row of ``x``, in float64."""
        if x[:1].numel() != self.points[:1].numel():
            learned, given = (" × ".join(map(str, t.shape[1:])) for t in (self.points, x))
            raise InputError(
                "shapes-differ", f"The witness was learned from rows of shape {learned}, but got rows of shape {given}."
            )
        x = x.reshape(len(x), *self.points.shape[1:])  # images may have been flattened for learning
        rows = max(min(_ROWS, _DISTANCES // max(len(self.points), 1)), 1)
        plan = self.kernel.plan(probe_rows(self.points), dtype=torch.float64)
        centres, weights = self.kernel.features(self.points, plan), self.weights.double()
        blocks = (self.kernel.features(block, plan) for block in x.to(self.points.dtype).split(rows))
        return torch.cat([self.kernel.tile(block, centres, plan) @ weights for block in blocks])

    def plan(self, probe: Tensor, *, additive: bool = False, dtype: torch.dtype | None = None) -> Plan:
        """Return a plan that centers h if ``additive``: centering changes h(x) h(y) by f(x) + f(y)."""
        dtype = dtype or probe.dtype
        return Plan(dtype, dtype, self.values(probe).mean() if additive else None)

    def features(self, x: Tensor, plan: Plan) -> Features:
        """Return the values of h, centered if the plan has an origin."""
        values = self.values(x)[:, None]
        return (values if plan.origin is None else values - plan.origin).to(plan.dtype)

    def tile(self, a: Features, b: Features, plan: Plan, out: Tensor | None = None) -> Tensor:
        """Return the products h(x) h(y) of all pairs."""
        return torch.mm(a, b.T)

    def config(self) -> dict[str, Any]:
        """Return the shape of the points."""
        return {"points": list(self.points.shape)}

    def components(self) -> Mapping[str, Kernel]:
        """Return the kernel κ."""
        return {"kernel": self.kernel}

    @classmethod
    def rebuild(cls, saved: Saved) -> Witness:
        """Create a witness from the stored points and weights."""
        points = saved.tensor("points")
        saved.check_size("points", list(points.shape))
        return cls(saved.components["kernel"], points, saved.tensor("weights", ndim=1))

    @classmethod
    def examples(cls, d: int) -> list[Kernel]:
        """Return a witness of two points."""
        from .gaussian import Gaussian

        return [cls(Gaussian(1.3), torch.eye(2, d), torch.tensor([1.0, -2.0]))]

    def extra_repr(self) -> str:
        """Return the number of points."""
        return f"{len(self.points)} points"
