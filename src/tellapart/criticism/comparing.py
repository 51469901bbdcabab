"""Test and criticise: the one call for two samples of whatever kind."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any, Literal

from .._util.errors import InputError
from .._util.extras import need_torch
from .._util.progress import ProgressLike
from .._util.rng import RNG, seed_of
from ..data.encoding import Standardise
from ..data.notices import check_keep
from ..data.options import Missing, check_options
from ..engine import MemoryLike, computing
from ..learning.history import Criterion
from ..stats.pvalues import check_level, check_reach
from .automatic import AutomaticOptions, compare_automatically
from .comparison import Comparison
from .options import ComparisonOptions, LearnedOptions

if TYPE_CHECKING:
    from torch import Tensor


def compare(
    X: Any,
    Y: Any,
    test: Any = "auto",
    criterion: Criterion = "t",
    *,
    alpha: float = 0.05,
    permutations: int = 999,
    groups: Any = None,
    strata: Any = None,
    paired: bool = False,
    equal_groups: bool = False,
    kernels: Sequence[Any] | None = None,
    names: tuple[str, str] | None = None,
    items: Any = None,
    keep_columns: Iterable[Any] | bool | None = None,
    columns: Iterable[Any] | None = None,
    drop: Iterable[Any] | None = None,
    missing: Missing = "error",
    image_shape: tuple[int, ...] | None = None,
    image_size: tuple[int, int] | None = None,
    max_rows: int | None = None,
    features: Callable[[Tensor], Any] | None = None,
    train_size: Any = 0.5,
    cross_fit: bool = False,
    null: Literal["auto", "permutation", "binned"] = "auto",
    standardise: Standardise = "auto",
    stability: int = 4,
    learning: Mapping[str, Any] | None = None,
    rng: RNG = None,
    max_memory: MemoryLike = None,
    threads: int | None = None,
    cluster: Any = None,
    progress: ProgressLike = None,
) -> Comparison:
    """Compare two samples: do they differ, how sure is that, how much, in which columns and in which rows?

    The default needs no choice: the exact test of `two_sample_test`, and criticism of every row by a witness function
    that was learned from other rows. The tests of Sutherland et al. 2017, which learn a kernel on one half of the rows
    and test it on the other, are options.

    Parameters
    ----------
    X, Y
        The samples: arrays, tensors, tables, or paths of files and folders of images (see `tellapart.data`).
    test
        ``"auto"``; or a kernel to learn: ``"ard"`` (a scale for each coordinate, which become the weights), ``"rbf"``,
        ``"full"``, ``"deep"``, ``"witness"``, or a kernel to start from.
    criterion
        What is maximised while learning: ``"t"``, ``"power"`` or ``"mmd"``.
    alpha
        The level of the verdict.
    permutations, groups, strata, equal_groups, paired, kernels
        As in `two_sample_test`; learned tests take the first four.
    names
        What to call the samples; by default their file names, or X and Y.
    items
        Something to call each row by: texts, file names, ids. A pair of lists, or the name of a column, which is then
        not compared.
    keep_columns
        As in `two_sample_test`; ``Comparison.noticed`` has what is left out.
    columns, drop
        Which columns of a table to take, or to leave out.
    missing
        ``"error"``; ``"indicator"`` compares what is missing too; ``"drop"`` drops rows with missing values.
    image_shape, image_size
        Declares that rows are the pixels of images of this shape; brings images to this (height, width).
    max_rows
        Rows of each sample at the most; of larger samples that many are drawn at random. By default all, and 100,000
        for learned tests, whose time grows with the square.
    features
        A function or module applied to the rows, batch by batch, whose output is compared.
    train_size
        Learned tests: the rows to learn from; their share, or their numbers as a pair of lists, or a `Split`.
    cross_fit
        Learned tests: also learn on the other part and test on this one; the two p-values are combined exactly.
    null
        Learned tests: ``"permutation"``, ``"binned"``, or ``"auto"``: binned for more than 20,000 tested rows.
    standardise
        Learned tests: see `tellapart.data.Encoding`. By default columns are, pixels are not.
    stability
        Learned tests: how often weights are computed again, from other rows and seeds, to see how stable they are.
    learning
        Learned tests: more arguments for `fit_kernel`, such as ``{"steps": 200}``.
    rng
        A seed, a ``torch.Generator`` or a NumPy generator.
    max_memory, threads, cluster, progress
        As in `two_sample_test`. The samples themselves are held beside it, as they came and as numbers.

    Returns
    -------
    Comparison

    Notes
    -----
    Time that is linear in the rows. With a learned test, N²/2 kernel evaluations on top of learning and, up to 20,000
    tested rows, N² · permutations operations of a matrix product.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X, Y = rng.normal(size=(200, 3)), rng.normal(size=(200, 3)) * [1, 1, 2]
    >>> c = compare(X, Y, rng=0)
    >>> c.pvalue, c.differing_columns()[0].name, c.differing_columns()[0].kind
    (0.001, '2', 'scale')
    """
    start = time.perf_counter()
    check_level(alpha)
    _check_names(names)
    automatic = isinstance(test, str) and test == "auto"
    of_automatic = AutomaticOptions(paired, kernels)
    of_learned = LearnedOptions(criterion, train_size, cross_fit, null, standardise, stability, learning)
    _check_unused(of_learned if automatic else of_automatic)
    check_reach(permutations, alpha, tests=1 + cross_fit)
    reading = check_options(
        columns=columns,
        drop=drop,
        missing=missing,
        image_shape=image_shape,
        image_size=image_size,
        max_rows=max_rows,
        features=features,
        rng=seed_of(rng),
        max_memory=max_memory,
    ).showing(progress)
    with computing(max_memory, cluster, progress, threads, title="compare") as compute:
        request = ComparisonOptions(
            X,
            Y,
            permutations,
            groups,
            strata,
            reading,
            compute,
            alpha,
            names,
            items,
            start,
            equal_groups,
            check_keep(keep_columns),
        )
        if automatic:
            return compare_automatically(request, of_automatic)
        need_torch(f"compare(test={test!r:.40})")
        from .learned import compare_learned

        return compare_learned(request, test, of_learned)


def _check_names(names: Any) -> None:
    """Raise `InputError` unless there is a name for each of two samples, or none."""
    if names is None:
        return
    if not isinstance(names, (tuple, list)) or len(names) != 2 or not all(isinstance(name, str) for name in names):
        raise InputError(
            "invalid-names",
            f"names must be a pair of texts, one for each sample, but is {names!r:.60}.",
            "For example {names}.",
            names=("old", "new"),
        )


def _check_unused(options: AutomaticOptions | LearnedOptions) -> None:
    """Raise `InputError` for options of another test than the one chosen: whatever is not the default."""
    odd = [field.name for field in fields(options) if not _is_default(getattr(options, field.name), field.default)]
    if not odd:
        return
    problem = f"{' and '.join(odd)} {'is an option' if len(odd) == 1 else 'are options'} of"
    if isinstance(options, LearnedOptions):
        raise InputError("option-of-another-test", f"{problem} a learned test.", "Name one with {test}.", test="ard")
    raise InputError("option-of-another-test", f"{problem} the automatic test.", "Leave {test} out.", test=...)


def _is_default(value: Any, default: Any) -> bool:
    return value is default or (type(value) is type(default) and bool(value == default))
