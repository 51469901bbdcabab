"""The two samples compared along single coordinates, in the units that the user knows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

import numpy as np

from ..criticism import Array, Comparison
from ..criticism.reading import columns_of
from ..data import Sample, Source
from ..data.columns import Column
from ..data.source import Rows
from ..data.tables import Table
from .histograms import paired_histograms, shared_edges
from .svg import Axis, Markup, number

#: Coordinates that are compared; values up to which each gets bars of its own; texts of a column that do.
_LEADING, _FEW_VALUES, _FEW_TEXTS = 6, 3, 7


@dataclass(frozen=True)
class Bar:
    """A value, and its share in both samples in per cent, also relative to the longest bar."""

    name: str
    of_x: float
    of_y: float
    length_x: float
    length_y: float


@dataclass(frozen=True)
class Marginal:
    """A coordinate: its weight, either a plot or bars, and what there is to say."""

    name: str
    weight: float
    plot: Markup | None
    bars: tuple[Bar, ...]
    caption: str


@dataclass(frozen=True, eq=False)
class _Values:
    """The values of a coordinate in one sample: numbers with NaN for what is missing, or texts with None."""

    numbers: Array | None
    texts: list[str | None]
    form: Callable[[float], str] | None = None


def marginals(c: Comparison, names: tuple[str, str]) -> list[Marginal]:
    """The coordinates with the largest weights."""
    found = []
    for name, weight in c.weights.leading(_LEADING):
        of_x, of_y = (_values(sample, name) for sample in (c.x, c.y))
        if of_x is not None and of_y is not None and weight > 0:
            found.append(_marginal(name, weight, of_x, of_y, names))
    return found


def _marginal(name: str, weight: float, x: _Values, y: _Values, names: tuple[str, str]) -> Marginal:
    if x.numbers is None or y.numbers is None:
        bars = _bars_of_texts(x.texts, y.texts)
        gaps = [sum(text is None for text in v.texts) / max(1, len(v.texts)) for v in (x, y)]
        return Marginal(name, weight, None, bars, _missing(gaps, names))
    gaps = [float(np.isnan(v).mean()) for v in (x.numbers, y.numbers)]
    of_x, of_y = (v[~np.isnan(v)] for v in (x.numbers, y.numbers))
    form = x.form or number
    if not len(of_x) or not len(of_y):
        return Marginal(name, weight, None, (), _missing(gaps, names))
    said = f"Mean {form(float(of_x.mean()))} in {names[0]}, {form(float(of_y.mean()))} in {names[1]}. "
    distinct = np.unique(np.concatenate([of_x, of_y]))
    if len(distinct) <= _FEW_VALUES:
        counts = [Counter(v.tolist()) for v in (of_x, of_y)]
        pairs = [(form(v), counts[0][v] / len(of_x), counts[1][v] / len(of_y)) for v in distinct.tolist()]
        return Marginal(name, weight, None, _bars_of_shares(pairs), said + _missing(gaps, names))
    edges = shared_edges(of_x, of_y)
    if distinct[0] < edges[0] or distinct[-1] > edges[-1]:
        said += "Values beyond the ends are counted at the ends. "
    axis = Axis(edges[0], edges[-1], form=x.form)
    plot = paired_histograms(of_x, of_y, edges, axis, names, width=320, height=170)
    return Marginal(name, weight, plot.svg(f"Histograms of {name}. {said}"), (), said + _missing(gaps, names))


def _values(sample: Sample, name: str) -> _Values | None:
    """The values of a column as they came; for pixels and features, as they were compared."""
    shown = sample.shown
    # With features=, the coordinates are not the columns that are shown.
    if isinstance(shown, Source) and shown.features is None and name in shown.columns:
        k = shown.columns.index(name)
        if isinstance(shown.content, Table):
            return _column_values(shown.content.columns[k])
        if isinstance(shown.content, Rows):
            return _Values(np.asarray(shown.content.values[:, k], float), [])
    rows = [k for k, column in enumerate(columns_of(sample)) if column == name]
    if not rows:
        return None
    # The colours of a pixel together make its brightness.
    return _Values(sample.values.flatten(1)[:, rows].double().mean(1).cpu().numpy(), [])


def _column_values(column: Column) -> _Values:
    if column.kind == "number":
        return _Values(column.values, [])
    if column.kind == "date":
        return _Values(column.values, [], _date)
    if column.kind == "boolean":
        return _Values(None, [None if np.isnan(v) else str(bool(v)) for v in column.values])
    return _Values(None, [None if code < 0 else column.levels[code] for code in column.values.tolist()])


def _bars_of_texts(x: list[str | None], y: list[str | None]) -> tuple[Bar, ...]:
    """The texts whose shares differ most, and all others together."""
    counts = [Counter(text for text in texts if text is not None) for texts in (x, y)]
    totals = [max(1, sum(count.values())) for count in counts]
    shares = [(t, counts[0][t] / totals[0], counts[1][t] / totals[1]) for t in {**counts[0], **counts[1]}]
    shares.sort(key=lambda item: (-abs(item[1] - item[2]), item[0]))
    kept, rest = shares[:_FEW_TEXTS], shares[_FEW_TEXTS:]
    if rest:
        kept.append((f"{len(rest)} others", sum(item[1] for item in rest), sum(item[2] for item in rest)))
    return _bars_of_shares(kept)


def _bars_of_shares(shares: list[tuple[str, float, float]]) -> tuple[Bar, ...]:
    longest = max((max(p, q) for _, p, q in shares), default=0.0) or 1.0
    return tuple(Bar(text, 100 * p, 100 * q, 100 * p / longest, 100 * q / longest) for text, p, q in shares)


def _missing(gaps: list[float], names: tuple[str, str]) -> str:
    if not any(gaps):
        return ""
    return f"Missing: {100 * gaps[0]:.1f} % in {names[0]}, {100 * gaps[1]:.1f} % in {names[1]}."


def _date(days: float) -> str:
    try:
        return (datetime(1970, 1, 1) + timedelta(days=days)).date().isoformat()
    except OverflowError:
        return f"day {days:.6g}"
