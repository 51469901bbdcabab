"""Families of features: what each makes of rows, and which of that is summed by itself, as its members."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, TypeAlias

import numpy as np
import torch
from torch import Tensor

from ...engine.rows import Gram, Size
from .components import ComponentFeatures
from .constants import COSINES, MAX_ADDITIVE
from .landmarks import SimilarityFeatures
from .ranks import PairFeatures, Ranks, normal_scores

Array: TypeAlias = "np.ndarray[Any, Any]"
#: Rows in another form, such as the one that distances are measured of.
View: TypeAlias = Callable[[Tensor], Tensor]


@dataclass(frozen=True)
class Member:
    """Features that are summed by themselves: one kernel of a family, one column of categories, …

    Attributes
    ----------
    family, index
        The name of its family, and its number there.
    kind
        What it is taken together with in a regression: ``"columns"``, ``"components"``, ``"pairs"``, or one kernel.
    width, gram
        How many features it has, and which of their products are summed.
    cosines
        Whether they are the rank cosines of columns.
    """

    family: str
    index: int
    kind: str
    width: int
    gram: Gram = "full"
    cosines: bool = False

    def size(self, contrasts: int) -> Size:
        """What its sums take, with so many columns of contrasts."""
        gram = {"full": self.width**2, "blocks": COSINES * self.width, "diagonal": self.width}[self.gram]
        return Size(8 * (gram + self.width * (contrasts + 1)), 16 * self.width, 2.0 * (gram + self.width * contrasts))

    def leading(self, F: Tensor, cosines: int, columns: int | None = None) -> Tensor:
        """Of rank cosines only the first ones, of the first columns; of other features all."""
        if not self.cosines:
            return F
        return F.reshape(len(F), self.width // COSINES, COSINES)[:, :columns, :cosines].flatten(1)


class Rows:
    """Some rows, and their ranks, which are found once for all families that want them."""

    def __init__(self, values: Tensor, rank: Callable[[Tensor], Array]) -> None:
        self.values, self._rank = values, rank

    @cached_property
    def ranks(self) -> Array:
        """Those of all columns that are looked at one by one."""
        return self._rank(self.values)


class Family(Protocol):
    """Features of one kind."""

    @property
    def name(self) -> str:
        """What members call it by."""

    @property
    def members(self) -> list[Member]:
        """What is summed by itself."""

    def features(self, rows: Rows, wanted: Sequence[int]) -> Iterator[Tensor]:
        """Those of some rows, of the members with these numbers."""


@dataclass(frozen=True, eq=False)
class KernelFamily:
    """Similarities to landmarks by several kernels, which share what they are computed of."""

    name: str
    similar: SimilarityFeatures
    view: View | None

    @property
    def members(self) -> list[Member]:
        """One for each kernel."""
        return [Member(self.name, j, f"{self.name} {j}", width) for j, width in enumerate(self.similar.widths)]

    def features(self, rows: Rows, wanted: Sequence[int]) -> Iterator[Tensor]:
        """The similarities, centred."""
        seen = rows.values if self.view is None else self.view(rows.values)
        return self.similar.features(seen, wanted)


@dataclass(frozen=True, eq=False)
class CategoryFamily:
    """Indicators of categories, centred."""

    columns: tuple[tuple[int, ...], ...]
    centre: Array
    name: str = "category"

    @property
    def members(self) -> list[Member]:
        """One for each column of categories."""
        return [Member(self.name, k, "columns", len(places)) for k, places in enumerate(self.columns)]

    def features(self, rows: Rows, wanted: Sequence[int]) -> Iterator[Tensor]:
        """The indicators of each column."""
        for k in wanted:
            places = list(self.columns[k])
            yield torch.from_numpy(rows.values.numpy()[:, places] - self.centre[places]).float()


@dataclass(frozen=True, eq=False)
class ComponentFamily:
    """Rank cosines of principal components."""

    components: ComponentFeatures
    ranks: Ranks
    numeric: Array
    view: View
    name: str = "components"

    @property
    def members(self) -> list[Member]:
        """All components together."""
        return [Member(self.name, 0, "components", COSINES * len(self.components.names), cosines=True)]

    def features(self, rows: Rows, wanted: Sequence[int]) -> Iterator[Tensor]:
        """All of them."""
        yield self.ranks.cosines(self.ranks(self.components(self.view(rows.values)[:, self.numeric]))).flatten(1)


@dataclass(frozen=True, eq=False)
class CoordinateFamily:
    """Rank cosines of single columns."""

    ranks: Ranks
    name: str = "columns"

    @property
    def columns(self) -> int:
        """How many there are."""
        return len(self.ranks.values)

    @property
    def gram(self) -> Gram:
        """Rank cosines of few columns have a Gram matrix, and an additive model; those of many have one a column."""
        return "full" if COSINES * self.columns <= MAX_ADDITIVE else "blocks"

    @property
    def members(self) -> list[Member]:
        """All columns together."""
        return [Member(self.name, 0, "columns", COSINES * self.columns, self.gram, cosines=True)]

    def features(self, rows: Rows, wanted: Sequence[int]) -> Iterator[Tensor]:
        """All of them, those of a column in a dimension of their own where each has its Gram matrix."""
        F = self.ranks.cosines(rows.ranks)
        yield F.flatten(1) if self.gram == "full" else F


@dataclass(frozen=True, eq=False)
class PairFamily:
    """Products of the normal scores of two columns."""

    pairs: PairFeatures
    ranked: int
    name: str = "pairs"

    @property
    def members(self) -> list[Member]:
        """All pairs together."""
        return [Member(self.name, 0, "pairs", len(self.pairs.first), "diagonal")]

    def features(self, rows: Rows, wanted: Sequence[int]) -> Iterator[Tensor]:
        """All of them."""
        yield self.pairs(normal_scores(rows.ranks, self.ranked))
