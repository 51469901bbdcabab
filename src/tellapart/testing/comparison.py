"""Split, learn, test, criticise: the one call for two samples of whatever kind."""

from __future__ import annotations

import json
import math
import platform
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from os import PathLike
from typing import Any, Literal

import numpy as np
import torch

from .. import criticism
from .._progress import Wish
from .._rng import RNG, seed_of
from ..criticism import Array, Exemplar, Weights
from ..kernels import ARD, Kernel, Witness
from ..learning import Criterion, History, fit_kernel
from ..reductions import Memory
from ..samples import Encoding, Sample, Source, Table, match, open_source
from ..splits import Split, split_rows
from .fixed import check_groups, check_level
from .learned import LearnedTest, learned_test

#: Rows of each sample at the most, unless max_rows says otherwise: time grows with the square.
ROWS = 100_000
#: Tested rows up to which every row is relabelled; beyond, bins of rows, which cost next to nothing.
_PERMUTED = 20_000
#: Rows of each sample from which weights are learned again to see how stable they are, and how.
_AGAIN = 2000
_QUICK = {"steps": 150, "patience": 3}
#: What an AUC below a limit is called.
_SEPARABLE = ((0.55, "hardly"), (0.65, "weakly"), (0.8, "fairly"), (0.9, "well"), (math.inf, "almost fully"))


@dataclass(frozen=True, eq=False)
class Comparison:
    """The outcome of `compare`: whether two samples differ, how sure that is, and where.

    Attributes
    ----------
    test
        The `LearnedTest`: p-value, statistic, null distribution, kernel, history, split.
    alpha
        The level of the verdict.
    x, y
        The tested rows, encoded; ``x.shown`` shows them as they came.
    names
        What the samples are called.
    witness_x, witness_y
        The witness function at the tested rows, estimated from the rows that were learned from.
    weights
        How much each coordinate carries of the difference.
    notes
        What was done to the data on the way.
    settings
        What repeats the comparison: arguments, seed, sizes, versions.
    """

    test: LearnedTest
    alpha: float
    x: Sample
    y: Sample
    names: tuple[str, str]
    witness_x: Array
    witness_y: Array
    weights: Weights
    notes: tuple[str, ...]
    settings: dict[str, Any]
    seconds: float
    _learned_from: tuple[Sample, Sample] = field(repr=False)
    _encoding: Encoding = field(repr=False)

    @property
    def pvalue(self) -> float:
        """The p-value."""
        return self.test.pvalue

    @property
    def statistic(self) -> float:
        """MMD² on the tested rows; with a witness, the difference of its means."""
        return self.test.statistic

    @property
    def null_distribution(self) -> Array:
        """The null distribution of the statistic."""
        return self.test.null_distribution

    @property
    def kernel(self) -> Kernel:
        """The learned kernel."""
        return self.test.kernel

    @property
    def history(self) -> History:
        """How it was learned."""
        return self.test.history

    @property
    def split(self) -> Split:
        """Which rows were learned from and which were tested."""
        return self.test.split

    @property
    def mmd(self) -> float:
        """The distance of the two samples under the learned kernel: √MMD², 0 where the estimate is negative."""
        # The kernel h(x) h(y) has the difference of the means of h for its MMD, and that is the statistic itself.
        return max(self.statistic, 0.0) if isinstance(self.kernel, Witness) else math.sqrt(max(self.statistic, 0.0))

    @property
    def auc(self) -> float:
        """How separable the samples are by the witness function: 0.5 not at all, 1 entirely."""
        return criticism.separability(self.witness_x, self.witness_y)

    @property
    def separable(self) -> str:
        """The AUC in a word."""
        return next(word for limit, word in _SEPARABLE if self.auc < limit)

    def reject(self, alpha: float | None = None) -> bool:
        """Whether the test rejects at level ``alpha``, by default that of the comparison."""
        return self.test.reject(self.alpha if alpha is None else alpha)

    def witness(self, Z: Any) -> Array:
        """The witness function at other rows, given as X and Y were: positive where X has more than Y."""
        sample = self._encoding.encode(open_source(Z, "Z"))
        return criticism.witness(self.kernel, *self._learned_from, at=sample)

    def exemplars(self, count: int = 8) -> list[Exemplar]:
        """The tested rows of each sample where X has more, where Y has more, and where there is no difference."""
        return criticism.exemplars(self.x, self.y, self.witness_x, self.witness_y, count)

    def verdict(self) -> str:
        """One sentence."""
        draws = self.test.leading.test.permutations
        floor = self.test.leading.test.pvalue_floor * len(self.test.halves)
        p = f"p ≤ {floor:.3g}" if self.pvalue <= floor * (1 + 1e-9) else f"p = {self.pvalue:.3g}"
        word = "The samples differ" if self.reject() else f"No difference is seen at level {self.alpha:g}"
        return f"{word} ({p}, {draws} permutations)."

    def summary(self) -> str:
        """A few lines for people."""
        lines = [self.verdict()]
        size = (
            "hardly"
            if self.auc < 0.55
            else "weakly"
            if self.auc < 0.65
            else "well"
            if self.auc < 0.9
            else "almost fully"
        )
        lines.append(f"Separability (AUC of the witness): {self.auc:.3f}, {size} separable. MMD {self.mmd:.3g}.")
        if self.reject():
            leading = ", ".join(f"{name} {weight:.3f}" for name, weight in self.weights.leading())
            lines.append(f"Largest weights: {leading}.")
        first, second = self.names
        lines.append(
            f"Learned from {len(self.split.train_x)} + {len(self.split.train_y)} rows, tested on "
            f"{len(self.split.test_x)} + {len(self.split.test_y)} ({first}, {second}), seed {self.test.seed}, "
            f"{self.seconds:.1f} s."
        )
        if len(self.test.halves) == 2:
            one, two = (half.test.pvalue for half in self.test.halves)
            lines.append(
                f"Each half was learned from once and tested once: p = {one:.3g} and {two:.3g}. The rest is of one."
            )
        return "\n".join([*lines, *self.notes])

    def to_dict(self) -> dict[str, Any]:
        """Everything a program may want to know, as plain Python values."""
        weights = {"names": list(self.weights.names), "values": self.weights.values.tolist()}
        for bound in ("low", "high"):
            found = getattr(self.weights, bound)
            weights[bound] = None if found is None else found.tolist()
        return {
            "pvalue": self.pvalue,
            "statistic": self.statistic,
            "alpha": self.alpha,
            "differ": self.reject(),
            "verdict": self.verdict(),
            "mmd": self.mmd,
            "auc": self.auc,
            "names": list(self.names),
            "weights": weights | {"meaning": self.weights.meaning},
            "exemplars": [vars(exemplar) for exemplar in self.exemplars()],
            "notes": list(self.notes),
            "settings": self.settings,
            "seconds": self.seconds,
            "test": self.test.to_dict(),
        }

    def to_json(self) -> str:
        """The same as JSON."""
        return json.dumps(self.to_dict())

    def to_html(self, path: str | PathLike[str], command: str | None = None) -> None:
        """Write a report: one HTML file that needs nothing else."""
        from ..report import write  # the report is made of results, not the other way round

        write(self, path, command)

    def __repr__(self) -> str:
        return f"Comparison({self.verdict()} AUC = {self.auc:.3f})"


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
    progress: Wish = None,
    reading: Mapping[str, Any] | None = None,
    learning: Mapping[str, Any] | None = None,
) -> Comparison:
    """Compare two samples: learn on one part of the rows what tells them apart, test and criticise on the other.

    Parameters
    ----------
    X, Y
        The samples: arrays, tensors, tables, or paths of files and folders of images (see `tellapart.samples`). Of more
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
    names
        What to call the samples; by default their file names, or X and Y.
    missing
        ``"error"``; ``"indicator"`` compares what is missing too; ``"drop"`` drops rows with missing values.
    features
        A function or module applied to the rows, batch by batch, whose output is compared.
    standardise
        See `tellapart.samples.Encoding`. By default columns are, pixels are not.
    stability
        How often weights are computed again, from other rows and seeds, to see how stable they are.
    reading, learning
        More arguments for `tellapart.samples.open_source` and for `fit_kernel`.

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
    x, y = match(open_source(X, "X", **options), open_source(Y, "Y", **options))
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
        progress=progress,
        **(learning or {}),
    )
    split = test.split
    learned_from = samples[0].take(split.train_x), samples[1].take(split.train_y)
    shown = samples[0].take(split.test_x), samples[1].take(split.test_y)
    of_x, of_y = (criticism.witness(test.kernel, *learned_from, at=part, max_memory=max_memory) for part in shown)
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
        notes=(*drawn, *_counters(x, y), *(f"{source.label}: {note}" for source in (x, y) for note in source.notes)),
        settings=_settings(x, y, test, kernel, criterion, null, permutations, train, swap, seed),
        seconds=time.perf_counter() - start,
        _learned_from=learned_from,
        _encoding=encoding,
    )


def _counters(x: Source, y: Source) -> list[str]:
    """Columns that count the rows tell samples apart and mean nothing."""
    found = []
    if isinstance(x.content, Table) and isinstance(y.content, Table):
        for first, second in zip(x.content.columns, y.content.columns, strict=True):
            if all(column.kind == "number" and _counts(column.values) for column in (first, second)):
                found.append(f"The column {first.name!r} counts the rows. If it has no meaning, leave it out by drop=.")
    return found


def _counts(values: Array) -> bool:
    """Whole numbers that only rise, in steps of one or two for the most part."""
    if len(values) < 8 or not np.isfinite(values).all():
        return False
    steps = np.diff(values)
    return bool((steps >= 1).all() and (steps == steps.astype(int)).all() and np.median(steps) <= 2)


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
    columns = tuple(dict.fromkeys(learned_from[0].groups or ()))
    # Where no step was better than the start, all scales are equal, and the witness says more than they do.
    scales = isinstance(test.kernel, ARD) and float(test.kernel.scales.max() / test.kernel.scales.min()) > 1.01
    source = learned_from if scales else shown
    values = criticism.coordinate_weights(test.kernel, *source, columns, scales)
    draws = np.random.default_rng([seed, 1])
    again = []
    for _ in range(stability):
        parts = [
            part.take(draws.integers(len(part), size=min(len(part), _AGAIN)))
            for part in (learned_from, shown)[not scales]
        ]
        found = test.kernel
        if scales:
            options = {**learning, **_QUICK}
            found, _ = fit_kernel(
                parts[0].values, parts[1].values, kernel, criterion, rng=draws, progress=False, **options
            )
        again.append(criticism.coordinate_weights(found, parts[0], parts[1], columns, scales))
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
