"""Which columns differ: a table with small paired histograms, and large ones of the first columns."""

from __future__ import annotations

from dataclasses import replace

from .._util.numbers import p_sentence, percent
from ..criticism import Comparison
from ..data.arrays import Array
from ..twosample.views import MOST_FINDINGS, findings_table
from .blocks import Bar, ColumnDetail, PicturedTable
from .histograms import draw_shares
from .svg import Markup, SvgAxis, tag
from .values import Counts, count_values, counts_of_finding
from .words import clip

#: Columns that are visible at first; columns with large pictures, if some differ and if none does.
_SHOWN, _CLOSER, _CLOSER_WITHOUT = 15, 6, 3
#: Size of a small histogram, and its bins.
_WIDTH, _HEIGHT, _BINS = 150, 34, 24


def columns_block(c: Comparison, names: tuple[str, str]) -> PicturedTable | None:
    """The section "Which columns differ?"; None if there are no columns."""
    table = findings_table(c.columns, alpha=c.column_alpha(), reject=c.reject(), smallest=c.min_pvalue)
    if table is None:
        return None
    shown = c.columns[:MOST_FINDINGS]
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
            "section": "Which columns differ?",
            "lead": _lead(c, len(differing), names),
            "columns": (*table.columns[:2], effect, table.columns[3]),
            "anchor": "columns",
            "link": "Columns",
            "shown": _SHOWN,
            "pictures": tuple(pictures),
            "closer": tuple(one for one in closer if one is not None),
            "closer_lead": "The columns that differ most, as proportions of the rows of each sample."
            if differing
            else "The columns nearest to a difference, which may be chance, as proportions of the rows of each sample.",
        }
    )


def _lead(c: Comparison, found: int, names: tuple[str, str]) -> str:
    total, level = len(c.columns), c.column_alpha()
    if not c.reject():
        return "Since the test as a whole does not reject, no column is named. What the table shows may be chance."
    if not found:
        return (
            f"No column is shown to differ by itself (adjusted p ≤ {level:.3g}): the samples may differ in the "
            "dependence between columns, or in several columns whose individual evidence is too weak."
        )
    if total == found == 1:
        count = "The column differs."
    else:
        verb = "differs by itself" if found == 1 else "differ by themselves"
        count = f"{found:,} of {total:,} columns {verb}."
    return (
        f"{count} The adjusted p-values hold for all columns together: the probability that any column is named that "
        f"does not differ is at most {percent(c.alpha)}, pairs included. Columns are named up to p = {level:.3g}. "
        f"Effects say how {names[1]} differs from {names[0]}."
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
    axis = SvgAxis(float(counts.edges[0]), float(counts.edges[-1]), form=counts.form)
    plot = draw_shares(counts.shares, counts.edges, axis, names, width=320, height=170)
    return ColumnDetail(name, subtitle, plot.svg(f"Histograms of {name}. {said}"), (), said)
