"""The combined statistic of all families, and the result of the omnibus test."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from .families import Family
from .scores import calibrate_tail, harmonic_mean, rank_pvalue
from .scoring import CellScores, ColumnScore, FamilyScore, FamilyScorer, StrongestStatistic

Array: TypeAlias = "np.ndarray[Any, Any]"


@dataclass(frozen=True, eq=False)
class FamilyPValue:
    """The exact p-value of a family by itself, and its strongest statistic."""

    pvalue: float
    strongest: StrongestStatistic


@dataclass(frozen=True, eq=False)
class OmnibusResult:
    """The result of the omnibus test.

    Attributes
    ----------
    statistic, pvalue : float
        The combined score of the observed labels, and its rank among all permutations.
    null_distribution : ndarray
        The scores of the other permutations.
    families : dict of str to FamilyPValue
        Each family by itself, the one with the largest calibrated score first. Empty if nothing varies.
    columns, pairs : tuple of ColumnScore
        Columns and pairs of columns, with adjusted p-values.
    left_out : int
        Number of columns that were not compared one by one because there are too many.
    cells : CellScores, optional
        Cells of rows whose share may differ.
    """

    statistic: float
    pvalue: float
    null_distribution: Array
    families: dict[str, FamilyPValue] = field(default_factory=dict)
    columns: tuple[ColumnScore, ...] = ()
    pairs: tuple[ColumnScore, ...] = ()
    left_out: int = 0
    cells: CellScores | None = None


def combine_families(scored: Sequence[tuple[Family, FamilyScore | None]], scorer: FamilyScorer) -> OmnibusResult:
    """Combine the scores of families by the harmonic mean of calibrated p-values.

    Parameters
    ----------
    scored : sequence of (Family, FamilyScore or None)
        The families with their scores, None for those whose features do not vary.
    scorer : FamilyScorer
        What they were scored with.
    """
    known = [(family, score) for family, score in scored if score is not None]
    observed, left_out = scorer.observed, scorer.transform.left_out
    if not known:
        return OmnibusResult(0.0, 1.0, np.zeros(scorer.permutations.count - 1), left_out=left_out)
    calibrated = np.stack([calibrate_tail(score.scores) for _, score in known])
    total = harmonic_mean(calibrated)
    order = sorted(range(len(known)), key=lambda k: -calibrated[k, observed])
    return OmnibusResult(
        statistic=float(total[observed]),
        pvalue=float(rank_pvalue(total, observed)),
        null_distribution=np.delete(total, observed),
        families={
            known[k][0].name: FamilyPValue(float(rank_pvalue(known[k][1].scores, observed)), known[k][1].strongest)
            for k in order
        },
        columns=tuple(one for family, score in known if family.names == "columns" for one in score.columns),
        pairs=tuple(one for family, score in known if family.names == "pairs" for one in score.columns),
        left_out=left_out,
        cells=next((score.cells for _, score in known if score.cells is not None), None),
    )
