"""Tests with a kernel that was chosen beforehand."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import torch

from .._util.errors import InputError
from .._util.progress import ProgressLike
from .._util.rng import RNG, seed_of
from ..data import TensorPoints, check_unchanged
from ..data.encoding import Standardise
from ..data.shared import LESS_IS_SEEN
from ..data.torch_rows import as_tensors
from ..engine import Compute, MemoryLike, computing
from ..kernels import Gaussian, Kernel, as_kernel
from ..learning.bandwidths import median_distance
from ..stats.nulls import Null, NullDistribution, NullLike, Permutation, Problem, as_null
from ..stats.nulls.sequential import draw_until_decided
from ..stats.pvalues import check_draws, check_level, min_pvalue, note_floor, warn_of_floor
from .opening import KernelInput, place_labels
from .results import TestResult

#: Draws at the most with ``permutations="auto"``.
AUTO_LIMIT = 1999
#: Rounding of the statistic, relative to the largest, by the precision of tiles: what counts as a tie (MATHS §6). MMD²
#: is a difference of sums that are some hundred times as large: labellings that exchange equal rows, and so have the
#: same MMD², differ by up to 7e-5 and 1e-11.
TOLERANCES = {torch.float32: 1e-4, torch.float64: 1e-10}
#: Rows at the most that are read together to evaluate a witness: a multiple of what it evaluates together itself.
_ROWS, _MULTIPLE = 65_536, 1024


def mmd_test(
    X: Any,
    Y: Any,
    kernel: Any = "median",
    null: NullLike = "permutation",
    permutations: int | Literal["auto"] = 999,
    *,
    alpha: float = 0.05,
    precision: Literal["single", "double"] = "single",
    standardise: Standardise = "auto",
    keep_columns: Iterable[Any] | bool | None = None,
    rng: RNG = None,
    max_memory: MemoryLike = None,
    threads: int | None = None,
    cluster: Any = None,
    progress: ProgressLike = None,
    **reading: Any,
) -> TestResult:
    """Test whether two samples come from the same distribution, with a kernel chosen beforehand.

    Parameters
    ----------
    X, Y
        The samples, with at least 2 rows each: anything that `tellapart.data` reads. Rows of .npy and zarr files, of
        Dask arrays and, with ``keep_columns=True``, of Parquet files are read block by block, and
        may be larger than memory.
    kernel
        ``"median"``: a Gaussian whose bandwidth is the median distance in the pooled sample. Or a kernel, or a
        function of two blocks of points. It must not have been chosen by looking at which row is of which sample.
    null
        Exact at every sample size: ``"permutation"``; ``"binned"``, which permutes bins of rows at hardly more cost
        than the statistic's, for large samples; ``"paired"`` for pairs (X_i, Y_i). For large samples only:
        ``"wild"`` (wild bootstrap), ``"spectral"`` and ``"gamma"``. With options, one of the classes of
        `tellapart.nulls`: ``Permutation(groups=…, strata=…, equal_groups=…)``, ``Binned(bins=…)``, ``Wild(lag=…)``;
        or your own.
    permutations
        The number of random permutations. If there are fewer distinct ones, all of them are used instead. Choose
        ``permutations`` so that alpha (permutations + 1) is whole. ``"auto"``, for the nulls
        ``"permutation"`` and ``"paired"``: at most 1,999, and fewer as soon as it is certain that the test will not
        reject at ``alpha`` (the rule of Besag & Clifford 1991, with which the p-value stays exact).
    alpha
        The level for ``permutations="auto"``.
    precision
        The precision of tiles. Single precision keeps permutation tests exact: rounding errors are permuted too.
    standardise
        ``"auto"``: where ``kernel`` is a name, the columns of tables get mean 0 and standard deviation 1 over both
        samples; arrays, tensors and images stay as they come. False: numbers as they come. True: everything.
    keep_columns
        As in `two_sample_test`.
    rng
        A seed, a ``torch.Generator`` or a NumPy generator. The same seed gives the same p-value for every tile size,
        number of threads and memory budget.
    max_memory
        Bytes, or a string such as ``"1GB"``, for each process; by default a quarter of what is free.
    threads
        At the most so many. By default ``TELLAPART_THREADS``, or what torch is set to use. Work that would not keep
        them busy for some milliseconds takes fewer.
    cluster
        Who computes. None: the threads of this process. The address of a Dask scheduler such as
        ``"tcp://host:8786"``, or a ``dask.distributed.Client``: its workers. ``"local"``: workers of this machine, one
        for each thread, that are started and stopped; a script then needs ``if __name__ == "__main__":``. The same seed
        gives the same null distribution, bit for bit, whoever computes (on the same kind of processor).
    progress
        True, False, None (a bar if standard error is a terminal) or a function of what is done and what is to do.
    **reading
        How to read the samples: ``columns``, ``drop``, ``missing``, ``max_rows``, ``features``, …, as in `read`.

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
    chosen = as_null(null)
    dtype = check_precision(precision)
    check_level(alpha)
    check_permutations(permutations, chosen)
    seed = seed_of(rng)
    samples = KernelInput(X, Y, kernel, seed, standardise, keep_columns, max_memory, reading, null=chosen).open(
        shared=LESS_IS_SEEN
    )
    chosen = place_labels(chosen, samples)
    x, y = map(as_tensors, samples.points)
    with computing(max_memory, cluster, progress, threads, title="mmd_test") as compute:
        found = choose_kernel(kernel, x, y, seed)
        result = run_test(x, y, found, chosen, permutations, seed, compute, dtype=dtype, alpha=alpha, start=start)
    check_unchanged(x, y)
    warn_of_floor(result.min_pvalue)
    return replace(result, notes=(*samples.notes, *result.notes))


def run_test(
    x: TensorPoints,
    y: TensorPoints,
    kernel: Kernel,
    null: Null,
    permutations: int | Literal["auto"],
    seed: int,
    compute: Compute,
    *,
    dtype: torch.dtype = torch.float32,
    alpha: float = 0.05,
    start: float | None = None,
) -> TestResult:
    """`mmd_test` for samples and options that are checked already; ``start`` is when it began."""
    start = time.perf_counter() if start is None else start
    null = null.checked(len(x), len(y))
    with torch.no_grad():
        problem = Problem(kernel, x, y, np.random.default_rng(seed), compute, dtype)
        if permutations == "auto":
            found, pvalue = draw_until_decided(null, problem, AUTO_LIMIT, alpha, TOLERANCES[dtype])
        else:
            found = null.draw(problem, permutations)
            pvalue = float(found.pvalue(TOLERANCES[dtype]))
    if not (torch.isfinite(found.statistic).all() and torch.isfinite(found.distribution).all()):
        raise InputError(
            "non-finite-statistic",
            f"The statistic is not finite with the kernel {kernel!r}. Are its parameters finite, and do its values fit "
            "into the numbers they are computed in?",
            "Scale the data, or try {precision}.",
            precision="double",
        )
    count = AUTO_LIMIT if permutations == "auto" else found.distribution.shape[-1]
    floor = min_pvalue(count + 1, *null.distinct_permutations(len(x), len(y)))
    return _result(found, pvalue, floor, null, x, y, kernel, seed, start, "MMD²")


def witness_test(
    X: Any,
    Y: Any,
    witness: Kernel,
    *,
    permutations: int = 999,
    groups: Any = None,
    strata: Any = None,
    equal_groups: bool = False,
    rng: RNG = None,
    max_memory: MemoryLike = None,
) -> TestResult:
    """Test whether a function learned elsewhere is larger on X than on Y: an exact permutation test of its means.

    Parameters
    ----------
    X, Y
        The samples, with at least 2 rows each, none of which the function was learned from.
    witness
        A kernel with a `witness_function`, such as `tellapart.kernels.Witness`.
    permutations, rng, max_memory
        As in `mmd_test`.
    groups, strata, equal_groups
        As in `tellapart.nulls.Permutation`.
    """
    start = time.perf_counter()
    null = Permutation(groups, strata, equal_groups)
    check_draws(permutations)
    seed = seed_of(rng)
    samples = KernelInput(X, Y, witness, seed, keep_columns=True, max_memory=max_memory).open()
    x, y = map(as_tensors, samples.points)
    with computing(max_memory) as compute:
        result = run_witness_test(x, y, witness, null, permutations, seed, compute, start=start)
    check_unchanged(x, y)
    warn_of_floor(result.min_pvalue)
    return replace(result, notes=(*samples.notes, *result.notes))


def run_witness_test(
    x: TensorPoints,
    y: TensorPoints,
    witness: Kernel,
    null: Permutation,
    permutations: int,
    seed: int,
    compute: Compute,
    *,
    start: float | None = None,
) -> TestResult:
    """`witness_test` for samples and options that are checked already; ``start`` is when it began."""
    start = time.perf_counter() if start is None else start
    function = witness.witness_function
    if function is None:
        raise InputError(
            "unsuitable-kernel", f"{type(witness).__name__} has no witness function: test it with mmd_test."
        )
    null = null.checked(len(x), len(y))
    rng = np.random.default_rng(seed)
    Problem(witness, x, y, rng, compute).check_room(3 * (len(x) + len(y)) * permutations)
    # A row that is read is there as it was stored, in single or double precision, and centred.
    fitting = compute.max_memory // (4 * 8 * math.prod(x.shape[1:]) * _MULTIPLE)
    rows = min(_ROWS, max(fitting, 1) * _MULTIPLE)
    with torch.no_grad():
        blocks = (part[first : first + rows] for part in (x, y) for first in range(0, len(part), rows))
        values = torch.cat([function(block).cpu() for block in blocks])
        found = null.draw_means(values, len(x), permutations, rng, compute.max_memory)
    # A one-sided test tells a labelling from its mirror image.
    floor = min_pvalue(found.distribution.shape[-1] + 1, null.distinct_permutations(len(x), len(y))[0])
    pvalue = float(found.pvalue(1e-12))
    return _result(found, pvalue, floor, null, x, y, witness, seed, start, witness.statistic_name)


def _result(
    found: NullDistribution,
    pvalue: float,
    floor: float,
    null: Null,
    x: TensorPoints,
    y: TensorPoints,
    kernel: Kernel,
    seed: int,
    start: float,
    statistic_name: str,
) -> TestResult:
    return TestResult(
        statistic=float(found.statistic),
        pvalue=pvalue,
        min_pvalue=floor,
        null_distribution=found.distribution.numpy(),
        null=null.name,
        exact=null.exact,
        m=len(x),
        n=len(y),
        kernel=kernel,
        seed=seed,
        seconds=time.perf_counter() - start,
        statistic_name=statistic_name,
        notes=note_floor(floor),
    )


def choose_kernel(kernel: Any, x: TensorPoints, y: TensorPoints, seed: int) -> Kernel:
    """The kernel given, or the Gaussian of the median distance."""
    if isinstance(kernel, str):
        if kernel != "median":
            raise InputError(
                "unknown-choice", f"kernel={kernel!r} is not known to mmd_test. Give 'median' or a kernel."
            )
        return Gaussian(median_distance([x, y], seed))
    return as_kernel(kernel)


def check_precision(precision: str) -> torch.dtype:
    """The type of tiles."""
    if precision not in ("single", "double"):
        raise InputError("unknown-choice", f"precision must be 'single' or 'double', but is {precision!r}.")
    return torch.float32 if precision == "single" else torch.float64


def check_permutations(permutations: Any, null: Null) -> None:
    """Raise `InputError` unless ``permutations`` is a number of draws, or ``"auto"`` for a null that can stop early."""
    if permutations == "auto":
        if not null.sequential:
            raise InputError(
                "conflicting-arguments",
                f"permutations='auto' is for null='permutation' or 'paired', not for {null.name!r}. Give a number.",
            )
    else:
        check_draws(permutations, otherwise=" or 'auto'")
