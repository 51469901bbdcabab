"""A family of kernels at several bandwidths that share their distances."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import torch
from torch import Tensor

from .._util.errors import InputError, InputTypeError
from .base import Kernel, log_positive
from .gaussian import Gaussian
from .plan import Features, Plan
from .stationary import Stationary


class Grid(Kernel):
    """Kernels of one family at several bandwidths. Distances are computed once; bandwidths are not learned.

    Parameters
    ----------
    bandwidths : sequence of float
        The bandwidths.
    family : type, default Gaussian
        Class of the kernels.

    Examples
    --------
    >>> len(Grid([0.5, 1, 2]).bandwidths)
    3
    """

    def __init__(self, bandwidths: Sequence[float] | Tensor, family: type[Stationary] = Gaussian) -> None:
        super().__init__()
        logs = log_positive("bandwidths", bandwidths)
        if logs.ndim != 1 or not len(logs):
            raise InputError(
                "wrong-shape", f"`bandwidths` must be a non-empty list of numbers, got shape {tuple(logs.shape)}."
            )
        self.bandwidths = torch.as_tensor(bandwidths, dtype=torch.float64).detach().clone()
        self.family = family
        self.members = len(logs)
        self.finest = family(float(self.bandwidths.min())).requires_grad_(False)

    def plan(self, probe: Tensor, *, additive: bool = False, dtype: torch.dtype | None = None) -> Plan:
        """Return the plan of the smallest bandwidth; its parts record which members are anchored."""
        plan = self.finest.plan(probe, dtype=dtype)
        near = [self.family(float(b)).plan(probe, additive=additive).anchored for b in self.bandwidths]
        return replace(plan, parts=tuple(replace(plan, anchored=anchored) for anchored in near))

    def features(self, x: Tensor, plan: Plan) -> Features:
        """Return the features of the smallest bandwidth."""
        return self.finest.features(x, plan)

    def refine_plan(self, plan: Plan, features: Features) -> Plan:
        """Refine the plan as the smallest bandwidth requires."""
        return self.finest.refine_plan(plan, features)

    def tile(self, a: Features, b: Features, plan: Plan, out: Tensor | None = None) -> Tensor:
        """Raise `InputTypeError`: a Grid has one tile per member, see `tiles`."""
        raise InputTypeError(
            "single-kernel-needed",
            f"Expected a single kernel, got a Grid of {self.members}. Use its family with one bandwidth.",
        )

    def tiles(self, a: Features, b: Features, plan: Plan, out: Tensor | None = None) -> Iterator[Tensor]:
        """Yield one tile per bandwidth."""
        exponent = self.finest.exponent(a, b, out).to(plan.dtype)
        for bandwidth, part in zip(self.bandwidths, plan.parts, strict=True):
            factor = (self.finest.bandwidth / float(bandwidth)) ** self.finest.degree
            yield self.finest.profile(exponent * factor, part.anchored)
