"""User-defined kernels: a kernel matrix, or a function of two blocks of points."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from .._util.errors import InputError, InputTypeError
from ..data import as_sample
from .base import Kernel
from .plan import Features, Plan
from .registry import Saved, register


@register
class Precomputed(Kernel):
    """Kernel given by a symmetric matrix of values. Points are row numbers of the matrix.

    Parameters
    ----------
    matrix : array_like of shape (n, n)
        The kernel values.

    Examples
    --------
    >>> k = Precomputed([[1.0, 0.5], [0.5, 1.0]])
    >>> k(torch.tensor([[0], [1]]))
    tensor([[1.0000, 0.5000],
            [0.5000, 1.0000]], dtype=torch.float64)
    """

    matrix: Tensor
    keeps_row_order = True

    def __init__(self, matrix: Any) -> None:
        super().__init__()
        values = as_sample(matrix, "matrix").values.detach()
        if values.ndim != 2 or values.shape[0] != values.shape[1]:
            raise InputError("wrong-shape", f"`matrix` must be square, got shape {tuple(values.shape)}.")
        tolerance = 100 * torch.finfo(values.dtype).eps * float(values.abs().max())
        blocks = (slice(start, start + 1024) for start in range(0, len(values), 1024))
        if any(float((values[rows] - values[:, rows].T).abs().max()) > tolerance for rows in blocks):
            raise InputError(
                "asymmetric-kernel", "`matrix` must be symmetric. Use (K + K.T) / 2 if it differs only by rounding."
            )
        self.register_buffer("matrix", values)

    def plan(self, probe: Tensor, *, additive: bool = False, dtype: torch.dtype | None = None) -> Plan:
        """Return a plan with the type of the matrix."""
        return Plan(dtype or self.matrix.dtype, self.matrix.dtype)

    def features(self, x: Tensor, plan: Plan) -> Features:
        """Return the row numbers as integers."""
        rows = x.flatten(1)
        if rows.shape[1] != 1 or bool(((rows != rows.round()) | (rows < 0) | (rows >= len(self.matrix))).any()):
            raise InputError(
                "invalid-row-numbers",
                f"With a Precomputed kernel, samples are row numbers of its matrix, from 0 to {len(self.matrix) - 1}: "
                "for example X = np.arange(m), Y = np.arange(m, m + n).",
            )
        return rows[:, 0].detach().long()

    def tile(self, a: Features, b: Features, plan: Plan, out: Tensor | None = None) -> Tensor:
        """Return a copy of the entries. Consecutive rows are much faster than others."""
        rows, columns = _as_slice(a), _as_slice(b)
        if rows is None or columns is None:
            return self.matrix.index_select(0, a).index_select(1, b).to(plan.dtype)
        tile = torch.empty(len(a), len(b), dtype=plan.dtype, device=a.device) if out is None else out
        return tile.copy_(self.matrix[rows, columns])

    def config(self) -> dict[str, Any]:
        """Return the number of rows of the matrix."""
        return {"rows": len(self.matrix)}

    @classmethod
    def rebuild(cls, saved: Saved) -> Precomputed:
        """Create a kernel from the stored matrix, which is checked again."""
        matrix = saved.tensor("matrix", ndim=2)
        saved.check_size("rows", len(matrix))
        return cls(matrix)

    @classmethod
    def examples(cls, d: int) -> list[Kernel]:
        """Return no kernels: points are row numbers and have no coordinates."""
        return []


def _as_slice(rows: Tensor) -> slice | None:
    """Return row numbers as a slice if they are consecutive, else None."""
    if not bool((rows[1:] - rows[:-1] == 1).all()):
        return None
    return slice(int(rows[0]), int(rows[0]) + len(rows))


class FromFunction(Kernel):
    """Kernel given by a function.

    Parameters
    ----------
    function : callable
        Symmetric positive definite function of two blocks of points. It returns the matrix of kernel values, as a
        tensor or a NumPy array.

    Examples
    --------
    >>> k = FromFunction(lambda x, y: x @ y.T)
    >>> k(torch.tensor([[3.0]]))
    tensor([[9.]])
    """

    def __init__(self, function: Callable[[Any, Any], Any]) -> None:
        super().__init__()
        if not callable(function):
            raise InputTypeError(
                "wrong-type", f"`function` must be callable with two blocks of points, got {type(function).__name__}."
            )
        self.function = function

    def plan(self, probe: Tensor, *, additive: bool = False, dtype: torch.dtype | None = None) -> Plan:
        """Evaluate the function on the probe, and raise `InputError` if it is not symmetric."""
        plan = Plan(dtype or probe.dtype, probe.dtype)
        with torch.no_grad():
            tile = self.tile(probe, probe[: len(probe) // 2 + 1], plan)
            again = self.tile(probe[: len(probe) // 2 + 1], probe, plan)
        if not (torch.isfinite(tile).all() and torch.isfinite(again).all()):
            raise InputError("non-finite-kernel", "The kernel function returns NaN or infinite values for this data.")
        if not torch.allclose(tile, again.T, rtol=1e-3, atol=1e-5 * float(tile.abs().max())):
            raise InputError("asymmetric-kernel", "The kernel function is not symmetric: k(x, y) must equal k(y, x).")
        return plan

    def features(self, x: Tensor, plan: Plan) -> Features:
        """Return the points unchanged."""
        return x

    def tile(self, a: Features, b: Features, plan: Plan, out: Tensor | None = None) -> Tensor:
        """Return the values of the function as a tensor."""
        values = torch.as_tensor(self.function(a, b))
        if values.shape != (len(a), len(b)):
            raise InputError(
                "wrong-shape",
                f"The kernel function must return a {len(a)} × {len(b)} matrix for blocks of {len(a)} and {len(b)} "
                f"points, but returned shape {tuple(values.shape)}.",
            )
        return values.to(plan.dtype)


def as_kernel(kernel: Any) -> Kernel:
    """Return a kernel unchanged, and wrap a function of two blocks of points in `FromFunction`.

    Parameters
    ----------
    kernel : Kernel or callable
        The kernel.

    Returns
    -------
    kernel : Kernel
        The kernel.
    """
    if isinstance(kernel, Kernel):
        return kernel
    if isinstance(kernel, type):
        raise InputTypeError(
            "wrong-type",
            f"`kernel` must be a kernel object, got the class {kernel.__name__}: write {kernel.__name__}(…).",
        )
    if callable(kernel):
        return FromFunction(kernel)
    raise InputTypeError(
        "wrong-type",
        f"`kernel` must be a kernel such as ta.kernels.Gaussian(1.0), or a function of two blocks of points, "
        f"got {type(kernel).__name__}.",
    )
