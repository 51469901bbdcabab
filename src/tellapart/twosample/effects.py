"""How large differences of columns and pairs are, in the units of the user's data, and in words."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import torch
from torch import Tensor

from ..data.mixed import Mixed, Unit
from ..engine import Compute
from ..engine.rows import Size, reduce_rows
from ..stats.forms import Part, Pooled
from .findings import Finding

Array: TypeAlias = "np.ndarray[Any, Any]"

#: Pairs whose correlations are computed: those that say most.
_PAIRS = 100


class Moments(NamedTuple):
    """Of each sample: rows, sums and sums of squares of all columns less a centre, and sums of products of pairs."""

    rows: Tensor
    sums: Tensor
    squares: Tensor
    products: Tensor


@dataclass(frozen=True, eq=False)
class MomentSums:
    """Sums over the rows of each sample, a `RowReduction`."""

    labels: Array
    samples: int
    centre: Tensor
    pairs: tuple[Array, Array]

    def start(self) -> Moments:
        """Zeros."""
        d, p = len(self.centre), len(self.pairs[0])
        return Moments(*(torch.zeros(self.samples, width, dtype=torch.float64) for width in (1, d, d, p)))

    def add(self, sums: Moments, rows: slice, block: Tensor) -> Moments:
        """The sums with those of a block."""
        Z, labels = block.double() - self.centre, self.labels[rows]
        for k in range(self.samples):
            of_sample = Z[torch.from_numpy(labels == k)]
            sums.rows[k] += len(of_sample)
            sums.sums[k] += of_sample.sum(0)
            sums.squares[k] += (of_sample**2).sum(0)
            sums.products[k] += (of_sample[:, self.pairs[0]] * of_sample[:, self.pairs[1]]).sum(0)
        return sums

    def join(self, left: Moments, right: Moments) -> Moments:
        """Sample by sample."""
        return Moments(*(a + b for a, b in zip(left, right, strict=True)))


class Effects:
    """Means, deviations, shares and correlations of each sample, and what they say of a difference."""

    def __init__(self, mixed: Mixed, pooled: Pooled, pairs: Sequence[Part], compute: Compute) -> None:
        self.names = mixed.names
        self.unit_of = {place: unit for unit in mixed.units for place in unit.coordinates}
        sizes = [len(part) for part in mixed.points]
        labels = np.repeat(np.arange(len(sizes)), sizes)[pooled.order]
        known = sorted(pairs, key=lambda part: (part.pvalue, part.pvalue_alone))[:_PAIRS]
        self.pair_place = {part.columns: k for k, part in enumerate(known)}
        first, second = (np.array([part.columns[side] for part in known], int) for side in (0, 1))
        centre = pooled.points[:1024].detach().cpu().flatten(1).double().mean(0)
        reduction = MomentSums(labels, len(sizes), centre, (first, second))
        width = len(centre)
        size = Size(8 * len(sizes) * (2 * width + len(known)), 24 * (width + len(known)), 6.0 * (width + len(known)))
        found: Moments = reduce_rows(reduction, pooled.points, size, compute)
        self.rows, self.centre = found.rows.numpy()[:, 0], centre.numpy()
        self._sums, self._squares, self._products = (part.numpy() for part in found[1:])

    def describe(self, part: Part) -> Finding:
        """A column or a pair with its effect, in words."""
        columns = tuple(dict.fromkeys(self.unit_of[c].name for c in part.columns))
        kind = part.kind
        if kind == "dependence":
            effect, words = self._correlation(part)
        else:
            unit = self.unit_of[part.columns[0]]
            kind = "share" if _is_share(unit) else kind
            effect, words = self._share(unit) if _is_share(unit) else self._numbers(unit, part)
        return Finding(" × ".join(columns), columns, kind, effect, words, part.pvalue, part.pvalue_alone)

    def _numbers(self, unit: Unit, part: Part) -> tuple[float, str]:
        mean, deviation = self._moments(unit)
        if len(self.rows) > 2:
            return _spread(mean, deviation), f"means {', '.join(f'{value:.3g}' for value in mean)}"
        within = math.sqrt(float((self.rows * deviation**2).sum() / self.rows.sum()))
        shift = float(mean[1] - mean[0]) / within if within > 0 else math.copysign(math.inf, mean[1] - mean[0])
        ratio = math.log(deviation[1] / deviation[0]) if deviation.min() > 0 else math.nan
        if part.kind == "location":
            return shift, self._shift_in_words(unit, float(mean[1] - mean[0]), shift)
        widths = f"SD {deviation[0]:.3g} → {deviation[1]:.3g}"
        if part.kind == "scale":
            wider = self.names[1] if part.sign > 0 else self.names[0]
            return ratio, f"more spread out in {wider} ({widths})"
        return shift, f"another shape (mean {shift:+.2g} SD, {widths})"

    def _shift_in_words(self, unit: Unit, difference: float, shift: float) -> str:
        larger = self.names[1] if difference > 0 else self.names[0]
        if unit.kind == "date":
            return f"later in {larger} by {abs(difference):.3g} days"
        what = "brighter" if unit.kind == "pixel" else "larger"
        return f"{what} in {larger} by {abs(shift):.2g} SD"

    def _share(self, unit: Unit) -> tuple[float, str]:
        """The level whose share differs most, for its size."""
        columns = list(unit.coordinates)
        shares = self._sums[:, columns] / self.rows[:, None] + self.centre[columns]
        pooled = (shares * self.rows[:, None]).sum(0) / self.rows.sum()
        error = np.sqrt(np.maximum(pooled * (1 - pooled), 1e-12))
        best = int(np.argmax(np.ptp(shares, axis=0) / error))
        level = repr(unit.levels[best]) if unit.levels else "missing" if unit.kind == "missing" else "yes"
        told = " → ".join(f"{share:.3g}" for share in np.clip(shares[:, best], 0, 1))
        effect = shares[1, best] - shares[0, best] if len(self.rows) == 2 else np.ptp(shares[:, best])
        return float(effect), f"share of {level} {told}"

    def _moments(self, unit: Unit) -> tuple[Array, Array]:
        """Means and standard deviations of each sample; what was missing counts as the mean, and is taken out."""
        c = unit.coordinates[0]
        count, total, squares = self.rows, self._sums[:, c], self._squares[:, c]
        if unit.gap is not None:
            # Where a value is missing there stands the mean of all that are not,
            gaps = self._sums[:, unit.gap] + self.rows * self.centre[unit.gap]
            # which therefore is the mean over all rows.
            fill = total.sum() / self.rows.sum()
            count, total, squares = np.maximum(count - gaps, 1e-9), total - gaps * fill, squares - gaps * fill**2
        mean = total / count
        deviation = np.sqrt(np.maximum(squares / count - mean**2, 0.0))
        return mean + self.centre[c], deviation

    def _correlation(self, part: Part) -> tuple[float, str]:
        place = self.pair_place.get(part.columns)
        if place is None:
            return math.nan, "weaker than those told"
        i, j = part.columns
        n = self.rows
        covariance = self._products[:, place] / n - self._sums[:, i] * self._sums[:, j] / n**2
        spread = [np.sqrt(np.maximum(self._squares[:, c] / n - (self._sums[:, c] / n) ** 2, 1e-300)) for c in (i, j)]
        found = np.clip(covariance / (spread[0] * spread[1]), -1, 1)
        effect = float(found[1] - found[0]) if len(found) == 2 else float(np.ptp(found))
        return effect, f"correlation {' → '.join(f'{value:.2f}' for value in found)}"


def _is_share(unit: Unit) -> bool:
    """Whether a column is described by shares."""
    return unit.kind in ("text", "missing", "boolean")


def _spread(mean: Array, deviation: Array) -> float:
    """How far means lie apart, in mean standard deviations."""
    within = float(deviation.mean())
    return float(np.ptp(mean)) / within if within > 0 else math.inf
