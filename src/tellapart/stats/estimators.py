"""MMD², its variance, their ratio and the power they promise, of two samples."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import torch
from torch import Tensor

from .. import engine
from .._util.errors import InputError, InputTypeError
from ..data import as_pair
from ..data.torch_rows import TensorSample
from ..engine import MemoryLike, computing
from ..kernels import Kernel, as_kernel
from .formulas import (
    BlockEstimate,
    Estimate,
    Estimator,
    block_estimate_from,
    estimate_from,
    mmd2_from,
    permutation_variance_from,
    ratio,
)
from .pvalues import check_level, normal_quantile

__all__ = [
    "BlockEstimate",
    "Estimate",
    "Estimator",
    "asymptotic_power",
    "block_estimate",
    "estimate",
    "mmd2",
    "mmd2_variance",
    "single_kernel",
    "t_statistic",
]


def estimate(
    X: Any,
    Y: Any,
    kernel: Any,
    *,
    estimator: Estimator = "full",
    max_memory: MemoryLike = None,
    threads: int | None = None,
) -> Estimate:
    """MMD², its variance and t in one pass.

    Parameters
    ----------
    X, Y
        The samples, with at least 4 rows each.
    kernel
        A kernel, or a function of two blocks of points.
    estimator
        ``"full"`` (all pairs, any sizes) or ``"paired"`` (the paper's, without the pairs (X_i, Y_i)).
    max_memory
        Bytes, or a string such as ``"1GB"``; by default a quarter of what is free. Features of points that ask for a
        gradient come on top: they are kept.
    threads
        At the most so many. By default ``TELLAPART_THREADS``, or what torch is set to use; small work takes one.

    Notes
    -----
    Costs (m + n)²/2 kernel evaluations and O((m + n) d) memory; so does the gradient.

    Examples
    --------
    >>> import torch
    >>> from tellapart.kernels import Gaussian
    >>> X = torch.randn(200, 2, generator=torch.Generator().manual_seed(0))
    >>> estimate(X, X + 1, Gaussian(1.0)).t.item() > 5
    True
    """
    x, y, chosen = _check_arguments(X, Y, kernel, estimator, known=("full", "paired"), what="variance", at_least=4)
    with computing(max_memory, threads=threads) as compute:
        found = estimate_from(engine.sums(chosen, x.values, y.values, compute=compute), estimator)
        values = {f.name: _as_given(getattr(found, f.name), x, y) for f in fields(found) if f.name != "replaced"}
    return Estimate(**values, replaced=bool(found.replaced))


def mmd2(
    X: Any,
    Y: Any,
    kernel: Any,
    *,
    estimator: Estimator = "full",
    max_memory: MemoryLike = None,
    threads: int | None = None,
) -> float | Tensor:
    """The squared maximum mean discrepancy between two samples.

    Parameters
    ----------
    X, Y
        The samples, with at least 2 rows each (``"biased"``: 1).
    kernel
        A kernel, or a function of two blocks of points.
    estimator
        ``"full"``: unbiased, from all pairs. ``"paired"``: unbiased, without the pairs (X_i, Y_i), for m = n; the
        estimator of the paper. ``"biased"``: the squared distance between the two mean embeddings, never negative.
    max_memory, threads
        As for `estimate`.

    Returns
    -------
    float or Tensor
        A float; if X or Y is a tensor, a 0-dimensional float64 tensor that can be differentiated with respect to
        the points and the parameters of the kernel.

    Notes
    -----
    Costs (m + n)²/2 kernel evaluations and O((m + n) d) memory.

    Examples
    --------
    >>> from tellapart.kernels import Linear
    >>> mmd2([[0.0], [2.0]], [[5.0], [5.0]], Linear(), estimator="biased")
    16.0
    """
    least = 1 if estimator == "biased" else 2
    known = ("full", "paired", "biased")
    x, y, chosen = _check_arguments(X, Y, kernel, estimator, known=known, what="MMD²", at_least=least)
    with computing(max_memory, threads=threads) as compute:
        s = engine.sums(chosen, x.values, y.values, squares=False, compute=compute)
        return _as_given(mmd2_from(s, estimator), x, y)


def mmd2_variance(
    X: Any,
    Y: Any,
    kernel: Any,
    *,
    estimator: Estimator = "full",
    positive: bool = False,
    max_memory: MemoryLike = None,
    threads: int | None = None,
) -> float | Tensor:
    """The unbiased estimate V of the variance of `mmd2`, which is negative at times; with ``positive``, V+.

    Parameters and return are as for `mmd2`; both samples need at least 4 rows.

    Examples
    --------
    >>> from tellapart.kernels import Linear
    >>> mmd2_variance([0.0, 1.0, 0.0, 1.0], [5.0, 5.0, 5.0, 5.0], Linear())
    6.694...
    """
    found = estimate(X, Y, kernel, estimator=estimator, max_memory=max_memory, threads=threads)
    return found.positive_variance if positive else found.variance  # type: ignore[no-any-return]


def t_statistic(
    X: Any,
    Y: Any,
    kernel: Any,
    *,
    estimator: Estimator = "full",
    max_memory: MemoryLike = None,
    threads: int | None = None,
) -> float | Tensor:
    """t = U / √V+, the quantity whose maximum gives the most powerful kernel.

    Parameters and return are as for `mmd2`; both samples need at least 4 rows. It is 0 where the kernel does not
    tell any two points apart. `estimate` also says whether V had to be replaced by V2.

    Examples
    --------
    >>> from tellapart.kernels import Gaussian
    >>> t_statistic([0.0, 0.1, 0.2, 0.3], [1.0, 1.1, 1.2, 1.3], Gaussian(1.0)) > 3
    True
    """
    found = estimate(X, Y, kernel, estimator=estimator, max_memory=max_memory, threads=threads)
    return found.t  # type: ignore[no-any-return]


def asymptotic_power(
    X: Any,
    Y: Any,
    kernel: Any,
    *,
    threshold: float | None = None,
    alpha: float = 0.05,
    max_memory: MemoryLike = None,
    threads: int | None = None,
) -> float | Tensor:
    """The power Φ(t - c/√V+) that the test at level ``alpha`` has for large samples of this size.

    Parameters
    ----------
    X, Y, kernel, max_memory, threads
        As for `mmd2`; both samples need at least 4 rows.
    threshold
        The critical value c of the full estimate of MMD² (the paper's c_α / m). By default the normal quantile
        times the exact permutation standard deviation, a rough guide; a permutation test gives a better one.
    alpha
        The level of the test.
    """
    check_level(alpha)
    x, y, chosen = _check_arguments(X, Y, kernel, "full", known=("full",), what="power", at_least=4)
    with computing(max_memory, threads=threads) as compute:
        s = engine.sums(chosen, x.values, y.values, compute=compute)
        found = estimate_from(s)
        if threshold is None:
            c = normal_quantile(alpha) * permutation_variance_from(s).clamp_min(0).sqrt()
        else:
            c = torch.as_tensor(threshold, dtype=found.t.dtype)
        return _as_given(torch.special.ndtr(ratio(found.mmd2 - c, found.positive_variance, s)), x, y)


def block_estimate(X: Any, Y: Any, kernel: Any, *, block_size: int = 2) -> BlockEstimate:
    """MMD² as the mean over blocks of ``block_size`` rows: 2 gives the linear-time estimator of Gretton et al. 2012.

    Its blocks are independent, so that the mean is asymptotically normal, and MMD² = 0 is rejected where ``ratio``
    exceeds a normal quantile. Rows that fill no block are left out; the order of rows must mean nothing.
    Costs O(len(X) · block_size) kernel evaluations.

    Examples
    --------
    >>> import torch
    >>> from tellapart.kernels import Gaussian
    >>> X = torch.randn(1000, 1, generator=torch.Generator().manual_seed(0))
    >>> block_estimate(X, X.flip(0) + 1, Gaussian(1.0)).blocks
    500
    """
    if not isinstance(block_size, int) or block_size < 2:
        raise InputError("out-of-range", f"block_size must be a whole number from 2 up, but is {block_size!r}.")
    x, y, chosen = _check_arguments(X, Y, kernel, "full", known=("full",), what="MMD²", at_least=2 * block_size)
    with computing():
        found = block_estimate_from(*engine.block_sums(chosen, x.values, y.values, block_size), block_size)
        mmd2, variance, ratio = (_as_given(value, x, y) for value in (found.mmd2, found.variance, found.ratio))
        return BlockEstimate(mmd2, variance, ratio, found.blocks)


def _check_arguments(
    X: Any, Y: Any, kernel: Any, estimator: str, *, known: tuple[str, ...], what: str, at_least: int
) -> tuple[TensorSample, TensorSample, Kernel]:
    """The two samples and the kernel, if an estimate can be made of them."""
    if estimator not in known:
        names = ", ".join(map(repr, known))
        raise InputError(
            "unknown-choice", f"estimator={estimator!r} is not an estimator of {what}. Choose one of {names}."
        )
    x, y = as_pair(X, Y, at_least=at_least)
    if estimator == "paired" and len(x) != len(y):
        raise InputError(
            "unequal-pairs",
            f"estimator='paired' needs samples of equal size, but X has {len(x)} rows and Y has {len(y)}.",
            "Use {estimator}.",
            estimator="full",
        )
    return x, y, single_kernel(kernel)


def single_kernel(kernel: Any) -> Kernel:
    """A kernel, or a function as one; not a grid of several."""
    found = as_kernel(kernel)
    if found.members > 1:
        raise InputTypeError(
            "single-kernel-needed",
            f"Expected a single kernel, got a Grid of {found.members}. Use tellapart.engine.sums for all at once.",
        )
    return found


def _as_given(value: Tensor, x: TensorSample, y: TensorSample) -> float | Tensor:
    """A tensor for those who gave tensors, a number for everybody else."""
    if not (x.from_tensor or y.from_tensor):
        return value.item()
    return value.to(x.values.device) if x.values.device.type != "mps" else value
