"""Scores of columns by their rank cosines: location, scale, shape, and all columns together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from ..ranks import COSINES, orthonormalize_sequentially
from ..scores import chi2_tail, column_scores, harmonic_mean, upper_tail
from ..scoring import DescribedColumn, FamilyScore, FamilyScorer, StrongestStatistic
from ..spectral import spectral_forms
from .base import BlockSums

Array: TypeAlias = "np.ndarray[Any, Any]"

#: A difference is reported as one of location or scale if their score is at least this share of the largest.
_PLAIN = 0.3
_KINDS = ("location", "scale", "shape", "shape")
#: Weights of the orthonormal components of a column in its statistics.
FILTERS = {
    "location": np.eye(COSINES)[0],
    "scale": np.eye(COSINES)[1],
    "Cramér–von Mises": 1.0 / np.arange(1, COSINES + 1) ** 2,
    "shape": np.ones(COSINES),
}


class CosineScores(NamedTuple):
    """Scores of columns (columns, permutations), what differs in each, and statistics summed over all columns."""

    scores: Array
    described: list[DescribedColumn]
    totals: dict[str, Array]


def score_columns(scorer: FamilyScorer, sums: BlockSums, columns: Sequence[int]) -> CosineScores:
    """Scores of numeric columns, at these positions in a row, from the sums of their rank cosines."""
    G, C = sums
    d, K = len(columns), COSINES
    grams = G.reshape(d, K, d, K)[np.arange(d), :, np.arange(d)] if G.ndim == 2 else G
    P, used = orthonormalize_sequentially(grams, C.reshape(d, K, -1), scorer.rows)
    squares = scorer.normalize_squares(scorer.contrasts.squares(P))
    single = np.zeros((len(FILTERS), d, scorer.permutations.count))
    totals = {}
    for f, (name, filter_weights) in enumerate(FILTERS.items()):
        weights = used * filter_weights
        varies = weights.sum(1) > 0
        q = np.einsum("dk,dkb->db", weights[varies], squares[varies])
        if f < 2:
            single[f, varies] = chi2_tail(q, scorer.degrees)
        else:
            k1, k2, k3 = ((weights[varies] ** p).sum(1)[:, None] * scorer.degrees for p in (1, 2, 3))
            single[f, varies] = upper_tail(q, k1, 2 * k2, math.sqrt(8) * k3 / k2**1.5)
        totals[name] = np.einsum("dk,dkb->b", weights, squares)
    best = _find_kind(single[:, :, scorer.observed])
    signs = scorer.find_signs(P[:, :2])
    # cos(πu) decreases with u, and cos(2πu) is large at both ends.
    directions = [-signs[:, 0], signs[:, 1], np.zeros(d, int), np.zeros(d, int)]
    described = [
        DescribedColumn((column,), _KINDS[best[c]], int(directions[best[c]][c])) for c, column in enumerate(columns)
    ]
    return CosineScores(harmonic_mean(single), described, totals)


def score_total(scorer: FamilyScorer, sums: BlockSums, totals: dict[str, Array], what: str) -> FamilyScore | None:
    """The score of all columns together: sums over columns, and ridge regressions on all cosines (additive models).

    The latter need the Gram matrix of all cosines.
    """
    scores, varies = column_scores(np.stack(list(totals.values())))
    kept, names = [scores[varies]], [name for name, v in zip(totals, varies, strict=True) if v]
    G, C = sums
    if G.ndim == 2:
        smooth = np.tile(1 / np.arange(1.0, COSINES + 1), len(G) // COSINES)
        forms = spectral_forms(G * smooth * smooth[:, None], C * smooth[:, None], scorer.rows, scorer.contrasts)
        if forms is not None:
            scores, varies = column_scores(forms.values, forms.skewness)
            kept.append(scores[varies])
            names += [f"ridge, {name}" for name, v in zip(forms.names, varies, strict=True) if v]
    scores = np.concatenate(kept)
    if not len(scores):
        return None
    strongest = f"all {what}: {names[int(np.argmax(scores[:, scorer.observed]))]}"
    return FamilyScore(harmonic_mean(scores), StrongestStatistic(strongest))


def _find_kind(scores: Array) -> Array:
    """For each column the statistic (row of ``scores``) that describes it: location or scale if nearly the largest."""
    plain = scores[:2].argmax(0)
    enough = scores[:2].max(0) >= _PLAIN * scores.max(0)
    kinds: Array = np.where(enough, plain, scores.argmax(0))
    return kinds
