"""MMD², its variance, their ratio and the power they promise, from sums over the kernel (MATHS §1, §2 and §4).

Every statistic is computed here and nowhere else: `mmd2_of_totals`, `variance_from`, `second_order_from`,
`relabelling_variance` and `ratio` are the formulas, `estimate_from` puts them together.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Any, Literal

import torch
from torch import Tensor

from .. import engine
from .._util.errors import InputError
from ..data import Sample, as_pair
from ..engine import MemoryLike, Sums, computing
from ..kernels import Kernel, as_kernel
from .pvalues import check_level, normal_quantile

Estimator = Literal["full", "paired", "biased"]


@dataclass(frozen=True)
class Estimate:
    """Everything one pass over the kernel tells: numbers, or for tensors 0-dimensional tensors with a gradient.

    Attributes
    ----------
    mmd2
        The estimate U of MMD².
    variance
        The unbiased estimate V of the variance of U. It is negative in about 30 % of draws when P = Q.
    second_order
        V2, the part of the variance that is a sum of squares and never negative.
    positive_variance
        V+ = max(V, V2).
    t
        U / √V+, and 0 where the kernel does not tell any two points apart.
    replaced
        Whether V was below V2, so that t is U / √V2.
    """

    mmd2: Any
    variance: Any
    second_order: Any
    positive_variance: Any
    t: Any
    replaced: Any


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


@dataclass(frozen=True)
class BlockEstimate:
    """A mean over independent blocks: ``mmd2``, the ``variance`` of that mean, and their ``ratio`` mmd2/√variance."""

    mmd2: Any
    variance: Any
    ratio: Any
    blocks: int


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
        raise ValueError(f"block_size must be a whole number from 2 up, but is {block_size!r}.")
    x, y, chosen = _check_arguments(X, Y, kernel, "full", known=("full",), what="MMD²", at_least=2 * block_size)
    with computing():
        found = block_estimate_from(*engine.block_sums(chosen, x.values, y.values, block_size), block_size)
        mmd2, variance, ratio = (_as_given(value, x, y) for value in (found.mmd2, found.variance, found.ratio))
        return BlockEstimate(mmd2, variance, ratio, found.blocks)


def block_estimate_from(xx: Tensor, yy: Tensor, xy: Tensor, size: int) -> BlockEstimate:
    """The mean over blocks of ``size`` rows, from the totals of Kxx, Kyy and Kxy without diagonals of each."""
    values = (xx + yy - 2 * xy) / (size * (size - 1))
    mean, variance = values.mean(), values.var() / len(values)
    return BlockEstimate(mean, variance, _safe_ratio(mean, variance, variance <= 0), len(values))


def estimate_from(s: Sums, estimator: Estimator = "full") -> Estimate:
    """Everything from sums; with a `Grid`, tensors with a leading dimension for it (``replaced`` too)."""
    u, v, v2 = mmd2_from(s, estimator), variance_from(s, estimator), second_order_from(s, estimator)
    positive = torch.maximum(v, v2)
    return Estimate(u, v, v2, positive, ratio(u, positive, s), (v < v2).detach())


def mmd2_of_totals(xx: Tensor, yy: Tensor, xy: Tensor, m: int, n: int) -> Tensor:
    """The full MMD² from the totals of Kxx and Kyy without their diagonals, and of Kxy (MATHS §1)."""
    return xx / (m * (m - 1)) + yy / (n * (n - 1)) - 2 * xy / (m * n)


def mmd2_of_labels(forms: Tensor, crosses: Tensor, total: Tensor, m: int, n: int) -> Tensor:
    """The full MMD² of labellings s of the pooled points, from sᵀK̃s, sᵀK̃e and eᵀK̃e (MATHS §4)."""
    return mmd2_of_totals(forms, total - 2 * crosses + forms, crosses - forms, m, n)


def mmd2_from(s: Sums, estimator: Estimator = "full") -> Tensor:
    """MMD² from sums (MATHS §1)."""
    m, n = s.m, s.n
    if estimator == "biased":
        return (s.sxx + s.trace_x) / m**2 + (s.syy + s.trace_y) / n**2 - 2 * s.sxy / (m * n)
    if estimator == "paired":
        assert s.dxy is not None
        return (s.sxx + s.syy - 2 * (s.sxy - s.dxy)) / (m * (m - 1))
    return mmd2_of_totals(s.sxx, s.syy, s.sxy, m, n)


def variance_from(s: Sums, estimator: Estimator = "full") -> Tensor:
    """The unbiased variance V from sums (MATHS §2, not the constants that the paper prints)."""
    m, n = s.m, s.n

    def within(total: Tensor, rows: Tensor, squares: Tensor, m: int) -> Tensor:
        return 2 / _falling(m, 4) * (2 * rows - squares - (2 * m - 3) / (m * (m - 1)) * total**2)

    def mixed(rows: Tensor, across: Tensor, total: Tensor, m: int, n: int) -> Tensor:
        return 8 / (n * _falling(m, 3)) * ((rows * across).sum(-1) - total * s.sxy / m)

    cross = s.rxy + s.cxy
    if estimator == "paired":
        between = (m * m - m - 1) * cross - m * (m - 2) * s.fxy - (2 * m - 3) * s.sxy**2
        between = 4 / (m**3 * (m - 1) ** 3) * between
    else:
        between = cross - s.fxy - (m + n - 1) * s.sxy**2 / (m * n)
        between = 4 / (_falling(m, 2) * _falling(n, 2)) * between
    return (
        within(s.sxx, s.rxx, s.fxx, m)
        + within(s.syy, s.ryy, s.fyy, n)
        + between
        - mixed(s.rx, s.rho, s.sxx, m, n)
        - mixed(s.ry, s.kap, s.syy, n, m)
    )


def second_order_from(s: Sums, estimator: Estimator = "full") -> Tensor:
    """V2, the second-order part of the variance (MATHS §2)."""
    m, n = s.m, s.n

    def within(total: Tensor, rows: Tensor, squares: Tensor, m: int) -> Tensor:
        centred = squares - 2 / (m - 2) * rows + total**2 / ((m - 1) * (m - 2))
        return 2 / (_falling(m, 2) * m * (m - 3)) * centred.clamp_min(0)

    weight = 4 / (m * (m - 1) ** 3) if estimator == "paired" else 4 / (m * n * (m - 1) * (n - 1))
    between = s.fxy - s.rxy / n - s.cxy / m + s.sxy**2 / (m * n)
    return within(s.sxx, s.rxx, s.fxx, m) + within(s.syy, s.ryy, s.fyy, n) + weight * between.clamp_min(0)


def permutation_variance_from(s: Sums) -> Tensor:
    """The exact variance of the full MMD² over all relabellings of the pooled sample (MATHS §4)."""
    rows = torch.cat([s.rx + s.rho, s.kap + s.ry], -1)
    return relabelling_variance(s.fxx + s.fyy + 2 * s.fxy, rows.square().sum(-1), rows.sum(-1), s.m, s.n)


def relabelling_variance(squares: Tensor, row_squares: Tensor, total: Tensor, m: int, n: int) -> Tensor:
    """The same from |K̃|², |K̃e|² and eᵀK̃e of the pooled matrix without its diagonal."""
    N = m + n
    norm = squares - 2 * row_squares / (N - 2) + total**2 / ((N - 1) * (N - 2))
    scale = 1 / (m * (m - 1)) + 1 / (n * (n - 1)) + 2 / (m * n)
    return 2 * scale**2 * _falling(m, 2) * _falling(n, 2) / _falling(N, 4) * norm


def ratio(numerator: Tensor, variance: Tensor, s: Sums) -> Tensor:
    """numerator / √variance, and 0 where the variance is 0 but for rounding."""
    size = 4 / (s.m * s.n) * (s.fxx + s.fyy + s.fxy).detach() / (s.m + s.n) ** 2
    return _safe_ratio(numerator, variance, variance <= 64 * torch.finfo(torch.float64).eps * size)


def _safe_ratio(numerator: Tensor, variance: Tensor, undefined: Tensor) -> Tensor:
    # The root of a masked value must be finite too, or its gradient is NaN. A NaN that comes in goes out.
    root = torch.where(undefined, torch.ones_like(variance), variance).sqrt()
    return torch.where(undefined, torch.zeros_like(numerator), numerator / root)


def _falling(m: int, r: int) -> int:
    """m (m - 1) … (m - r + 1)."""
    return math.prod(range(m - r + 1, m + 1))


def _check_arguments(
    X: Any, Y: Any, kernel: Any, estimator: str, *, known: tuple[str, ...], what: str, at_least: int
) -> tuple[Sample, Sample, Kernel]:
    """The two samples and the kernel, if an estimate can be made of them."""
    if estimator not in known:
        names = ", ".join(map(repr, known))
        raise ValueError(f"estimator={estimator!r} is not an estimator of {what}. Choose one of {names}.")
    x, y = as_pair(X, Y, at_least=at_least)
    if estimator == "paired" and len(x) != len(y):
        raise InputError(
            f"estimator='paired' needs samples of equal size, but X has {len(x)} rows and Y has {len(y)}.",
            "Use {estimator}.",
            estimator="full",
        )
    return x, y, single_kernel(kernel)


def single_kernel(kernel: Any) -> Kernel:
    """A kernel, or a function as one; not a grid of several."""
    found = as_kernel(kernel)
    if found.members > 1:
        raise TypeError(f"Expected a single kernel, got a Grid of {found.members}. Use ta.engine.sums for all at once.")
    return found


def _as_given(value: Tensor, x: Sample, y: Sample) -> float | Tensor:
    """A tensor for those who gave tensors, a number for everybody else."""
    if not (x.from_tensor or y.from_tensor):
        return value.item()
    return value.to(x.values.device) if x.values.device.type != "mps" else value
