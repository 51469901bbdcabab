"""How often a stream of tests may be wrong: levels that batches are tested at, one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

import numpy as np

from ..stats.pvalues import rejects

#: What is controlled over the batches of a stream.
Control: TypeAlias = Literal["fwer", "fdr", "anytime"]

#: What each of them guarantees.
GUARANTEES = {
    "fwer": (
        "The probability of one or more false alarms over the whole stream, without end, is at most {alpha:g}, however "
        "the batches depend on each other (alpha spending, with the level of a true alarm handed on)."
    ),
    "fdr": (
        "At every time, the expected share of false ones among the batches that are flagged then is at most {alpha:g}, "
        "if p-values are independent or positively dependent, as tests against one reference are taken to be "
        "(Benjamini & Hochberg over all batches so far; a later batch may flag or unflag an earlier one)."
    ),
    "anytime": (
        "The probability that the evidence ever reaches {limit:g} without a difference, over the whole stream without "
        "end, is at most {alpha:g}, if rows are independent and no batch is left out because of what is in it (a test "
        "martingale)."
    ),
}


def spent_level(number: int, alpha: float, horizon: int) -> float:
    """The level of batch ``number`` (from 0): half of alpha over the first ``horizon``, a quarter over twice as many, …

    All levels of a stream without end sum to alpha.

    >>> [round(spent_level(k, 0.08, 2), 4) for k in range(8)]
    [0.02, 0.02, 0.005, 0.005, 0.005, 0.005, 0.0013, 0.0013]
    """
    epoch, start, length = 0, 0, horizon
    while number >= start + length:
        start, length, epoch = start + length, 2 * length, epoch + 1
    return alpha * 0.5 ** (epoch + 1) / length


def spend_levels(pvalues: Sequence[float], alpha: float, horizon: int) -> list[float]:
    """The level that each batch is tested at: its own share, and that of the one before it if that was an alarm.

    Handing it on keeps the family-wise error at most alpha, whatever the dependence (the online fallback procedure of
    Tian & Ramdas 2021).

    >>> spend_levels([0.001, 0.5, 0.5], 0.08, 2)
    [0.02, 0.04, 0.005]
    """
    found: list[float] = []
    for number, _ in enumerate(pvalues):
        handed_on = found[-1] if number and rejects(pvalues[number - 1], found[-1]) else 0.0
        found.append(spent_level(number, alpha, horizon) + handed_on)
    return found


def flag_history(pvalues: Sequence[float], alpha: float) -> list[bool]:
    """Which batches are flagged by Benjamini & Hochberg (1995) over all of them.

    >>> flag_history([0.01, 0.2, 0.02], 0.05)
    [True, False, True]
    """
    ordered = np.sort(np.asarray(pvalues, float))
    limits = alpha * np.arange(1, len(ordered) + 1) / max(len(ordered), 1)
    passed = [k for k, (p, limit) in enumerate(zip(ordered, limits, strict=True)) if rejects(p, limit)]
    limit = ordered[passed[-1]] if len(passed) else -1.0
    return [bool(p <= limit) for p in pvalues]
