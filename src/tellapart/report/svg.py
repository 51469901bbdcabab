"""Drawing: axes, histograms and lines as SVG that takes its colors from the page."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from typing import Any

import numpy as np


class Markup(str):
    """Text that is HTML already, which templates do not escape again."""

    def __html__(self) -> str:
        return self


def tag(name: str, *children: str, **attributes: Any) -> Markup:
    """An element. Children and attributes are escaped unless they are `Markup`.

    >>> tag("text", "a < b", x=1.5, class_="label")
    '<text x="1.5" class="label">a &lt; b</text>'
    """
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(_coordinate(value))}"' for key, value in attributes.items()
    )
    inner = "".join(child if isinstance(child, Markup) else escape(child) for child in children)
    return Markup(f"<{name}{written}>{inner}</{name}>")


@dataclass(frozen=True)
class PlotAxis:
    """The scale of an axis from ``low`` to ``high``; ``form`` formats the numbers at its ticks.

    With ``every`` there is a tick at each whole number.
    """

    low: float
    high: float
    label: str = ""
    log: bool = False
    form: Callable[[float], str] | None = None
    every: bool = False

    def place(self, value: float) -> float:
        """Where a value lies: 0 at the low end, 1 at the high end."""
        if self.log:
            return (math.log(value) - math.log(self.low)) / (math.log(self.high) - math.log(self.low))
        return (value - self.low) / (self.high - self.low)

    def ticks(self, count: int = 5) -> list[tuple[float, str]]:
        """Round numbers on the axis, and how they are written."""
        if self.every and self.form is not None:
            whole = range(math.ceil(self.low), math.floor(self.high) + 1)
            return [(float(value), self.form(value)) for value in whole]
        values = _decades(self.low, self.high) if self.log else _round_numbers(self.low, self.high, count)
        if self.form is not None:
            return [(value, self.form(value)) for value in values]
        if self.log or not values or max(map(abs, values)) >= 1e6 or max(map(abs, values)) < 1e-3:
            return [
                (value, f"{value:.3g}".replace("e-0", "e-").replace("e+0", "e").replace("e+", "e")) for value in values
            ]
        step = values[1] - values[0] if len(values) > 1 else abs(values[0]) or 1.0
        digits = max(0, -math.floor(math.log10(step) + 1e-9))
        return [(value, f"{value:,.{digits}f}") for value in values]


#: The width of a letter in pixels.
_LETTER = 6.2


class Plot:
    """A frame with two axes, to which marks are added one by one."""

    left, right = 44, 12

    def __init__(self, x: PlotAxis, y: PlotAxis, width: int = 440, height: int = 230, top: int = 12) -> None:
        self.x, self.y, self.width, self.height, self.top = x, y, width, height, top
        self.bottom = 38 if x.label else 24
        self._marks: list[Markup] = []

    def across(self, value: float) -> float:
        """The horizontal position of a value."""
        return self.left + self.x.place(value) * (self.width - self.left - self.right)

    def up(self, value: float) -> float:
        """The vertical position of a value."""
        return self.height - self.bottom - self.y.place(value) * (self.height - self.bottom - self.top)

    def histogram(self, edges: Sequence[float], heights: Sequence[float], style: str) -> None:
        """An area whose height over each bin is given."""
        base = self.up(0)
        path = [f"M{_coordinate(self.across(edges[0]))} {_coordinate(base)}"]
        for left, right, height in zip(edges[:-1], edges[1:], heights, strict=True):
            path.append(
                f"L{_coordinate(self.across(left))} {_coordinate(self.up(height))}H{_coordinate(self.across(right))}"
            )
        self._marks.append(tag("path", d="".join(path) + f"V{_coordinate(base)}Z", class_=f"area {style}"))

    def line(self, xs: Sequence[float], ys: Sequence[float], style: str) -> None:
        """A line through the points that are finite."""
        points = [(x, y) for x, y in zip(xs, ys, strict=True) if math.isfinite(x) and math.isfinite(y)]
        path = "M" + "L".join(f"{_coordinate(self.across(x))} {_coordinate(self.up(y))}" for x, y in points)
        if points:
            self._marks.append(tag("path", d=path, class_=f"line {style}"))

    def dots(self, xs: Sequence[float], ys: Sequence[float], style: str, titles: Iterable[str]) -> None:
        """A dot at each point, with a title to be seen under the pointer."""
        for x, y, title in zip(xs, ys, titles, strict=True):
            if math.isfinite(x) and math.isfinite(y):
                mark = {"cx": self.across(x), "cy": self.up(y), "r": 3.2, "class_": f"dot {style}"}
                self._marks.append(tag("circle", tag("title", title), **mark))

    def intervals(self, ends: Sequence[float], places: Sequence[float], style: str) -> None:
        """A horizontal line from ``ends[2 k]`` to ``ends[2 k + 1]`` at each vertical position."""
        for k, place in enumerate(places):
            y = self.up(place)
            span = {"x1": self.across(ends[2 * k]), "x2": self.across(ends[2 * k + 1]), "y1": y, "y2": y}
            self._marks.append(tag("line", class_=f"span {style}", **span))

    def vertical(self, value: float, style: str, label: str = "", row: int = 0) -> None:
        """A vertical line, with a label in one of the rows above the frame."""
        x, base = self.across(value), self.up(self.y.low)
        level = self.top - 8 - 15 * row
        mark = {"x1": x, "x2": x, "y1": level + 4 if label else self.top, "y2": base}
        self._marks.append(tag("line", class_=f"mark {style}", **mark))
        if label:
            # Towards the middle of the plot, where there is room for it.
            before = x > self.width / 2
            side = {"x": x + (-5 if before else 5), "y": level + 8, "text_anchor": "end" if before else "start"}
            self._marks.append(tag("text", label, class_=f"tag {style}", **side))

    def beyond(self, style: str, label: str, before: bool = False, row: int = 0) -> None:
        """An arrow to a value that lies beyond the right end of the axis, or before the left one, with a label."""
        end = self.left + 2 if before else self.width - self.right - 2
        step, y = (9 if before else -9), self.top + 8
        path = f"M{end + 5 * step} {y}H{end}M{end + step} {y - 5}L{end} {y}L{end + step} {y + 5}"
        self._marks.append(tag("path", d=path, class_=f"mark arrow {style}"))
        side = {"x": end, "y": self.top - 15 * row, "text_anchor": "start" if before else "end"}
        self._marks.append(tag("text", label, class_=f"tag {style}", **side))

    def hover(self, edges: Sequence[float], titles: Iterable[str]) -> None:
        """Invisible columns that show a title under the pointer."""
        for left, right, title in zip(edges[:-1], edges[1:], titles, strict=True):
            x = self.across(left)
            size = {"x": x, "y": self.top, "width": self.across(right) - x, "height": self.up(self.y.low) - self.top}
            self._marks.append(tag("rect", tag("title", title), class_="hover", **size))

    def _ticks_that_fit(self) -> list[tuple[float, str]]:
        """Ticks of the horizontal axis, so many that their texts do not meet."""
        room = self.width - self.left - self.right
        most = max(2, room // 62)
        tried = ([(value, text) for value, text in self.x.ticks(count) if text] for count in range(most, 0, -1))
        return next((ticks for ticks in tried if self._fit(ticks)), self.x.ticks(1)[:1])

    def _fit(self, ticks: list[tuple[float, str]]) -> bool:
        """Whether no text meets the next one."""
        return all(
            self.across(b) - self.across(a) >= _LETTER * (len(first) + len(second)) / 2 + 10
            for (a, first), (b, second) in pairwise(ticks)
        )

    def svg(self, description: str) -> Markup:
        """The whole plot."""
        base, parts = self.up(self.y.low), []
        for value, text in self.y.ticks(4):
            y = self.up(value)
            parts.append(tag("line", x1=self.left, x2=self.width - self.right, y1=y, y2=y, class_="grid"))
            parts.append(tag("text", text, x=self.left - 6, y=y + 4, text_anchor="end"))
        for value, text in self._ticks_that_fit():
            x = self.across(value)
            parts.append(tag("line", x1=x, x2=x, y1=base, y2=base + 4, class_="axis"))
            # A text at the end of the axis stays inside.
            inside = min(x, self.width - _LETTER * len(text) / 2)
            parts.append(tag("text", text, x=inside, y=base + 17, text_anchor="middle"))
        parts.append(tag("line", x1=self.left, x2=self.width - self.right, y1=base, y2=base, class_="axis"))
        middle = (self.left + self.width - self.right) / 2
        parts.append(tag("text", self.x.label, x=middle, y=self.height - 4, text_anchor="middle", class_="name"))
        view = f"0 0 {self.width} {self.height}"
        return tag("svg", *parts, *self._marks, viewBox=view, role="img", aria_label=description, class_="plot")


def _round_numbers(low: float, high: float, count: int) -> list[float]:
    """Multiples of 1, 2 or 5 times a power of ten, about ``count`` of them."""
    if not high > low:
        return [low]
    raw = (high - low) / max(1, count)
    power = 10.0 ** math.floor(math.log10(raw))
    steps = [factor * power for factor in (0.5, 1, 2, 5, 10)]
    best = next(k for k in range(1, 5) if steps[k] >= raw * (1 - 1e-9))
    found = _multiples(low, high, steps[best])
    # A wide step may leave next to nothing inside.
    return found if len(found) >= min(3, count) else _multiples(low, high, steps[best - 1])


def _multiples(low: float, high: float, step: float) -> list[float]:
    return [k * step for k in range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)]


def _decades(low: float, high: float) -> list[float]:
    """Powers of ten, with their multiples where there are few of them, and not each where there are many.

    >>> _decades(0.5, 2e30)
    [1.0, 10000.0, 100000000.0, 1000000000000.0, 1e+16, 1e+20, 1e+24, 1e+28]
    """
    span = math.log10(high) - math.log10(low)
    factors = (1,) if span > 3 else (1, 3) if span > 1.5 else (1, 2, 5)
    step = math.ceil(span / 8)
    decades = range(math.floor(math.log10(low) / step) * step, math.ceil(math.log10(high)) + 1, step)
    found = [factor * 10.0**k for k in decades for factor in factors]
    return [value for value in found if low * (1 - 1e-9) <= value <= high * (1 + 1e-9)]


def _coordinate(value: Any) -> str:
    """Coordinates to a tenth of a pixel: more is only bytes."""
    return f"{value:.1f}".removesuffix(".0") if isinstance(value, (float, np.floating)) else str(value)
