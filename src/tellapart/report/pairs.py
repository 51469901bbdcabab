"""Which pairs of columns depend on each other differently."""

from __future__ import annotations

import numpy as np

from ..criticism import Comparison
from ..data import Sample
from ..data.arrays import Array
from .blocks import PicturedTable
from .svg import Markup, tag

#: Pairs on the page; of these, those visible at first; those that are drawn; and points of a drawing.
_MOST, _SHOWN, _DRAWN, _POINTS = 100, 10, 8, 300
_SIDE = 84


def pairs_block(c: Comparison, names: tuple[str, str]) -> PicturedTable | None:
    """The section "Which pairs of columns depend on each other differently?"; None if there are no pairs."""
    table = c.pairs_table()
    if table is None:
        return None
    found = table.strong_total
    rows = table.rows[: max(_SHOWN, min(found, _MOST))] if found else ()
    drawn = (
        _scatters(c, pair.columns, names) if row.strong and k < _DRAWN else None
        for k, (row, pair) in enumerate(zip(rows, c.pairs, strict=False))
    )
    return PicturedTable(**vars(table) | {"rows": rows, "shown": _SHOWN, "pictures": tuple(drawn)})


def _scatters(c: Comparison, columns: tuple[str, ...], names: tuple[str, str]) -> Markup | None:
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
    return tag("span", *drawn, class_="scatters")


def _points(sample: Sample, columns: tuple[str, ...]) -> Array | None:
    """Some rows of two columns; None if one of them is not numeric."""
    found = [sample.values_of(name) for name in columns]
    if any(one is None or one.levels is not None for one in found):
        return None
    table = np.column_stack([one.numbers for one in found if one is not None])
    table = table[np.isfinite(table).all(1)]
    return np.asarray(table[np.linspace(0, len(table) - 1, min(_POINTS, len(table))).astype(int)], float)
