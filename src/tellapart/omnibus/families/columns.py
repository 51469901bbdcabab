"""Single columns: rank cosines of numbers, indicators of categories."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np

from ...engine.rows import Gram, as_matrix
from ..ranks import COSINES
from ..rows import RowBlock, RowTransform
from ..scores import chi2_tail, column_scores, harmonic_mean
from ..scoring import ROUNDING, DescribedColumn, FamilyScore, FamilyScorer, StrongestStatistic
from ..sketch import Sketch
from .base import BlockSums, Family, FeatureBlock
from .cosines import score_columns, score_total

Array: TypeAlias = "np.ndarray[Any, Any]"

#: Maximum number of rank cosines of all columns for an additive ridge regression, which takes their eigendecomposition.
_MAX_ADDITIVE = 600
#: In a regression: rank cosines of all columns together, and the number of columns with one each.
_REGRESSION_COSINES, _REGRESSION_COLUMNS = 400, 800


@dataclass(frozen=True, eq=False)
class ColumnFamily(Family):
    """Each column by itself, and all columns together.

    Attributes
    ----------
    categories : tuple of tuple of int
        For each categorical column, the positions of its indicators.
    numbers : int
        Number of numeric columns.
    """

    categories: tuple[tuple[int, ...], ...]
    numbers: int

    name: ClassVar[str] = "columns"
    description: ClassVar[str] = "single columns"
    names: ClassVar[Literal["columns", "pairs"] | None] = "columns"
    bet_columns: ClassVar[int] = 64

    @classmethod
    def fit(cls, sketch: Sketch) -> ColumnFamily | None:
        """Compare all columns; None if there are none that vary."""
        transform = sketch.block.transform
        categories, numbers = transform.layout.categories, len(transform.numeric)
        return cls(categories, numbers) if categories or numbers else None

    @property
    def blocks(self) -> list[FeatureBlock]:
        """One for each categorical column, and one for all numeric columns."""
        blocks = [FeatureBlock(self.name, k, len(c), group=self.name) for k, c in enumerate(self.categories)]
        if self.numbers:
            # The cosines of few columns have one Gram matrix, for an additive model; those of many have one a column.
            gram: Gram = "full" if COSINES * self.numbers <= _MAX_ADDITIVE else "blocks"
            index, width = len(self.categories), COSINES * self.numbers
            blocks.append(FeatureBlock(self.name, index, width, gram, self.name, True, self._regression_cosines))
        return blocks

    @property
    def _regression_cosines(self) -> int:
        """Fewer rank cosines of each column if there are many columns, and none if there are too many."""
        if self.numbers > _REGRESSION_COLUMNS:
            return 0
        return max(1, min(COSINES, _REGRESSION_COSINES // self.numbers))

    def features(self, rows: RowBlock, wanted: Sequence[int]) -> Iterator[Array]:
        """Centred indicators, and rank cosines."""
        centre, ranks = rows.transform.centre, rows.transform.ranks
        for k in wanted:
            if k < len(self.categories):
                places = list(self.categories[k])
                yield (rows.values[:, places] - centre[places]).astype(np.float32)
            else:
                assert ranks is not None
                F = ranks.cosines(rows.ranks)
                yield as_matrix(F) if self.blocks[k].gram == "full" else F

    def score(self, scorer: FamilyScorer, sums: Mapping[int, BlockSums]) -> FamilyScore | None:
        """The largest column, and all columns together."""
        scores: list[Array] = []
        described: list[DescribedColumn] = []
        total = None
        last = len(self.categories)
        if last in sums:
            numeric = score_columns(scorer, sums[last], scorer.transform.numeric.tolist())
            scores.append(numeric.scores)
            described += numeric.described
            total = score_total(scorer, sums[last], numeric.totals, "columns")
        for k, columns in enumerate(self.categories):
            score = _score_category(scorer, sums[k])
            if score is not None:
                scores.append(score)
                described.append(DescribedColumn(columns, "share", 0))
        if not scores:
            return None
        joined = np.concatenate(scores)
        named = scorer.name_columns(joined, described)
        if len(joined) == 1:
            return FamilyScore(joined[0], StrongestStatistic("its only column"), named)
        best = StrongestStatistic(columns=described[int(np.argmax(joined[:, scorer.observed]))].columns)
        single = FamilyScore(harmonic_mean(joined), best, named)
        return scorer.add_total(single, total)

    def is_consistent(self, transform: RowTransform) -> bool:
        """Whether these are the columns of the rows."""
        return self.categories == transform.layout.categories and self.numbers == len(transform.numeric)


def _score_category(scorer: FamilyScorer, sums: BlockSums) -> Array | None:
    """The χ² score of a categorical column: (1, permutations); None if it does not vary."""
    G, C = sums
    eigenvalues, V = np.linalg.eigh(G)
    kept = eigenvalues > 1e-6 * max(eigenvalues[-1], 1e-3)
    if not kept.any():
        return None
    squares = scorer.contrasts.squares((V[:, kept] * eigenvalues[kept] ** -0.5).T @ C).sum(0)[None]
    degrees = float(kept.sum()) * scorer.degrees
    if not scorer.permutations.restricted:
        return chi2_tail(squares, degrees)
    scores, varies = column_scores(squares)
    return scores if varies[0] and squares.mean() > ROUNDING * float(kept.sum()) * scorer.degrees else None
