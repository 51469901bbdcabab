"""A sequential test by betting: false with probability at most α over a stream without end (MATHS §11).

Before each batch arrives, witness functions are learned from the batches before it, and capital is staked on them: that
their means over the batch exceed those over as many fresh rows of the reference. If both come from one law, each bet is
fair, whatever was learned, so the capital is a martingale that starts at 1: it ever reaches 1/α with probability at
most α (Ville). If they differ, a witness that sees it makes the capital grow exponentially (Shekhar & Ramdas 2023;
Podkopaev & Ramdas 2023). Every row of the reference is bet on once, for it is not fresh again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
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
#: More capital than this is given away: what is beyond doubt need not be beyond the largest number that there is.
MOST = 1e100
#: Pairs of rows that a stake remembers, and is careful by.
_MEMORY, _PRIOR = 400.0, 20.0
#: The arrays of a state.
_ARRAYS = ("stakes", "totals", "counts", "record")


@dataclass(frozen=True, eq=False)
class Groups:
    """Features φ in groups, of each of which witnesses are learned; their mean, covariance, and the ridge of learning.

    Attributes
    ----------
    widths
        How many features each group has; they stand side by side.
    mean, covariance
        Over rows of the reference that are never bet on. Between groups the covariance is taken to be 0.
    inverse
        What makes the best direction of a difference of means.
    rows
        How many rows these were.
    """

    widths: tuple[int, ...]
    mean: Array
    covariance: Array
    inverse: Array
    rows: int

    @classmethod
    def fit(cls, features: Array, widths: Sequence[int], ridge: float = 0.3) -> Groups:
        """From features of rows of the reference."""
        features = features.astype(np.float64)
        covariance, inverse = (np.zeros((features.shape[1],) * 2) for _ in range(2))
        for start, end in pairwise(np.cumsum([0, *widths])):
            block = np.cov(features[:, start:end].T, ddof=0).reshape(end - start, -1)
            size = float(np.trace(block)) / len(block) or 1.0
            covariance[start:end, start:end] = block
            inverse[start:end, start:end] = np.linalg.inv(block + ridge * size * np.eye(len(block)))
        return cls(tuple(widths), features.mean(0), covariance, inverse, len(features))

    @cached_property
    def variance(self) -> Array:
        """Of each feature."""
        found: Array = self.covariance.diagonal().copy()
        return found

    @cached_property
    def members(self) -> Array:
        """(features, groups): 1 where a feature is of a group."""
        found: Array = np.repeat(np.eye(len(self.widths)), self.widths, axis=0)
        return found


class Betting:
    """Capital, and what it is staked by. `to_dict` is all of its state.

    Parameters
    ----------
    groups
        Features that witnesses are learned from, one witness for each half-life and each group.
    """

    def __init__(self, groups: Groups) -> None:
        self.groups = groups
        experts = len(HALF_LIVES) * len(groups.widths)
        self.batches = 0
        self.cash = 1.0
        self.stakes = np.zeros(experts)
        self.totals = np.zeros((len(HALF_LIVES), len(groups.mean)))
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
        if self.counts[0] == 0 or not self.groups.widths:
            return 0.0
        variance = self.groups.variance * (1 / self.counts[:, None] + 1 / self.groups.rows)
        z2 = self._differences() ** 2 / np.maximum(variance, 1e-12)
        k = np.array(self.groups.widths)
        largest = np.maximum.reduceat(z2, np.cumsum([0, *k[:-1]]), axis=1)
        together = (z2 @ self.groups.members - k) / np.sqrt(2 * k)
        return max(0.0, float(together.max()), float((np.sqrt(largest) - np.sqrt(2 * np.log(k + 1))).max()))

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
            if d > b and c > a and self.counts[0] > 0 and len(self.stakes):
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
        witnesses = self._witnesses()
        h_batch, h_fresh = (np.clip((rows - self.groups.mean) @ witnesses, -1.0, 1.0) for rows in (batch, fresh))
        means = h_batch[: size * len(fresh)].reshape(len(fresh), size, -1).mean(1)
        found: Array = (means - h_fresh) / 2
        return found

    def _differences(self) -> Array:
        """How the means of batches so far differ from those of the reference, for each half-life."""
        found: Array = self.totals / self.counts[:, None] - self.groups.mean
        return found

    def _witnesses(self) -> Array:
        """(features, witnesses): linear functions of the features whose deviation is 1/CUT."""
        groups, difference = self.groups, self._differences()
        # What may be noise counts less.
        noise = groups.variance / self.counts[:, None]
        kept = difference * np.maximum(0.0, 1 - noise / np.maximum(difference**2, 1e-300))
        directions = kept @ groups.inverse
        deviation = np.sqrt(((directions @ groups.covariance) * directions) @ groups.members)
        scaled = groups.members / (CUT * np.maximum(deviation, 1e-12))[:, None, :]
        found: Array = (directions[:, :, None] * scaled).transpose(1, 0, 2).reshape(len(groups.mean), -1)
        return found

    def _stake(self, gains: Array) -> None:
        """Bet a share of each witness's capital that its past gains warrant, pair by pair."""
        total, squares, count = self.record
        mean = total / (count + _PRIOR)
        # The share that past gains say is best, less their standard error.
        careful = mean - np.sqrt(np.maximum(squares, 0.05 * count) / (count + _PRIOR) ** 2)
        share = np.clip(careful / np.maximum(squares / np.maximum(count, 1.0), 0.02), SMALLEST, LARGEST)
        growth = np.minimum(np.log1p(share * gains).sum(0), np.log(MOST))
        with np.errstate(under="ignore"):
            self.stakes = self.stakes * np.exp(growth)
        if self.capital > MOST:
            kept = MOST / self.capital
            self.cash, self.stakes = self.cash * kept, self.stakes * kept
        keep = 0.5 ** (len(gains) / _MEMORY)
        self.record = keep * self.record + np.stack([gains.sum(0), (gains**2).sum(0), np.full(len(share), len(gains))])

    def _learn(self, batch: Array, pieces: int) -> None:
        keep = 0.5 ** (1 / (pieces * np.array(HALF_LIVES)))
        self.counts = keep * self.counts + len(batch)
        self.totals = keep[:, None] * self.totals + batch.sum(0, dtype=np.float64)

    def to_dict(self) -> dict[str, Any]:
        """The state as plain values."""
        arrays = {name: getattr(self, name).tolist() for name in _ARRAYS}
        return {"batches": self.batches, "cash": self.cash, **arrays}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from a state; a complaint (ValueError) if it does not fit."""
        arrays = {name: np.asarray(state[name], float) for name in _ARRAYS}
        batches, cash = int(state["batches"]), float(state["cash"])
        fits = all(new.shape == getattr(self, name).shape and np.isfinite(new).all() for name, new in arrays.items())
        if not (fits and np.isfinite(cash) and cash >= 0 and (arrays["stakes"] >= 0).all() and batches >= 0):
            raise ValueError("the state of the bets does not fit")
        self.batches, self.cash = batches, cash
        for name, value in arrays.items():
            setattr(self, name, value)
