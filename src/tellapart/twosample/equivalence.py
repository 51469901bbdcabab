"""Whether two samples differ by less than a margin: the other question, whose answer "no difference" is not."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Iterable
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any

import numpy as np

from .._util.errors import InputError
from .._util.progress import ProgressLike
from .._util.rng import RNG, seed_of
from .._util.schema import stamp
from .._util.shown import Shown
from ..data import check_unchanged, reindex
from ..data.notices import check_keep
from ..data.options import check_reading
from ..engine import MemoryLike, computing
from ..omnibus import Layout
from ..omnibus.distance import FARTHEST, measure_distance
from ..omnibus.plan import FeaturePlan
from ..omnibus.sketch import draw_sketch
from ..stats.design import Design, check_paired
from ..stats.pvalues import rejects
from .labels import open_with_labels


@dataclass(frozen=True, eq=False)
class EquivalenceResult(Shown):
    """The outcome of `equivalence_test`.

    Attributes
    ----------
    pvalue
        For the claim that the distance is less than the margin: small where the samples are shown to be close.
    distance, interval
        The MMD of the samples (0 where the unbiased estimate of its square is negative), with 95 % confidence.
    margin
        What the distance is compared with.
    bandwidth
        Of the Gaussian kernel, for columns that are scaled to standard deviation 1 (pixels: all by one number).
    sizes, names
        The sizes of the samples, and what they are called.
    seed, seconds
        Give the seed as ``rng`` to have the same result again; how long it took.
    notes
        What should be known about the samples and the test.
    """

    pvalue: float
    distance: float
    interval: tuple[float, float]
    margin: float
    bandwidth: float
    sizes: tuple[int, int]
    names: tuple[str, str]
    seed: int
    seconds: float
    notes: tuple[str, ...] = ()

    def equivalent(self, alpha: float = 0.05) -> bool:
        """Whether the samples are shown, at level ``alpha``, to differ by less than the margin."""
        return rejects(self.pvalue, alpha)

    def __repr__(self) -> str:
        return f"EquivalenceResult({self.summary()})"

    def summary(self, alpha: float = 0.05) -> str:
        """What was found, in plain words."""
        word = "differ by less than" if self.equivalent(alpha) else "are not shown to differ by less than"
        low, high = self.interval
        p = f"p = {self.pvalue:.3g}" if self.pvalue >= 1e-6 else "p < 0.000001"
        return (
            f"{self.names[0]} ({self.sizes[0]:,} rows) and {self.names[1]} ({self.sizes[1]:,} rows) {word} the margin: "
            f"MMD {self.distance:.3g} [{low:.3g}, {high:.3g}], margin {self.margin:g}, {p}."
        )

    def to_dict(self) -> dict[str, Any]:
        """All fields as plain Python values."""
        plain = {name: list(value) if isinstance(value, tuple) else value for name, value in vars(self).items()}
        return stamp("equivalence_test") | plain

    def to_json(self) -> str:
        """All fields as JSON."""
        return json.dumps(self.to_dict(), allow_nan=False)


def equivalence_test(
    X: Any,
    Y: Any,
    margin: float,
    *,
    bandwidth: float | None = None,
    groups: Any = None,
    paired: bool = False,
    keep_columns: Iterable[Any] | bool | None = None,
    rng: RNG = None,
    max_memory: MemoryLike = None,
    threads: int | None = None,
    progress: ProgressLike = None,
    **reading: Any,
) -> EquivalenceResult:
    """Test whether two samples differ by less than a margin, in the MMD of a Gaussian kernel.

    A test of difference that finds nothing has not shown that there is nothing. This one has the burden of proof on the
    other side: its null hypothesis is that the distance is the margin or more.

    Parameters
    ----------
    X, Y
        The samples: whatever `two_sample_test` takes.
    margin
        The MMD that would matter, less than √2. Measure it on samples whose difference you know to matter (or not to)
        with ``compare(…).distance``; and give the ``bandwidth`` too, where data sets are to be comparable.
    bandwidth
        Of the kernel, for columns scaled to standard deviation 1; by default the median distance of all rows.
    groups, paired
        As in `two_sample_test`: rows that belong together are no independent evidence.
    keep_columns, rng, max_memory, threads, progress, **reading
        As in `two_sample_test`.

    Returns
    -------
    EquivalenceResult

    Notes
    -----
    The kernel, its bandwidth and the scale of the columns are found without the labels. The p-value is that of the
    unbiased estimate of MMD² at the margin, by a gamma distribution with its first three cumulants: an approximation,
    which is asymptotically exact. For small samples and rare values, whose variance a sample may not show, the variance
    at the margin is increased by that of rare rows that would make up for the missing difference, and the p-value is at
    least (1 - margin/√2)ⁿ, the probability that none of these is among the n rows (or groups) of the smaller sample; it
    is never 0. The upper end of the interval follows the same rule. The level at the margin is simulated in the tests:
    at most 0.05 at level 0.05 for normal samples and for values that occur in 1 to 50 % of 10 to 1,000 rows.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X, Y = rng.normal(size=(500, 3)), rng.normal(size=(500, 3))
    >>> equivalence_test(X, Y, margin=0.2, rng=0).equivalent()
    True
    >>> equivalence_test(X, Y + 0.5, margin=0.2, rng=0).equivalent()
    False
    """
    start = time.perf_counter()
    margin = _check_positive(margin, "margin")
    bandwidth = None if bandwidth is None else _check_positive(bandwidth, "bandwidth")
    if margin >= FARTHEST:
        raise InputError(
            "out-of-range",
            f"margin must be less than √2, the largest MMD that a Gaussian kernel gives, but is {margin:g}.",
            "Measure what would matter with compare(…).distance.",
        )
    seed = seed_of(rng)
    options = check_reading({"rng": seed, "max_memory": max_memory, **reading}, equivalence_test)
    options = replace(options, paired=check_paired(paired))
    opened = open_with_labels([X, Y], ("X", "Y"), options, {"groups": groups}, keep=check_keep(keep_columns))
    mixed = opened.mixed
    design = Design.check(tuple(map(len, mixed.points)), opened.labels["groups"], paired=paired)
    generator = np.random.default_rng(seed)
    m, n = (len(part) for part in mixed.points)
    layout = Layout(sum(len(unit.coordinates) for unit in mixed.units), mixed.categories, mixed.image_shape)
    with computing(max_memory, None, progress, threads, title="equivalence_test") as compute:
        shuffled = reindex(mixed.points, generator.permutation(m + n))
        plan = FeaturePlan.fit(draw_sketch(shuffled, generator, compute), m + n, layout, [], generator)
        labels = np.repeat(np.array([0, 1], np.uint8), [m, n])
        points = reindex(mixed.points, np.arange(m + n))
        found = measure_distance(plan, points, labels, design.units, generator, compute.here(), bandwidth)
    check_unchanged(*mixed.points)
    return EquivalenceResult(
        pvalue=found.below(margin),
        distance=found.value,
        interval=found.interval,
        margin=margin,
        bandwidth=found.bandwidth,
        sizes=(m, n),
        names=(mixed.names[0], mixed.names[1]),
        seed=seed,
        seconds=time.perf_counter() - start,
        notes=mixed.notes,
    )


def _check_positive(value: Any, name: str) -> float:
    """A number of whatever type, as a float."""
    if isinstance(value, bool) or not isinstance(value, Real) or not 0 < float(value) < math.inf:
        raise InputError("out-of-range", f"{name} must be a number above 0, but is {value!r}.")
    return float(value)
