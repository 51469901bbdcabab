"""Whether two samples differ by less than a margin: the other question, whose answer "no difference" is not."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np

from .._util.errors import InputError
from .._util.numbers import number, p_sentence
from .._util.progress import ProgressLike
from .._util.rng import RNG, seed_of
from .._util.view import Axis, Facts, Figure, Headline, Series, View, notes
from ..data import check_unchanged, reindex
from ..data.notices import check_keep
from ..data.open import open_samples
from ..data.options import check_reading
from ..data.shared import SEEMS_CLOSER
from ..engine import MemoryLike, computing
from ..omnibus import Layout
from ..omnibus.distance import FARTHEST, measure_distance
from ..omnibus.plan import FeaturePlan
from ..omnibus.sketch import draw_sketch
from ..stats.design import Design, check_paired
from .result import Result


@dataclass(frozen=True, eq=False)
class EquivalenceResult(Result):
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

    json_name = "equivalence_test"

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

    def reject(self, alpha: float = 0.05) -> bool:
        """Whether the null hypothesis is rejected, that the distance is the margin or more: see `equivalent`.

        True means that the samples are shown to be close, and not that they differ.
        """
        return super().reject(alpha)

    def equivalent(self, alpha: float = 0.05) -> bool:
        """Whether the samples are shown, at level ``alpha``, to differ by less than the margin."""
        return self.reject(alpha)

    def view(self, alpha: float | None = None) -> View:
        """The result as blocks of plain data, which summaries, cards, pages and plots are rendered from."""
        shown = self.equivalent(0.05 if alpha is None else alpha)
        low, high = (number(end) for end in self.interval)
        p = p_sentence(self.pvalue)
        return View.of(
            Headline(
                title=" and ".join(self.names),
                text=f"The samples {'' if shown else 'are not shown to '}differ by less than the margin",
                evidence=f"MMD {number(self.distance)} [{low}, {high}], margin {self.margin:g}, {p}",
            ),
            Facts(
                section="The test",
                lead="The null hypothesis is that the distance is the margin or more: a small p-value shows that the "
                "samples are close.",
                items=(
                    (
                        "samples",
                        " and ".join(f"{n} ({size:,} rows)" for n, size in zip(self.names, self.sizes, strict=True)),
                    ),
                    ("bandwidth", number(self.bandwidth)),
                    ("seed", str(self.seed)),
                ),
            ),
            Figure(
                title="The distance and the margin",
                x=Axis("MMD", 0.0, 1.15 * max(self.interval[1], self.margin)),
                y=Axis("", -1.0, 1.0, names=("",)),
                series=(
                    Series("interval", "estimate", "MMD, 95 % interval", self.interval, (0.0,)),
                    Series("dots", "estimate", "", (self.distance,), (0.0,), (f"MMD {number(self.distance)}",)),
                    Series("rule", "limit", f"margin, {p}", (self.margin,)),
                ),
                description=f"MMD {number(self.distance)}, margin {self.margin:g}",
            ),
            notes(self.notes, prefix="Note: "),
        )

    def __repr__(self) -> str:
        return f"EquivalenceResult({self.view().blocks[0]})"


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
    keep = check_keep(keep_columns)
    samples = open_samples(
        [X, Y], ("X", "Y"), options, labels={"groups": groups}, keep_columns=keep, paired=check_paired(paired)
    ).encode(shared=SEEMS_CLOSER)
    design = Design.check(samples.sizes, samples.labels["groups"], paired=paired)
    generator = np.random.default_rng(seed)
    m, n = (len(part) for part in samples.points)
    layout = Layout.of(samples.variables, samples.image_shape)
    with computing(max_memory, None, progress, threads, title="equivalence_test") as compute:
        shuffled = reindex(samples.points, generator.permutation(m + n))
        plan = FeaturePlan.fit(draw_sketch(shuffled, generator, compute), m + n, layout, [], generator)
        labels = np.repeat(np.array([0, 1], np.uint8), [m, n])
        points = reindex(samples.points, np.arange(m + n))
        found = measure_distance(plan, points, labels, design.units, generator, compute.here(), bandwidth)
    check_unchanged(*samples.points)
    return EquivalenceResult(
        pvalue=found.below(margin),
        distance=found.value,
        interval=found.interval,
        margin=margin,
        bandwidth=found.bandwidth,
        sizes=(m, n),
        names=(samples.names[0], samples.names[1]),
        seed=seed,
        seconds=time.perf_counter() - start,
        notes=samples.notes,
    )


def _check_positive(value: Any, name: str) -> float:
    """A number of whatever type, as a float."""
    if isinstance(value, bool) or not isinstance(value, Real) or not 0 < float(value) < math.inf:
        raise InputError("out-of-range", f"{name} must be a number above 0, but is {value!r}.")
    return float(value)
