"""The witness function at every row, learned from other rows: ridge regression of the labels, fold by fold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..data import Points, reindex
from ..data.arrays import Array
from ..engine import Compute
from ..omnibus import Layout
from ..omnibus.joint import JointFeatures
from ..omnibus.regression import predict, sum_folds
from ..omnibus.sketch import draw_sketch
from ..stats.auc import placements
from .folds import draw_folds
from .intervals import auc_interval

if TYPE_CHECKING:
    from ..kernels import Kernel

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
        How often a row of X has the larger value than a row of Y of its fold; with 95 % confidence (asymptotic) for
        the mean AUC of these regressions on new rows.
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
    coefficients: Array

    def __call__(self, at: Points, compute: Compute) -> Array:
        """The witness function at other rows, from all rows."""
        return predict(self.features, at, self.coefficients[:, -1:], compute)[:, 0]


def cross_fit(
    samples: tuple[Points, Points],
    layout: Layout,
    kernels: list[Kernel],
    units: Array,
    rng: np.random.Generator,
    compute: Compute,
    hashes: Array | None = None,
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
    hashes
        For each row a number that equal rows share. They get equal values, which matrix products alone do not ensure.
    """
    m, n = map(len, samples)
    labels = np.repeat([0, 1], [m, n])
    folds, count = draw_folds(units, labels, rng)
    points = reindex(list(samples), np.arange(m + n))
    shuffled = reindex(list(samples), rng.permutation(m + n))
    features = JointFeatures.fit(draw_sketch(shuffled, rng, compute), m + n, layout, kernels, rng)
    targets = np.where(labels == 0, n, -m) / (m + n)
    sums = sum_folds(features, points, targets, _thin(folds, count, rng), count, compute)
    every = list(range(count))
    half = every[: count // 2]
    within = [set(half) - {fold} for fold in half] if len(half) > 1 else [set(every) - {fold} for fold in half]
    fits = sums.fit([*(set(every) - {fold} for fold in every), *within, half, every], compute)
    coefficients = np.stack([fit.coefficients for fit in fits], 1)
    values = predict(features, points, coefficients, compute)
    if hashes is not None:
        _, first, equal = np.unique(hashes, return_index=True, return_inverse=True)
        values = values[first[equal]]
    rows = np.arange(m + n)
    own = values[rows, folds]
    searched = folds < len(half)
    search_values = np.where(searched, values[rows, count + np.minimum(folds, len(half) - 1)], values[:, -2])
    auc, interval = fold_auc(own, labels, folds, units, [fit.chance for fit in fits[:count]])
    kept = np.concatenate([coefficients[:, :count], coefficients[:, -1:]], 1)
    return CrossFit(own, folds, auc, interval, searched, search_values, features, kept)


def fold_auc(
    values: Array, labels: Array, folds: Array, units: Array, chance: list[float]
) -> tuple[float, tuple[float, float]]:
    """The mean AUC of all folds, each of its own regression, and its interval.

    Within a fold the regression is fixed, and the variance is that of DeLong et al. 1988, by units, each left out as a
    whole. But a fold's rows are also what other folds' regressions were learned from: what chance puts into a
    regression is met again, with the same sign, by the fold it came from. That part of the variance counts more than
    twice (LeDell et al. 2015 leave it out).

    Parameters
    ----------
    values, labels, folds, units
        Of each row.
    chance
        For each fold the variance of the values of its regression that is due to chance, if rows are independent.
    """
    placed, sizes, aucs = np.full(len(values), 0.5), np.zeros((len(chance), 2)), np.full(len(chance), 0.5)
    spread = np.zeros(len(chance))
    for fold in range(len(chance)):
        x, y = (np.flatnonzero((folds == fold) & (labels == k)) for k in (0, 1))
        if not len(x) or not len(y):
            continue
        placed[x], placed[y] = placements(values[x], values[y])
        aucs[fold], sizes[fold] = placed[x].mean(), (len(x), len(y))
        spread[fold] = values[np.concatenate([x, y])].var()
    weights = sizes.prod(1)
    if not weights.any():  # so few units that each fold has rows of one sample only
        return 0.5, (0.0, 1.0)
    auc = float(weights @ aucs / weights.sum())
    weights = weights / weights.sum()
    by_row, factor = _influences(placed, labels, folds, units, sizes, weights, aucs)
    by_unit = np.zeros((int(units.max()) + 1, 2))
    np.add.at(by_unit, (units, labels), by_row * factor)
    total = by_unit.sum(1)
    variance = float(total @ total)
    # What chance puts into a regression is as many times as much as for independent rows as it is for the AUC.
    alone = float(((by_row * np.where(factor > 0, np.sqrt(_larger(sizes)[folds, labels]), 0.0)) ** 2).sum())
    crowding = max(1.0, variance / alone) if alone > 0 else 1.0
    noise = crowding * float(weights @ np.asarray(chance)) / max(float(weights @ spread), 1e-300)
    used = [np.unique(units[(labels == k) & (factor > 0)]) for k in (0, 1)]
    parts, free = (by_unit**2).sum(0), np.array([max(len(part) - 1.0, 1.0) for part in used])
    by_size = (
        min(free)
        if len(np.intersect1d(used[0], used[1]))
        else variance**2 / max(float((parts**2 / free).sum()), 1e-300)
    )
    free_of_variance = min(by_size, 3 * variance**2 / max(float((total**4).sum()), 1e-300))
    smaller = min(len(np.unique(units[labels == k])) for k in (0, 1))
    if smaller < 2:  # one group says nothing of how much groups differ
        return auc, (0.0, 1.0)
    return auc, auc_interval(auc, variance * (1 + _AGAIN * min(1.0, noise)), smaller, free_of_variance)


def _larger(sizes: Array) -> Array:
    """By what a variance of each of some sizes is larger than a mean of squares about their mean."""
    found: Array = sizes / np.maximum(sizes - 1, 1)
    return found


def _influences(
    placed: Array, labels: Array, folds: Array, units: Array, sizes: Array, weights: Array, aucs: Array
) -> tuple[Array, Array]:
    """What each row adds to the mean AUC, and by what it counts more as its unit is left out as a whole.

    A sample that is a single unit in a fold is compared with other folds: there, all of the fold is what it adds. Where
    both samples are, half of it is of each.
    """
    cells = folds * 2 + labels
    pairs, of_row = np.unique(cells * (int(units.max()) + 1) + units, return_inverse=True)
    of_row = of_row.reshape(-1)
    cell = pairs // (int(units.max()) + 1)
    count = np.bincount(cell, minlength=sizes.size)  # units of each sample in each fold
    single = (count == 1)[cells]
    both = np.asarray((count.reshape(-1, 2) == 1).all(1))[folds]
    size = np.maximum(sizes.reshape(-1), 1)[cells]
    centre = np.where(single, float(weights @ aucs), aucs[folds])
    share = np.bincount(of_row)[of_row] / size
    left_out = np.sqrt((count - 1) / np.maximum(count, 1))[cells] / np.maximum(1 - share, 1e-9)
    factor = np.where(single, np.where(both, np.sqrt(0.5), 1.0), left_out)
    return weights[folds] * (placed - centre) / size, np.where(sizes.min(1)[folds] > 0, factor, 0.0)


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
