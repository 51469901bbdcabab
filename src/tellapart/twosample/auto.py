"""The default tests of two and of several samples: exact, on every row, without a kernel or a split to choose."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain, combinations
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np

from .._util.errors import InputMemoryError, Note
from .._util.progress import ProgressLike
from .._util.rng import RNG, seed_of
from ..data import check_unchanged
from ..data.lazy import load_few
from ..data.notices import check_keep, note_reordered
from ..data.open import open_samples
from ..data.options import check_reading
from ..data.samples import Samples
from ..data.several import open_by_labels, split_names
from ..data.shared import LESS_IS_SEEN
from ..engine import Compute, MemoryLike, computing
from ..engine.rows import as_matrix
from ..omnibus import Layout, OmnibusResult, Pooled, StrongestStatistic, draw_bins, omnibus_test, pool_rows
from ..stats.design import Design, check_paired
from ..stats.permutations import NothingToExchange, draw_permutations
from ..stats.pvalues import USUAL_LEVEL, check_draws, holm, note_floor, warn_of_floor
from .auto_result import AutoResult, FamilyResult
from .effects import Effects
from .findings import Findings
from .k_sample_result import KSampleResult, PairwiseTest
from .kinds import Kinds
from .naming import adjust_columns
from .naming_kinds import name_kinds
from .two_sample_result import TwoSampleResult

if TYPE_CHECKING:
    from torch import Tensor

    from ..kernels import Kernel

Array: TypeAlias = "np.ndarray[Any, Any]"
#: A test of pooled rows.
PooledTest: TypeAlias = Callable[[Pooled, np.random.Generator, Compute], OmnibusResult]
Result = TypeVar("Result", bound=AutoResult)

#: Rows in files that take at most this number of bytes are read once, and kept.
_FEW = 2**28
_STRATA = Note(
    "unequal-strata",
    "The samples differ in their stratum proportions. Effects are within-stratum effects, averaged with the same "
    "weights for all samples.",
)


def two_sample_test(
    X: Any,
    Y: Any,
    permutations: int = 999,
    *,
    groups: Any = None,
    strata: Any = None,
    paired: bool = False,
    equal_groups: bool = False,
    keep_columns: Iterable[Any] | bool | None = None,
    features: Callable[[Tensor], Any] | None = None,
    kernels: Sequence[Any] | None = None,
    rng: RNG = None,
    max_memory: MemoryLike = None,
    threads: int | None = None,
    cluster: Any = None,
    progress: ProgressLike = None,
    **reading: Any,
) -> TwoSampleResult:
    """Test whether two samples come from the same distribution, and which columns differ.

    The permutation test is exact at every sample size, uses every row and needs no kernel or bandwidth. It compares all
    columns jointly (kernels at several bandwidths and ridges), one by one (location, scale, shape, shares of
    categories), in pairs (dependence), by the principal components of wide rows, by the patches of images and by kinds
    of rows (clusters and neighborhoods of the pooled rows). Its time is linear in the number of rows.

    Parameters
    ----------
    X, Y
        The samples, with at least 2 rows each: anything that `tellapart.data` reads. Rows of .npy, zarr, Parquet and
        CSV files and of Dask arrays are read block by block, and may be larger than memory.
    permutations
        The number of random permutations. If there are fewer distinct ones, all of them are used instead.
    groups
        A label for each row of X and then of Y (or a tuple of two arrays), for rows that belong together: frames of one
        video, rows of one patient. Or the name of a column, which is then not compared. Whole groups of any size are
        exchanged: that is exact if group sizes, too, have the same distribution in both samples under the null
        hypothesis.
    strata
        A label for each row, as for ``groups``: the site, day or prompt that it comes from. Rows are exchanged within
        strata only, so that a difference between strata is not evidence. A group must lie in one stratum.
    paired
        Whether row i of X and row i of Y belong together, such as before and after. They are exchanged with each other
        only, and if one is dropped (``missing="drop"``), so is the other.
    equal_groups
        Exchange groups only with groups of the same number of rows. Use it if group sizes may differ between the
        samples.
    keep_columns
        Columns of tables that identify rows or do not vary are left out, and notes report them: counters and
        identifiers, dates, free text, constants. The columns in ``keep_columns`` are compared nevertheless; True
        compares all. The choice is made on the rows of all samples together, without their labels; see Notes.
    features
        A function or module applied to the rows, batch by batch, whose output is compared instead.
    kernels
        Further kernels to test with: `tellapart.kernels`, or functions of two blocks of points. They must not have been
        chosen by looking at which row is from which sample.
    rng
        A seed, a ``torch.Generator`` or a NumPy generator. The same seed gives the same p-value for every number of
        threads, from files and from memory, and on clusters.
    max_memory, threads, cluster, progress
        As in `mmd_test`.
    **reading
        How to read the samples: ``columns``, ``drop``, ``missing``, ``max_rows``, ``image_shape``, …, as in `read`.

    Returns
    -------
    TwoSampleResult

    Notes
    -----
    Columns of tables (not of arrays) are left out by one rule in every test of this library. Let D be the number of
    different values among N rows of all samples. Left out are: constants; text with D > 50 and 2 D ≥ N; dates, and
    whole numbers from 1800 to 2200 in a column called year; whole numbers with D = N in at most N/5 runs of
    consecutive numbers, or that count the rows of each sample from the same number on; and whole numbers with 2 D ≥ N
    in a column whose name ends in a word such as id or key. If that would leave nothing, or a sample has fewer than 8
    rows, all columns are compared. The rule does not depend on which row is in which sample, so it leaves the test
    exact.

    From 20,000 rows on, random bins of rows are permuted instead of single rows, which is exact too.

    Time N · r (r + permutations + d) for each of about 8 bandwidths, with r ≤ 768 landmarks, or N · r · d with bins;
    memory for N · permutations bits (4,096 · permutations with bins) and for r (r + permutations) numbers, and a few
    blocks of rows.

    Examples
    --------
    >>> import numpy as np, tellapart as ta
    >>> rng = np.random.default_rng(0)
    >>> X, Y = rng.normal(size=(200, 5)), rng.normal(size=(200, 5)) * [1, 1, 2, 1, 1]
    >>> result = ta.two_sample_test(X, Y, rng=0)
    >>> result.pvalue
    0.001
    >>> result.differing_columns(0.05).names
    ('2',)
    >>> result.columns[0].kind, round(result.columns[0].effect, 1)
    ('scale', 0.7)
    """
    start = time.perf_counter()
    seed = seed_of(rng)
    options = check_reading(
        {"features": features, "rng": seed, "max_memory": max_memory, **reading}, two_sample_test
    ).showing(progress)
    check_draws(permutations)
    named = {"groups": groups, "strata": strata}
    paired, keep, given = check_paired(paired), check_keep(keep_columns), as_kernels(kernels)
    opened = open_samples([X, Y], ("X", "Y"), options, labels=named, keep_columns=keep, paired=paired)
    samples = opened.encode(shared=LESS_IS_SEEN)
    design = Design.check(
        samples.sizes, samples.labels["groups"], samples.labels["strata"], paired, equal_groups, named
    )
    with computing(max_memory, cluster, progress, threads, title="two_sample_test") as compute:
        result = run_two_sample_test(samples, design, permutations, given, seed, compute, start)
    check_unchanged(*samples.points)
    warn_of_floor(result.min_pvalue)
    return result


def k_sample_test(
    samples: Any,
    labels: Any = None,
    *,
    permutations: int = 999,
    groups: Any = None,
    strata: Any = None,
    equal_groups: bool = False,
    keep_columns: Iterable[Any] | bool | None = None,
    features: Callable[[Tensor], Any] | None = None,
    kernels: Sequence[Any] | None = None,
    pairwise: bool = True,
    rng: RNG = None,
    max_memory: MemoryLike = None,
    threads: int | None = None,
    cluster: Any = None,
    progress: ProgressLike = None,
    **reading: Any,
) -> KSampleResult:
    """Test whether several samples come from the same distribution, with the statistics of `two_sample_test`.

    Parameters
    ----------
    samples
        A list of two or more samples, or a dict of them by name; or, with ``labels``, one table or array of all rows.
    labels
        The sample of each row, or the name of the column that has it.
    pairwise
        Also test each pair of samples; their p-values are adjusted for all of these tests (Holm).
    **others
        As in `two_sample_test`; ``groups`` and ``strata`` have one label for each row, one sample after the other.

    Returns
    -------
    KSampleResult

    Examples
    --------
    >>> import numpy as np, tellapart as ta
    >>> rng = np.random.default_rng(0)
    >>> result = ta.k_sample_test([rng.normal(size=(100, 2)) + shift for shift in (0, 0, 1)], rng=0)
    >>> result.pvalue, [one.pvalue <= 0.05 for one in result.pairwise]
    (0.001, [False, True, True])
    """
    start = time.perf_counter()
    seed = seed_of(rng)
    options = check_reading(
        {"features": features, "rng": seed, "max_memory": max_memory, **reading}, k_sample_test
    ).showing(progress)
    check_draws(permutations)
    named = {"groups": groups, "strata": strata}
    keep, given = check_keep(keep_columns), as_kernels(kernels)
    if labels is None:
        names, data = split_names(samples)
        called = names if isinstance(samples, Mapping) else None
        opened = open_samples(data, names, options, labels=named, keep_columns=keep, called=called)
        encoded = opened.encode(shared=LESS_IS_SEEN)
    else:
        encoded = open_by_labels(samples, labels, options, named, keep)
    design = Design.check(encoded.sizes, encoded.labels["groups"], encoded.labels["strata"], False, equal_groups, named)
    with computing(max_memory, cluster, progress, threads, title="k_sample_test") as compute:
        test = _fit_and_test(encoded, given)
        result = run_omnibus(KSampleResult, encoded, design, permutations, seed, compute, start, test, binned=True)
        tests: list[TwoSampleResult] = []
        notes = list(result.notes)
        if pairwise and len(encoded.points) > 2:
            tests, skipped = _test_pairs(encoded, design, permutations, given, seed, replace(compute, progress=None))
            notes += skipped
    check_unchanged(*encoded.points)
    adjusted = holm([test.pvalue for test in tests])
    of_pairs = tuple(
        PairwiseTest((test.names[0], test.names[1]), test, p) for test, p in zip(tests, adjusted, strict=True)
    )
    notes += _note_floor_of_pairs(tests)
    result = replace(
        result,
        notes=tuple(notes),
        pairwise=of_pairs,
        by=labels if isinstance(labels, str) else None,
        seconds=time.perf_counter() - start,
    )
    warn_of_floor(result.min_pvalue)
    return result


def _test_pairs(
    samples: Samples, design: Design, permutations: int, kernels: Sequence[Kernel], seed: int, compute: Compute
) -> tuple[list[TwoSampleResult], list[Note]]:
    """The tests of each pair of samples, and notes on pairs without rows to exchange."""
    tests: list[TwoSampleResult] = []
    notes: list[Note] = []
    ends = np.cumsum(samples.sizes)
    rows = np.split(np.arange(ends[-1]), ends[:-1])
    for i, j in combinations(range(len(samples.points)), 2):
        names = samples.names[i], samples.names[j]
        pair = samples.choose((i, j))
        part = design.take(np.concatenate([rows[i], rows[j]])).effective
        try:
            tests.append(run_two_sample_test(pair, part, permutations, kernels, seed, compute, time.perf_counter()))
        except NothingToExchange as error:
            text = f"{names[0]} and {names[1]} were not compared with each other. {error.problem}"
            notes.append(Note("nothing-to-exchange", text))
    return tests, notes


def run_two_sample_test(
    samples: Samples,
    design: Design,
    permutations: int,
    kernels: Sequence[Kernel],
    seed: int,
    compute: Compute,
    start: float,
) -> TwoSampleResult:
    """`two_sample_test` of samples and options that are checked already; ``start`` is when it began."""
    test = _fit_and_test(samples, kernels)
    return run_omnibus(TwoSampleResult, samples, design, permutations, seed, compute, start, test, binned=True)


def _fit_and_test(samples: Samples, kernels: Sequence[Kernel]) -> PooledTest:
    """The omnibus test with features that are fitted to the pooled rows."""
    layout = Layout.of(samples.variables, samples.image_shape)

    def test(pooled: Pooled, rng: np.random.Generator, compute: Compute) -> OmnibusResult:
        return omnibus_test(pooled, layout, kernels, rng, compute)

    return test


def run_omnibus(
    kind: type[Result],
    samples: Samples,
    design: Design,
    permutations: int,
    seed: int,
    compute: Compute,
    start: float,
    test: PooledTest,
    *,
    binned: bool = False,
) -> Result:
    """Draw permutations, test the pooled rows, and describe the columns and pairs.

    Parameters
    ----------
    kind : type
        The class of the result.
    samples : Samples
        The samples.
    design : Design
        Which rows may be exchanged.
    permutations, seed, compute
        As in `two_sample_test`, checked.
    start : float
        When the call began.
    test : callable
        The test of pooled rows: with features fitted to them, or to a reference.
    binned : bool
        Permute bins of rows if there are many rows.
    """
    rng = np.random.default_rng(seed)
    if compute.executor is None:  # workers of a cluster read their own rows
        samples = replace(samples, points=load_few(samples.points, min(compute.max_memory // 8, _FEW)))
    sizes = tuple(map(len, samples.points))
    labels = np.repeat(np.arange(len(sizes), dtype=np.uint8), sizes)
    bins = draw_bins(labels, design, rng) if binned else None
    if bins is not None and not bins.have_room(samples.width, compute):
        bins = None
    units = sum(sizes) if bins is None else len(bins.labels)
    need = units * (permutations + 1) // (4 if len(sizes) == 2 else 1)
    if need > compute.max_memory and not compute.automatic:
        raise InputMemoryError(
            "not-enough-memory",
            f"{permutations} permutations of {units:,} rows take {need:,} bytes, but "
            f"{compute.max_memory:,} are allowed.",
            "Give fewer {permutations}, or allow more with {max_memory}.",
            permutations=...,
            max_memory=...,
        )
    if bins is None:
        drawn = draw_permutations(labels, permutations, rng, design)
    else:
        drawn = draw_permutations(bins.labels, permutations, rng, bins.design)
    pooled = pool_rows(samples.points, drawn, rng, bins)
    left = compute.leaving(pooled.permutations.packed.nbytes)
    outcome = test(pooled, rng, left)
    columns = adjust_columns(outcome.columns, samples, pooled, design, permutations, seed)
    effects = Effects(samples, pooled, outcome.pairs, replace(left, progress=None), design)
    kinds = name_kinds(outcome.cells, samples, pooled, design, seed, replace(left, progress=None))
    families = {
        name: FamilyResult(family.pvalue, _describe_strongest(family.strongest, effects))
        for name, family in outcome.families.items()
    }
    return kind(
        statistic=outcome.statistic,
        pvalue=outcome.pvalue,
        null_distribution=outcome.null_distribution,
        min_pvalue=drawn.min_pvalue,
        families=families,
        columns=Findings(effects.describe_columns(columns)),
        pairs=Findings(effects.describe_pairs(outcome.pairs)),
        sizes=sizes,
        names=samples.names,
        permuted_unit=design.permuted_unit if bins is None else f"bins of {design.permuted_unit}",
        image_shape=samples.image_shape,
        notes=(*samples.notes, *_note_reordered(samples, design), *_notes(outcome, drawn.min_pvalue, samples, effects)),
        seed=seed,
        seconds=time.perf_counter() - start,
        kinds=Kinds(kinds),
    )


def _note_reordered(samples: Samples, design: Design) -> tuple[str, ...]:
    """Notes on columns of paired samples that hold the same values in another order: rows may be misaligned."""
    if not design.paired or samples.kind != "table":
        return ()
    first, second = (as_matrix(part[:]) for part in samples.points)
    columns = ((unit.name, list(unit.coordinates)) for unit in samples.variables)
    notes = (note_reordered(name, first[:, places], second[:, places]) for name, places in columns)
    return tuple(chain.from_iterable(notes))


def _describe_strongest(strongest: StrongestStatistic, effects: Effects) -> str:
    """The strongest statistic of a family, with the names of its columns."""
    if not strongest.columns:
        return strongest.description
    return " and ".join(map(repr, dict.fromkeys(effects.unit_of[place].name for place in strongest.columns)))


def _notes(outcome: OmnibusResult, floor: float, samples: Samples, effects: Effects) -> list[str]:
    notes = [*([] if effects.weights is None else [_STRATA]), *note_floor(floor)]
    if outcome.left_out:
        text = f"{outcome.left_out:,} of {samples.width:,} columns were not compared one by one, but jointly only."
        notes.append(Note("columns-only-jointly", text))
    if not outcome.families:
        text = "All permutations give the same rows, or all columns are constant: there is nothing to compare."
        notes.append(Note("nothing-to-compare", text))
    return notes


def _note_floor_of_pairs(tests: Sequence[TwoSampleResult]) -> list[str]:
    """A note if no pairwise test can reject, because p-values are adjusted for the number of tests."""
    floor = min(1.0, len(tests) * min((test.min_pvalue for test in tests), default=0.0))
    if floor <= USUAL_LEVEL:
        return []
    enough = math.ceil(len(tests) / USUAL_LEVEL) - 1
    return [
        Note(
            "level-not-attainable",
            f"The smallest attainable p-value of the {len(tests)} pairwise tests, adjusted for their number, is "
            f"{floor:.2g}, so none of them can reject at level {USUAL_LEVEL:g}.",
            "Where samples have enough rows, {permutations} allows it.",
            permutations=enough,
        )
    ]


def as_kernels(kernels: Any) -> list[Kernel]:
    """The argument ``kernels`` as a list of kernels: None, one kernel, or several."""
    if kernels is None:
        return []
    from ..kernels import as_kernel

    given = list(kernels) if isinstance(kernels, (list, tuple)) else [kernels]
    return [as_kernel(kernel) for kernel in given]
