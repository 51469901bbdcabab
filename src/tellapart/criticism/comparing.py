"""Split, learn, test, criticise: the one call for two samples of whatever kind."""

from __future__ import annotations

import math
import platform
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from importlib.metadata import version
from typing import Any, Literal

import numpy as np
import torch

from .._util.progress import ProgressLike
from .._util.rng import RNG, seed_of
from ..data import Encoding, Sample, Source, read_pair
from ..engine import Cost, Measured, Memory, Probe, connected
from ..kernels import ARD
from ..learning import Criterion, fit_kernel
from ..learning.splits import split_rows
from ..twosample.fixed import check_groups, check_level
from ..twosample.learned import LearnedTest, learned_test
from . import views
from .comparison import Comparison
from .views import Weights

#: Rows of each sample at the most, unless max_rows says otherwise: time grows with the square.
ROWS = 100_000
#: Tested rows up to which every row is relabelled; beyond, bins of rows, which cost next to nothing.
_PERMUTED = 20_000
#: Rows of each sample from which weights are learned again to see how stable they are, and how.
_AGAIN = 2000
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
    names: tuple[str, str] | None = None,
    missing: Literal["error", "indicator", "drop"] = "error",
    features: Callable[..., Any] | None = None,
    standardise: Literal["auto"] | bool = "auto",
    stability: int = 4,
    rng: RNG = None,
    max_memory: Memory = None,
    cluster: Any = None,
    progress: ProgressLike = None,
    reading: Mapping[str, Any] | None = None,
    learning: Mapping[str, Any] | None = None,
) -> Comparison:
    """Compare two samples: learn on one part of the rows what tells them apart, test and criticise on the other.

    Parameters
    ----------
    X, Y
        The samples: arrays, tensors, tables, or paths of files and folders of images (see `tellapart.data`). Of more
        than 100,000 rows that many are drawn at random; ``reading={"max_rows": …}`` sets another limit.
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
    permutations, groups, rng, max_memory, progress
        As in `mmd_test`.
    cluster
        As in `mmd_test`, for the test; learning and criticism are done here.
    names
        What to call the samples; by default their file names, or X and Y.
    missing
        ``"error"``; ``"indicator"`` compares what is missing too; ``"drop"`` drops rows with missing values.
    features
        A function or module applied to the rows, batch by batch, whose output is compared.
    standardise
        See `tellapart.data.Encoding`. By default columns are, pixels are not.
    stability
        How often weights are computed again, from other rows and seeds, to see how stable they are.
    reading, learning
        More arguments for `tellapart.data.read` and for `fit_kernel`.

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
    >>> X, Y = rng.normal(size=(400, 3)), rng.normal(size=(400, 3)) * [1, 1, 2]
    >>> c = compare(X, Y, rng=0, stability=0)
    >>> c.reject(0.01), c.weights.leading(1)[0][0]
    (True, '2')
    """
    start = time.perf_counter()
    check_level(alpha)
    if isinstance(permutations, int) and 1 <= permutations < (1 + swap) / alpha - 1 - 1e-9:
        raise ValueError(
            f"With {permutations} permutations p is at least {(1 + swap) / (permutations + 1):.3g}, so nothing can "
            f"be found at level {alpha:g}. Give at least permutations={math.ceil((1 + swap) / alpha) - 1}."
        )
    seed = seed_of(rng)
    options = {"missing": missing, "features": features, "rng": seed, **(reading or {})}
    most = options["max_rows"] = options.get("max_rows") or ROWS
    x, y = read_pair(X, Y, **options)
    drawn = tuple(
        f"{source.label}: {most:,} rows were drawn at random." for source in (x, y) if source.numbers.max() >= most
    )
    called = names or _names(x, y)
    labels = check_groups(groups, len(x), len(y), "permutation")
    first = split_rows(len(x), len(y), train, groups=labels, rng=seed)
    # With swapped halves every row is tested, so that the encoding looks at all of them: it does not look at labels.
    rows_x, rows_y = (None, None) if swap else (first.train_x, first.train_y)
    encoding = Encoding.fit(x, y, rows_x, rows_y, standardise)
    tested = len(first.test_x) + len(first.test_y)
    if null == "auto":
        null = "binned" if tested > _PERMUTED and labels is None else "permutation"
    samples = encoding.encode(x), encoding.encode(y)
    if standardise:
        samples = _single(samples[0]), _single(samples[1])
    test = learned_test(
        *samples,
        kernel,
        criterion,
        train=first,
        swap=swap,
        null=null,
        permutations=permutations,
        groups=labels,
        rng=seed,
        max_memory=max_memory,
        cluster=cluster,
        progress=progress,
        **(learning or {}),
    )
    split = test.split
    learned_from = samples[0].take(split.train_x), samples[1].take(split.train_y)
    shown = samples[0].take(split.test_x), samples[1].take(split.test_y)
    of_x, of_y = (views.witness(test.kernel, *learned_from, at=part, max_memory=max_memory) for part in shown)
    weights = _weights(test, learned_from, shown, kernel, criterion, stability, seed, learning or {})
    return Comparison(
        test=test,
        alpha=alpha,
        x=shown[0],
        y=shown[1],
        names=called,
        witness_x=of_x,
        witness_y=of_y,
        weights=weights,
        notes=(*drawn, *(f"{source.label}: {note}" for source in (x, y) for note in source.notes)),
        settings=_settings(x, y, test, kernel, criterion, null, permutations, train, swap, seed),
        seconds=time.perf_counter() - start,
        _learned_from=learned_from,
        _encoding=encoding,
    )


def _single(sample: Sample) -> Sample:
    """Numbers around 0 lose nothing in single precision, and learning takes half the time."""
    return replace(sample, values=sample.values.float())


def _weights(
    test: LearnedTest,
    learned_from: tuple[Sample, Sample],
    shown: tuple[Sample, Sample],
    kernel: Any,
    criterion: Criterion,
    stability: int,
    seed: int,
    learning: Mapping[str, Any],
) -> Weights:
    """Weights of the learned kernel, and their range: scales learned again, slopes at other rows."""
    columns = tuple(dict.fromkeys(learned_from[0].columns or ()))
    # Where no step was better than the start, all scales are equal, and the witness says more than they do.
    scales = isinstance(test.kernel, ARD) and float(test.kernel.scales.max() / test.kernel.scales.min()) > 1.01
    source = learned_from if scales else shown
    values = views.coordinate_weights(test.kernel, *source, columns, scales)
    draws = np.random.default_rng([seed, 1])
    again = []
    for _ in range(stability):
        # Some of the rows, and none twice: a row that is learned from and held out would flatter.
        parts = [part.take(draws.permutation(len(part))[: min(int(0.8 * len(part)), _AGAIN)]) for part in source]
        found = test.kernel
        if scales:
            options = {**learning, **_QUICK}
            found, _ = fit_kernel(
                parts[0].values, parts[1].values, kernel, criterion, rng=draws, progress=False, **options
            )
        again.append(views.coordinate_weights(found, parts[0], parts[1], columns, scales))
    spread = np.array([values, *again])
    return Weights(
        columns,
        values,
        spread.min(0) if again else None,
        spread.max(0) if again else None,
        "scales" if scales else "slopes",
        shown[0].image_shape,
    )


def _names(x: Source, y: Source) -> tuple[str, str]:
    """Files by as much of their paths as tells them apart."""
    if not x.origin or not y.origin:
        return x.origin or "X", y.origin or "Y"
    a, b = x.origin.rstrip("/").split("/"), y.origin.rstrip("/").split("/")
    depth = next((k for k in range(1, max(len(a), len(b)) + 1) if a[-k:] != b[-k:]), 1)
    return "/".join(a[-depth:]), "/".join(b[-depth:])


def _settings(
    x: Source,
    y: Source,
    test: LearnedTest,
    kernel: Any,
    criterion: str,
    null: str,
    permutations: int,
    train: Any,
    swap: bool,
    seed: int,
) -> dict[str, Any]:
    return {
        "x": x.origin or None,
        "y": y.origin or None,
        "rows": [len(x), len(y)],
        "kind": x.kind,
        "kernel": kernel if isinstance(kernel, str) else type(kernel).__name__,
        "learned kernel": repr(test.kernel),
        "criterion": criterion,
        "train": train if isinstance(train, float) else "given",
        "swap": swap,
        "null": null,
        "permutations": permutations,
        "seed": seed,
        "versions": {
            "tellapart": version("tellapart"),
            "torch": torch.__version__,
            "numpy": np.__version__,
            "python": platform.python_version(),
        },
    }


def compare_cost(
    X: Any, Y: Any, kernel: Any = "ard", *, swap: bool = False, cluster: Any = None, **options: Any
) -> Cost:
    """The same for the test that `compare` makes. Learning comes on top.

    Parameters
    ----------
    X, Y, kernel, swap, cluster, **options
        As in `compare`.
    """
    if kernel == "witness":
        raise ValueError("A witness is tested without tiles, in a moment: there is nothing to estimate.")
    # Which kernel is learned, and how well, does not matter for the time of the test.
    quick = {"learning": {"steps": 1}, "stability": 0, "progress": False}
    with connected(cluster) as executor:
        try:
            compare(X, Y, "ard" if kernel == "rbf" else kernel, swap=swap, cluster=Probe(executor), **options | quick)
        except Measured as found:
            cost = found.cost
            return replace(cost, seconds=2 * cost.seconds, tiles=2 * cost.tiles) if swap else cost
    raise AssertionError("A test has been done without a tile.")
