"""Effects of columns and pairs in the units of the data, with intervals and descriptions."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

from .._util.numbers import date_text, number, percent
from ..data.content.images import pixel_at
from ..data.samples import Samples, Variable
from ..engine import Compute
from ..omnibus import ColumnScore, Pooled
from ..stats.design import Design
from ..stats.pvalues import Z_95, holm
from ..stats.student import student_quantile
from .findings import Finding
from .moments import LabelledRows, Moments, PairIndex, stratum_weights, sum_moments
from .variances import Spread, Variances, sum_correlation_variances, sum_variances

Array: TypeAlias = "np.ndarray[Any, Any]"

#: Number of pairs whose correlations are computed: those with the smallest p-values.
_PAIRS = 100
#: Pairs with at most this adjusted p-value must also differ in their correlation.
_GUARDED = 0.25
#: 1 / (n - 3) is the variance of Fisher's transform of a correlation of n normal rows.
_NORMAL = 3
#: Columns with at most this adjusted p-value are described as different.
_TOLD = 0.05
#: If the means are this many standard deviations apart, the location is reported, whatever else differs.
_FAR = 2.0
#: Probability outside of an interval on one side; and that of a column, for which either the location or the scale is
#: reported (Bonferroni).
_MISSED, _MISSED_OF_TWO = 0.025, 0.0125
#: Maximum number of samples that are described one by one.
_SAMPLES = 6


class Effects:
    """Means, deviations, shares and correlations of each sample, and effects computed from them.

    Intervals have 95 % confidence for each column or pair, simultaneously over everything that could have been reported
    for it: location or scale, or every level of a category. They are asymptotic: by the delta method (the jackknife for
    spreads) with Student's t, so that no distribution is assumed, and from sums over groups or pairs if rows belong
    together. If labels were permuted within strata, strata have the same weights in all samples.
    """

    def __init__(
        self, mixed: Samples, pooled: Pooled, pairs: Sequence[ColumnScore], compute: Compute, design: Design
    ) -> None:
        units, strata = design.units, design.effective.strata
        self.names = mixed.names
        self.unit_of = {place: unit for unit in mixed.variables for place in unit.coordinates}
        self.image_shape = mixed.image_shape
        sizes = [len(part) for part in mixed.points]
        labels = np.repeat(np.arange(len(sizes)), sizes)[pooled.order]
        known = sorted(pairs, key=lambda part: (part.pvalue, part.pvalue_unadjusted))[:_PAIRS]
        self.pair_place = {part.columns: k for k, part in enumerate(known)}
        missing = {unit.coordinates[0]: unit.gap for unit in mixed.variables if unit.gap is not None}
        first, second = (np.array([part.columns[side] for part in known], int) for side in (0, 1))
        places = PairIndex(first, second, missing)
        strata = None if strata is None else np.unique(strata[pooled.order], return_inverse=True)[1].reshape(-1)
        self.weights = None if strata is None else stratum_weights(labels, strata, len(sizes))
        of_row = None if units is None else units[pooled.order]
        rows = LabelledRows(pooled.points, labels, len(sizes), self.weights, of_row, strata)
        self.moments: Moments = sum_moments(rows, places, compute)
        self.rows = self.moments.rows
        self._labelled, self._places, self._compute = rows, places, compute
        self.variances: Variances | None = None
        if len(sizes) == 2:
            self.variances = sum_variances(rows, places, self.moments, compute)
        self._units = _count_units(units, sizes)
        self._independent = units is None and strata is None
        of_sample = [np.ones(1) if self.weights is None else self.weights[labels == k] for k in range(len(sizes))]
        #: Effective number of rows of each sample, if weights are unequal (Kish 1965).
        self._effective = self.rows * np.array([part.mean() ** 2 / max((part**2).mean(), 1e-300) for part in of_sample])

    def describe_columns(self, parts: Sequence[ColumnScore]) -> list[Finding]:
        """Describe columns with their effects.

        Missing values are replaced by the mean, so a column with more missing values in one sample differs for that
        reason alone. Whether its location or its scale is reported is then decided by the observed values.
        """
        gaps = {part.columns[0] for part in parts if part.pvalue_unadjusted <= _GUARDED}
        found = []
        for part in parts:
            unit, c = self.unit_of[part.columns[0]], part.columns[0]
            if self.variances is not None and unit.gap in gaps and not _is_share(unit):
                ratio = _log_ratio(float(self.moments.deviations[1, c]), float(self.moments.deviations[0, c]))
                location = _clarity(float(self.variances.shift[c]), float(self.variances.location[c]))
                scale = _clarity(ratio, float(self.variances.scale[c]))
                part = replace(part, kind="scale" if scale > location else "location")
            found.append(self.describe(part))
        return found

    def describe_pairs(self, parts: Sequence[ColumnScore]) -> list[Finding]:
        """Describe pairs with their effects. Those that differ must differ in their correlation.

        Products of scores also change if one column alone is more spread out. So the p-value of a pair is the larger of
        that of its products and that of the difference of its correlations (`equal_chance`, Holm over all pairs). The
        latter is asymptotic: it is valid if correlations are the same and samples are not too small.
        """
        alone = np.ones(len(parts))
        guarded = [k for k, part in enumerate(parts) if part.pvalue <= _GUARDED and part.columns in self.pair_place]
        for k in guarded:
            alone[k] = self._same_correlation(self.pair_place[parts[k].columns])
        found, adjusted = [self.describe(part) for part in parts], holm(alone.tolist())
        for k in guarded:
            p, q = max(found[k].pvalue, adjusted[k]), max(found[k].pvalue_unadjusted, float(alone[k]))
            found[k] = replace(found[k], pvalue=p, pvalue_unadjusted=q)
        return found

    @cached_property
    def _correlation_variances(self) -> Array:
        """Variances of the correlation of each pair in each sample."""
        return sum_correlation_variances(self._labelled, self._places, self.moments, self._compute)

    def _same_correlation(self, place: int) -> float:
        """The p-value of the hypothesis that a pair has the same correlation in all samples."""
        rows = np.minimum(self.moments.pairs[0][:, place], self._units)
        return equal_chance(self.moments.correlations[:, place], self._correlation_variances[:, place], rows)

    def describe(self, part: ColumnScore) -> Finding:
        """A column or a pair with its effect and a description."""
        columns = tuple(dict.fromkeys(self.unit_of[c].name for c in part.columns))
        if part.kind in ("scale", "shape") and self._is_far(part.columns[0]):
            part = replace(part, kind="location")
        kind = part.kind
        if kind == "dependence":
            effect, interval, words, values = self._correlation(part)
        else:
            unit = self.unit_of[part.columns[0]]
            kind = "share" if _is_share(unit) else kind
            effect, interval, words, values = self._share(unit) if _is_share(unit) else self._numbers(unit, part)
        name = " × ".join(columns)
        pixel = None
        if self.image_shape is not None and len(part.columns) == 1:
            pixel = pixel_at(part.columns[0], self.image_shape)
        return Finding(name, columns, kind, effect, words, part.pvalue, part.pvalue_unadjusted, interval, values, pixel)

    def _is_far(self, column: int) -> bool:
        """Whether samples are far apart: their ranks then differ in every way, but the location is what matters."""
        return self.variances is not None and abs(float(self.variances.shift[column])) >= _FAR

    def _shift_interval(self, c: int) -> tuple[float, float] | None:
        """Interval of the difference of means of a column, in pooled standard deviations."""
        found = self.variances
        assert found is not None
        counts, deviations = self.moments.counts[:, c], self.moments.deviations[:, c]
        # By the delta method an outlier reduces its own contribution, since the pooled deviation grows with it. So the
        # variance is at least that of Welch's test of the means.
        squares = (counts * deviations**2).sum() / counts.sum()
        welch = (deviations**2 / np.maximum(counts - 1, 1)).sum() / max(squares, 1e-300) * found.design_effect[c]
        free = min(float(found.of_shift.free[c]), float(found.of_means.free[c]))
        return _interval(float(found.shift[c]), max(float(found.location[c]), float(welch)), free)

    def _ratio_interval(self, ratio: float, c: int) -> tuple[float, float] | None:
        """Interval of the log ratio of the deviations of a column."""
        assert self.variances is not None
        of = self.variances.of_ratio
        larger = _shared_shape(of.parts[:, c], of.sizes[:, c])
        return _interval(ratio, float(of.variance[c]) * larger, float(of.free[c]))

    def _numbers(self, unit: Variable, part: ColumnScore) -> Any:
        c = unit.coordinates[0]
        mean, deviation = self.moments.means[:, c], self.moments.deviations[:, c]
        values = {"mean": _floats(mean), "SD": _floats(deviation)}
        if self.variances is None:
            form = date_text if unit.kind == "date" else number
            return _spread(mean, deviation), None, f"mean {self._by_sample(mean, form)}", values
        shift, difference = float(self.variances.shift[c]), float(mean[1] - mean[0])
        of_shift = self._shift_interval(c)
        told = f"{_fixed(shift, '+.2f')} SD{_bracket(of_shift, '.2f')}"
        if math.isinf(shift):
            told = " → ".join(f"always {number(value)}" for value in mean.tolist())
        if part.kind == "location" and _agrees(part, of_shift):
            return shift, of_shift, self._shift_in_words(unit, difference, told), values
        widths = f"SD {' → '.join(map(number, deviation.tolist()))}"
        if part.kind == "location":
            words = f"mostly {_word(unit, part.sign)} in {self.names[1]} (mean {told}, {widths})"
            return shift, of_shift, words, values
        ratio = _log_ratio(float(deviation[1]), float(deviation[0]))
        of_ratio = self._ratio_interval(ratio, c)
        if part.kind == "scale" and _agrees(part, of_ratio):
            times = None if of_ratio is None else (math.exp(of_ratio[0]), math.exp(of_ratio[1]))
            told = f", × {math.exp(ratio):.2f}{_bracket(times, '.2f')}" if times else ""
            more = "more" if deviation[1] > deviation[0] else "less"
            return ratio, of_ratio, f"{more} spread out in {self.names[1]}, {widths}{told}", values
        return shift, of_shift, f"another shape (mean {told}, {widths})", values

    def _shift_in_words(self, unit: Variable, difference: float, told: str) -> str:
        days = f" by {number(abs(difference))} days" if unit.kind == "date" else ""
        return f"{_word(unit, difference)} in {self.names[1]}{days}, {told}"

    def _by_sample(self, values: Array, form: Callable[[float], str]) -> str:
        """The value of each sample with its name; the smallest and the largest if there are many samples."""
        told = [f"{form(float(value))} in {name}" for value, name in zip(values, self.names, strict=True)]
        if len(told) <= _SAMPLES:
            return ", ".join(told)
        return f"{told[int(np.argmin(values))]} to {told[int(np.argmax(values))]}"

    def _share(self, unit: Variable) -> Any:
        """The level whose share differs most, relative to its standard error."""
        columns = list(unit.coordinates)
        rows = self.rows[:, None]
        shares = self.moments.plain_means[:, columns]
        # Shares of rows with equal weights are counts, so that rounding errors can be removed.
        shares = np.clip(np.rint(shares * rows) / rows if self.weights is None else shares, 0.0, 1.0)
        pooled = (shares * rows).sum(0) / rows.sum()
        error = np.sqrt(np.maximum(pooled * (1 - pooled), 1e-12))
        best = int(np.argmax(np.ptp(shares, axis=0) / error))
        of_best = shares[:, best]
        levels = unit.levels or ("missing" if unit.kind == "missing" else "yes",)
        occurs = unit.kind == "occurrence"
        values = {level: _floats(shares[:, k]) for k, level in enumerate(levels)}
        told = " → ".join(map(percent, of_best))
        if self.variances is None:
            level = "" if occurs else f"{_level(unit, best)} "
            return float(np.ptp(of_best)), None, f"{level}{self._by_sample(of_best, percent)}", values
        effect = float(of_best[1] - of_best[0])
        interval = self._share_interval(columns, best, of_best, pooled)
        points = f" ({_points(effect)} points [{_points(interval[0])}, {_points(interval[1])}])"
        if unit.tells_missing(columns[best]):
            told = f"{percent(of_best[1])} missing in {self.names[1]}, {percent(of_best[0])} in {self.names[0]}"
            return effect, interval, told + points, values
        if occurs:  # the name is the beginning of the sentence: “Sure!” begins 19 % of B, 0 % of A
            told = f"{percent(of_best[1])} of {self.names[1]}, {percent(of_best[0])} of {self.names[0]}"
            return effect, interval, told + points, values
        return effect, interval, f"{_level(unit, best)} {told}{points}", values

    def _share_interval(self, columns: list[int], best: int, shares: Array, pooled: Array) -> tuple[float, float]:
        """Interval of the difference of shares of a level, simultaneously over all levels (Bonferroni)."""
        assert self.variances is not None
        levels = len(columns) if len(columns) > 2 else 1  # of two levels one share is 1 less the other
        design_effect, free = self.variances.design_effect[columns], math.inf
        if not self._independent:
            # Few groups have a rare level, so its design effect is at least the average over all levels.
            usual = np.average(design_effect, weights=np.maximum(pooled * (1 - pooled), 1e-12))
            design_effect, free = (
                np.maximum(design_effect, usual),
                float(self.variances.of_means.sizes[:, columns[best]].min()) - 1,
            )
        size = self.rows / max(float(design_effect[best]), 1e-9)
        return share_interval(shares, size, student_quantile(_MISSED / levels, free))

    @cached_property
    def _correlation_intervals(self) -> tuple[Array, Array]:
        """The ends of the interval of each pair."""
        assert self.variances is not None
        rows = np.minimum(self.moments.pairs[0], self._effective[:, None])
        return correlation_intervals(self.moments.correlations, self.variances.of_correlation, rows)

    def _correlation(self, part: ColumnScore) -> Any:
        place = self.pair_place.get(part.columns)
        if place is None:
            return math.nan, None, "weaker than those told", {}
        found = self.moments.correlations[:, place]
        words = f"correlation {' → '.join(_fixed(value, '.2f') for value in found)}"
        values = {"correlation": _floats(found)}
        if self.variances is None:
            words = f"correlation {self._by_sample(found, lambda value: _fixed(value, '.2f'))}"
            return float(np.ptp(found)), None, words, values
        effect = float(found[1] - found[0])
        low, high = (float(end[place]) for end in self._correlation_intervals)
        interval = None if math.isnan(low) else (low, high)
        return effect, interval, f"{words} ({_fixed(effect, '+.2f')}{_bracket(interval, '+.2f')})", values


def _count_units(units: Array | None, sizes: Sequence[int]) -> Array:
    """Number of rows of each sample, or of its units if rows belong together."""
    if units is None:
        return np.asarray(sizes)
    return np.array([len(np.unique(part)) for part in np.split(units, np.cumsum(sizes)[:-1])])


def _interval(effect: float, variance: float, free: float) -> tuple[float, float] | None:
    """The interval of one of two effects of a column, by Student's t."""
    if not (math.isfinite(effect) and math.isfinite(variance) and free > 0):
        return None
    width = student_quantile(_MISSED_OF_TWO, free) * math.sqrt(max(variance, 0.0))
    return effect - width, effect + width


def _shared_shape(parts: Array, sizes: Array) -> float:
    """The factor of a variance if neither of its parts is smaller, for its size, than the average of both samples.

    A small sample seldom has outliers, and then underestimates its own variance.

    >>> _shared_shape(np.array([0.01, 0.01]), np.array([100, 50]))
    1.25
    """
    for_size = parts * sizes
    total = float(parts.sum())
    return float((np.maximum(for_size, for_size.mean()) / sizes).sum()) / total if total > 0 else 1.0


def share_interval(shares: Array, sizes: Array, quantile: float = Z_95) -> tuple[float, float]:
    """The interval of a difference of two shares (Newcombe 1998, method 11: of Wilson's, corrected for continuity).

    >>> [round(end, 4) for end in share_interval(np.array([48 / 80, 56 / 70]), np.array([80, 70]))]
    [0.0428, 0.3422]
    """
    n, p, square = sizes, shares, quantile**2
    low, high = (
        (2 * n * p + square + side * (1 + quantile * np.sqrt(np.maximum(root, 0.0)))) / (2 * (n + square))
        for side, root in (
            (-1, square - 2 - 1 / n + 4 * p * (n * (1 - p) + 1)),
            (1, square + 2 - 1 / n + 4 * p * (n * (1 - p) - 1)),
        )
    )
    below, above = _difference(shares, np.where(p <= 0, 0.0, low), np.where(p >= 1, 1.0, high))
    return float(below), float(above)


def correlation_intervals(correlations: Array, spread: Spread, rows: Array) -> tuple[Array, Array]:
    """The intervals of differences of two correlations (Zou 2007), from intervals of both by Fisher's transform.

    The variance of each is at least that of a correlation of normal rows, and at least the average of both samples for
    its size. Arguments have two rows, one for each sample; ends are NaN where a variance is not known.
    """
    variances, n, free = spread.parts, spread.sizes, spread.free
    known = np.isfinite(correlations).all(0) & np.isfinite(variances).all(0) & (free > 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        r = np.clip(correlations, 1 / rows - 1, 1 - 1 / rows)
        for_size = variances / (1 - r**2) ** 2 * n
        quantile = np.array([student_quantile(_MISSED, one) if one > 0 else math.nan for one in free.tolist()])
        width = quantile * np.sqrt(np.maximum(for_size, for_size.mean(0)) / n)
        width = np.maximum(width, Z_95 / np.sqrt(np.maximum(rows - _NORMAL, 1e-9)))
        low, high = np.tanh(np.arctanh(r) - width), np.tanh(np.arctanh(r) + width)
        product = np.sqrt(np.maximum(variances.prod(0), 0.0))
        together = np.where(product > 0, (spread.variance - variances.sum(0)) / (2 * product), 0.0)
        below, above = _difference(
            correlations, np.minimum(low, correlations), np.maximum(high, correlations), together
        )
    return np.where(known, below, math.nan), np.where(known, above, math.nan)


def _difference(values: Array, low: Array, high: Array, together: Any = 0.0) -> tuple[Array, Array]:
    """The interval of the second of two values less the first, from intervals of both.

    ``together`` is the correlation of the second with the negative of the first.
    """
    effect, joint = values[1] - values[0], np.clip(together, -1.0, 1.0)

    def reach(a: Array, b: Array) -> Array:
        found: Array = np.sqrt(np.maximum(a**2 + b**2 + 2 * joint * a * b, 0.0))
        return found

    below, above = reach(values[1] - low[1], high[0] - values[0]), reach(high[1] - values[1], values[0] - low[0])
    return effect - below, effect + above


def _clarity(effect: float, variance: float) -> float:
    """An effect in standard errors, without its sign."""
    return abs(effect) / math.sqrt(variance) if variance > 0 else math.inf if effect else 0.0


def equal_chance(correlations: Array, variances: Array, rows: Array) -> float:
    """The p-value of the hypothesis that the correlations of several samples are equal.

    Welch's test of Fisher's transform. The variance of few rows is itself uncertain, and small if the correlation is
    far off by chance: each is at least that of normal rows, and at least the mean over samples.

    >>> few, many = (equal_chance(np.array([0.1, 0.1, 0.6]), np.full(3, 0.5 / n), np.full(3, n)) for n in (10, 100))
    >>> round(few, 2), round(many, 4)
    (0.47, 0.0001)
    """
    known = np.isfinite(correlations) & np.isfinite(variances) & (rows > _NORMAL)
    k = int(known.sum())
    if k < 2:
        return 1.0
    n = rows[known]
    r = np.clip(correlations[known], 1 / n - 1, 1 - 1 / n)
    as_normal = variances[known] / (1 - r**2) ** 2 * (n - _NORMAL)  # 1 where rows are normal
    precision = (n - _NORMAL) / np.maximum(as_normal, max(1.0, as_normal.mean()))
    share = precision / precision.sum()
    z = np.arctanh(r)
    Q = (precision * (z - (share * z).sum()) ** 2).sum()
    uncertain = ((1 - share) ** 2 / (n - 1)).sum()
    F = Q / (k - 1) / (1 + 2 * (k - 2) / (k**2 - 1) * uncertain)
    # The cube root of a ratio of means of squares is nearly normal (Paulson 1942).
    of_mean, of_variance = 2 / (9 * (k - 1)), 2 / (9 * (k**2 - 1) / (3 * uncertain))
    root = F ** (1 / 3)
    score = ((1 - of_variance) * root - (1 - of_mean)) / math.sqrt(of_variance * root**2 + of_mean)
    return math.erfc(score / math.sqrt(2)) / 2


def _points(share: float) -> str:
    """A difference of shares in points.

    >>> _points(0.0731), _points(-1.0)
    ('+7.3', '-100')
    """
    return f"{100 * share:+.2g}" if abs(share) < 0.995 else f"{100 * share:+.0f}"


def _log_ratio(above: float, below: float) -> float:
    """Infinite where one of them is 0."""
    if above > 0 and below > 0:
        return math.log(above / below)
    return math.nan if above == below else math.copysign(math.inf, above - below)


def _agrees(part: ColumnScore, interval: tuple[float, float] | None) -> bool:
    """Whether an effect describes the difference of a column: ranks can differ if means and deviations do not."""
    return part.pvalue > _TOLD or interval is None or not interval[0] <= 0 <= interval[1]


def _word(unit: Variable, difference: float) -> str:
    more, less = {"date": ("later", "earlier"), "pixel": ("brighter", "darker")}.get(unit.kind, ("larger", "smaller"))
    return more if difference > 0 else less


def _level(unit: Variable, best: int) -> str:
    return repr(unit.levels[best]) if unit.levels else "missing" if unit.kind == "missing" else "yes"


def _bracket(interval: tuple[float, float] | None, form: str) -> str:
    return "" if interval is None else f" [{', '.join(_fixed(end, form) for end in interval)}]"


def _fixed(value: float, form: str) -> str:
    """A number in a form, without a sign where that makes it 0.

    >>> _fixed(-0.001, ".2f"), _fixed(0.31, "+.2f")
    ('0.00', '+0.31')
    """
    text = f"{value:{form}}"
    return text if float(text) else text.lstrip("+-")


def _floats(values: Array) -> tuple[float, ...]:
    return tuple(float(value) for value in values)


def _is_share(unit: Variable) -> bool:
    """Whether a column is described by shares."""
    return unit.kind in ("text", "missing", "boolean", "occurrence")


def _spread(mean: Array, deviation: Array) -> float:
    """How far means lie apart, in mean standard deviations."""
    within = float(deviation.mean())
    return float(np.ptp(mean)) / within if within > 0 else math.inf
