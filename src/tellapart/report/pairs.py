"""Which pairs of columns differ in how they go together."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..criticism import Comparison
from ..data import Sample
from ..data.arrays import Array
from ..omnibus.families.pairs import MAX_PAIRS
from .findings import Row, rows_of
from .svg import Markup, tag
from .values import values_of

#: Pairs in the page; of these, those seen at once; those that are drawn; and points of a drawing.
_MOST, SHOWN, _DRAWN, _POINTS = 100, 10, 8, 300
_SIDE = 84


@dataclass(frozen=True)
class Pairs:
    """The section: rows with two drawings each, how many pairs are named, and how many are not in the page."""

    lead: str
    rows: list[tuple[Row, tuple[Markup, Markup] | None]]
    named: int
    total: int
    left_out: int


def pairs(c: Comparison, names: tuple[str, str]) -> Pairs | None:
    """The section "Which pairs go together differently?"; None where there are none to be looked at."""
    if not c.pairs:
        return None
    named = len(c.differing_pairs())
    shown = c.pairs[: max(SHOWN, min(named, _MOST))]
    rows = rows_of(shown, c.column_alpha(), named > 0, c.min_pvalue)
    drawn = [
        _scatters(c, one.columns, names) if row.named and k < _DRAWN else None
        for k, (row, one) in enumerate(zip(rows, shown, strict=True))
    ]
    return Pairs(
        lead=_lead(c, named),
        rows=list(zip(rows, drawn, strict=True)),
        named=named,
        total=len(c.pairs),
        left_out=len(c.pairs) - len(shown),
    )


def _lead(c: Comparison, named: int) -> str:
    looked, total = f"{len(c.pairs):,} pairs of columns were looked at", _pairs_there_are(c)
    if total > len(c.pairs) >= MAX_PAIRS:
        looked = f"{len(c.pairs):,} of {total:,} pairs of columns were looked at, those that depend most on each other"
    elif len(c.pairs) == 1:
        looked = "One pair was looked at"
    if not c.reject():
        return f"{looked}; since the test as a whole found nothing, none is named."
    if not named:
        return f"{looked}; none is shown to go together differently."
    verb = "goes" if named == 1 else "go"
    return (
        f"Two columns may each look the same in both samples and still go together differently. {looked}: {named:,} "
        f"{verb} together differently. The p-values hold for all pairs together; a pair is named from p = "
        f"{c.column_alpha():.3g} down, as columns have the other half of the level."
    )


def _pairs_there_are(c: Comparison) -> int:
    """How many pairs numbers make, yes and no among them: of texts, and of what is missing, none are looked at."""
    count = sum(one.kind != "share" or (len(one.values) == 1 and "missing" not in one.values) for one in c.columns)
    return count * (count - 1) // 2


def _scatters(c: Comparison, columns: tuple[str, ...], names: tuple[str, str]) -> tuple[Markup, Markup] | None:
    """Both samples as points, on the same axes."""
    if len(columns) != 2:
        return None
    points = [_points(sample, columns) for sample in (c.x, c.y)]
    if points[0] is None or points[1] is None or not len(points[0]) or not len(points[1]):
        return None
    both = np.concatenate([points[0], points[1]])
    low, high = np.quantile(both, 0.01, axis=0), np.quantile(both, 0.99, axis=0)
    span = np.where(high > low, high - low, 1.0)
    drawn = []
    for part, style, name in zip(points, "xy", names, strict=True):
        assert part is not None
        places = np.clip((part - low) / span, 0, 1) * (_SIDE - 10) + 5
        path = "".join(f"M{x:.0f} {_SIDE - y:.0f}h0" for x, y in places.tolist())
        label = f"{columns[0]} and {columns[1]} in {name}"
        drawn.append(
            tag(
                "svg",
                tag("title", label),
                tag("path", d=path, class_=f"points {style}"),
                viewBox=f"0 0 {_SIDE} {_SIDE}",
                role="img",
                class_="scatter",
            )
        )
    return drawn[0], drawn[1]


def _points(sample: Sample, columns: tuple[str, ...]) -> Array | None:
    """Some rows, as numbers; None where one of the columns is no number."""
    found = [values_of(sample, name) for name in columns]
    if any(one is None or one.levels is not None for one in found):
        return None
    table = np.column_stack([one.numbers for one in found if one is not None])
    table = table[np.isfinite(table).all(1)]
    return np.asarray(table[np.linspace(0, len(table) - 1, min(_POINTS, len(table))).astype(int)], float)
