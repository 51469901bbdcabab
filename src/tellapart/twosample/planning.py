"""How many rows a study needs, from a pilot: power at smaller sizes by resampling, continued to larger ones."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Any, TypeAlias

import numpy as np
from scipy.special import log_ndtr

from .._util.errors import InputError
from .._util.numbers import percent
from .._util.progress import ProgressLike, progress_bar
from .._util.rng import RNG, seed_of
from .._util.view import Axis, BlockColumn, Detail, Figure, Headline, Row, Series, TableBlock, View, notes
from ..data.lazy import check_unchanged, take_rows
from ..data.notices import check_keep
from ..data.open import open_samples
from ..data.options import check_reading
from ..data.shared import LESS_IS_SEEN
from ..engine import MemoryLike, computing
from ..stats.design import Design
from ..stats.pvalues import check_draws, check_level, rejects
from .auto import run_two_sample_test
from .result import Result, check_own_level

Array: TypeAlias = "np.ndarray[Any, Any]"

_NORMAL = NormalDist()
#: Sizes of the samples drawn from the pilot, as shares of it: larger ones would be too much alike.
_SHARES = (0.15, 0.25, 0.35, 0.5)
#: Rows of each sample below which a pilot says nothing, and the least that is drawn.
_FEWEST, _LEAST = 24, 6
#: How Φ⁻¹(1 - p) may grow with n: as √n for a mean, faster for a quadratic form; and what it may be for the pilot.
_EXPONENTS, _SLOPES = np.linspace(0.5, 1.5, 11), np.linspace(0.0, 15.0, 301)
#: The share of its mass that an interval of rows leaves out on each side.
_TAIL = 0.1
#: More rows than so many times the pilot's are not foretold.
_FARTHEST = 1_000


@dataclass(frozen=True, eq=False)
class Growth:
    """How Φ⁻¹(1 - p) grows with the rows: b tᵞ at t times the rows of the pilot, each b and γ with its weight."""

    slopes: Array
    exponents: Array
    weights: Array

    @classmethod
    def fit(cls, shares: Sequence[float], pvalues: Sequence[Sequence[float]], permutations: int) -> Growth:
        """Weights are likelihoods. The smallest p-value there is says only that p is at most that."""
        slopes, exponents = (part.ravel() for part in np.meshgrid(_SLOPES, _EXPONENTS))
        likelihood = np.zeros(len(slopes))
        for share, found in zip(shares, pvalues, strict=True):
            middle = slopes * share**exponents
            logs = np.zeros(len(slopes))
            for p in found:
                count = round(p * (permutations + 1))
                z = _NORMAL.inv_cdf(1 - (1 if count <= 1 else count - 0.5) / (permutations + 1))
                at_least = log_ndtr(middle - z)
                logs += at_least if count <= 1 else -((z - middle) ** 2) / 2
            likelihood += logs * min(1.0, 1 / share / len(found))
        weights = np.exp(likelihood - likelihood.max())
        return cls(slopes, exponents, weights / weights.sum())

    def power(self, times: float, alpha: float) -> float:
        """The median of the power at so many times the rows of the pilot."""
        found = self.slopes * times**self.exponents + _NORMAL.inv_cdf(alpha)
        return _NORMAL.cdf(self._quantile(found, 0.5))

    def times(self, power: float, alpha: float) -> tuple[float, float, float]:
        """How many times the rows of the pilot: the median, and an interval."""
        wanted = _NORMAL.inv_cdf(power) - _NORMAL.inv_cdf(alpha)
        with np.errstate(divide="ignore", over="ignore"):
            found = (wanted / self.slopes) ** (1 / self.exponents)
        return self._quantile(found, 0.5), self._quantile(found, _TAIL), self._quantile(found, 1 - _TAIL)

    def _quantile(self, values: Array, share: float) -> float:
        order = np.argsort(values)
        return float(values[order[np.searchsorted(np.cumsum(self.weights[order]), share)]])


@dataclass(frozen=True, eq=False)
class PlanResult(Result):
    """How many rows a study needs.

    Attributes
    ----------
    rows, rows_interval
        Rows of each sample (of X; of Y in the proportion of the pilot) for the power wanted, and an interval that
        holds four fifths of what the pilot leaves possible. ``rows`` and the upper end are infinite where the pilot
        does not establish a difference (``pilot_pvalue`` is above ``alpha``): the difference may be 0. The lower end
        is then what the difference that the pilot shows would need at least.
    power, alpha
        What was asked for.
    pilot_rows, pilot_power, pilot_pvalue
        The rows of the pilot, the power that a study of its size has (what it could have found), and its own p-value.
    sizes, rates
        Numbers of rows of X that were drawn from the pilot, and how often the test rejected then.
    repetitions, permutations, seed
        How often each size was drawn, with which number of permutations, and from which seed.
    notes
        What should be known about the samples and the test.
    """

    json_name = "plan"

    rows: float
    rows_interval: tuple[float, float]
    power: float
    alpha: float
    pilot_rows: tuple[int, int]
    pilot_power: float
    pilot_pvalue: float
    sizes: tuple[int, ...]
    rates: tuple[float, ...]
    repetitions: int
    permutations: int
    seed: int
    _growth: Growth
    notes: tuple[str, ...] = ()

    @property
    def established(self) -> bool:
        """Whether the pilot itself found a difference, at level ``alpha``."""
        return rejects(self.pilot_pvalue, self.alpha)

    def power_at(self, rows: float) -> float:
        """The power of a study with so many rows of X, and of Y in proportion, if the pilot shows a true difference."""
        return self._growth.power(rows / self.pilot_rows[0], self.alpha)

    def __repr__(self) -> str:
        return f"PlanResult({self.description})"

    @property
    def _decisive_pvalue(self) -> float:
        return self.pilot_pvalue

    @property
    def description(self) -> str:
        """What a study needs and what the pilot could have found, in sentences."""
        return " ".join(f"{sentence}." for sentence in self._sentences())

    def _sentences(self) -> list[str]:
        m, n = self.pilot_rows
        if not self.established:
            low, _ = self.rows_interval
            sentences = [
                f"The pilot ({m:,} + {n:,} rows) does not establish a difference (p = {self.pilot_pvalue:.3g})",
                "It is not enough to plan a study, as no number of rows may be enough",
            ]
            if math.isfinite(low):
                sentences.append(f"If what it shows is real, a study needs {math.ceil(low):,} rows or more")
            return sentences
        pilot = (
            f"A study as large as the pilot ({m:,} + {n:,} rows) finds such a difference in "
            f"{percent(self.pilot_power)} of cases"
        )
        if math.isinf(self.rows):
            return ["The pilot shows no difference that more rows would find", pilot]
        # Fewer rows than were ever drawn are not predicted.
        few = self.rows < self.sizes[0]
        rows = self.sizes[0] if few else math.ceil(self.rows)
        needs = "fewer than" if few else "about"
        interval = "" if few else f" ({self._between()})"
        needed = f"{needs} {rows:,} + {math.ceil(rows * n / m):,} rows{interval}"
        return [f"For a power of {percent(self.power)} a study needs {needed}", pilot]

    def _between(self) -> str:
        low, high = self.rows_interval
        ends = f"from {math.ceil(low):,} up" if math.isinf(high) else f"{math.ceil(low):,} to {math.ceil(high):,}"
        return f"80 % interval {ends}"

    def view(self, alpha: float | None = None) -> View:
        """The result as blocks of plain data, which summaries, cards, pages and plots are rendered from.

        The level is that of the plan: another one is refused, since rows and power depend on it.
        """
        check_own_level(alpha, self.alpha, "plan")
        rows = tuple(Row.of(f"{size:,}", percent(rate)) for size, rate in zip(self.sizes, self.rates, strict=True))
        return View.of(
            Headline(
                title="Plan",
                text=self._sentences()[0],
                sentences=tuple(f"{sentence}." for sentence in self._sentences()[1:]),
            ),
            notes(self.notes, prefix="Note: "),
            TableBlock(
                title="Power of smaller studies",
                section="How it was predicted",
                lead="Samples of these sizes were drawn from the pilot and tested. The curve continues what they show.",
                columns=(BlockColumn("rows drawn from the pilot", "name"), BlockColumn("power", "number")),
                rows=rows,
                total=len(rows),
                detail=Detail.CARD,
            ),
            self.power_figure(),
        )

    def power_figure(self) -> Figure:
        """The power by the number of rows: as drawn from the pilot, and as predicted."""
        pilot = self.pilot_rows[0]
        most = 1.5 * (min(self.rows, 100 * pilot) if math.isfinite(self.rows) else pilot)
        rows = np.geomspace(min(self.sizes), max(most, 1.5 * pilot), 100).tolist()
        drawn = [100 * rate for rate in self.rates]
        hints = tuple(f"{size:,} rows: {rate:.0f} %" for size, rate in zip(self.sizes, drawn, strict=True))
        series = [
            Series("line", "estimate", "predicted", tuple(rows), tuple(100 * self.power_at(n) for n in rows)),
            Series("dots", "quiet", "drawn from the pilot", tuple(map(float, self.sizes)), tuple(drawn), hints),
            Series("rule", "limit", "the pilot", (float(pilot),)),
        ]
        if math.isfinite(self.rows):
            needed = f"{math.ceil(self.rows):,} rows"
            series.append(Series("dots", "alarm", needed, (self.rows,), (100 * self.power,), (needed,)))
        return Figure(
            title="Power by the number of rows",
            x=Axis("rows of the first sample", rows[0] / 1.1, rows[-1] * 1.1, log=True),
            y=Axis("power", 0.0, 102.0, percent=True),
            series=tuple(series),
            description="Power by the number of rows",
        )


def plan(
    X: Any,
    Y: Any,
    power: float = 0.9,
    *,
    alpha: float = 0.05,
    repetitions: int = 40,
    permutations: int = 199,
    keep_columns: Iterable[Any] | bool | None = None,
    rng: RNG = None,
    max_memory: MemoryLike = None,
    threads: int | None = None,
    progress: ProgressLike = None,
    **reading: Any,
) -> PlanResult:
    """How many rows `two_sample_test` needs to find what a pilot shows, and what the pilot itself could have found.

    The pilot is tested, and so are smaller samples that are drawn from it without replacement. Φ⁻¹(1 - p) is taken as
    normal around b nᵞ with γ from ½ to 1½, of which those that fit (samples that overlap count as often as there is
    room for them in the pilot) are continued to larger n; told is their median. (Drawing more rows than there are,
    with replacement, would take the pilot's chance differences for true ones.)

    Parameters
    ----------
    X, Y
        The pilot, with at least 24 rows each: whatever `two_sample_test` takes.
    power
        How often the study shall find the difference.
    alpha
        Its level.
    repetitions
        How many samples are drawn at each of four sizes.
    permutations
        Of each test.
    keep_columns, rng, max_memory, threads, progress, **reading
        As in `two_sample_test`.

    Notes
    -----
    The prediction is for the difference that the pilot shows, which is part chance: a pilot that barely rejects is too
    optimistic. Where the pilot does not reject at level ``alpha``, what it shows may be chance alone: ``rows`` and the
    upper end of `rows_interval` are infinite. From a pilot of pure noise the number is finite with probability
    ``alpha``.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> found = plan(rng.normal(size=(80, 2)), rng.normal(size=(80, 2)) + 0.4, rng=0, repetitions=10, permutations=59)
    >>> 40 < found.rows < 400
    True
    """
    check_level(alpha)
    if not alpha < power < 1:
        raise InputError("out-of-range", f"power must lie between alpha and 1, but is {power!r}.")
    check_draws(repetitions, "repetitions")
    check_draws(permutations)
    seed = seed_of(rng)
    options = check_reading({"rng": seed, "max_memory": max_memory, **reading}, plan)
    opened = open_samples([X, Y], ("X", "Y"), options, keep_columns=check_keep(keep_columns))
    samples = opened.encode(shared=LESS_IS_SEEN)
    m, n = (len(part) for part in samples.points)
    if min(m, n) < _FEWEST:
        raise InputError("too-few-rows", f"A pilot needs at least {_FEWEST} rows of each sample, but has {m} and {n}.")
    shares = [share for share in _SHARES if share * min(m, n) >= _LEAST]
    total = len(shares) * repetitions + 1
    pvalues: list[list[float]] = []
    with computing(max_memory, None, False, threads) as compute, progress_bar(progress, "plan") as report:
        pilot = run_two_sample_test(samples, Design(), permutations, [], seed, compute, 0.0).pvalue
        for k, share in enumerate(shares):
            pvalues.append([])
            for r in range(repetitions):
                generator = np.random.default_rng([seed, k, r])
                rows = [np.sort(generator.permutation(size)[: round(share * size)]) for size in (m, n)]
                points = tuple(take_rows(part, chosen) for part, chosen in zip(samples.points, rows, strict=True))
                part = replace(samples, points=points, numbers=(None, None))
                test = run_two_sample_test(part, Design(), permutations, [], seed_of(generator), compute, 0.0)
                pvalues[-1].append(test.pvalue)
                if report is not None:
                    report(k * repetitions + r + 2, total)
    check_unchanged(*samples.points)
    growth = Growth.fit([*shares, 1.0], [*pvalues, [pilot]], permutations)
    middle, low, high = (times * m if times <= _FARTHEST else math.inf for times in growth.times(power, alpha))
    if not rejects(pilot, alpha):
        middle = high = math.inf
    return PlanResult(
        rows=middle,
        rows_interval=(low, high),
        power=power,
        alpha=alpha,
        pilot_rows=(m, n),
        pilot_power=growth.power(1.0, alpha),
        pilot_pvalue=pilot,
        sizes=tuple(round(share * m) for share in shares),
        rates=tuple(float(np.mean([rejects(p, alpha) for p in some])) for some in pvalues),
        repetitions=repetitions,
        permutations=permutations,
        seed=seed,
        _growth=growth,
        notes=samples.notes,
    )
