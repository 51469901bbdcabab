"""Bets on batches against rows of a reference, each of which is used once."""

from __future__ import annotations

import math
from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from .._util import workers
from ..omnibus.fixed import FixedTest
from ..stats.betting import Betting, Groups
from .reference import Batch, Reference

Array: TypeAlias = "np.ndarray[Any, Any]"

#: Rows of the reference that bets are calibrated on at the most, and the share of them.
_CALIBRATION, _SHARE = 4_096, 0.25
#: Fresh rows that a batch is bet on with: one in (t + the first) of those left and in the second, where batches so far
#: look like the reference; and one in the third of those left where they do not, or bets go well.
_PARTS, _SPARED, _SPENT = 32, 6, 8
#: Features of bets: number of kernels, of components of each, and of rank cosines of each column (location and scale).
_KERNELS, _COMPONENTS, _COSINES = 2, 32, 2


class Bets:
    """Evidence that is staked on a stream of batches; it is an e-value at every time.

    Attributes
    ----------
    betting
        What the capital is staked by.
    features
        What ratios are learned from.
    used
        How many rows of the reference have been bet on.
    """

    def __init__(self, reference: Reference) -> None:
        self.features = BetFeatures.of(reference)
        self.betting = Betting(self.features.groups)
        self.reference = reference
        self.used = 0

    @property
    def evidence(self) -> float:
        """What 1 has become."""
        return self.betting.capital

    @property
    def total(self) -> int:
        """Rows of the reference that there are, or were, to bet on."""
        return self.features.fresh

    @property
    def left(self) -> int:
        """Rows of the reference that are still fresh."""
        return self.total - self.used

    def add(self, batch: Batch, rng: np.random.Generator) -> int:
        """Bet on a batch, and say with how many fresh rows of the reference.

        Its rows are taken in random order: what is learned from some of them is staked on the others, which must not be
        the larger ones because a file is sorted.
        """
        part = _SPENT if self.betting.promising else _SPARED * (self.betting.batches + _PARTS)
        rows = batch.rows[rng.permutation(len(batch.rows))]
        count = min(len(rows), math.ceil(self.left / part)) if self.left > 0 else 0
        fresh = self.reference.kept(slice(self.used, self.used + count), batch.single)
        self.used += count
        self.betting.bet(self.features(rows), self.features(fresh))
        return count

    def copy(self) -> Bets:
        """Another that goes on from here."""
        found = copy(self)
        found.betting = self.betting.copy()
        return found

    def to_dict(self) -> dict[str, Any]:
        """The state as plain values."""
        return {"used": self.used, "betting": self.betting.to_dict()}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from a state; a complaint (ValueError, KeyError, TypeError) if it does not fit."""
        used = int(state["used"])
        if not 0 <= used <= self.total:
            raise ValueError("more rows are used than there are")
        self.betting.restore(state["betting"])
        self.used = used


@dataclass(frozen=True, eq=False)
class BetFeatures:
    """Features that bets are made with: components of some kernels, and ranks and categories of single columns.

    The last of the kept rows give their means and covariance; the first ``fresh`` of them are there to be bet on.
    """

    test: FixedTest
    groups: Groups
    fresh: int

    @classmethod
    def of(cls, reference: Reference) -> BetFeatures:
        """Those of a reference."""
        known = reference.contents
        calibration = min(_CALIBRATION, math.ceil(_SHARE * len(known.rows)))
        parts = _features(known.test, reference.kept(slice(len(known.rows) - calibration, None)))
        groups = Groups.fit(_side_by_side(parts, calibration), [part.shape[1] for part in parts])
        return cls(known.test, groups, len(known.rows) - calibration)

    def __call__(self, rows: Array) -> Array:
        """The features of some rows: (rows, all features)."""
        return _side_by_side(_features(self.test, rows), len(rows))


def _side_by_side(parts: list[Array], rows: int) -> Array:
    return np.concatenate(parts, axis=1) if parts else np.zeros((rows, 0), np.float32)


def _features(test: FixedTest, rows: Array) -> list[Array]:
    """One array for each group, with the same bits for every number of threads of BLAS."""
    plan = test.plan
    kernels = list(test.directions.items())
    # The narrowest of all, and one in the middle.
    chosen = dict(kernels[:: max(1, len(kernels) // _KERNELS)][:_KERNELS])
    scale = math.sqrt(plan.rows)
    groups = []
    with workers.one_core(), np.errstate(all="ignore"):
        for block, F in plan.features(rows, list(chosen)):
            # Eigenvalues increase, so the last components have the largest.
            groups.append(F @ chosen[block].directions[:, -_COMPONENTS:] * scale)
        for family in plan.families:
            if family.bet_columns:
                parts = plan.features(rows, family.blocks)
                leading = [block.leading(F, _COSINES, family.bet_columns) for block, F in parts]
                groups.append(np.concatenate(leading, axis=1))
    return groups
