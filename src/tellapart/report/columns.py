"""Which columns differ: a table with small paired histograms, and large ones of the first columns."""

from __future__ import annotations

from dataclasses import replace

from .._util.numbers import number, p_sentence, percent
from ..criticism import Comparison
from ..data.arrays import Array
from .blocks import Bar, ColumnDetail, PicturedTable
from .svg import Markup, Plot, PlotAxis, tag
from .values import Counts, count_values, counts_of_finding
from .words import clip

#: Columns that are visible at first; columns with large pictures, if some differ and if none does.
_SHOWN, _CLOSER, _CLOSER_WITHOUT = 15, 6, 3
#: Size of a small histogram, and its bins.
_WIDTH, _HEIGHT, _BINS = 150, 34, 24


def columns_block(c: Comparison, names: tuple[str, str]) -> PicturedTable | None:
    """The section "Which columns differ?"; None if there are no columns."""
    table = c.columns_table()
    if table is None:
        return None
    shown = c.columns[: len(table.rows)]
    counts = [count_values(c.x, c.y, one.columns[0], _BINS) or counts_of_finding(one) for one in shown]
    pictures = (None if one is None else picture(one, f.name, names) for f, one in zip(shown, counts, strict=True))
    differing = c.differing_columns()
    first = differing[:_CLOSER] if differing else shown[:_CLOSER_WITHOUT]
    closer = (column_detail(c, one.columns[0], p_sentence(one.pvalue, c.min_pvalue), names) for one in first)
    intervals = any(one.interval for one in shown)
    effect = replace(table.columns[2], name="effect, 95 % interval" if intervals else "effect")
    return PicturedTable(
        **vars(table)
        | {
            "columns": (*table.columns[:2], effect, table.columns[3]),
            "shown": _SHOWN,
            "pictures": tuple(pictures),
            "closer": tuple(one for one in closer if one is not None),
            "closer_lead": "The columns that differ most, as proportions of the rows of each sample."
            if differing
            else "The columns nearest to a difference, which may be chance, as proportions of the rows of each sample.",
        }
    )


def picture(counts: Counts, name: str, names: tuple[str, str]) -> Markup | None:
    """Two small histograms, one over the other, or for few values pairs of bars."""
    if not len(counts.labels):
        return None
    top = float(max(share.max() for share in counts.shares)) or 1.0
    said = f"{name}. {counts.sentence(names)}"
    marks = [tag("title", clip(said, 300))]
    if counts.edges is None:
        marks += _bars(counts.shares, top, counts.labels, names)
        ends = (clip(counts.labels[0], 14), clip(counts.labels[-1], 14) if len(counts.labels) > 1 else "")
    else:
        marks += [
            tag("path", d=_steps(share / top), class_=f"area {style}")
            for share, style in zip(counts.shares, "xy", strict=True)
        ]
        ends = (counts.form(counts.ends[0]), counts.form(counts.ends[1]))
    view = f"0 0 {_WIDTH} {_HEIGHT}"
    drawing = tag("svg", *marks, viewBox=view, role="img", class_="spark", preserveAspectRatio="none")
    low, high = (tag("span", end) for end in ends)
    return Markup(drawing + tag("span", low, high, class_="ends", aria_hidden="true"))


def _steps(heights: Array) -> str:
    """The outline of a histogram."""
    width = _WIDTH / len(heights)
    path, level = [f"M0 {_HEIGHT}"], None
    for k, height in enumerate(heights.tolist()):
        y = round(_HEIGHT - (_HEIGHT - 2) * height, 1)
        if y != level:
            path.append(f"{'' if level is None else f'H{k * width:.1f}'}V{y:g}")
            level = y
    return "".join([*path, f"H{_WIDTH}V{_HEIGHT}Z"])


def _bars(shares: tuple[Array, Array], top: float, labels: tuple[str, ...], names: tuple[str, str]) -> list[Markup]:
    """Two bars for each value."""
    slot = _WIDTH / len(labels)
    width = min(slot * 0.38, 26)
    marks = []
    for k, label in enumerate(labels):
        centre = (k + 0.5) * slot
        for share, style, left, name in zip(shares, "xy", (centre - width, centre), names, strict=True):
            height = max((_HEIGHT - 2) * float(share[k]) / top, 0.6)
            title = tag("title", f"{clip(label, 60)}: {percent(float(share[k]))} of {clip(name, 60)}")
            marks.append(
                tag("rect", title, x=left, y=_HEIGHT - height, width=width, height=height, class_=f"bar {style}")
            )
    return marks


def column_detail(c: Comparison, name: str, subtitle: str, names: tuple[str, str]) -> ColumnDetail | None:
    """A large picture of a column; None if there is no such column."""
    counts = count_values(c.x, c.y, name)
    if counts is None:
        return None
    said = counts.sentence(names)
    if counts.edges is None:
        longest = float(max((max(p, q) for p, q in zip(*counts.shares, strict=True)), default=0.0)) or 1.0
        bars = tuple(
            Bar(label, percent(float(p)), percent(float(q)), 100 * float(p) / longest, 100 * float(q) / longest)
            for label, p, q in zip(counts.labels, *counts.shares, strict=True)
        )
        return ColumnDetail(name, subtitle, None, bars, said)
    axis = PlotAxis(float(counts.edges[0]), float(counts.edges[-1]), form=counts.form)
    plot = _draw_shares(counts.shares, counts.edges, axis, names, width=320, height=170)
    return ColumnDetail(name, subtitle, plot.svg(f"Histograms of {name}. {said}"), (), said)


def _draw_shares(
    of_both: tuple[Array, Array], edges: Array, x: PlotAxis, names: tuple[str, str], width: int, height: int
) -> Plot:
    """Two histograms from the share of rows in each bin."""
    shares = [100 * share for share in of_both]
    top = max(float(share.max()) for share in shares) * 1.05
    plot = Plot(x, PlotAxis(0, top, form=lambda value: f"{value:g} %"), width, height)
    for share, style in zip(shares, ("x", "y"), strict=True):
        plot.histogram(edges.tolist(), share.tolist(), style)
    form = x.form or number
    titles = (
        f"{form(a)} to {form(b)}\n{names[0]}: {p:.1f} %\n{names[1]}: {q:.1f} %"
        for a, b, p, q in zip(edges[:-1], edges[1:], *shares, strict=True)
    )
    plot.hover(edges.tolist(), titles)
    return plot
