"""A test with a kernel that is learned from other rows than those tested."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from .._util.errors import InputError, Note
from .._util.progress import ProgressLike
from .._util.rng import RNG, seed_of
from ..data import TensorPoints, check_unchanged, take_rows
from ..data.encoding import Standardise
from ..data.hashing import hash_blocks
from ..data.shared import SharedRows, find_shared_rows
from ..data.torch_rows import as_tensors
from ..engine import Compute, MemoryLike, computing
from ..learning import Criterion
from ..learning.fitting import LearningSettings, learn_kernel
from ..learning.splits import Split, split_rows
from ..stats.design import Design, check_equal_groups
from ..stats.nulls import Binned, Null, NullLike, Permutation, as_null
from ..stats.pvalues import COMBINATIONS, check_draws, note_floor, warn_of_floor
from .fixed import run_test, run_witness_test
from .opening import KernelInput, place_labels
from .results import LearnedTest, SplitResult

Combination = Literal["bonferroni", "cauchy"]


def learned_test(
    X: Any,
    Y: Any,
    kernel: Any = "witness",
    criterion: Criterion = "t",
    *,
    train_size: Any = 0.5,
    cross_fit: bool = False,
    combination: Combination = "bonferroni",
    null: NullLike = "permutation",
    permutations: int = 999,
    groups: Any = None,
    strata: Any = None,
    equal_groups: bool = False,
    learning: Mapping[str, Any] | None = None,
    standardise: Standardise = "auto",
    keep_columns: Iterable[Any] | bool | None = None,
    rng: RNG = None,
    max_memory: MemoryLike = None,
    threads: int | None = None,
    cluster: Any = None,
    progress: ProgressLike = None,
    **reading: Any,
) -> LearnedTest:
    """Learn a kernel from one part of the rows, and test whether the samples differ on the other.

    Parameters
    ----------
    X, Y
        The samples: anything `tellapart.data` reads.
    kernel, criterion
        What to learn, and what for; see `fit_kernel`. ``"witness"`` has the best power on Blobs, Blob-D and HDGM, and
        is fast. ``benchmarks/power.py`` compares them all.
    train_size
        The rows to learn from: their share in each sample, or their numbers as a pair of lists, or a `Split`.
    cross_fit
        Learn on each part and test on the other, so that every row is tested. The smaller part should not be small.
    combination
        How the two p-values are combined then. ``"bonferroni"``, twice the smaller one, is exact at every sample size.
        ``"cauchy"`` (Liu & Xie 2020) is valid only as α goes to 0, and a little more powerful: the two depend on each
        other.
    null, permutations
        ``"permutation"`` or ``"binned"``, as in `mmd_test`. With a witness, rows are relabelled and the difference of
        its means is tested, one-sided.
    groups
        A label for each row of X and then of Y, for rows that belong together: groups are learned from or tested as
        a whole, and permuted as a whole, whatever their sizes (as in `two_sample_test`).
    strata
        A label for each row likewise (site, day, prompt): in every stratum a share is learned from, and tested rows
        are relabelled within their stratum only.
    equal_groups
        Permute only groups with the same number of rows among each other.
    learning
        More arguments for `fit_kernel`: ``steps``, ``batch_size``, ``learning_rate``, ….
    rng
        For the split, learning and permutations. Rows that occur in both samples (more than by coincidence) are learned
        from or tested together; a warning says how many there are.
    standardise, keep_columns, threads, progress, **reading
        As in `mmd_test`.
    max_memory
        As in `mmd_test` and `fit_kernel`: rows that are learned from are held in memory, and come on top.
    cluster
        As in `mmd_test`, for the test. Learning, and the test of a witness, which takes no time, are done here.

    Examples
    --------
    >>> from tellapart.data.datasets import blobs
    >>> X, Y = blobs(1000, ratio=6, rng=0)
    >>> result = learned_test(X, Y, rng=0)
    >>> result.pvalue
    0.001
    >>> result.split
    Split(learn from 1000 rows, test 1000)
    """
    if combination not in COMBINATIONS:
        raise InputError("unknown-choice", f"combination must be 'bonferroni' or 'cauchy', but is {combination!r}.")
    settings = LearningSettings.from_mapping(criterion, learning)
    chosen = check_learned_null(null, groups, strata, equal_groups)
    _check_permutations(permutations)
    start = time.perf_counter()
    seed = seed_of(rng)
    samples = KernelInput(X, Y, kernel, seed, standardise, keep_columns, max_memory, reading, null=chosen).open()
    chosen = place_labels(chosen, samples)
    x, y = map(as_tensors, samples.points)
    shared = find_shared_rows(hash_blocks(x), hash_blocks(y))
    noted = (
        () if shared is None else (Note("shared-rows", f"{shared} Equal rows are learned from or tested together."),)
    )
    for note in noted:
        warnings.warn(note, stacklevel=2)
    chosen = chosen.checked(len(x), len(y))
    splits = split_samples(len(x), len(y), train_size, cross_fit, chosen, seed, shared)
    with computing(max_memory, cluster, progress, threads, title="learned_test") as compute:
        found = run_learned_test(x, y, kernel, settings, splits, chosen, permutations, seed, compute, combination)
    check_unchanged(x, y)
    warn_of_floor(found.min_pvalue)
    return replace(found, seconds=time.perf_counter() - start, notes=(*samples.notes, *noted, *found.notes))


def run_learned_test(
    x: TensorPoints,
    y: TensorPoints,
    kernel: Any,
    settings: LearningSettings,
    splits: Sequence[Split],
    null: Null,
    permutations: int,
    seed: int,
    compute: Compute,
    combination: Combination = "bonferroni",
) -> LearnedTest:
    """`learned_test` of samples that are checked and split already; two splits are combined."""
    start = time.perf_counter()
    halves = tuple(
        _learn_and_test(x, y, split, kernel, settings, null, permutations, seed + k, compute.phase(k, len(splits)))
        for k, split in enumerate(splits)
    )
    pvalues, cross_fit = [half.test.pvalue for half in halves], len(splits) > 1
    found = LearnedTest(
        pvalue=COMBINATIONS[combination](pvalues) if cross_fit else pvalues[0],
        halves=halves,
        combination=combination if cross_fit else None,
        exact=not cross_fit or combination == "bonferroni",
        seed=seed,
        seconds=time.perf_counter() - start,
    )
    return replace(found, notes=note_floor(found.min_pvalue))


def _learn_and_test(
    x: TensorPoints,
    y: TensorPoints,
    split: Split,
    kernel: Any,
    settings: LearningSettings,
    null: Null,
    permutations: int,
    seed: int,
    compute: Compute,
) -> SplitResult:
    learning, testing = replace(compute.phase(0, 2), executor=None), compute.phase(1, 2)
    learned, history = learn_kernel(x[split.train_x], y[split.train_y], kernel, settings, seed, learning)
    tested = take_rows(x, split.test_x), take_rows(y, split.test_y)
    kept = take_labels(null, split, len(x), len(y))
    if learned.witness_function is not None:
        kept = kept if isinstance(kept, Permutation) else Permutation()
        test = run_witness_test(*tested, learned, kept, permutations, seed, testing)
    else:
        test = run_test(*tested, learned, kept, permutations, seed, testing)
    return SplitResult(split, history, test)


def check_learned_null(null: NullLike, groups: Any, strata: Any, equal_groups: bool = False) -> Null:
    """The null distribution of a test on a part of the rows, with the groups and strata of all of them."""
    chosen = as_null(null)
    if not isinstance(chosen, (Permutation, Binned)):
        raise InputError(
            "unknown-choice", f"null must be 'permutation' or 'binned' for a learned test, but is {chosen.name!r}."
        )
    if isinstance(chosen, Permutation):
        if chosen.groups is not None or chosen.strata is not None:
            raise InputError(
                "misplaced-option",
                "Rows are split by groups and strata too.",
                "Give {groups} and {strata} to learned_test itself.",
                groups=...,
                strata=...,
            )
        grouped = groups is not None
        check_equal_groups(equal_groups, grouped)
        return Permutation(groups, strata, equal_groups or check_equal_groups(chosen.equal_groups, grouped))
    given = {"groups": groups is not None, "strata": strata is not None, "equal_groups": equal_groups is not False}
    name = next((name for name, there in given.items() if there), None)
    if name is not None:
        raise InputError(
            "conflicting-arguments",
            f"{name} {'is' if name == 'equal_groups' else 'are'} for null='permutation', not for {chosen.name!r}.",
        )
    return chosen


def _check_permutations(permutations: Any) -> None:
    """Raise `InputError` unless ``permutations`` is a number of draws."""
    if isinstance(permutations, str) and permutations == "auto":
        raise InputError(
            "conflicting-arguments",
            "A learned test has no level at which permutations='auto' could decide.",
            "Give a number of {permutations}.",
            permutations=999,
        )
    check_draws(permutations)


def split_samples(
    m: int, n: int, train_size: Any, cross_fit: bool, null: Null, seed: int, shared: SharedRows | None = None
) -> list[Split]:
    """The rows of m and n to learn from and to test: once, or with ``cross_fit`` also the other way round.

    ``null`` is checked already.
    """
    design = null.design(m, n) if isinstance(null, Permutation) else Design()
    equal = None if shared is None else shared.codes
    first = split_rows(
        m,
        n,
        train_size,
        groups=design.groups,
        strata=design.strata,
        equal=equal,
        equal_groups=design.equal_groups,
        rng=seed,
    )
    return [first, split_rows(m, n, first.swapped())] if cross_fit else [first]


def take_labels(null: Null, split: Split, m: int, n: int) -> Null:
    """The null distribution for the tested rows: with their groups and strata."""
    if not isinstance(null, Permutation):
        return null
    rows = np.concatenate([split.test_x, m + split.test_y])
    design = null.design(m, n).take(rows)
    return Permutation(design.groups, design.strata, design.equal_groups)
