"""Rules: a few conditions on columns that describe a set of rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from ..data.columns import TableColumn
from ..data.samples import Variable

Array: TypeAlias = "np.ndarray[Any, Any]"
Relation: TypeAlias = Literal["≤", ">", "is", "is not", "occurs", "does not occur"]


@dataclass(frozen=True)
class Condition:
    """A condition on a column: ``age > 45``, ``town is 'Ulm'``, ``age is missing``.

    Attributes
    ----------
    column, relation
        The column, and what is asked of it.
    value
        A number or date (as text) to compare with, a category, or None for what is missing or occurs in a text.
    """

    column: str
    relation: Relation
    value: float | str | None

    def __str__(self) -> str:
        if self.relation in ("occurs", "does not occur"):
            return self.column if self.relation == "occurs" else f"not {self.column}"
        if self.value is None:
            return f"{self.column} {self.relation} missing"
        value = f"{self.value:g}" if isinstance(self.value, float) else str(self.value)
        return f"{self.column} {self.relation} {repr(value) if self.relation[0] == 'i' else value}"


#: Thresholds are rounded by at most this share of the standard deviation of a column.
_ROUNDED = 0.02
#: Maximum number of conditions, and how much better a rule must be with a further condition.
_CONDITIONS, _BETTER = 3, 0.02


class Bound(NamedTuple):
    """A condition on a coordinate: above or not above a threshold."""

    coordinate: int
    above: bool
    threshold: float


def merge_bounds(bounds: Sequence[Bound]) -> list[Bound]:
    """One bound a side of each coordinate: the tightest."""
    found: dict[tuple[int, bool], float] = {}
    for c, above, threshold in bounds:
        known = found.get((c, above), threshold)
        found[c, above] = max(known, threshold) if above else min(known, threshold)
    return [Bound(c, above, threshold) for (c, above), threshold in found.items()]


def without_implied(bounds: Sequence[Bound], units: Mapping[int, Variable]) -> list[Bound]:
    """The bounds without those that another one implies: what is of one category is of no other."""
    known = {units[bound.coordinate].name for bound in bounds if bound.above and units[bound.coordinate].levels}
    return [bound for bound in bounds if bound.above or units[bound.coordinate].name not in known]


def simplify_bound(bound: Bound, Z: Array) -> Bound:
    """A threshold with few digits: what is counted is the rule as it is said."""
    values = Z[:, bound.coordinate]
    below, above = values[values <= bound.threshold], values[values > bound.threshold]
    if not len(below) or not len(above):
        return bound
    enough = _ROUNDED * float(values.std())
    return bound._replace(threshold=round_between(float(below.max()), float(above.min()), bound.threshold, enough))


def round_between(low: float, high: float, near: float, enough: float) -> float:
    """A number with few digits that is close enough to ``near``, or lies from ``low`` to below ``high``.

    >>> round_between(44.8, 45.3, 45.05, 0.01), round_between(0.12341, 0.12342, 0.123415, 0.001)
    (45.0, 0.123)
    """
    for digits in range(1, 17):
        found = float(f"{near:.{digits}g}")
        if low <= found < high or abs(found - near) <= enough:
            return found
    return low


def find_inside(Z: Array, bounds: Sequence[Bound], gaps: dict[int, int]) -> Array:
    """Which rows keep to all bounds; a value that is missing keeps to none."""
    found = np.ones(len(Z), bool)
    for c, above, threshold in bounds:
        found &= (Z[:, c] > threshold) == above
        if c in gaps:
            found &= Z[:, gaps[c]] < 0.5
    return found


def as_condition(bound: Bound, unit: Variable) -> Condition:
    """A bound in the words of the user's column."""
    relation: Relation = "is" if bound.above else "is not"
    if unit.tells_missing(bound.coordinate):
        return Condition(unit.name.removesuffix(" is missing"), relation, None)
    if unit.kind == "text":
        return Condition(unit.name, relation, unit.levels[unit.coordinates.index(bound.coordinate)])
    if unit.kind == "boolean":
        return Condition(unit.name, "is", "yes" if bound.above else "no")
    if unit.kind == "occurrence":
        return Condition(unit.name, "occurs" if bound.above else "does not occur", None)
    side: Relation = ">" if bound.above else "≤"
    if unit.kind == "date":
        return Condition(unit.name, side, TableColumn(unit.name, "date", np.array([bound.threshold])).cell(0))
    return Condition(unit.name, side, bound.threshold)


class Rule(NamedTuple):
    """Conditions, and how well they describe a set of rows.

    Attributes
    ----------
    bounds : list of Bound
        The conditions, all of which hold.
    precision : float
        The share of the rows that satisfy the conditions which are in the set.
    recall : float
        The share of the set that satisfies the conditions.
    """

    bounds: list[Bound]
    precision: float
    recall: float

    @property
    def quality(self) -> float:
        """The harmonic mean of precision and recall."""
        total = self.precision + self.recall
        return 2 * self.precision * self.recall / total if total else 0.0


def describe_members(Z: Array, members: Array, units: Sequence[Variable]) -> Rule | None:
    """Describe a set of rows by up to three conditions, each of which makes the rule better; None if none does.

    Parameters
    ----------
    Z : ndarray
        Rows of numbers.
    members : ndarray of bool
        Which rows are in the set.
    units : sequence of Variable
        What the numbers are.
    """
    gaps = {unit.coordinates[0]: unit.gap for unit in units if unit.gap is not None}
    unit_of = {place: unit for unit in units for place in unit.coordinates}
    bounds: list[Bound] = []
    best: Rule | None = None
    inside = np.ones(len(Z), bool)
    for _ in range(_CONDITIONS):
        rows = np.flatnonzero(inside)
        tried = [_best_bound(Z[rows, c], members[rows], c, int(members.sum())) for c in unit_of]
        found = max((one for one in tried if one is not None), key=lambda one: one[0], default=None)
        if found is None or found[0] <= (best.quality if best else members.mean()) + _BETTER:
            break
        simple = simplify_bound(found[1], Z)
        simplified = without_implied(merge_bounds([*bounds, simple]), unit_of)
        inside = find_inside(Z, simplified, gaps)
        both = int((inside & members).sum())
        rule = Rule(simplified, both / max(int(inside.sum()), 1), both / int(members.sum()))
        if best is not None and rule.quality <= best.quality + _BETTER:
            break
        bounds, best = simplified, rule
    return best


def _best_bound(values: Array, members: Array, coordinate: int, total: int) -> tuple[float, Bound] | None:
    """The bound that describes members best: 2 hits / (rows inside + all members), and the bound."""
    order = np.argsort(values, kind="stable")
    ordered, hits = values[order], np.cumsum(members[order])
    ends = np.flatnonzero(ordered[:-1] < ordered[1:])
    if not len(ends):
        return None
    below, count = hits[ends], ends + 1
    quality = np.stack([2 * below / (count + total), 2 * (hits[-1] - below) / (len(values) - count + total)])
    above, place = np.unravel_index(int(quality.argmax()), quality.shape)
    k = ends[place]
    return float(quality[above, place]), Bound(coordinate, bool(above), float((ordered[k] + ordered[k + 1]) / 2))
