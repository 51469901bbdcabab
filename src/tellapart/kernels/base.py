"""Base class of kernels."""

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
    """Positive semi-definite function of two points.

    A subclass implements `tile`, and `features` if points can be preprocessed once instead of once per tile. Decorate
    it with `register` to make it savable and to include it in the conformance suite. Kernels are combined with ``+``
    and ``*``; a number times a kernel scales it. Positive parameters are stored as logarithms.
    """

    #: Number of kernels that are evaluated together (`Grid` has one per bandwidth).
    members = 1
    #: Whether tiles of consecutive rows are much faster, so that rows should not be reordered.
    keeps_row_order = False
    #: Whether k(x, x) = 1 for all x, so that an anchored plan computes k - 1.
    normalised = False
    #: Name of the statistic of a test with this kernel.
    statistic_name = "MMD²"
    #: Name of the value of `distance`.
    distance_name = "MMD"

    @property
    def witness_function(self) -> Callable[[Tensor], Tensor] | None:
        """h if k(x, y) = h(x) h(y), in which case MMD is the difference of the means of h; else None."""
        return None

    @property
    def coordinate_scales(self) -> Tensor | None:
        """Scales of the coordinates, if the kernel has them; else None."""
        return None

    def distance(self, statistic: float) -> float:
        """Convert the test statistic to a distance: √MMD², or 0 if the estimate is negative."""
        return math.sqrt(max(statistic, 0.0))

    def plan(self, probe: Tensor, *, additive: bool = False, dtype: torch.dtype | None = None) -> Plan:
        """Choose how to compute tiles for data similar to ``probe``.

        Parameters
        ----------
        probe : Tensor
            Some rows of the data.
        additive : bool, default False
            Whether f(x) + f(y) may be added to the kernel, for any f, to gain accuracy. This changes neither MMD² nor
            its variance.
        dtype : torch.dtype, optional
            Type of the tiles. By default that of the data.

        Returns
        -------
        plan : Plan
            Passed to `features` and `tile`.
        """
        return Plan(dtype or probe.dtype, probe.dtype)

    def features(self, x: Tensor, plan: Plan) -> Features:
        """Return the input of `tile`: one row for each row of ``x``."""
        return x.flatten(1).to(plan.dtype)

    def refine_plan(self, plan: Plan, features: Features) -> Plan:
        """Return the plan, improved if the features of all points require it."""
        return plan

    def tile(self, a: Features, b: Features, plan: Plan, out: Tensor | None = None) -> Tensor:
        """Return the kernel values between two blocks of features (minus a constant if the plan is anchored).

        Parameters
        ----------
        a, b : Features
            Features of two blocks of points.
        plan : Plan
            The plan with which the features were computed.
        out : Tensor, optional
            Buffer of the shape and type of the tile, which may be used for the result.
        """
        raise NotImplementedError

    def tiles(self, a: Features, b: Features, plan: Plan, out: Tensor | None = None) -> Iterator[Tensor]:
        """Yield one tile for each member."""
        yield self.tile(a, b, plan, out)

    def forward(self, x: Tensor, y: Tensor | None = None) -> Tensor:
        """Return the kernel matrix between the rows of ``x`` and those of ``y`` (default: ``x``)."""
        y = x if y is None else y
        if x.ndim < 2 or y.ndim < 2 or x.shape[1:] != y.shape[1:]:
            raise InputError(
                "shapes-differ",
                "A kernel requires two blocks of points whose rows have the same shape, "
                f"got shapes {tuple(x.shape)} and {tuple(y.shape)}.",
            )
        plan = self.plan(probe_rows(x, y))
        return self.tile(self.features(x, plan), self.features(y, plan), plan)

    def config(self) -> dict[str, Any]:
        """Return the constructor arguments other than parameters and kernels, as JSON-serializable values."""
        return {}

    def components(self) -> Mapping[str, Kernel | Sequence[Kernel] | None]:
        """Return the constructor arguments that are kernels. Attributes of the same names must hold them."""
        return {}

    @classmethod
    def rebuild(cls, saved: Saved) -> Kernel:
        """Create a kernel of this class from a file; its parameters are set afterwards.

        A class whose ``config`` contains sizes must take them from ``saved.tensors``, because the header of a file is
        not trusted.
        """
        return cls(**saved.components, **saved.config)

    @classmethod
    def examples(cls, d: int) -> list[Kernel]:
        """Return kernels of this class for points with ``d`` coordinates, used by the conformance suite."""
        return [cls()]

    def __add__(self, other: Kernel) -> Kernel:
        from .combinations import Sum  # a circular import at the top level

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
        """Return the arguments shown by ``repr``."""
        return ", ".join(f"{name}={value!r}" for name, value in self.config().items())


def log_positive(name: str, values: float | Sequence[float] | Tensor) -> Tensor:
    """Return the logarithms of values in float64. Raise `InputError` unless all are positive and finite."""
    try:
        tensor = torch.as_tensor(values, dtype=torch.float64).detach().clone()
    except (TypeError, ValueError, RuntimeError):
        raise InputTypeError(
            "wrong-type", f"`{name}` must be a positive number or a list of positive numbers, got {values!r}."
        ) from None
    if not bool(torch.isfinite(tensor).all() and (tensor > 0).all()):
        raise InputError("out-of-range", f"`{name}` must be positive and finite, got {tensor.tolist()}.")
    return tensor.log()
