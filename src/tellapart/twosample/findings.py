"""Findings: columns and pairs of columns with their effects and adjusted p-values."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, overload

from .._util.numbers import p_sentence
from .._util.view import Headline, View
from ..stats.pvalues import rejects
from .result import Displayed, as_plain
from .views import findings_table

#: Findings that ``repr`` shows.
_SHOWN = 10


@dataclass(frozen=True)
class Finding(Displayed):
    """A column or a pair of columns.

    Attributes
    ----------
    name, columns
        What to call it, and the columns that it is.
    kind
        What differs most: ``"location"``, ``"scale"``, ``"shape"``, ``"share"`` or ``"dependence"``.
    effect
        Location and shape: the difference of means in pooled standard deviations, Y less X. Scale: the logarithm of the
        ratio of standard deviations. Share: the difference of shares. Dependence: the difference of correlations.
    description
        The same in words.
    pvalue
        Adjusted for all columns (or all pairs). Columns: the larger of step-down maxT's and Holm's over exact
        single-column p-values. The probability of p ≤ α for any column whose observed values have the same distribution
        in all samples is at most α, for α up to 0.25, at every sample size and however columns depend on each other.
        Pairs: likewise for pairs with the same correlation, but only in large samples (with finite fourth moments).
    pvalue_unadjusted
        Of this one, had it alone been looked at.
    interval
        Of the effect, with 95 % confidence for this column or pair alone, not for all of them together. It is
        simultaneous over what could have been shown of it: location and scale, or all levels of a category. It is
        asymptotic, and was measured to cover 94 to 99 % where samples have 30 rows or more, or 8 groups; of lognormal
        columns with 200 and 15 rows 90 %, and of correlations of 8 pairs of rows 93 %. None of more than two samples,
        and where it is not known.
    values
        What the words say, as numbers of each sample: ``{"mean": (1.0, 1.2), "SD": (…)}``, the share of each category,
        ``{"correlation": (0.41, 0.05)}``.
    pixel
        Row and column of the pixel, where the column is a pixel of images; else None.
    """

    name: str
    columns: tuple[str, ...]
    kind: str
    effect: float
    description: str
    pvalue: float
    pvalue_unadjusted: float
    interval: tuple[float, float] | None = None
    values: dict[str, tuple[float, ...]] = field(default_factory=dict)
    pixel: tuple[int, int] | None = None

    @property
    def clarity(self) -> float:
        """The effect in half widths of its interval, 0 where there is none: what orders p-values that are equal."""
        if math.isinf(self.effect):
            return math.inf
        if self.interval is None or not all(map(math.isfinite, (self.effect, *self.interval))):
            return 0.0
        return abs(self.effect) / max((self.interval[1] - self.interval[0]) / 2, 1e-300)

    def view(self, alpha: float | None = None) -> View:
        """The finding as a table of one row."""
        return Findings([self]).view(alpha)

    def __str__(self) -> str:
        return f"{self.name}: {self.description} ({p_sentence(self.pvalue)})"


class Findings(Displayed, Sequence[Finding]):
    """Columns, or pairs of columns, by their adjusted p-values: what differs most comes first.

    A position, a slice, or a name is an index: ``result.columns[0]``, ``result.columns["age"]``.
    """

    def __init__(self, found: Sequence[Finding] = ()) -> None:
        self._found = tuple(sorted(found, key=lambda one: (one.pvalue, one.pvalue_unadjusted, -one.clarity)))

    @overload
    def __getitem__(self, index: int | str) -> Finding: ...
    @overload
    def __getitem__(self, index: slice) -> Findings: ...
    def __getitem__(self, index: int | str | slice) -> Finding | Findings:
        if isinstance(index, slice):
            return Findings(self._found[index])
        if not isinstance(index, str):
            return self._found[index]
        named = [one for one in self._found if one.name == index]
        if not named:
            known = ", ".join(map(repr, self.names[:_SHOWN])) or "none"
            raise KeyError(f"no finding is called {index!r}; the first names are {known}")
        return named[0]

    def __contains__(self, value: object) -> bool:
        return value in self.names if isinstance(value, str) else value in self._found

    def __len__(self) -> int:
        return len(self._found)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the findings, in the same order."""
        return tuple(one.name for one in self._found)

    def below(self, alpha: float = 0.05) -> Findings:
        """The findings with an adjusted p-value of at most ``alpha``."""
        return Findings([one for one in self._found if rejects(one.pvalue, alpha)])

    def to_list(self) -> list[dict[str, Any]]:
        """All of them as plain values."""
        return [as_plain(vars(one)) for one in self._found]

    def view(self, alpha: float | None = None) -> View:
        """The findings as a table."""
        table = findings_table(
            self, alpha=0.05 if alpha is None else alpha, reject=True, what="Findings", one="finding"
        )
        return View.of(table or Headline(text="No findings"))

    def __repr__(self) -> str:
        if not self._found:
            return "no findings"
        width = max(len(one.name) for one in self._found[:_SHOWN])
        lines = [f"{one.name:{width}}  p = {one.pvalue:<6.3g} {one.description}" for one in self._found[:_SHOWN]]
        more = len(self) - _SHOWN
        return "\n".join([*lines, *([f"… and {more} more"] if more > 0 else [])])
