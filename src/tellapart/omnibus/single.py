"""Exact p-values of single columns: each by permutations of the rows in which it is observed.

A column is tested by itself: the p-value is valid if the observed values of this one column have the same distribution
in all samples, whatever the other columns, the dependence between columns and the missing values do. So Holm's
adjustment of these p-values controls the family-wise error rate of any set of columns, which step-down maxT does only
for columns with the same *joint* distribution (Huang, Xu, Calian & Hsu 2006).

Holm needs p-values far below those of the whole test. Three things make them cheap, and none affects validity: rows are
merged into blocks that are permuted as a whole (a subgroup of the permutations); permutations of a column end once it
has been reached often enough (Besag & Clifford 1991); and a column that is very different is certified by Chernoff's
bound for sums of draws without replacement, without any permutation.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from ..engine.rows import add_at
from ..stats.design import Design, number_combinations
from ..stats.permutations import NothingToExchange, draw_permutations, find_exchange
from .constants import TIE
from .families.cosines import FILTERS
from .ranks import Ranks, orthonormalize_sequentially
from .scores import harmonic_mean, upper_tail

Array: TypeAlias = "np.ndarray[Any, Any]"

#: Blocks that the smaller sample is merged into (fewer than twice as many), and strata of the same composition.
_BLOCKS = 256
#: Of a sample with more blocks than this, and more than this many times those of the smallest sample, no more are used.
_MOST, _TIMES = 4_096, 32
#: Exceedances at which permutations of a column end.
_ENOUGH = 32
#: Labels of blocks that are drawn together, and the minimum and maximum number of permutations drawn together.
_TOGETHER, _FEWEST_DRAWS, _MOST_DRAWS = 2**22, 250, 4_000
#: A tail bound up to this certifies a difference. It is added to the p-values of all other columns.
_CERTAIN = 1e-6
#: Weights of the components of a numeric column in its statistics, as in the family of columns.
_NUMBER_FORMS = np.stack(list(FILTERS.values()))
_ANY = Design()


@dataclass(frozen=True, eq=False)
class Blocks:
    """Rows merged into blocks that may be exchanged with each other within cells.

    Attributes
    ----------
    block
        The block of each row, -1 for rows that are not used.
    labels, cells
        The sample and the cell of each block.
    samples
        How many samples there are.
    """

    block: Array
    labels: Array
    cells: Array
    samples: int

    @classmethod
    def merge(cls, labels: Array, design: Design) -> Blocks:
        """Blocks of units (rows, or groups) of the same sample and cell; within a cell all have equally many units.

        Cells of the same composition, such as pairs, are merged too: units at the same place are exchanged together.
        The order of rows decides which are merged, so it must not depend on their values.

        >>> Blocks.merge(np.repeat([0, 1], [600, 1200]), Design()).labels.tolist().count(1)
        600
        """
        exchange = find_exchange(labels, design)
        samples = int(labels.max()) + 1
        units, lengths = np.concatenate(exchange.cells), [len(cell) for cell in exchange.cells]
        cell, label = np.repeat(np.arange(len(lengths)), lengths), exchange.labels[units].astype(np.int64)
        counts = np.zeros((len(lengths), samples), np.int64)
        np.add.at(counts, (cell, label), 1)
        # Places of units among those of their cell and sample.
        order = np.argsort(cell * samples + label, kind="stable")
        starts = np.cumsum(counts.ravel()) - counts.ravel()
        place = np.empty(len(units), np.int64)
        place[order] = np.arange(len(units)) - np.repeat(starts, counts.ravel())
        # Cells of one composition become at most about _BLOCKS merged ones.
        compositions, kind = np.unique(counts, axis=0, return_inverse=True)
        kind = kind.reshape(-1)
        alike = np.bincount(kind)
        together = np.maximum(alike // _BLOCKS, 1)
        rank = np.empty(len(kind), np.int64)
        rank[np.argsort(kind, kind="stable")] = np.concatenate([np.arange(n) for n in alike])
        merged = rank // together[kind]
        used = merged < (alike // together)[kind]
        # Blocks of units of one cell and sample.
        positive = np.where(compositions > 0, compositions, np.iinfo(np.int64).max)
        least = positive.min(1)
        used &= ((compositions > 0).sum(1) > 1)[kind]
        smallest = int((least * (alike // together))[(compositions > 0).sum(1) > 1].sum())
        size = np.clip(smallest // _BLOCKS, 1, least)
        whole = compositions // size[:, None]
        whole = np.minimum(whole, np.maximum(_MOST, _TIMES * (least // size))[:, None])
        number = place // size[kind[cell]]
        used_unit = used[cell] & (number < whole[kind[cell], label])
        keys = np.stack([kind[cell], merged[cell], label, number])[:, used_unit]
        place_of_key = number_combinations(*keys)
        found = keys[:, np.unique(place_of_key, return_index=True)[1]]
        block_of_unit = np.full(len(exchange.labels), -1, np.int64)
        block_of_unit[units[used_unit]] = place_of_key
        cells = number_combinations(*found[:2])
        return cls(block_of_unit[exchange.unit], found[2].astype(np.uint8), cells, samples)

    def sums(self, features: Array, strata: Array | None) -> Array:
        """Sums over blocks of features (rows, K), less the means of strata; centred within cells: (blocks, K)."""
        F = _less_means(np.asarray(features, np.float64), np.zeros(len(features), int) if strata is None else strata)
        used = self.block >= 0
        total = np.zeros((len(self.labels), F.shape[1]))
        add_at(total, self.block[used], F[used])
        return _less_means(total, self.cells)

    def spreads(self) -> Array:
        """What squares of centred block sums are multiplied by to give variances over permutations: (k, blocks)."""
        counts = np.zeros((int(self.cells.max()) + 1, self.samples))
        np.add.at(counts, (self.cells, self.labels), 1)
        total = counts.sum(1, keepdims=True)
        return np.asarray((counts * (total - counts) / (total * np.maximum(total - 1, 1)))[self.cells].T)


def _less_means(F: Array, cells: Array) -> Array:
    total = np.zeros((int(cells.max()) + 1 if len(cells) else 1, F.shape[1]))
    add_at(total, cells, F)
    rows = np.maximum(np.bincount(cells, minlength=len(total)), 1)[:, None]
    found: Array = F - (total / rows)[cells]
    return found


def number_features(values: Array) -> Array:
    """Rank cosines of a column of numbers: (rows, 6)."""
    ranks = Ranks.fit(values[:, None])
    found: Array = ranks.cosines(ranks(values[:, None]))[:, 0]
    return found


class SingleTests:
    """Tests of some columns, each by itself, with the same permutations.

    Parameters
    ----------
    blocks
        What is permuted.
    features
        For each column its features (rows, K), all of the same kind: rank cosines, or indicators of categories.
    strata
        The stratum of each row.
    numbers
        Whether the features are rank cosines.
    """

    def __init__(self, blocks: Blocks, features: Sequence[Array], strata: Array | None, numbers: bool) -> None:
        self.blocks = blocks
        width = max(part.shape[1] for part in features)
        F = np.zeros((len(features), width, len(blocks.labels)))
        for k, part in enumerate(features):
            F[k, : part.shape[1]] = blocks.sums(part, strata).T
        rows = np.bincount(blocks.block[blocks.block >= 0], minlength=len(blocks.labels))
        self.samples = range(blocks.samples) if blocks.samples > 2 else (1,)
        self.parts, used = [], np.zeros((len(features), width), bool)
        spreads = blocks.spreads()
        for k in self.samples:
            # The covariance over permutations: components of unit variance, location first.
            V = np.einsum("s,dks,dls->dkl", spreads[k], F, F, optimize=True)
            whitened, kept = orthonormalize_sequentially(V, F, round(float(spreads[k] @ rows)))
            self.parts.append(whitened)
            used |= kept
        of_sample = np.bincount(blocks.labels, weights=rows, minlength=blocks.samples) / rows.sum()
        self.weights = [1.0] if len(self.parts) == 1 else [1.0 - of_sample[k] for k in self.samples]
        forms = _NUMBER_FORMS if numbers else np.ones((1, width))
        self.forms = forms[:, None, :] * used  # (forms, columns, components)
        degrees = blocks.samples - 1
        k1, k2, k3 = ((self.forms**p).sum(2) * degrees for p in (1, 2, 3))
        self.varies = k1 > 0
        k1, k2, k3 = (np.where(self.varies, part, 1.0) for part in (k1, k2, k3))
        self.law = k1, 2 * k2, math.sqrt(8) * k3 / k2**1.5
        observed = self.values(blocks.labels[:, None], np.arange(len(features)))
        scores = harmonic_mean(self._tails(observed[..., 0]))
        #: What a score must reach, and the values from which a form may do so.
        self.least = scores - TIE * np.maximum(1.0, scores)
        self.thresholds = self._thresholds()

    def values(self, labels: Array, columns: Array) -> Array:
        """Statistics (statistics, columns, permutations) of some columns for permuted labels (blocks, permutations)."""
        total: Any = 0.0
        for k, part, weight in zip(self.samples, self.parts, self.weights, strict=True):
            chosen = (labels if self.blocks.samples == 2 else labels == k).astype(np.float32)
            U = part[columns].astype(np.float32).reshape(-1, part.shape[2])
            total = total + np.float32(weight) * np.square(U @ chosen)
        squares = total.reshape(len(columns), -1, labels.shape[1])
        forms = self.forms[:, columns].astype(np.float32)
        return np.asarray((forms.transpose(1, 0, 2) @ squares).transpose(1, 0, 2))

    def _tails(self, values: Array, columns: Array | slice = slice(None)) -> Array:
        """-log p of forms of some columns (which may occur more than once): (forms, columns)."""
        mean, variance, skewness = (part[:, columns] for part in self.law)
        tails = upper_tail(values.astype(np.float64), mean, variance, skewness)
        return np.where(self.varies[:, columns], tails, 0.0)

    def pvalues(self, permutations: int, rng: np.random.Generator) -> Array:
        """The p-values, from up to this many permutations."""
        found = np.ones(len(self.least))
        count = min(max(_TOGETHER // len(self.blocks.labels), _FEWEST_DRAWS), _MOST_DRAWS)
        reached, drawn, certified = np.zeros(len(found), np.int64), 0, np.zeros(len(found), bool)
        active = np.arange(len(found))
        while drawn < permutations and len(active):
            count = min(count, permutations - drawn)
            drawn_labels = draw_permutations(self.blocks.labels, count, rng, Design(strata=self.blocks.cells))
            labels = drawn_labels.codes(slice(None))
            if drawn_labels.complete:
                found[active] = self._reaches(labels, active).mean(1)
                return found
            if not drawn:
                certified = self._bounds() <= _CERTAIN
                active = active[~certified]
                if not len(active):
                    break
            hits = np.delete(self._reaches(labels, active), drawn_labels.observed, axis=1)
            total = reached[active, None] + np.cumsum(hits, axis=1)
            done = total[:, -1] >= _ENOUGH
            last = np.argmax(total >= _ENOUGH, axis=1)
            found[active[done]] = _ENOUGH / (drawn + last[done] + 1)
            reached[active] = total[:, -1]
            active, drawn = active[~done], drawn + hits.shape[1]
        found[active] = (reached[active] + 1) / (drawn + 1)
        return np.minimum(np.where(certified, 2 * _CERTAIN, found + _CERTAIN), 1.0)

    def _reaches(self, labels: Array, columns: Array) -> Array:
        """Which permutations have at least the observed score; ties within rounding count."""
        values = self.values(labels, columns)
        # A score is at most the largest of its tails: one of the forms must reach its threshold.
        hits: Array = np.any(values >= self.thresholds[:, columns, None], axis=0)
        column, draw = np.nonzero(hits)
        if len(column):
            scores = harmonic_mean(self._tails(values[:, column, draw], columns[column]))
            hits[column, draw] = scores >= self.least[columns[column]]
        return hits

    def _thresholds(self) -> Array:
        """Values below which the tail of a form is less than what a score must reach: by bisection."""
        low, high = np.zeros(self.varies.shape), np.full(self.varies.shape, 1.0)
        while (small := (self._tails(high) < self.least) & (high < 1e9)).any():
            high = np.where(small, 2 * high, high)
        for _ in range(10):
            middle = (low + high) / 2
            below = self._tails(middle) < self.least
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        return np.where(self.varies | (self.least <= 0), low * (1 - 1e-5), np.inf)

    def _bounds(self) -> Array:
        """Chernoff's bounds of P(|S_k| ≥ observed), of the best component, times the number of components and signs.

        S_k sums the blocks of one sample: m of the n blocks of each cell, without replacement. So log E exp(λ S) is at
        most the sum over cells of the smaller of m log(mean of exp(λ u)), that of draws with replacement, and
        Σ log(1 - q + q exp(λ u)) - log P(Binomial(n, q) = m), q = m / n, that of independent draws given their number.
        """
        order = np.argsort(self.blocks.cells, kind="stable")
        starts = np.flatnonzero(np.diff(self.blocks.cells[order], prepend=-1))
        size = np.diff(np.append(starts, len(order)))
        best = np.full(len(self.least), np.inf)
        tests = 2 * sum(part.shape[1] for part in self.parts)
        for k, part in zip(self.samples, self.parts, strict=True):
            chosen = (self.blocks.labels[order] == k).astype(float)
            U = part[:, :, order] * np.sign(part[:, :, order] @ chosen)[..., None]
            z = U @ chosen
            drawn = np.add.reduceat(chosen, starts)
            q = np.repeat(drawn / size, size)
            number = np.array([_log_binomial(n, m) for n, m in zip(size.tolist(), drawn.tolist(), strict=True)])
            for share in (0.5, 0.75, 1.0):
                power = np.minimum(share * z[..., None] * U, 600.0)
                sums = np.add.reduceat(np.stack([np.exp(power), np.log1p(q * np.expm1(power))]), starts, axis=-1)
                log = np.minimum(drawn * np.log(sums[0] / size), sums[1] - number).sum(-1) - share * z**2
                log = np.where((power >= 600.0).any(-1), 0.0, log)
                best = np.minimum(best, tests * np.exp(np.minimum(log, 0.0)).min(1))
        return best


def _log_binomial(n: int, m: float) -> float:
    """log P(Binomial(n, m / n) = m)."""
    if m in (0, n):
        return 0.0
    log = math.lgamma(n + 1) - math.lgamma(m + 1) - math.lgamma(n - m + 1)
    return log + m * math.log(m / n) + (n - m) * math.log1p(-m / n)


def _in_order_of_rows(codes: Array) -> Array:
    """Codes by first occurrence: neighbours are merged, and the codes that a user gave may have to do with values.

    >>> _in_order_of_rows(np.array([7, 3, 7, 5]))
    array([0, 1, 0, 2])
    """
    _, first, inverse = np.unique(codes, return_index=True, return_inverse=True)
    found: Array = np.argsort(np.argsort(first))[inverse.reshape(-1)]
    return found


def single_pvalues(
    columns: Sequence[Array],
    present: Array | None,
    labels: Array,
    permutations: int,
    rng: np.random.Generator,
    design: Design = _ANY,
) -> Array:
    """P-values of columns, each by itself.

    Parameters
    ----------
    columns
        Columns of numbers (rows,), or indicators of categories (rows, levels); all of one kind.
    present
        Which rows have a value; None for all.
    labels
        The sample of each row. The order of rows must not depend on their values.
    permutations
        How many there are at most.
    rng
        Where they come from.
    design
        Which rows may be exchanged.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> labels, x = np.repeat([0, 1], 100), rng.normal(size=200)
    >>> single_pvalues([x, x + 1.0 * labels, x + 9.0 * labels], None, labels, 9_999, rng) <= 0.01
    array([False,  True,  True])
    """
    if present is not None:
        columns, labels = [column[present] for column in columns], labels[present]
        design = design.take(np.flatnonzero(present))
    if len(np.unique(labels)) < 2:
        return np.ones(len(columns))
    labels = np.unique(labels, return_inverse=True)[1].reshape(-1)
    groups, strata = (None if codes is None else _in_order_of_rows(codes) for codes in (design.groups, design.strata))
    blocks = Blocks.merge(labels, Design(groups, strata, design.paired, design.equal_groups))
    numbers = columns[0].ndim == 1
    features = [number_features(column) if numbers else column for column in columns]
    try:
        return SingleTests(blocks, features, strata, numbers).pvalues(permutations, rng)
    except NothingToExchange:
        return np.ones(len(columns))
