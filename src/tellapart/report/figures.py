"""Figures as SVG that takes its colors from the page."""

from __future__ import annotations

from .._util.view import Axis, Figure, Series
from .svg import Markup, Plot, SvgAxis
from .words import clip

#: Height of a figure, and of one whose vertical axis has names.
_HEIGHT, _LINE = 230, 34
#: Width of a character, for names at the vertical axis, and characters of them.
_LETTER, _NAME = 6.4, 26


def draw_figure(figure: Figure, width: int = 440) -> Markup:
    """A figure as SVG."""
    named = figure.y.names
    height = max(110, _LINE * len(named) + 60) if named else _HEIGHT
    rules = [series for series in figure.series if series.shape == "rule" and series.name]
    plot = Plot(_axis(figure.x), _axis(figure.y, every=True), width, height, top=12 + 16 * len(rules))
    if named:
        plot.left = round(min(_NAME, max(map(len, named))) * _LETTER) + 14
    far = [series for series in rules if not figure.x.low <= series.x[0] <= figure.x.high]
    for series in figure.series:
        if series.shape == "steps":
            plot.histogram(series.x, series.y, series.role)
        elif series.shape == "line":
            plot.line(series.x, series.y, series.role)
        elif series.shape == "interval":
            plot.intervals(series.x, series.y, series.role)
    # The label of a rule stands towards the middle, so that of the rightmost one is above the others.
    for row, series in enumerate(sorted(rules, key=lambda one: one.x[0])):
        if series in far:
            plot.beyond(series.role, series.name, series.x[0] < figure.x.low, row)
        else:
            plot.vertical(series.x[0], series.role, series.name, row)
    for series in figure.series:
        if series.shape == "rule" and not series.name:
            plot.vertical(series.x[0], f"{series.role} mean")
        if series.shape == "dots":
            plot.dots(series.x, series.y, series.role, series.hints or [""] * len(series.x))
    for series in figure.series:
        if series.shape == "steps" and series.hints:
            plot.hover(series.x, series.hints)
    return plot.svg(figure.description)


def legend(figure: Figure) -> list[Series]:
    """The marks that a legend names: those without a label of their own."""
    return [series for series in figure.series if series.name and series.shape != "rule" and series.role != "null"]


def _axis(axis: Axis, every: bool = False) -> SvgAxis:
    if axis.names:
        names = axis.names

        def name_at(value: float) -> str:
            place = round(value)
            return clip(names[place], _NAME) if 0 <= place < len(names) and abs(place - value) < 1e-6 else ""

        return SvgAxis(axis.low, axis.high, axis.label, axis.log, name_at, every)
    if axis.percent:
        return SvgAxis(axis.low, axis.high, axis.label, axis.log, lambda value: f"{value:g} %")
    return SvgAxis(axis.low, axis.high, axis.label, axis.log)
