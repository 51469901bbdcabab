"""A sequential test by betting: false with probability at most α over a stream without end (MATHS §11).

Before each batch arrives, witness functions are learned from the batches before it, and capital is staked on them: that
their means over the batch exceed those over as many fresh rows of the reference. If both come from one law, each bet is
fair, whatever was learned, so the capital is a martingale that starts at 1: it ever reaches 1/α with probability at
most α (Ville). If they differ, a witness that sees it makes the capital grow exponentially (Shekhar & Ramdas 2023;
Podkopaev & Ramdas 2023). Every row of the reference is bet on once, for it is not fresh again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np

Array: TypeAlias = "np.ndarray[Any, Any]"

#: Batches after which what was learned counts half.
HALF_LIVES = (0.5, 3.0, 30.0)
#: A batch is cut into pieces, at most so many, of at least so many pairs: what is learned from one is staked on the
#: next.
PIECES, PAIRS = 8, 8
#: Witnesses are cut off at so many standard deviations of theirs.
CUT = 3.0
#: The smallest and the largest share of a witness's capital that is staked on a pair of rows, and the share of capital
#: that goes back from bets to cash with each batch.
SMALLEST, LARGEST, BACK = 0.1, 0.7, 0.02
#: Cash goes to bets in shares 1/(t + this): a drift that begins late costs a logarithm.
PATIENCE = 10
#: What a stake is at the most: what is beyond is given away, which keeps the capital below a martingale. So many pairs
#: at a time, it stays a number.
MOST, _TOGETHER = 1e100, 256
#: Pairs of rows that a stake remembers, and is careful by.
_MEMORY, _PRIOR = 400.0, 20.0


@dataclass(frozen=True, eq=False)
class Group:
    """Features that one witness is learned from: columns of φ, their mean and covariance, and the ridge of learning.

    Attributes
    ----------
    columns
        Which features.
    mean, covariance
        Over rows of the reference that are never bet on.
    inverse
        What makes the best direction of a difference of means.
    rows
        How many rows these were.
    """

    columns: slice
    mean: Array
    covariance: Array
    inverse: Array
    rows: int

    @classmethod
    def fit(cls, features: Array, columns: slice, ridge: float = 0.3) -> Group:
        """From features of rows of the reference."""
        some = features[:, columns].astype(np.float64)
        mean, covariance = some.mean(0), np.cov(some.T, ddof=0).reshape(some.shape[1], -1)
        size = float(np.trace(covariance)) / len(covariance) or 1.0
        inverse = np.linalg.inv(covariance + ridge * size * np.eye(len(covariance)))
        return cls(columns, mean, covariance, inverse, len(some))


class Betting:
    """Capital, and what it is staked by. `to_dict` is all of its state.

    Parameters
    ----------
    groups
        Features that witnesses are learned from, one witness for each and for each half-life.
    """

    def __init__(self, groups: Sequence[Group]) -> None:
        self.groups = tuple(groups)
        experts = len(groups) * len(HALF_LIVES)
        self.batches = 0
        self.cash = 1.0
        self.stakes = np.zeros(experts)
        self.totals = [np.zeros((len(HALF_LIVES), len(group.mean))) for group in groups]
        self.counts = np.zeros(len(HALF_LIVES))
        #: Discounted sums of gains and of their squares, and how many, of each witness.
        self.record = np.zeros((3, experts))

    @property
    def capital(self) -> float:
        """What 1 has become: evidence against the null hypothesis, an e-value at every time."""
        return float(self.cash + self.stakes.sum())

    @property
    def promise(self) -> float:
        """How far batches so far are from the reference, in standard deviations beyond what chance would give.

        It is known before the next batch, so it may decide how many fresh rows are bet on.
        """
        found = [0.0]
        if self.counts[0] > 0:
            for group, totals in zip(self.groups, self.totals, strict=True):
                difference = totals / self.counts[:, None] - group.mean
                variance = group.covariance.diagonal() * (1 / self.counts[:, None] + 1 / group.rows)
                z2 = difference**2 / np.maximum(variance, 1e-12)
                k = z2.shape[1]
                found += [
                    float(((z2.sum(1) - k) / np.sqrt(2 * k)).max()),
                    float(np.sqrt(z2.max()) - np.sqrt(2 * np.log(k + 1))),
                ]
        return max(found)

    def bet(self, batch: Array, fresh: Array) -> float:
        """Stake on a batch, and learn from it. Features φ of its rows and of fresh rows of the reference, no more.

        Returns
        -------
        The capital after it.
        """
        self.batches += 1
        pieces = max(1, min(PIECES, len(fresh) // PAIRS))
        ends = np.linspace([0, 0], [len(batch), len(fresh)], pieces + 1).astype(int)
        for (a, b), (c, d) in pairwise(ends):
            if d > b and c > a and self.counts[0] > 0:
                self._share(pieces)
                self._stake(self._gains(batch[a:c], fresh[b:d]))
            self._learn(batch[a:c], pieces)
        return self.capital

    def _share(self, pieces: int) -> None:
        """Move capital between cash and bets: it stays the same."""
        given = self.cash / (self.batches + PATIENCE) / pieces
        back = BACK / pieces * self.stakes
        self.cash += float(back.sum()) - given
        self.stakes = self.stakes - back + given / len(self.stakes)

    def _gains(self, batch: Array, fresh: Array) -> Array:
        """(pairs, witnesses): what a stake of 1 on each would gain, between -1 and 1, and 0 in the mean if fair."""
        size = len(batch) // len(fresh)
        columns = []
        for group, totals in zip(self.groups, self.totals, strict=True):
            directions = self._directions(group, totals)
            values = np.concatenate([batch, fresh])[:, group.columns] - group.mean
            h = np.clip(values @ directions.T, -1.0, 1.0)
            of_batch = h[: size * len(fresh)].reshape(len(fresh), size, -1).mean(1)
            columns.append((of_batch - h[len(batch) :]) / 2)
        return np.concatenate(columns, axis=1)

    def _directions(self, group: Group, totals: Array) -> Array:
        """Witnesses for each half-life, as linear functions of the features: their deviation is 1/CUT."""
        difference = totals / self.counts[:, None] - group.mean
        # What may be noise counts less.
        noise = group.covariance.diagonal() / self.counts[:, None]
        kept = difference * np.maximum(0.0, 1 - noise / np.maximum(difference**2, 1e-300))
        directions = kept @ group.inverse
        deviation = np.sqrt(((directions @ group.covariance) * directions).sum(1))
        found: Array = directions / (CUT * np.maximum(deviation, 1e-12))[:, None]
        return found

    def _stake(self, gains: Array) -> None:
        """Bet a share of each witness's capital that its past gains warrant, pair by pair."""
        total, squares, count = self.record
        mean = total / (count + _PRIOR)
        # The share that past gains say is best, less their standard error.
        careful = mean - np.sqrt(np.maximum(squares, 0.05 * count) / (count + _PRIOR) ** 2)
        share = np.clip(careful / np.maximum(squares / np.maximum(count, 1.0), 0.02), SMALLEST, LARGEST)
        with np.errstate(under="ignore"):
            for start in range(0, len(gains), _TOGETHER):
                grown = self.stakes * np.prod(1 + share * gains[start : start + _TOGETHER], axis=0)
                self.stakes = np.minimum(grown, MOST)
        keep = 0.5 ** (len(gains) / _MEMORY)
        self.record = keep * self.record + np.stack([gains.sum(0), (gains**2).sum(0), np.full(len(share), len(gains))])

    def _learn(self, batch: Array, pieces: int) -> None:
        keep = 0.5 ** (1 / (pieces * np.array(HALF_LIVES)))
        self.counts = keep * self.counts + len(batch)
        for group, totals in zip(self.groups, self.totals, strict=True):
            totals *= keep[:, None]
            totals += batch[:, group.columns].sum(0, dtype=np.float64)

    def to_dict(self) -> dict[str, Any]:
        """The state as plain values."""
        return {
            "batches": self.batches,
            "cash": self.cash,
            "stakes": self.stakes.tolist(),
            "totals": [part.tolist() for part in self.totals],
            "counts": self.counts.tolist(),
            "record": self.record.tolist(),
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from a state; a complaint (ValueError) if it does not fit."""
        arrays = {
            "stakes": (np.asarray(state["stakes"], float), self.stakes),
            "counts": (np.asarray(state["counts"], float), self.counts),
            "record": (np.asarray(state["record"], float), self.record),
        }
        totals = [np.asarray(part, float) for part in state["totals"]]
        pairs = [*arrays.values(), *zip(totals, self.totals, strict=True)]
        if any(new.shape != old.shape or not np.isfinite(new).all() for new, old in pairs):
            raise ValueError("the state of the bets does not fit")
        self.batches, self.cash, self.totals = int(state["batches"]), float(state["cash"]), totals
        for name, (value, _) in arrays.items():
            setattr(self, name, value)
        if not (np.isfinite(self.cash) and self.cash >= 0 and (self.stakes >= 0).all() and self.batches >= 0):
            raise ValueError("the state of the bets does not fit")
