"""A sequential test by betting: false with probability at most α over a stream without end (MATHS §11).

Log-density ratios are learned from batches, and from the first rows of a batch, and staked on what comes after them. A
block of rows is shown without its labels: the bet is on which of them are fresh rows of the reference. It pays the
likelihood of the truth over its mean over all ways to choose as many rows. If batch and reference come from one law,
all ways are equally likely, so each bet is fair whatever was learned, and the capital is a martingale that starts at
1: it ever reaches 1/α with probability at most α (Ville). If they differ, a ratio that sees it makes the capital grow
exponentially (Shekhar & Ramdas 2023; Podkopaev & Ramdas 2023). A row of the reference is bet on once, for it is not
fresh again; from then on it helps to learn.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np

Array: TypeAlias = "np.ndarray[Any, Any]"

#: Batches after which what was learned counts half.
HALF_LIVES = (0.5, 3.0, 30.0)
#: What log-density ratios are multiplied by: as they were learned, and with caution.
CAUTION = (1.0, 0.4)
#: A batch is cut into pieces, at most so many, of at least so many fresh rows: what is learned from one is staked on
#: the next.
PIECES, LEAST = 8, 8
#: Fresh rows of a block at the most, and rows of the batch for each of them.
BLOCK, RATIO = 32, 16
#: Log-density ratios are cut off at so many standard deviations of theirs, and where a row is beyond doubt.
CUT, DOUBT = 3.0, 8.0
#: The share of capital that goes back from bets to cash with each batch.
BACK = 0.02
#: Cash goes to bets in shares 1/(t + the first), so that a drift that begins late costs a logarithm; and in shares of
#: the second where batches look different from the reference, by so many standard deviations beyond chance.
PATIENCE, EAGERNESS, PROMISING = 10, 0.2, 2.0
#: Capital from which on bets are going well, and standard deviations beyond which more make no difference.
WINNING, ENOUGH = 1.5, 5.0
#: More capital than this is given away: what is beyond doubt need not be beyond the largest number that there is.
MOST = 1e100
#: Batches and rows that a state may count; larger numbers are damage.
_MOST_COUNTED = 2**53
#: The arrays of a state.
_ARRAYS = ("stakes", "totals", "counts", "known")


@dataclass(frozen=True, eq=False)
class Groups:
    """Features φ in groups, from each of which ratios are learned; their mean, covariance, and the ridge of learning.

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
            # What n rows never show, such as a category, may still have a variance of 1/n.
            np.fill_diagonal(block, np.maximum(block.diagonal(), 1 / len(features)))
            covariance[start:end, start:end] = block
            inverse[start:end, start:end] = np.linalg.inv(block + ridge * np.diag(block.diagonal()))
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
        Features that log-density ratios are learned from, for each caution, half-life and group.
    """

    def __init__(self, groups: Groups) -> None:
        self.groups = groups
        self.batches = 0
        self.cash = 1.0
        self.stakes = np.zeros(len(CAUTION) * len(HALF_LIVES) * len(groups.widths))
        #: Discounted sums of the features of batches, and how many rows.
        self.totals = np.zeros((len(HALF_LIVES), len(groups.mean)))
        self.counts = np.zeros(len(HALF_LIVES))
        #: The sum of the features of all rows of the reference that are not fresh, and how many.
        self.known = groups.mean * groups.rows
        self.rows = groups.rows

    def copy(self) -> Betting:
        """Another that goes on from here."""
        found = copy(self)
        found.stakes, found.totals = self.stakes.copy(), self.totals.copy()
        found.counts, found.known = self.counts.copy(), self.known.copy()
        return found

    @property
    def capital(self) -> float:
        """What 1 has become: evidence against the null hypothesis, an e-value at every time."""
        return float(self.cash + self.stakes.sum())

    @property
    def promising(self) -> bool:
        """Whether batches so far look different, or bets on them go well.

        It is known before the next batch, so it may decide how many fresh rows are bet on.
        """
        return float(self.promises().max(initial=0.0)) > PROMISING or self.capital > WINNING

    def promises(self) -> Array:
        """How far batches so far are from the reference, in standard deviations beyond what chance would give.

        For each half-life and each group, by all features together or by the one that differs most.
        """
        if self.counts[0] == 0 or not self.groups.widths:
            return np.zeros((len(HALF_LIVES), len(self.groups.widths)))
        z2 = self._differences() ** 2 / np.maximum(self._noise(), 1e-12)
        k = np.array(self.groups.widths)
        largest = np.maximum.reduceat(z2, np.cumsum([0, *k[:-1]]), axis=1)
        together = (z2 @ self.groups.members - k) / np.sqrt(2 * k)
        found: Array = np.maximum(0.0, np.maximum(together, np.sqrt(largest) - np.sqrt(2 * np.log(k + 1))))
        return found

    def bet(self, batch: Array, fresh: Array) -> float:
        """Stake on a batch, and learn from it. Features φ of its rows and of fresh rows of the reference, no more.

        Returns
        -------
        The capital after it.
        """
        self.batches += 1
        pieces = max(1, min(PIECES, len(fresh) // LEAST))
        for (x, y), (x_end, y_end) in pairwise(_cuts(len(batch), len(fresh), pieces)):
            piece, new = batch[x:x_end], fresh[y:y_end]
            if len(piece) and len(new) and self.counts[0] > 0 and len(self.stakes):
                self._share(pieces)
                self._stake(piece, new)
            self._learn(piece, new, pieces)
        return self.capital

    def _share(self, pieces: int) -> None:
        """Move capital between cash and bets, more of it to what promises more: it stays the same."""
        promises = self.promises()
        share = EAGERNESS if promises.max() > PROMISING else 0.0
        given = self.cash * max(share, 1 / (self.batches + PATIENCE)) / pieces
        weights = np.tile(np.exp(np.minimum(promises, ENOUGH)).ravel(), len(CAUTION))
        back = BACK / pieces * self.stakes
        self.cash += float(back.sum()) - given
        self.stakes = self.stakes - back + given * weights / weights.sum()

    def _stake(self, batch: Array, fresh: Array) -> None:
        """Bet block by block."""
        ratios = [self._ratios(rows) for rows in (batch, fresh)]
        blocks = _cuts(len(batch), len(fresh), -(-len(fresh) // BLOCK))
        growth = np.zeros(len(self.stakes))
        for (x, y), (x_end, y_end) in pairwise(blocks):
            x_end = min(x_end, x + RATIO * (y_end - y))
            if x_end > x and y_end > y:
                growth += log_payoff(ratios[0][x:x_end], ratios[1][y:y_end])
        with np.errstate(under="ignore"):
            self.stakes = self.stakes * np.exp(np.minimum(growth, np.log(MOST)))
        if self.capital > MOST:
            kept = MOST / self.capital
            self.cash, self.stakes = self.cash * kept, self.stakes * kept

    def _ratios(self, rows: Array) -> Array:
        """(rows, bets): the logarithm of how much likelier each row is in the stream, up to a constant."""
        groups, difference = self.groups, self._differences()
        # What may be noise counts less.
        kept = difference * np.maximum(0.0, 1 - self._noise() / np.maximum(difference**2, 1e-300))
        directions = kept @ groups.inverse
        deviation = np.sqrt(np.maximum(((directions @ groups.covariance) * directions) @ groups.members, 0.0)).ravel()
        weights = (directions[:, :, None] * groups.members).transpose(1, 0, 2).reshape(len(groups.mean), -1)
        cut = np.minimum(CUT * deviation, DOUBT)
        found = np.clip((rows - groups.mean) @ weights, -cut, cut)
        return np.concatenate([caution * found for caution in CAUTION], axis=1)

    def _differences(self) -> Array:
        """How the means of batches so far differ from those of the reference, for each half-life."""
        found: Array = self.totals / self.counts[:, None] - self.known / self.rows
        return found

    def _noise(self) -> Array:
        """The variance of these differences, if there is none."""
        found: Array = self.groups.variance * (1 / self.counts[:, None] + 1 / self.rows)
        return found

    def _learn(self, batch: Array, fresh: Array, pieces: int) -> None:
        keep = 0.5 ** (1 / (pieces * np.array(HALF_LIVES)))
        self.counts = keep * self.counts + len(batch)
        self.totals = keep[:, None] * self.totals + batch.sum(0, dtype=np.float64)
        self.known = self.known + fresh.sum(0, dtype=np.float64)
        self.rows += len(fresh)

    def to_dict(self) -> dict[str, Any]:
        """The state as plain values."""
        arrays = {name: getattr(self, name).tolist() for name in _ARRAYS}
        return {"batches": self.batches, "rows": self.rows, "cash": self.cash, **arrays}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from a state; a complaint (ValueError) if it does not fit."""
        arrays = {name: np.asarray(state[name], float) for name in _ARRAYS}
        batches, rows, cash = int(state["batches"]), int(state["rows"]), float(state["cash"])
        fits = all(new.shape == getattr(self, name).shape and np.isfinite(new).all() for name, new in arrays.items())
        counted = 0 <= batches <= _MOST_COUNTED and self.groups.rows <= rows <= _MOST_COUNTED
        if not (fits and counted and np.isfinite(cash) and cash >= 0 and (arrays["stakes"] >= 0).all()):
            raise ValueError("the state of the bets does not fit")
        self.batches, self.rows, self.cash = batches, rows, cash
        for name, value in arrays.items():
            setattr(self, name, value)


def log_payoff(batch: Array, fresh: Array) -> Array:
    """The logarithm of what a bet on the labels of a block pays, for each column of log-density ratios.

    With m fresh rows among N and a the exponentials of their negative ratios, Π a over the fresh rows over its mean
    over all choices of m rows. Means over choices come from those of one row and one choice less, as Pascal's numbers
    do: with p[k] the mean over choices of k of the first j rows, p[k] ← (1 - k/j) p[k] + k/j a[j] p[k - 1].
    """
    both = np.concatenate([batch, fresh])
    both = both - both.mean(0)
    # The rarer label is chosen. Ratios have mean 0, so their sums over the two labels differ in sign alone.
    logs, chosen = (both, slice(len(batch))) if len(batch) < len(fresh) else (-both, slice(len(batch), None))
    m = min(len(batch), len(fresh))
    means = np.zeros((m + 1, both.shape[1]))
    means[0] = 1.0
    sizes = np.arange(1, m + 1)[:, None]
    for j, value in enumerate(np.exp(logs), 1):
        k = min(j, m)
        share = sizes[:k] / j
        means[1 : k + 1] = (1 - share) * means[1 : k + 1] + share * value * means[:k]
    found: Array = logs[chosen].sum(0) - np.log(means[m])
    return found


def _cuts(batch: int, fresh: int, pieces: int) -> Array:
    """Where pieces of both begin and end."""
    found: Array = np.linspace([0, 0], [batch, fresh], pieces + 1).astype(int)
    return found
