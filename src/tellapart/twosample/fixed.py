"""A test with a kernel that was chosen beforehand."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from typing import Any, Literal

import numpy as np
import torch

from .._util.progress import ProgressLike, progress_bar
from .._util.rng import RNG, seed_of
from ..data import Points, as_points
from ..engine import Memory, connected
from ..kernels import Gaussian, Kernel, as_kernel
from ..learning.bandwidths import median_distance
from ..stats import nulls

#: Draws at the most with ``permutations="auto"``.
AUTO_LIMIT = 1999


@dataclass(frozen=True, eq=False)
class TestResult:
    """The outcome of `mmd_test`. Unpacks as ``statistic, pvalue = result``.

    Attributes
    ----------
    statistic
        The unbiased estimate of MMD² (for ``null="swap"`` the paired one).
    pvalue
        The p-value: at least `pvalue_floor`, never 0.
    null_distribution
        The statistic under relabelling (or, for nulls that are not exact, draws from an approximation).
    null, exact
        The name of the null distribution, and whether the test is exact at every sample size.
    m, n
        The sizes of the samples.
    kernel, bandwidth
        The kernel in words, and its bandwidth where it has one.
    seed
        Give it as ``rng`` to have the same result again.
    seconds
        How long it took.
    """

    __test__ = False  # not a test case, whatever pytest thinks of its name

    statistic: float
    pvalue: float
    null_distribution: np.ndarray[Any, Any] = field(repr=False)
    null: str
    exact: bool
    m: int
    n: int
    kernel: str
    bandwidth: float | None
    seed: int
    seconds: float

    def __iter__(self) -> Iterator[float]:
        return iter((self.statistic, self.pvalue))

    @property
    def permutations(self) -> int:
        """How many draws the null distribution has."""
        return len(self.null_distribution)

    @property
    def pvalue_floor(self) -> float:
        """The smallest p-value that so many draws can give."""
        return 1 / (self.permutations + 1)

    def threshold(self, alpha: float = 0.05) -> float:
        """What the statistic must exceed for the test to reject at level ``alpha``; infinite with too few draws."""
        rank = math.floor(check_level(alpha) * (self.permutations + 1) + 1e-9)
        return float(np.sort(self.null_distribution)[-rank]) if rank >= 1 else math.inf

    def reject(self, alpha: float = 0.05) -> bool:
        """Whether the test rejects at level ``alpha``."""
        return self.pvalue <= check_level(alpha) + 1e-12

    def to_dict(self) -> dict[str, Any]:
        """All fields as plain Python values."""
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        return values | {"null_distribution": self.null_distribution.tolist(), "pvalue_floor": self.pvalue_floor}

    def to_json(self) -> str:
        """All fields as JSON."""
        return json.dumps(self.to_dict())

    def __repr__(self) -> str:
        kind = "exact" if self.exact else "asymptotic"
        at_floor = " (the smallest possible)" if self.pvalue <= self.pvalue_floor else ""
        kernel = self.kernel if "\n" not in self.kernel else self.kernel.split("(")[0]
        statistic = "difference of means" if self.kernel.startswith("Witness") else "MMD²"
        return (
            f"TestResult({statistic} = {self.statistic:.4g}, p = {self.pvalue:.4g}{at_floor}; {kind} {self.null} null, "
            f"{self.permutations} draws, m = {self.m}, n = {self.n}, {kernel})"
        )


def mmd_test(
    X: Any,
    Y: Any,
    kernel: Any = "median",
    null: Literal["permutation", "binned", "swap", "wild", "spectral", "gamma"] = "permutation",
    permutations: int | Literal["auto"] = 999,
    *,
    alpha: float = 0.05,
    groups: Any = None,
    bins: int | None = None,
    lag: float = 0.0,
    precision: Literal["single", "double"] = "single",
    rng: RNG = None,
    max_memory: Memory = None,
    cluster: Any = None,
    progress: ProgressLike = None,
) -> TestResult:
    """Test whether two samples come from the same distribution, with a kernel chosen beforehand.

    Parameters
    ----------
    X, Y
        The samples: arrays, tensors or DataFrames with at least 2 rows each. Or what `tellapart.data.open_lazy`
        opens: paths of .npy, Parquet and zarr, and Dask arrays, which are read block by block and may be larger than
        memory.
    kernel
        ``"median"``: a Gaussian whose bandwidth is the median distance in the pooled sample. Or a kernel, or a
        function of two blocks of points. It must not have been chosen by looking at which row is of which sample.
    null
        Exact at every sample size: ``"permutation"``; ``"binned"``, which permutes bins of rows at hardly more cost
        than the statistic's, for large samples; ``"swap"`` for pairs (X_i, Y_i). For large samples only:
        ``"wild"`` (wild bootstrap; with ``lag``, for time series), ``"spectral"`` and ``"gamma"``.
    permutations
        How many draws. Choose them so that alpha (permutations + 1) is whole. ``"auto"``, for the nulls
        ``"permutation"`` and ``"swap"``: at most 1,999, and fewer as soon as it is certain that the test will not
        reject at ``alpha`` (the rule of Besag & Clifford 1991, with which the p-value stays exact).
    alpha
        The level for ``permutations="auto"``.
    groups
        A label for each row of X and then of Y, for rows that belong together (frames of one video, rows of one
        patient). Whole groups are permuted, those of equal size among each other. A pair of arrays will do.
    bins
        For ``null="binned"``: about how many bins. By default 20 in the smaller sample.
    lag
        For ``null="wild"``: over how many rows a time series depends on its past.
    precision
        Of the tiles. Single precision keeps permutation tests exact: rounding errors are permuted too.
    rng
        A seed, a ``torch.Generator`` or a NumPy generator. The same seed gives the same p-value for every tile size,
        number of threads and memory budget.
    max_memory
        Bytes, or a string such as ``"1GB"``, for each process; by default a quarter of what is free.
    cluster
        Who computes. None: the threads of this process. The address of a Dask scheduler such as
        ``"tcp://host:8786"``, or a ``dask.distributed.Client``: its workers. ``"local"``: workers of this machine, one
        for each core, that are started and stopped; a script then needs ``if __name__ == "__main__":``. The same seed
        gives the same null distribution, bit for bit, whoever computes (on the same kind of processor).
    progress
        True, False, None (a bar if standard error is a terminal) or a function of what is done and what is to do.

    Returns
    -------
    TestResult

    Notes
    -----
    With N = m + n: N²/2 kernel evaluations and, for ``"permutation"``, N² · permutations operations of a matrix
    product; memory for N · permutations bytes and a few tiles. ``"spectral"`` stores N² numbers and takes O(N³).

    Examples
    --------
    >>> import numpy as np, tellapart as ta
    >>> rng = np.random.default_rng(0)
    >>> X, Y = rng.normal(size=(200, 2)), rng.normal(size=(200, 2)) + [0.5, 0]
    >>> statistic, pvalue = ta.mmd_test(X, Y, rng=0)
    >>> pvalue
    0.001
    >>> ta.mmd_test(X, rng.normal(size=(300, 2)), null="binned", rng=0).reject(0.05)
    False
    """
    start = time.perf_counter()
    if null not in nulls.METHODS:
        raise ValueError(f"null={null!r} is not known. Choose one of {', '.join(map(repr, nulls.METHODS))}.")
    if precision not in ("single", "double"):
        raise ValueError(f"precision must be 'single' or 'double', but is {precision!r}.")
    if lag and null != "wild":
        raise ValueError(f"lag is for null='wild', not for {null!r}.")
    if not lag >= 0:
        raise ValueError(f"lag must not be negative, but is {lag!r}.")
    if bins is not None and null != "binned":
        raise ValueError(f"bins are for null='binned', not for {null!r}.")
    check_level(alpha)
    method, exact = nulls.METHODS[null]
    automatic = permutations == "auto"
    if automatic and null not in ("permutation", "swap"):
        raise ValueError(f"permutations='auto' is for null='permutation' or 'swap', not for {null!r}. Give a number.")
    if not automatic and (isinstance(permutations, bool) or not isinstance(permutations, int) or permutations < 1):
        raise ValueError(f"permutations must be a whole number from 1 up or 'auto', but is {permutations!r}.")
    x, y = as_points(X, Y, at_least=2)
    seed = seed_of(rng)
    chosen = _kernel(kernel, x, y, seed)
    tolerance = 1e-6 if precision == "single" else 1e-12
    with connected(cluster) as executor, torch.no_grad(), progress_bar(progress, "mmd_test") as report:
        problem = nulls.Problem(
            chosen,
            x,
            y,
            np.random.default_rng(seed),
            dtype=torch.float32 if precision == "single" else torch.float64,
            groups=check_groups(groups, len(x), len(y), null),
            bins=bins,
            lag=lag,
            max_memory=max_memory,
            progress=report,
            executor=executor,
        )
        if automatic:
            found, pvalue = nulls.sequential(method, problem, AUTO_LIMIT, alpha, tolerance)
        else:
            found = method(problem, int(permutations))
            pvalue = float(found.pvalue(tolerance))
    if not (torch.isfinite(found.statistic).all() and torch.isfinite(found.distribution).all()):
        raise ValueError(
            f"The statistic is not finite with the kernel {chosen!r}. Are its parameters finite, and do its values fit "
            "into the numbers they are computed in? Scale the data, or try precision='double'."
        )
    return TestResult(
        statistic=float(found.statistic),
        pvalue=pvalue,
        null_distribution=found.distribution.numpy(),
        null=null,
        exact=exact,
        m=len(x),
        n=len(y),
        kernel=repr(chosen),
        bandwidth=getattr(chosen, "bandwidth", None),
        seed=seed,
        seconds=time.perf_counter() - start,
    )


def _kernel(kernel: Any, x: Points, y: Points, seed: int) -> Kernel:
    if isinstance(kernel, str):
        if kernel != "median":
            raise ValueError(f"kernel={kernel!r} is not known to mmd_test. Give 'median' or a kernel.")
        return Gaussian(median_distance([x, y], seed))
    return as_kernel(kernel)


def check_groups(groups: Any, m: int, n: int, null: str) -> np.ndarray[Any, Any] | None:
    """One label a row, checked: a group lies in one sample, and some size of group is found in both."""
    if groups is None:
        return None
    if null != "permutation":
        raise ValueError(f"groups are for null='permutation', not for {null!r}.")
    parts = groups if isinstance(groups, tuple) and len(groups) == 2 else [groups]
    labels = np.concatenate([np.asarray(part) for part in parts])
    if labels.shape != (m + n,):
        raise ValueError(f"groups must have one label for each of the {m + n} rows, but has shape {labels.shape}.")
    names = [np.unique(part, return_counts=True) for part in (labels[:m], labels[m:])]
    shared = np.intersect1d(names[0][0], names[1][0])
    if len(shared):
        raise ValueError(f"A group must lie in one sample, but {shared[0].item()!r} has rows in X and in Y.")
    if not len(np.intersect1d(names[0][1], names[1][1])):
        raise ValueError("No group of X has the size of a group of Y, so that there is nothing to exchange.")
    return labels


def check_level(alpha: float) -> float:
    """The level itself, if it is one."""
    if not 0 < alpha < 1:
        raise ValueError(f"alpha must be between 0 and 1, but is {alpha!r}.")
    return alpha
