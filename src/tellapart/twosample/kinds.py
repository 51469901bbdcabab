"""Kinds of rows whose share differs between the samples."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias, overload

import numpy as np

from .._util.numbers import number, p_sentence, p_text, percent
from .._util.view import BlockColumn, Detail, Headline, Row, TableBlock, View
from ..stats.pvalues import rejects
from .result import Displayed, as_plain
from .rules import Condition

Array: TypeAlias = "np.ndarray[Any, Any]"

#: Kinds that ``repr`` and text summaries show.
_SHOWN, _IN_TEXT = 10, 5
#: What "more" means.
COMPOSITIONAL = (
    "A share is that of all rows of a sample, so if one kind becomes rarer, the shares of all others grow. A further "
    "kind is named only if its share among the rows outside of the kinds named before it differs, too."
)


@dataclass(frozen=True)
class TypicalRow:
    """A row near the middle of a kind.

    Attributes
    ----------
    sample : int
        The number of its sample.
    row : int
        Its position in the data that were passed.
    values : dict
        Its values by column; empty for images and for wide rows.
    """

    sample: int
    row: int
    values: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Kind(Displayed):
    """A kind of rows: a cluster of the pooled rows, or the neighborhood of one, with its share in each sample.

    Attributes
    ----------
    text : str
        The conditions in words; without conditions, the most typical row.
    conditions : tuple of Condition
        A rule that describes the kind; empty for images and for wide rows without names.
    precision, recall : float
        The share of the rows satisfying the conditions that are of this kind, and the share of the kind that satisfies
        them; NaN without conditions.
    shares : tuple of float
        The share of the rows of each sample that are of this kind; with strata, averaged with the same weights.
    counts : tuple of int
        How many rows of each sample are of this kind.
    ratio : float
        The second share divided by the first; of more than two samples, the largest by the smallest.
    interval : tuple of float, optional
        Of the ratio, with 95 % confidence simultaneously for all kinds that were compared, named or not. Asymptotic.
        None for more than two samples.
    pvalue : float
        Adjusted for all kinds that were compared. The probability of p ≤ α for any kind that does not differ is at most
        α if the rows outside of the kinds that differ have the same distribution in all samples.
    typical : tuple of TypicalRow
        The rows nearest to the middle of the kind.
    members : tuple of ndarray
        Positions of all rows of this kind in each sample, the most typical first.
    names : tuple of str
        The names of the samples.
    """

    text: str
    conditions: tuple[Condition, ...]
    precision: float
    recall: float
    shares: tuple[float, ...]
    counts: tuple[int, ...]
    ratio: float
    interval: tuple[float, float] | None
    pvalue: float
    typical: tuple[TypicalRow, ...]
    members: tuple[Array, ...]
    names: tuple[str, ...]

    @property
    def description(self) -> str:
        """How the shares differ, in words."""
        if len(self.names) > 2:
            low, high = int(np.argmin(self.shares)), int(np.argmax(self.shares))
            parts = ", ".join(f"{percent(s)} of {name}" for s, name in zip(self.shares, self.names, strict=True))
            rare = f"missing in {self.names[low]}" if not self.counts[low] else f"most frequent in {self.names[high]}"
            return f"{rare}: {parts}"
        first, second = self.names
        between = f"{percent(self.shares[0])} of {first}, {percent(self.shares[1])} of {second}"
        if not self.counts[1]:
            return f"missing in {second}: {between}"
        if not self.counts[0]:
            return f"invented in {second}: none in {first}, {percent(self.shares[1])} of {second}"
        times, where = (self.ratio, second) if self.ratio >= 1 else (1 / self.ratio, first)
        return f"{number(times)} times as frequent in {where}: {between}"

    @property
    def relation(self) -> str:
        """``"missing"``, ``"invented"``, ``"rarer"`` or ``"more frequent"`` in the second sample, or ``"other"``."""
        if len(self.names) > 2:
            return "missing" if not all(self.counts) else "other"
        if not self.counts[1]:
            return "missing"
        if not self.counts[0]:
            return "invented"
        return "rarer" if self.ratio < 1 else "more frequent"

    @property
    def fit(self) -> str:
        """How well the conditions describe the kind."""
        if not self.conditions:
            return ""
        return f"{percent(self.precision)} of such rows, which are {percent(self.recall)} of the kind"

    def view(self, alpha: float | None = None) -> View:
        """The kind as a table of one row."""
        return Kinds([self]).view(alpha)

    def to_dict(self) -> dict[str, Any]:
        """All fields but the members, as plain Python values."""
        fields = {name: value for name, value in vars(self).items() if name not in ("members", "conditions", "typical")}
        interval = None if self.interval is None else [end if math.isfinite(end) else None for end in self.interval]
        finite = {name: getattr(self, name) for name in ("precision", "recall", "ratio")}
        plain: dict[str, Any] = as_plain(
            {
                **fields,
                **{name: value if math.isfinite(value) else None for name, value in finite.items()},
                "interval": interval,
                "conditions": [vars(condition) for condition in self.conditions],
                "typical": [vars(row) for row in self.typical],
                "relation": self.relation,
                "description": self.description,
            }
        )
        return plain

    def __str__(self) -> str:
        return f"{self.text}: {self.description} ({p_sentence(self.pvalue)})"


class Kinds(Displayed, Sequence[Kind]):
    """Kinds of rows in the order in which they were named: what differs most comes first."""

    def __init__(self, kinds: Sequence[Kind] = ()) -> None:
        self._kinds = tuple(kinds)

    @overload
    def __getitem__(self, index: int) -> Kind: ...
    @overload
    def __getitem__(self, index: slice) -> Kinds: ...
    def __getitem__(self, index: int | slice) -> Kind | Kinds:
        return Kinds(self._kinds[index]) if isinstance(index, slice) else self._kinds[index]

    def __len__(self) -> int:
        return len(self._kinds)

    def below(self, alpha: float = 0.05) -> Kinds:
        """The kinds with an adjusted p-value of at most ``alpha``."""
        return Kinds([one for one in self._kinds if rejects(one.pvalue, alpha)])

    def to_list(self) -> list[dict[str, Any]]:
        """All of them as plain values."""
        return [one.to_dict() for one in self._kinds]

    def view(self, alpha: float | None = None) -> View:
        """The kinds as a table."""
        table = kinds_table(self, alpha=0.05 if alpha is None else alpha, reject=True)
        return View.of(table or Headline(text="No kinds of rows"))

    def __repr__(self) -> str:
        if not self._kinds:
            return "no kinds of rows"
        more = len(self) - _SHOWN
        return "\n".join([*map(str, self._kinds[:_SHOWN]), *([f"… and {more} more"] if more > 0 else [])])


def kinds_table(
    kinds: Sequence[Kind], *, alpha: float, reject: bool, smallest: float = 0.0, **others: Any
) -> TableBlock | None:
    """Kinds of rows, those that are named strong; None if there are none."""
    if not kinds:
        return None
    strong = [reject and rejects(one.pvalue, alpha) for one in kinds]
    rows = []
    for one, named in zip(kinds, strong, strict=True):
        ratio = (
            ""
            if one.interval is None
            else f"{_ratio(one.ratio)} ({_ratio(one.interval[0])} to {_ratio(one.interval[1])})"
        )
        rows.append(Row.of(one.text, one.description, ratio, one.fit, p_text(one.pvalue, smallest), strong=named))
    return TableBlock(
        **{
            "title": "Kinds of rows",
            "strong_title": f"Kinds of rows that one sample has more of (adjusted p ≤ {alpha:g})",
            "columns": (
                BlockColumn("kind", "name"),
                BlockColumn("shares"),
                BlockColumn("ratio", "text", Detail.CARD, "With 95 % confidence for all kinds together; approximate."),
                BlockColumn("rule", "text", Detail.PAGE, "How well the conditions describe the kind."),
                BlockColumn("adjusted p", "p"),
            ),
            "rows": tuple(rows),
            "total": len(rows),
            "in_text": _IN_TEXT,
            "strong_total": sum(strong),
            **others,
        }
    )


def _ratio(value: float) -> str:
    return "∞" if math.isinf(value) else "–" if math.isnan(value) else number(value)
