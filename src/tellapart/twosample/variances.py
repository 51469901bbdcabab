"""Variances of effects and of correlations: squares of what each row, or each group of rows, adds to an estimate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np
import torch
from torch import Tensor

from ..engine import Compute
from ..engine.rows import Size, reduce_rows
from .moments import LabelledRows, Moments, Places, centred

Array: TypeAlias = "np.ndarray[Any, Any]"

#: Sums over groups that are held together, and rows that are read together.
_TOGETHER, _BLOCK = 2**23, 1_024


class Variances(NamedTuple):
    """Of two samples: shifts in pooled deviations, and variances of effects.

    Attributes
    ----------
    shift
        The difference of means of each column in pooled standard deviations.
    location, scale, correlation
        Variances of that, of the log ratio of deviations, and of the difference of correlations.
    crowding
        How many times as large as for independent rows the variance of a difference of means is (the design effect).
    """

    shift: Array
    location: Array
    scale: Array
    correlation: Array
    crowding: Array


def sum_variances(rows: LabelledRows, places: Places, moments: Moments, compute: Compute) -> Variances:
    """Variances of the effects of two samples: sums of squares of what each row, or each unit, adds to an effect."""
    deviations, counts = moments.deviations, moments.counts
    within = np.sqrt((counts * deviations**2).sum(0) / counts.sum(0))
    difference = moments.means[1] - moments.means[0]
    with np.errstate(divide="ignore", invalid="ignore"):
        shift = np.where(within > 0, difference / within, np.copysign(np.inf, difference))
    finite = np.where(np.isfinite(shift), shift, 0.0)
    influence = Influence(places, moments, np.where(within > 0, within, np.inf), finite, rows.weights)
    width, pairs = len(within), len(places.first)
    alone = sum_squares(influence, rows._replace(units=None, strata=None), compute)
    found = alone
    if rows.units is not None or rows.strata is not None:
        found = sum_squares(influence, rows, compute)
    if rows.weights is not None:  # beside rows that count alike
        alone = alone / np.mean(rows.weights**2)
    location, scale, plain, correlation = (part.numpy() for part in found.split([width, width, width, pairs]))
    crowding = plain / np.maximum(alone[2 * width : 3 * width].numpy(), 1e-300)
    return Variances(shift, location, scale, correlation, np.where(plain > 0, crowding, 1.0))


class RowInfluence(Protocol):
    """What a row adds to some estimates: (rows, estimates)."""

    @property
    def width(self) -> int:
        """How many estimates there are."""

    def __call__(self, block: Tensor, labels: Array, rows: slice) -> Tensor:
        """Of some rows, whose labels are those of ``rows``."""


@dataclass(frozen=True, eq=False)
class Influence:
    """What a row adds to the effects: (rows, effects), the first-order term of the delta method or of the jackknife."""

    places: Places
    moments: Moments
    within: Array
    shift: Array
    weights: Array | None = None

    @property
    def width(self) -> int:
        """Three for each column, and one for each pair."""
        return 3 * len(self.within) + len(self.places.first)

    def __call__(self, block: Tensor, labels: Array, rows: slice) -> Tensor:
        """Of some rows: shifts, log ratios of deviations, means, correlations."""
        found = torch.zeros(len(block), self.width, dtype=torch.float64)
        for k, sign in ((0, -1.0), (1, 1.0)):
            of_sample = torch.from_numpy(labels[rows] == k)
            found[of_sample] = self._of_sample(block[of_sample].double(), k, sign)
        return found if self.weights is None else found * torch.from_numpy(self.weights[rows])[:, None]

    def _of_sample(self, raw: Tensor, k: int, sign: float) -> Tensor:
        m = self.moments
        Z, there = centred(raw, m.centre[k], self.places.gaps)
        counts, offsets, deviations = (torch.from_numpy(part[k]) for part in (m.counts, m.offsets, m.deviations))
        within, shift = torch.from_numpy(self.within), torch.from_numpy(self.shift)
        total = torch.from_numpy(m.counts.sum(0))
        larger = (counts / (counts - 1).clamp(min=1)).sqrt()
        mask = 1.0 if there is None else there
        off = (Z - offsets) * mask
        squares = (off**2 - deviations**2) * mask
        location = (sign * off / (counts * within) - shift * squares / (2 * within**2 * total)) * larger
        # What the log of the deviation loses without the row (the jackknife): few rows far out count more than by the
        # delta method, whose intervals would be too short.
        others = (counts - 1).clamp(min=1)
        lever = (off / deviations.clamp(min=1e-300)) ** 2 / others
        scale = -sign / 2 * (torch.log1p(-lever.clamp(max=1 - 0.5 / counts)) + (counts / others).log()) * mask / larger
        mean = sign * (raw - torch.from_numpy(m.plain_means[k])) / float(m.rows[k])
        return torch.cat([location, scale, mean, sign * _of_correlations(Z, there, k, self.moments, self.places)], 1)


@dataclass(frozen=True, eq=False)
class CorrelationInfluence:
    """What a row adds to the correlations of its own sample, of any number of them: (rows, samples · pairs)."""

    places: Places
    moments: Moments
    weights: Array | None = None

    @property
    def width(self) -> int:
        """One for each pair of each sample."""
        return int(self.moments.correlations.size)

    def __call__(self, block: Tensor, labels: Array, rows: slice) -> Tensor:
        """Of some rows: nothing in the correlations of other samples."""
        samples, pairs = self.moments.correlations.shape
        found = torch.zeros(len(block), samples, pairs, dtype=torch.float64)
        for k in range(samples):
            of_sample = torch.from_numpy(labels[rows] == k)
            Z, there = centred(block[of_sample].double(), self.moments.centre[k], self.places.gaps)
            found[of_sample, k] = _of_correlations(Z, there, k, self.moments, self.places)
        joined = found.flatten(1)
        return joined if self.weights is None else joined * torch.from_numpy(self.weights[rows])[:, None]


def _of_correlations(Z: Tensor, there: Tensor | None, k: int, moments: Moments, places: Places) -> Tensor:
    """What rows of sample k add to its correlations."""
    n, means, deviations = (torch.from_numpy(part) for part in moments.pairs)
    rho = torch.from_numpy(moments.correlations[k])
    u = (Z[:, places.first] - means[0, k]) / deviations[0, k]
    v = (Z[:, places.second] - means[1, k]) / deviations[1, k]
    both = 1.0 if there is None else there[:, places.first] * there[:, places.second]
    larger = (n[k] / (n[k] - 1).clamp(min=1)).sqrt()
    return (u * v - rho * (u**2 + v**2) / 2) * both / n[k] * larger


def sum_correlation_variances(rows: LabelledRows, places: Places, moments: Moments, compute: Compute) -> Array:
    """The variance of the correlation of each pair in each sample: (samples, pairs)."""
    squares = sum_squares(CorrelationInfluence(places, moments, rows.weights), rows, compute)
    found: Array = squares.numpy().reshape(moments.correlations.shape)
    return found


def sum_squares(influence: RowInfluence, rows: LabelledRows, compute: Compute) -> Tensor:
    """Sums of squares of what each row, or each unit, adds to an estimate; about the means of strata, if there are."""
    if rows.units is not None:
        return _by_unit(influence, rows, rows.units)
    if rows.strata is not None:
        return _within_strata(influence, rows, rows.strata, compute)
    return _by_row(influence, rows, compute)


@dataclass(frozen=True, eq=False)
class SquaredInfluence:
    """Sums of squares over rows, a `RowReduction`."""

    influence: RowInfluence
    labels: Array
    scale: Tensor | None = None

    def start(self) -> Tensor:
        """Zeros."""
        return torch.zeros(self.influence.width, dtype=torch.float64)

    def add(self, sums: Tensor, rows: slice, block: Tensor) -> Tensor:
        """The sums with those of a block."""
        squares = self.influence(block, self.labels, rows) ** 2
        return sums + (squares if self.scale is None else squares * self.scale[rows, None]).sum(0)

    def join(self, left: Tensor, right: Tensor) -> Tensor:
        """The sum of both."""
        return left + right


def _by_row(influence: RowInfluence, rows: LabelledRows, compute: Compute, scale: Tensor | None = None) -> Tensor:
    size = Size(8 * influence.width, 60 * influence.width, 20.0 * influence.width)
    found: Tensor = reduce_rows(SquaredInfluence(influence, rows.labels, scale), rows.points, size, compute)
    return found


def _by_unit(influence: RowInfluence, rows: LabelledRows, units: Array) -> Tensor:
    """Sums of squares over units of what their rows add together."""
    numbers = np.unique(units, return_inverse=True)[1].reshape(-1)
    count = int(numbers.max()) + 1
    return _sums_of_squares(influence, rows, numbers, np.ones(count)) * count / max(count - 1, 1)


def _within_strata(influence: RowInfluence, rows: LabelledRows, strata: Array, compute: Compute) -> Tensor:
    """Sums of squares about the means of strata: that these differ adds nothing to the variance of effects in them.

    A row that is alone of its sample in a stratum says nothing of the variance there. But what such strata add as a
    whole does, if there are several, as pairs do.
    """
    samples, labels = rows.samples, rows.labels
    cells = strata.astype(np.int64) * samples + labels
    count = np.bincount(cells, minlength=samples * (int(strata.max()) + 1))
    table = count.reshape(-1, samples)
    alone = np.repeat((table == 1).any(1) & (table > 0).all(1), samples)
    whole = int(alone.sum()) // samples
    if whole < 2:
        alone[:], whole = False, 2
    larger = np.where(count > 1, count / np.maximum(count - 1, 1), 1.0)
    less = np.where(count > 1, larger / np.maximum(count, 1), 0.0)
    squares = _by_row(influence, rows, compute, torch.from_numpy(np.where(alone, 0.0, larger)[cells]))
    # Rows of strata that count as a whole have one number.
    numbers = np.where(alone[cells], cells - labels, cells)
    return squares - _sums_of_squares(influence, rows, numbers, np.where(alone, -whole / (whole - 1), less))


def _sums_of_squares(influence: RowInfluence, rows: LabelledRows, numbers: Array, scale: Array) -> Tensor:
    """Σ of scale times the squared total of the rows with each number."""
    places, count = torch.from_numpy(numbers), len(scale)
    width = influence.width
    step = max(1, min(width, _TOGETHER // count))
    found = torch.zeros(width, dtype=torch.float64)
    for start in range(0, width, step):
        some = slice(start, min(start + step, width))
        totals = torch.zeros(count, some.stop - some.start, dtype=torch.float64)
        for row in range(0, len(rows.points), _BLOCK):
            here = slice(row, min(row + _BLOCK, len(rows.points)))
            block = rows.points[here].detach().cpu().flatten(1)
            totals.index_add_(0, places[here], influence(block, rows.labels, here)[:, some])
        found[some] = (totals**2 * torch.from_numpy(scale)[:, None]).sum(0)
    return found
