"""Which columns differ: a table with small paired histograms, and a closer look at the first of them."""

from __future__ import annotations

from dataclasses import dataclass

from ..criticism import Comparison
from ..data.arrays import Array
from .findings import Row, rows_of
from .histograms import draw_shares
from .svg import Axis, Markup, tag
from .values import Counts, count_values, counts_of_finding
from .words import clip, p_sentence, percent

#: Columns in the page; of these, those seen at once; those with large pictures, where something differs and else.
_MOST, SHOWN, _CLOSER, _CLOSER_WITHOUT = 500, 15, 6, 3
#: Size of a small histogram, and its bins.
_WIDTH, _HEIGHT, _BINS = 150, 34, 24


@dataclass(frozen=True)
class Bar:
    """A value, its shares in both samples, and how long its bars are in per cent of the longest."""

    name: str
    share_x: str
    share_y: str
    length_x: float
    length_y: float


@dataclass(frozen=True)
class Picture:
    """A small picture of a column, with what stands at its two ends."""

    drawing: Markup
    low: str
    high: str


@dataclass(frozen=True)
class Closer:
    """A closer look at a column: its name, what to say beside it, a plot or bars, and a sentence."""

    name: str
    beside: str
    plot: Markup | None
    bars: tuple[Bar, ...]
    caption: str


@dataclass(frozen=True)
class Columns:
    """The section: rows with their pictures, how many columns are named, and how many are not in the page."""

    lead: str
    rows: list[tuple[Row, Picture | None]]
    named: int
    total: int
    left_out: int
    intervals: bool
    closer: list[Closer]


def columns(c: Comparison, names: tuple[str, str]) -> Columns:
    """The section "Which columns differ?"."""
    shown = c.columns[:_MOST]
    reject = c.reject()
    rows = rows_of(shown, c.column_alpha(), reject, c.min_pvalue)
    counts = [count_values(c.x, c.y, one.columns[0], _BINS) or counts_of_finding(one) for one in shown]
    named = len(c.columns.below(c.column_alpha())) if reject else 0
    first = [k for k, row in enumerate(rows) if row.named or not named]
    closer = []
    for k in first[: _CLOSER if named else _CLOSER_WITHOUT]:
        closer.append(closer_look(c, shown[k].columns[0], p_sentence(shown[k].pvalue, c.min_pvalue), names))
    return Columns(
        lead=_lead(c, named, names),
        rows=[
            (row, None if one is None else picture(one, row.name, names)) for row, one in zip(rows, counts, strict=True)
        ],
        named=named,
        total=len(c.columns),
        left_out=len(c.columns) - len(shown),
        intervals=any(row.interval for row in rows),
        closer=[one for one in closer if one is not None],
    )


def _lead(c: Comparison, named: int, names: tuple[str, str]) -> str:
    total = len(c.columns)
    if not c.reject():
        return "Since the test as a whole found nothing, no column is named. What the table shows may be chance."
    if not named:
        return (
            f"No column is shown to differ by itself (adjusted p ≤ {c.column_alpha():.3g}): the difference lies in how "
            "columns go together, or in several of them that are not sure one by one."
        )
    count = (
        "The column differs."
        if total == named == 1
        else f"{named:,} of {total:,} columns {_verb(named)} by {_own(named)}."
    )
    return (
        f"{count} The adjusted p-values hold for all columns together: the chance that any column is named that does "
        f"not differ is at most {percent(c.alpha)}, pairs included: a column is named from p = {c.column_alpha():.3g} "
        f"down. Effects say how {names[1]} differs from {names[0]}."
    )


def _verb(count: int) -> str:
    return "differs" if count == 1 else "differ"


def _own(count: int) -> str:
    return "itself" if count == 1 else "themselves"


def picture(counts: Counts, name: str, names: tuple[str, str]) -> Picture | None:
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
    return Picture(drawing, *ends)


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


def closer_look(c: Comparison, name: str, beside: str, names: tuple[str, str]) -> Closer | None:
    """A large picture of a column; None where there is no such column."""
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
        return Closer(name, beside, None, bars, said)
    axis = Axis(float(counts.edges[0]), float(counts.edges[-1]), form=counts.form)
    plot = draw_shares(counts.shares, counts.edges, axis, names, width=320, height=170)
    return Closer(name, beside, plot.svg(f"Histograms of {name}. {said}"), (), said)
