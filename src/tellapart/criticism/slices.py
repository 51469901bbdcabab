"""Kinds of rows that one sample has more of: found on one half of the rows, counted on the other."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from .._util.numbers import p_sentence, percent
from .._util.view import Headline, View
from ..data.arrays import Array
from ..twosample.result import Displayed
from ..twosample.rules import Condition


@dataclass(frozen=True, eq=False)
class Slice(Displayed):
    """A kind of rows, and how many of them each sample has.

    Attributes
    ----------
    text
        The rule in words; for clusters, ``"cluster 3"``.
    conditions
        The rule; empty for clusters.
    share_x, share_y
        The share of the rows of each sample that are of this kind, among those counted.
    ratio
        share_y / share_x.
    count_x, count_y
        How many rows were counted.
    pvalue
        Adjusted for all slices by step-down maxT. The probability that any slice is named that is as frequent in both
        samples is at most α if such slices also overlap each other in the same way in both.
    members_x, members_y
        Positions of all such rows in ``x`` and ``y`` of the comparison, those that were searched too; those where the
        witness function says most come first.
    """

    text: str
    conditions: tuple[Condition, ...]
    share_x: float
    share_y: float
    count_x: int
    count_y: int
    pvalue: float
    members_x: Array
    members_y: Array

    @property
    def ratio(self) -> float:
        """How many times as frequent it is in Y."""
        return self.share_y / self.share_x if self.share_x > 0 else math.inf if self.share_y > 0 else math.nan

    def view(self, alpha: float | None = None) -> View:
        """The slice with its share in each sample."""
        shares = f"{percent(self.share_x)} of X, {percent(self.share_y)} of Y"
        return View.of(Headline(text=self.text, evidence=f"{shares}, {p_sentence(self.pvalue)}"))

    def __str__(self) -> str:
        return f"{self.text}: {percent(self.share_x)} → {percent(self.share_y)} ({p_sentence(self.pvalue)})"

    def to_dict(self) -> dict[str, Any]:
        """All fields but the members, as plain Python values."""
        return {
            "text": self.text,
            "conditions": [vars(condition) for condition in self.conditions],
            "share_x": self.share_x,
            "share_y": self.share_y,
            "ratio": self.ratio if math.isfinite(self.ratio) else None,
            "count_x": self.count_x,
            "count_y": self.count_y,
            "pvalue": self.pvalue,
        }
