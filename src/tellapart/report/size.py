"""How much the samples differ, whether it could be chance, and whether it matters."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..criticism import Comparison
from ..criticism.separability import GRADES
from ..twosample import LearnedTest
from ..twosample.findings import FAMILIES
from .histograms import Figure, bin_edges, paired_histograms, range_of_null, shared_edges
from .svg import Axis, Markup, Plot, tag
from .words import number, p_text, percent

#: Of the scale.
_WIDTH = 640


@dataclass(frozen=True)
class Family:
    """What was looked at, by itself: in words, its p-value, and what carried it."""

    name: str
    p: str
    strongest_statistic: str


@dataclass(frozen=True)
class Size:
    """The section: a scale, sentences, figures, and families of forms."""

    scale: Markup
    words: list[str]
    figures: list[Figure]
    families: list[Family]


def size(c: Comparison, names: tuple[str, str]) -> Size:
    """The section "How much do they differ?"."""
    families = [
        Family(FAMILIES.get(name, name), p_text(one.pvalue, c.min_pvalue), one.strongest_statistic)
        for name, one in c.families.items()
    ]
    return Size(scale(c), _words(c, names), [witness_figure(c, names), null_figure(c)], families)


def _words(c: Comparison, names: tuple[str, str]) -> list[str]:
    """What the numbers mean."""
    low, high = c.auc_interval
    guess = (
        f"Take one row of {names[0]} and one of {names[1]}: by how each row looks you would guess which is which in "
        f"{percent(max(c.auc, 0.5))} of cases. Guessing blindly gives 50 %. That share is the AUC; with 95 % "
        f"confidence it lies between {percent(low)} and {percent(high)}."
    )
    if c.reject():
        matters = (
            "Significant is not the same as large: with enough rows every difference becomes significant, also one "
            "that does not matter. Whether this one does is for you to say, by the numbers here and by what differs "
            "below."
        )
    else:
        matters = (
            "That nothing was found does not prove that there is nothing. By what was learned here they are told "
            f"apart in no more than {percent(high)} of cases, with 95 % confidence. A smaller difference, or one of "
            "another kind, may still show with more rows."
        )
    return [guess, *filter(None, [c.over_strata]), matters]


def scale(c: Comparison) -> Markup:
    """The AUC with its interval on a scale from "not at all" to "entirely"."""

    def across(auc: float) -> float:
        return 8 + (min(max(auc, 0.5), 1.0) - 0.5) * 2 * (_WIDTH - 16)

    low, high = c.auc_interval
    marks, start = [], 0.5
    for limit, word in GRADES:
        end = min(limit, 1.0)
        x, chosen = across(start), " chosen" if c.reject() and start <= max(c.auc, 0.5) < limit else ""
        marks.append(tag("rect", x=x, y=38, width=across(end) - x - 2, height=14, rx=3, class_=f"grade{chosen}"))
        place = (x + across(end)) / 2
        marks.append(tag("text", word, x=place, y=73, text_anchor="middle", class_=f"grade{chosen}"))
        start = end
    for value in (0.5, 0.6, 0.7, 0.8, 0.9, 1.0):
        anchor = "start" if value <= 0.5 else "end" if value >= 1.0 else "middle"
        marks.append(tag("text", f"{value:g}", x=across(value), y=98, text_anchor=anchor))
    marks.append(tag("line", x1=across(low), x2=across(high), y1=45, y2=45, class_="interval"))
    marks += [tag("line", x1=across(end), x2=across(end), y1=38, y2=52, class_="interval") for end in (low, high)]
    marks.append(tag("circle", cx=across(c.auc), cy=45, r=6.5, class_="estimate"))
    label = f"AUC {c.auc:.3f}, 95 % interval {low:.3f} to {high:.3f}"
    # Over the estimate, but inside the drawing.
    place = across(c.auc)
    anchor, x = (
        ("start", 2)
        if place < _WIDTH / 2 - 100
        else ("end", _WIDTH - 2)
        if place > _WIDTH / 2 + 100
        else ("middle", _WIDTH / 2)
    )
    marks.append(tag("text", label, x=x, y=24, text_anchor=anchor, class_="estimate"))
    view = f"0 0 {_WIDTH} 104"
    return tag("svg", *marks, viewBox=view, role="img", aria_label=label, class_="plot scale")


def null_figure(c: Comparison) -> Figure:
    """The statistic against what it would be if the labels meant nothing."""
    halves = len(c.test.halves) if isinstance(c.test, LearnedTest) else 1
    test = c.test.leading.test if isinstance(c.test, LearnedTest) else c.test
    draws, level, name = test.null_distribution, c.alpha / halves, test.statistic_name
    threshold = test.threshold(level)
    low, high, beyond = range_of_null(draws, threshold, test.statistic)
    x = Axis(low, high, f"{name}, which has no unit" if name == "score" else name)
    # Bins of the draws alone: the statistic may lie far away from them.
    counts, edges = np.histogram(draws, bins=bin_edges(draws))
    plot = Plot(x, Axis(0, counts.max() * 1.05), top=44)
    plot.histogram(edges, counts, "null")
    plot.hover(
        edges, (f"{number(a)} to {number(b)}: {n} draws" for a, b, n in zip(edges[:-1], edges[1:], counts, strict=True))
    )
    # The label of the line on the right stands above the other line, which ends below it.
    above = bool(test.statistic >= threshold or math.isinf(threshold))
    if not math.isinf(threshold):
        plot.vertical(threshold, "threshold", f"threshold at level {level:g}", row=not above)
    label = f"observed {number(test.statistic)}"
    if beyond:
        plot.beyond("observed", f"{label}, far beyond", test.statistic < low, row=above)
    else:
        plot.vertical(test.statistic, "observed", label, row=above)
    reach = round(test.pvalue * (len(draws) + 1)) - 1
    what = f"the tested {c.permuted_unit}" if isinstance(c.test, LearnedTest) else f"all {c.permuted_unit}"
    one = "one" if c.permuted_unit != "rows" else "row"
    caption = (
        f"Grey: the {name} of {len(draws):,} random relabellings of {what}, that is, if it did not matter which {one} "
        f"is of which sample. {f'{reach:,}' if reach else 'None'} of them reached the observed value."
    )
    if beyond:
        caption += " That lies so far out that the axis ends before it."
    if halves > 1:
        caption += " Shown is the half with the smaller p-value; the level is halved, since two are tested."
    return Figure("Could it be chance?", plot.svg(f"Null distribution; observed {number(test.statistic)}"), (), caption)


def witness_figure(c: Comparison, names: tuple[str, str]) -> Figure:
    """The values of the witness function in the two samples."""
    of_x, of_y = (np.asarray(values, float) for values in (c.witness_x, c.witness_y))
    edges = shared_edges(of_x, of_y)
    plot = paired_histograms(
        of_x, of_y, edges, Axis(edges[0], edges[-1], "witness function"), names, width=440, height=230
    )
    plot.vertical(float(of_x.mean()), "x mean")
    plot.vertical(float(of_y.mean()), "y mean")
    caption = (
        f"The witness function gives each row a number: high where {names[0]} has more such rows, low where {names[1]} "
        "has. It was learned from other rows than those it is shown for. Dashed: the means. The less the two overlap, "
        "the better they can be told apart."
    )
    description = f"Witness values: mean {number(float(of_x.mean()))} and {number(float(of_y.mean()))}"
    return Figure("How far apart are they?", plot.svg(description), ((names[0], "x"), (names[1], "y")), caption)
