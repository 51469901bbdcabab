"""Families whose statistics are quadratic forms of kernel features: kernels, patches, kernels of the user."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from ..contrasts import Contrasts
from ..landmarks import GaussianFeatures, SimilarityFeatures
from ..rows import RowBlock, RowTransform
from ..scores import column_scores, harmonic_mean
from ..scoring import FamilyScore, FamilyScorer, StrongestStatistic
from ..spectral import SpectralForms, spectral_forms
from .base import BlockSums, Family, FeatureBlock

Array: TypeAlias = "np.ndarray[Any, Any]"

#: Landmarks and bandwidths of each family in a regression, and rows for each landmark.
_REGRESSION_LANDMARKS, _REGRESSION_BANDWIDTHS, _ROWS_PER_LANDMARK = 200, 3, 4


class SpectralFamily(Family):
    """Similarities to landmarks by several kernels; each kernel is a block of features.

    The sums of a block become quadratic forms as soon as they are known, so that large matrices are not kept. In small
    samples of unequal sizes the forms are corrected for their bias, which takes another pass over the rows. A reference
    keeps the directions of the forms instead of computing them for each batch.
    """

    similarities: SimilarityFeatures

    @abstractmethod
    def view(self, rows: RowBlock) -> Array:
        """The rows as the kernels see them."""

    @property
    def blocks(self) -> list[FeatureBlock]:
        """One for each kernel."""
        widths = self.similarities.widths
        return [FeatureBlock(self.name, j, width, group=f"{self.name} {j}") for j, width in enumerate(widths)]

    def features(self, rows: RowBlock, wanted: Sequence[int]) -> Iterator[Array]:
        """Centred similarities."""
        return self.similarities.features(self.view(rows), wanted)

    def form(
        self, block: FeatureBlock, sums: BlockSums, rows: int, contrasts: Contrasts, *, directions: bool = False
    ) -> SpectralForms | None:
        """The quadratic forms of a block; None if its features are constant."""
        whitening = self.similarities.whitening(block.index)
        return spectral_forms(*sums, rows, contrasts, whitening, directions=directions)

    def score(self, scorer: FamilyScorer, sums: Mapping[int, BlockSums]) -> FamilyScore | None:
        """The score of all forms, without a correction for bias."""
        forms = {j: self.form(self.blocks[j], part, scorer.rows, scorer.contrasts) for j, part in sums.items()}
        return self.score_forms(scorer, {j: made for j, made in forms.items() if made is not None}, {})

    def score_forms(
        self, scorer: FamilyScorer, forms: Mapping[int, SpectralForms], leverages: Mapping[int, Array]
    ) -> FamilyScore | None:
        """The score of the forms of each block, less the bias that leverages add."""
        if not forms:
            return None
        values = np.concatenate([form.values - leverages.get(j, 0.0) for j, form in forms.items()])
        scores, varies = column_scores(values, np.concatenate([form.skewness for form in forms.values()]))
        if not varies.any():
            return None
        names = [f"{self.similarities.names[j]}, {name}" for j, form in forms.items() for name in form.names]
        best = int(np.argmax(np.where(varies, scores[:, scorer.observed], -1)))
        return FamilyScore(harmonic_mean(scores[varies]), StrongestStatistic(names[best]))


class GaussianFamily(SpectralFamily):
    """A `SpectralFamily` of Gaussian kernels at several bandwidths."""

    similarities: GaussianFeatures

    def reduce_similarities(self, rows: int) -> GaussianFeatures:
        """Similarities at fewer bandwidths, to fewer landmarks: a regression sees all of them together."""
        landmarks = max(8, min(_REGRESSION_LANDMARKS, rows // _ROWS_PER_LANDMARK))
        return self.similarities.reduced(landmarks, _REGRESSION_BANDWIDTHS)

    def is_consistent(self, transform: RowTransform) -> bool:
        """Whether there is a mean for each bandwidth and landmark."""
        return self.similarities.is_consistent()
