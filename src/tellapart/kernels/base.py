"""What a kernel is: an `nn.Module` that makes a tile of kernel values from two blocks of points."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from .._util.errors import InputError, InputTypeError
from .plan import Features, Plan, probe_rows
from .registry import Saved


class Kernel(nn.Module):
    """A positive semi-definite function of two points.

    A subclass defines `tile`, and `features` if a point is worth preparing once rather than once for each tile. To be
    saved, and to be tried by the conformance suite, it is decorated with `register`. Kernels combine with ``+`` and
    ``*``; a number times a kernel scales it. Parameters that must be positive are stored as logarithms.
    """

    #: How many kernels are evaluated side by side (`Grid` has one for each bandwidth).
    members = 1
    #: Whether points are best left in the order in which they come.
    keeps_row_order = False
    #: Whether k(x, x) = 1 for all x, and an anchored plan leaves out just that 1.
    normalised = False
    #: What a test with this kernel measures.
    statistic_name = "MMD²"
    #: What `distance` returns.
    distance_name = "MMD"

    @property
    def witness_function(self) -> Callable[[Tensor], Tensor] | None:
        """h, for a kernel of the form k(x, y) = h(x) h(y), whose MMD is the difference of the means of h; else None."""
        return None

    @property
    def coordinate_scales(self) -> Tensor | None:
        """How much each coordinate counts, for a kernel that weighs them; else None."""
        return None

    def distance(self, statistic: float) -> float:
        """The distance of two samples by the statistic of their test: √MMD², 0 where the estimate is negative."""
        return math.sqrt(max(statistic, 0.0))

    def plan(self, probe: Tensor, *, additive: bool = False, dtype: torch.dtype | None = None) -> Plan:
        """Settle how to compute tiles for data that look like ``probe``, in ``dtype`` (that of the data if None).

        With ``additive``, the kernel may be changed by f(x) + f(y) for any f, which changes neither MMD² nor its
        variance, if that is more accurate.
        """
        return Plan(dtype or probe.dtype, probe.dtype)

    def features(self, x: Tensor, plan: Plan) -> Features:
        """What `tile` compares, one row for each row of ``x``."""
        return x.flatten(1).to(plan.dtype)

    def refine_plan(self, plan: Plan, features: Features) -> Plan:
        """The plan itself, or a better one now that all features are known."""
        return plan

    def tile(self, a: Features, b: Features, plan: Plan, out: Tensor | None = None) -> Tensor:
        """Kernel values between two blocks of features (less a constant if the plan is anchored).

        ``out`` is memory that the tile may be made in, of its shape and type.
        """
        raise NotImplementedError

    def tiles(self, a: Features, b: Features, plan: Plan, out: Tensor | None = None) -> Iterator[Tensor]:
        """One tile for each member."""
        yield self.tile(a, b, plan, out)

    def forward(self, x: Tensor, y: Tensor | None = None) -> Tensor:
        """The whole kernel matrix between the rows of ``x`` and those of ``y`` (or of ``x`` again)."""
        y = x if y is None else y
        if x.ndim < 2 or y.ndim < 2 or x.shape[1:] != y.shape[1:]:
            raise InputError(
                "shapes-differ",
                "A kernel takes two blocks of points with one row for each point and rows of one shape, "
                f"but the shapes are {tuple(x.shape)} and {tuple(y.shape)}.",
            )
        plan = self.plan(probe_rows(x, y))
        return self.tile(self.features(x, plan), self.features(y, plan), plan)

    def config(self) -> dict[str, Any]:
        """The arguments that make this kernel again, other than parameters and kernels, as JSON can hold them."""
        return {}

    def components(self) -> Mapping[str, Kernel | Sequence[Kernel] | None]:
        """The arguments that are kernels. Attributes of these names hold them."""
        return {}

    @classmethod
    def rebuild(cls, saved: Saved) -> Kernel:
        """A kernel of this class as a file describes it; its parameters are set afterwards.

        A class whose ``config`` has sizes reads them off ``saved.tensors``: a header may say anything.
        """
        return cls(**saved.components, **saved.config)

    @classmethod
    def examples(cls, d: int) -> list[Kernel]:
        """Kernels of this class for points with ``d`` coordinates, for the conformance suite to try."""
        return [cls()]

    def __add__(self, other: Kernel) -> Kernel:
        from .combinations import Sum  # which is a kernel itself

        return Sum([self, other]) if isinstance(other, Kernel) else NotImplemented

    def __radd__(self, other: Any) -> Kernel:
        return self if other == 0 else NotImplemented  # so that sum([k1, k2]) works

    def __mul__(self, other: Kernel | float) -> Kernel:
        from .combinations import Product, Sum

        if isinstance(other, Kernel):
            return Product([self, other])
        return Sum([self], [other]) if isinstance(other, (int, float)) else NotImplemented

    __rmul__ = __mul__

    def extra_repr(self) -> str:
        """Arguments for ``repr``."""
        return ", ".join(f"{name}={value!r}" for name, value in self.config().items())


def log_positive(name: str, values: float | Sequence[float] | Tensor) -> Tensor:
    """Logarithms in float64 of values that must be positive and finite."""
    try:
        given = torch.as_tensor(values, dtype=torch.float64).detach().clone()
    except (TypeError, ValueError, RuntimeError):
        raise InputTypeError(
            "wrong-type", f"{name} must be a positive number or a list of them, but is {values!r}."
        ) from None
    if not bool(torch.isfinite(given).all() and (given > 0).all()):
        raise InputError("out-of-range", f"{name} must be positive and finite, but is {given.tolist()}.")
    return given.log()
