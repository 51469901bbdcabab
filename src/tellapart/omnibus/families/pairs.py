"""Pairs of columns: products of their normal scores, whose means are rank correlations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np

from ..ranks import normal_scores
from ..rows import RowBlock, RowTransform, are_positions
from ..scores import chi2_tail, column_scores, harmonic_mean
from ..scoring import DescribedColumn, FamilyScore, FamilyScorer, StrongestStatistic
from ..sketch import Sketch
from .base import BlockSums, Family, FeatureBlock
from .columns import ColumnFamily

Array: TypeAlias = "np.ndarray[Any, Any]"

#: Maximum number of pairs; with more, those that depend most on each other.
MAX_PAIRS = 2_000
#: Maximum number of pairs in a regression.
_REGRESSION_PAIRS = 200


@dataclass(frozen=True, eq=False)
class PairFamily(Family):
    """Each pair of numeric columns, and all pairs together.

    Attributes
    ----------
    first, second : ndarray of int
        Numbers of the two columns of each pair among the numeric columns.
    means : ndarray
        Mean products over the sketch.
    """

    first: Array
    second: Array
    means: Array

    name: ClassVar[str] = "pairs"
    description: ClassVar[str] = "pairs of columns"
    names: ClassVar[Literal["columns", "pairs"] | None] = "pairs"
    extends: ClassVar[str | None] = ColumnFamily.name

    @classmethod
    def fit(cls, sketch: Sketch) -> PairFamily | None:
        """Choose all pairs, or those that depend most on each other; None for images and single columns."""
        ranks = sketch.block.transform.ranks
        if ranks is None or len(ranks.values) < 2 or sketch.layout.image_shape is not None:
            return None
        scores = normal_scores(sketch.block.ranks, ranks.rows)
        d = scores.shape[1]
        means = scores.T @ scores / np.float32(len(scores))
        if d * (d - 1) // 2 <= MAX_PAIRS:
            i, j = np.triu_indices(d, 1)
        else:
            unit = scores - scores.mean(0)
            unit /= np.maximum(np.linalg.norm(unit, axis=0), np.float32(1e-30))
            i, j = np.divmod(_largest(np.triu(np.abs(unit.T @ unit), 1).ravel(), MAX_PAIRS), d)
        return cls(i, j, means[i, j])

    @property
    def blocks(self) -> list[FeatureBlock]:
        """One for all pairs, of which only squares are summed."""
        return [FeatureBlock(self.name, 0, len(self.first), "diagonal", self.name)]

    def features(self, rows: RowBlock, wanted: Sequence[int]) -> Iterator[Array]:
        """Products of normal scores, less their mean."""
        ranks = rows.transform.ranks
        assert ranks is not None
        scores = normal_scores(rows.ranks, ranks.rows)
        for _ in wanted:
            yield scores[:, self.first] * scores[:, self.second] - self.means

    def score(self, scorer: FamilyScorer, sums: Mapping[int, BlockSums]) -> FamilyScore | None:
        """The largest pair, and the sum of all."""
        variance, C = sums[0]
        used = np.flatnonzero(variance > 1e-5 * scorer.rows)
        if not len(used):
            return None
        P = C[used] / np.sqrt(variance[used, None])
        squares = scorer.normalize_squares(scorer.contrasts.squares(P))
        scores = chi2_tail(squares, scorer.degrees)
        i, j = (scorer.transform.numeric[side[used]].tolist() for side in (self.first, self.second))
        signs = scorer.find_signs(P).tolist()
        described = [DescribedColumn((a, b), "dependence", sign) for a, b, sign in zip(i, j, signs, strict=True)]
        best = StrongestStatistic(columns=described[int(np.argmax(scores[:, scorer.observed]))].columns)
        largest = FamilyScore(harmonic_mean(scores), best, scorer.name_columns(scores, described))
        total, varies = column_scores(squares.sum(0)[None])
        if len(used) == 1 or not varies[0]:
            return largest
        return scorer.add_total(largest, FamilyScore(total[0], StrongestStatistic("all pairs together")))

    def reduced(self, rows: int) -> Family:
        """The pairs that depend most on each other."""
        if len(self.first) <= _REGRESSION_PAIRS:
            return self
        best = _largest(np.abs(self.means), _REGRESSION_PAIRS)
        return replace(self, first=self.first[best], second=self.second[best], means=self.means[best])

    def is_consistent(self, transform: RowTransform) -> bool:
        """Whether these are pairs of columns of the rows."""
        columns = len(transform.numeric)
        return (
            len(self.first) == len(self.second) == len(self.means) > 0
            and are_positions(self.first, columns)
            and are_positions(self.second, columns)
        )


def _largest(values: Array, count: int) -> Array:
    """Positions of the largest values, in order."""
    return np.sort(np.argpartition(-values, count - 1)[:count])
