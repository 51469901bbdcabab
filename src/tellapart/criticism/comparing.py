"""Split, learn, test, criticise: the one call for two samples of whatever kind."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from torch import Tensor

from .._util.errors import InputError
from .._util.progress import ProgressLike
from .._util.rng import RNG, seed_of
from ..data.options import Missing, check_options
from ..engine import MemoryLike, computing
from ..kernels import Kernel
from ..learning import Criterion, fitting
from ..stats.pvalues import check_level
from ..twosample.learned import run_learned_test
from .comparison import Comparison
from .reading import Standardise, prepare
from .settings import Settings
from .weights import find_weights
from .witness import witness_values

#: Steps and patience at the most, when weights are learned again to see how stable they are.
_QUICK = {"steps": 150, "patience": 3}


def compare(
    X: Any,
    Y: Any,
    kernel: Any = "ard",
    criterion: Criterion = "t",
    *,
    alpha: float = 0.05,
    train: Any = 0.5,
    swap: bool = False,
    null: Literal["auto", "permutation", "binned"] = "auto",
    permutations: int = 999,
    groups: Any = None,
    strata: Any = None,
    names: tuple[str, str] | None = None,
    columns: Iterable[Any] | None = None,
    drop: Iterable[Any] | None = None,
    missing: Missing = "error",
    image_shape: tuple[int, ...] | None = None,
    image_size: tuple[int, int] | None = None,
    max_rows: int | None = None,
    features: Callable[[Tensor], Any] | None = None,
    standardise: Standardise = "auto",
    stability: int = 4,
    rng: RNG = None,
    max_memory: MemoryLike = None,
    threads: int | None = None,
    cluster: Any = None,
    progress: ProgressLike = None,
    learning: Mapping[str, Any] | None = None,
) -> Comparison:
    """Compare two samples: learn on one part of the rows what tells them apart, test and criticise on the other.

    Parameters
    ----------
    X, Y
        The samples: arrays, tensors, tables, or paths of files and folders of images (see `tellapart.data`).
    kernel
        ``"ard"`` (a scale for each coordinate, which become the weights), ``"rbf"``, ``"full"``, ``"deep"``,
        ``"witness"`` (the most powerful), or a kernel to start from.
    criterion
        What is maximised while learning: ``"t"``, ``"power"`` or ``"mmd"``.
    alpha
        The level of the verdict.
    train
        The rows to learn from: their share, or their numbers as a pair of lists, or a `Split`.
    swap
        Also learn on the other part and test on this one; the two p-values are combined exactly.
    null
        ``"permutation"``, ``"binned"``, or ``"auto"``: binned for more than 20,000 tested rows.
    permutations, groups, strata, rng
        As in `mmd_test`.
    names
        What to call the samples; by default their file names, or X and Y.
    columns, drop
        Which columns of a table to take, or to leave out.
    missing
        ``"error"``; ``"indicator"`` compares what is missing too; ``"drop"`` drops rows with missing values.
    image_shape, image_size
        Declares that rows are the pixels of images of this shape; brings images to this (height, width).
    max_rows
        Rows of each sample at the most (100,000); of larger samples that many are drawn at random.
    features
        A function or module applied to the rows, batch by batch, whose output is compared.
    standardise
        See `tellapart.data.Encoding`. By default columns are, pixels are not.
    stability
        How often weights are computed again, from other rows and seeds, to see how stable they are.
    max_memory
        As in `mmd_test`, for learning, the test, the witness function and the weights; beside the samples themselves,
        which are held as they came, as numbers, and as the parts learned from and tested.
    threads
        How many threads to compute with; by default as many as torch uses.
    cluster
        As in `mmd_test`, for the test; learning and criticism are done here.
    progress
        As in `mmd_test`.
    learning
        More arguments for `fit_kernel`, such as ``{"steps": 200}``.

    Returns
    -------
    Comparison

    Notes
    -----
    Learning costs ``steps`` batches; the test N²/2 kernel evaluations and, up to 20,000 tested rows, N² · permutations
    operations of a matrix product.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X, Y = rng.normal(size=(200, 3)), rng.normal(size=(200, 3)) * [1, 1, 2]
    >>> c = compare(X, Y, rng=0, stability=0, learning={"steps": 50})
    >>> c.reject(0.01), c.weights.leading(1)[0][0]
    (True, '2')
    """
    start = time.perf_counter()
    check_level(alpha)
    check_permutations(permutations, alpha, swap)
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
    )
    seed, settings = reading.seed, fitting.Settings.from_mapping(criterion, learning)
    with computing(max_memory, cluster, progress, threads, title="compare") as compute:
        data = prepare(
            X, Y, reading, null=null, train=train, swap=swap, groups=groups, strata=strata, standardise=standardise
        )
        x, y = data.samples
        test = run_learned_test(
            x.values, y.values, kernel, settings, data.splits, data.null, permutations, seed, compute
        )
        here = compute.here()
        learned_from = x.take(test.split.train_x), y.take(test.split.train_y)
        tested = x.take(test.split.test_x), y.take(test.split.test_y)
        witness_x, witness_y = (
            witness_values(test.kernel, learned_from[0].values, learned_from[1].values, part.values, here)
            for part in tested
        )

        def relearn(x: Tensor, y: Tensor, rng: np.random.Generator) -> Kernel:
            quick = replace(settings, **{name: min(most, getattr(settings, name)) for name, most in _QUICK.items()})
            return fitting.learn_kernel(x, y, kernel, quick, seed_of(rng), here)[0]

        weights = find_weights(
            test.kernel,
            learned_from,
            tested,
            relearn,
            repetitions=stability,
            rng=np.random.default_rng([seed, 1]),
            compute=here,
        )
    return Comparison(
        test=test,
        alpha=alpha,
        x=tested[0],
        y=tested[1],
        names=names or data.names,
        witness_x=witness_x,
        witness_y=witness_y,
        weights=weights,
        notes=data.notes,
        settings=Settings(
            kernel=kernel if isinstance(kernel, str) else type(kernel).__name__,
            criterion=criterion,
            train=train if isinstance(train, float) else None,
            swap=swap,
            null=data.null.name,
            permutations=permutations,
            seed=seed,
            origins=(data.sources[0].origin or None, data.sources[1].origin or None),
            rows=(len(x), len(y)),
            kind=data.sources[0].kind,
            reading=reading,
        ),
        seconds=time.perf_counter() - start,
        _learned_from=learned_from,
        _encoding=data.encoding,
        _source=data.sources[0],
    )


def check_permutations(permutations: Any, alpha: float, swap: bool) -> None:
    """Complain where so few permutations cannot find anything."""
    if isinstance(permutations, bool) or not isinstance(permutations, int) or permutations < 1:
        raise InputError(f"permutations must be a whole number from 1 up, but is {permutations!r}.")
    tests = 1 + swap
    if permutations < tests / alpha - 1 - 1e-9:
        raise InputError(
            f"With {permutations} permutations p is at least {tests / (permutations + 1):.3g}, so nothing can "
            f"be found at level {alpha:g}.",
            "Give at least {permutations}.",
            permutations=math.ceil(tests / alpha) - 1,
        )
