"""The witness function at every row, learned from other rows: ridge regression of the labels, fold by fold."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from ..data import Points, reindex
from ..data.arrays import Array
from ..engine import Compute
from ..kernels import Kernel
from ..stats.auc import placements
from ..stats.forms.features import Layout, draw_sketch
from ..stats.forms.joint import JointFeatures
from ..stats.forms.regression import predict, sum_folds
from .folds import draw_folds
from .intervals import auc_interval

#: Rows that are learned from at the most, and rows of the sketch that features are fitted on.
_LEARNED = 30_000
#: How much more the variance is that chance puts into regressions: once, because folds meet it again, and by as much
#: again as their features and ridges were chosen from the same rows (found by simulation, without a difference).
_AGAIN = 1.8


@dataclass(frozen=True, eq=False)
class CrossFit:
    """The witness function, out of fold.

    Attributes
    ----------
    values
        At each row of X and then of Y, by a regression that was learned from other folds; positive where X has more.
    folds
        The fold of each row.
    auc, auc_interval
        How often a row of X has the larger value than a row of Y of its fold; with 95 % confidence.
    searched
        Which rows belong to the half that slices are searched on: whole folds.
    search_values
        The witness function as the searched half alone tells it: out of fold there, and from all of it elsewhere.
    features, coefficients
        What it was learned in, and the coefficients of each fold's regression and, last, of that of all rows.
    """

    values: Array
    folds: Array
    auc: float
    auc_interval: tuple[float, float]
    searched: Array
    search_values: Array
    features: JointFeatures
    coefficients: Tensor

    def __call__(self, at: Tensor, compute: Compute) -> Array:
        """The witness function at other rows, from all rows."""
        return predict(self.features, at, self.coefficients[:, -1:], compute)[:, 0]


def cross_fit(
    samples: tuple[Points, Points],
    layout: Layout,
    kernels: list[Kernel],
    units: Array,
    rng: np.random.Generator,
    compute: Compute,
) -> CrossFit:
    """Learn the witness function fold by fold; ``units`` stay in one fold.

    Parameters
    ----------
    samples, layout
        The rows, and what their numbers are.
    kernels
        Kernels that the user gave.
    units
        For each row of X and then of Y, the number of what it belongs to.
    rng
        For the folds and the features.
    """
    m, n = map(len, samples)
    labels = np.repeat([0, 1], [m, n])
    folds, count = draw_folds(units, labels, rng)
    points = reindex(list(samples), np.arange(m + n))
    shuffled = reindex(list(samples), rng.permutation(m + n))
    with torch.no_grad():
        features = JointFeatures.fit(draw_sketch(shuffled, rng, compute), m + n, layout, kernels, rng)
        targets = np.where(labels == 0, n, -m) / (m + n)
        sums = sum_folds(features, points, targets, _thin(folds, count, rng), count, compute)
        every = list(range(count))
        fits = [sums.fit([k for k in every if k != fold]) for fold in every]
        half = every[: count // 2]
        within = [sums.fit([k for k in half if k != fold]) for fold in half] if len(half) > 1 else fits[: len(half)]
        rest = [sums.fit(half), sums.fit(every)]
        coefficients = torch.stack([fit.coefficients for fit in (*fits, *within, *rest)], 1)
        values = predict(features, points, coefficients, compute)
    rows = np.arange(m + n)
    own = values[rows, folds]
    searched = folds < len(half)
    search_values = np.where(searched, values[rows, count + np.minimum(folds, len(half) - 1)], values[:, -2])
    auc, interval = fold_auc(own, labels, folds, units, [fit.chance for fit in fits])
    kept = torch.cat([coefficients[:, :count], coefficients[:, -1:]], 1)
    return CrossFit(own, folds, auc, interval, searched, search_values, features, kept)


def fold_auc(
    values: Array, labels: Array, folds: Array, units: Array, chance: list[float]
) -> tuple[float, tuple[float, float]]:
    """The mean AUC of all folds, each of its own regression, and its interval.

    Within a fold the regression is fixed, and the variance is that of DeLong et al. 1988, by units. But a fold's rows
    are also what other folds' regressions were learned from: what chance puts into a regression is met again, with the
    same sign, by the fold it came from. That part of the variance counts more than twice (LeDell et al. 2015 leave it
    out).

    Parameters
    ----------
    values, labels, folds, units
        Of each row.
    chance
        For each fold the variance of the values of its regression that is due to chance.
    """
    influence = np.zeros(len(values))
    auc = pairs = by_chance = spread = 0.0
    for fold, noise in enumerate(chance):
        x, y = (np.flatnonzero((folds == fold) & (labels == k)) for k in (0, 1))
        if not len(x) or not len(y):
            continue
        below, above = placements(values[x], values[y])
        of_fold, weight = float(below.mean()), float(len(x) * len(y))
        for rows, placed in ((x, below), (y, above)):
            larger = np.sqrt(len(rows) / max(len(rows) - 1, 1))
            influence[rows] = weight * (placed - of_fold) / len(rows) * larger
        pairs += weight
        auc += weight * of_fold
        by_chance += weight * noise
        spread += weight * float(values[np.concatenate([x, y])].var())
    if not pairs:  # so few units that each fold has rows of one sample only
        return 0.5, (0.0, 1.0)
    of_units = np.bincount(units, weights=influence) / pairs
    share = min(1.0, by_chance / spread) if spread > 0 else 1.0
    variance = float(of_units @ of_units) * (1 + _AGAIN * share)
    smaller = int(min(np.count_nonzero(labels == k) for k in (0, 1)))
    return auc / pairs, auc_interval(auc / pairs, variance, smaller)


def _thin(folds: Array, count: int, rng: np.random.Generator) -> Array:
    """The folds with -1 for rows that are too many to be learned from."""
    if len(folds) <= _LEARNED:
        return folds
    found = np.full(len(folds), -1)
    for fold in range(count):
        rows = np.flatnonzero(folds == fold)
        used = np.sort(rng.permutation(rows)[: _LEARNED // count])
        found[used] = fold
    return found
