"""What a family is: features of rows, their score for every permutation, and the columns that it names."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np

from ...engine.rows import Gram, Size, as_matrix
from ..ranks import COSINES
from ..rows import RowBlock, RowTransform
from ..scoring import FamilyScore, FamilyScorer
from ..sketch import Sketch

Array: TypeAlias = np.ndarray[Any, Any]

#: G = FᵀF and C = FᵀW of a block of features F, centred (within strata), with contrasts W.
BlockSums: TypeAlias = tuple[Array, Array]


@dataclass(frozen=True)
class FeatureBlock:
    """Features that are summed together: those of one kernel, of one categorical column, of all pairs, …

    Attributes
    ----------
    family : str
        The name of the family.
    index : int
        The number of the block in the family.
    width : int
        Number of features.
    gram : {"full", "blocks", "diagonal"}
        Which products of features are summed: all, those within each column, or squares only.
    group : str
        Features of one group enter a regression together.
    cosines : bool
        Whether the features are rank cosines of columns.
    regression_cosines : int
        How many rank cosines of each column enter a regression.
    """

    family: str
    index: int
    width: int
    gram: Gram = "full"
    group: str = ""
    cosines: bool = False
    regression_cosines: int = 0

    def size(self, contrasts: int) -> Size:
        """Memory and operations of the sums, with this number of columns of contrasts."""
        gram = {"full": self.width**2, "blocks": COSINES * self.width, "diagonal": self.width}[self.gram]
        return Size(8 * (gram + self.width * (contrasts + 1)), 16 * self.width, 2.0 * (gram + self.width * contrasts))

    def leading(self, F: Array, cosines: int, columns: int | None = None) -> Array:
        """Of rank cosines, the first ones of the first columns; all other features unchanged."""
        if not self.cosines:
            return F
        return as_matrix(F.reshape(len(F), self.width // COSINES, COSINES)[:, :columns, :cosines])


class Family(ABC):
    """A family of statistics that compare one aspect of the samples.

    A subclass is a frozen dataclass, whose fields are what `fit` has fixed: they are saved with a reference. It sees
    rows without their labels until `score`, which gets sums over rows and must treat all permutations alike.
    ``tests/omnibus/test_families.py`` tests every family in `FAMILIES`.

    Attributes
    ----------
    name : str
        The key of the family in results.
    description : str
        What it compares, for readers of results.
    names : {"columns", "pairs"}, optional
        What its `ColumnScore`s are, if it has any.
    extends : str, optional
        The group of features without which a regression does not use those of this family.
    bet_columns : int
        Number of columns whose location and scale a `Monitor` bets on; 0 if it does not bet on this family.
    parts : tuple of type
        Classes of objects among its fields, for files.
    """

    name: ClassVar[str]
    description: ClassVar[str]
    names: ClassVar[Literal["columns", "pairs"] | None] = None
    extends: ClassVar[str | None] = None
    bet_columns: ClassVar[int] = 0
    parts: ClassVar[tuple[type, ...]] = ()

    @classmethod
    @abstractmethod
    def fit(cls, sketch: Sketch) -> Family | None:
        """Fix the features on a sketch of the pooled rows; None if this family does not apply."""

    @property
    @abstractmethod
    def blocks(self) -> list[FeatureBlock]:
        """The blocks of features, in order."""

    @abstractmethod
    def features(self, rows: RowBlock, wanted: Sequence[int]) -> Iterator[Array]:
        """Features of some rows, for the blocks with these numbers: (rows, width) each.

        Those of a row must not depend on the other rows of the block. Blocks with ``gram="blocks"`` are (rows, columns,
        6).
        """

    @abstractmethod
    def score(self, scorer: FamilyScorer, sums: Mapping[int, BlockSums]) -> FamilyScore | None:
        """The score of every permutation from the sums of all blocks; None if the features do not vary."""

    def reduced(self, rows: int) -> Family:
        """The same with fewer features, for a regression on ``rows`` rows."""
        return self

    def is_consistent(self, transform: RowTransform) -> bool:
        """Whether the fields fit together and to the rows: those of a file may be anything."""
        return True
