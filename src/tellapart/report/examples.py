"""Rows at the extremes of the witness function, as images or as tables."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._util.numbers import number
from ..criticism import Comparison, Exemplar
from ..criticism.exemplars import where
from ..data import Sample
from ..engine.rows import as_matrix
from . import pictures
from .blocks import PictureBlock
from .words import clip

#: Rows of each sample at each level, and columns of a table.
_IMAGES, _ROWS, _COLUMNS = 8, 5, 12
#: Characters of a cell, of an item, and of either under the pointer.
_CELL, _ITEM, _TITLE = 60, 200, 500


@dataclass(frozen=True)
class ExampleCell:
    """A cell of a row: its text, the full text to be shown on hover, and its sort key."""

    text: str
    whole: str
    key: str


@dataclass(frozen=True)
class Example:
    """A row: its sample (``"x"`` or ``"y"``), where it came from, its witness value, and an image or cells."""

    style: str
    where: str
    item: str
    value: float
    text: str
    image: str = ""
    cells: tuple[ExampleCell, ...] = ()


@dataclass(frozen=True)
class Level:
    """The rows at one level of the witness function, and sentences about samples that have none there."""

    key: str
    title: str
    text: str
    rows: tuple[Example, ...]
    without: tuple[str, ...] = ()


@dataclass(frozen=True)
class Heading:
    """A column: its name, how strongly it is marked (0 to 1), and why."""

    name: str
    share: float
    title: str


@dataclass(frozen=True, kw_only=True)
class ExamplesBlock(PictureBlock):
    """Rows at all levels. Tables have headings, and ``left_out`` columns that are not shown."""

    kind: str
    levels: tuple[Level, ...]
    headings: tuple[Heading, ...]
    left_out: int
    items: bool
    overlay: str
    sharp: bool
    weighted: bool


class RowRenderer:
    """Renders rows of a comparison, as images or as cells of the columns that matter most."""

    def __init__(self, c: Comparison, names: tuple[str, str]) -> None:
        self.c, self.names = c, names
        self.samples = {"X": c.x, "Y": c.y}
        shown = c.x.shown
        self.images = shown is not None and shown.kind == "images"
        self.sharp = shown is not None and self.images and pictures.is_sharp(np.asarray(shown.row(0)).shape)
        columns = () if self.images else _columns(c.x)
        self.headings, self._order = _headings(columns, c)
        self.left_out = len(columns) - len(self._order)
        self._images: dict[tuple[str, int], str] = {}

    def example(self, e: Exemplar) -> Example:
        """A row, ready to be laid out."""
        item = clip(e.item or "", _ITEM)
        known = (e.sample.lower(), e.where, item, e.value, _signed_text(e.value))
        if self.images:
            return Example(*known, image=self._image(e.sample, e.position))
        return Example(*known, cells=self._cells(self.samples[e.sample], e.position))

    def member(self, sample: str, position: int) -> Example:
        """A row by its position."""
        values = self.c.witness_x if sample == "X" else self.c.witness_y
        items = self.c.items
        item = "" if items is None else str(items["XY".index(sample)][position])
        value = float(values[position])
        image = self._image(sample, position) if self.images else ""
        cells = () if self.images else self._cells(self.samples[sample], position)
        place = where(self.samples[sample], position)
        return Example(sample.lower(), place, clip(item, _ITEM), value, _signed_text(value), image, cells)

    def _image(self, sample: str, position: int) -> str:
        if (sample, position) not in self._images:
            shown = self.samples[sample].shown
            assert shown is not None
            self._images[sample, position] = pictures.thumbnail(np.asarray(shown.row(position)))
        return self._images[sample, position]

    def _cells(self, sample: Sample, position: int) -> tuple[ExampleCell, ...]:
        row = sample.values[position].flatten().tolist() if sample.shown is None else sample.shown.row(position)
        return tuple(_cell(row[k]) for k in self._order)


def examples_block(c: Comparison, names: tuple[str, str], renderer: RowRenderer) -> ExamplesBlock:
    """The section "Which examples?"."""
    found = c.exemplars(_IMAGES if renderer.images else _ROWS)
    unit = None if c.weights is None else pictures.pixel_weights(c.weights)
    veil = pictures.overlay(unit) if unit is not None and renderer.images else ""
    return ExamplesBlock(
        section="Which examples?",
        lead="Rows of each sample that are most typical of one of them, and rows that are equally common in both, "
        "according to the witness function.",
        template="examples.html",
        anchor="examples",
        link="Examples",
        kind="images" if renderer.images else "table",
        levels=_levels(found, renderer, names),
        headings=renderer.headings,
        left_out=renderer.left_out,
        items=c.items is not None,
        overlay=veil,
        sharp=renderer.sharp,
        weighted=c.weights is not None,
    )


def _levels(found: list[Exemplar], renderer: RowRenderer, names: tuple[str, str]) -> tuple[Level, ...]:
    """The levels, each with its rows, and a sentence about samples without rows there."""
    first, second = names
    captions: dict[str, tuple[str, str, str]] = {
        "more of X": (
            "more-x",
            f"More of {first}",
            f"Rows most typical of {first}: there the witness function is largest, in each of the samples.",
        ),
        "more of Y": (
            "more-y",
            f"More of {second}",
            f"Rows most typical of {second}: there the witness function is smallest.",
        ),
        "no difference": (
            "same",
            "As common in both",
            "Uninformative rows: equally common in both samples.",
        ),
    }
    levels = []
    for level, (key, title, text) in captions.items():
        rows = [e for e in found if e.level == level]
        without = _without(level, {e.sample for e in rows}, names)
        levels.append(Level(key, title, text if rows else "", tuple(map(renderer.example, rows)), without))
    return tuple(levels)


def _without(level: str, there: set[str], names: tuple[str, str]) -> tuple[str, ...]:
    """Sentences about the samples that have no rows at a level."""
    lacking = [name for name, sample in zip(names, "XY", strict=True) if sample not in there]
    if level == "no difference":
        whose = "No row" if len(lacking) == 2 else f"No row of {''.join(lacking)}"
        return (f"{whose} is equally common in both samples.",) if lacking else ()
    typical = names[level == "more of Y"]
    own, other = f"No row of {typical} stands out as typical of it.", f"looks like {typical}."
    return tuple(own if name == typical else f"No row of {name} {other}" for name in lacking)


def _columns(sample: Sample) -> tuple[str, ...]:
    if sample.shown is not None:
        return sample.shown.columns
    return sample.names or tuple(str(k) for k in range(as_matrix(sample.values).shape[1]))


def _headings(columns: tuple[str, ...], c: Comparison) -> tuple[tuple[Heading, ...], list[int]]:
    """The columns to show, the most informative first, and their positions in a row."""
    if c.weights is not None:
        known = dict(zip(c.weights.names, c.weights.values.tolist(), strict=True))
        largest = max(known.values(), default=0.0) or 1.0
        order = sorted(range(len(columns)), key=lambda k: -known.get(columns[k], 0.0))[:_COLUMNS]
        titles = {name: f"weight {weight:.3f}" for name, weight in known.items()}
        shares = {name: weight / largest for name, weight in known.items()}
    else:
        named = [*c.differing_columns(), *c.differing_pairs()]
        # In reverse, so that the first finding about a column is kept.
        titles = {
            name: one.description if len(one.columns) == 1 else f"{one.name}: {one.description}"
            for one in reversed(named)
            for name in one.columns
        }
        ranked = dict.fromkeys(name for one in (*named, *c.columns) for name in one.columns)
        place = {name: k for k, name in enumerate(ranked)}
        order = sorted(range(len(columns)), key=lambda k: (place.get(columns[k], len(place)), k))[:_COLUMNS]
        shares = dict.fromkeys(titles, 1.0)
    headings = (Heading(columns[k], shares.get(columns[k], 0.0), titles.get(columns[k], "")) for k in order)
    return tuple(headings), order


def _signed_text(value: float) -> str:
    text = f"{value:+.2g}" if 0 < abs(value) < 0.001 else f"{value:+.3f}"
    return text.replace("-", "−").replace("e−0", "e−")


def _cell(value: object) -> ExampleCell:
    if isinstance(value, str):
        text, whole = clip(value, _CELL), clip(value, _TITLE)
        return ExampleCell(text, whole if whole != text else "", value[:_TITLE])
    known = float(value)  # type: ignore[arg-type]
    return ExampleCell("", "", "") if np.isnan(known) else ExampleCell(number(known), f"{known:.10g}", repr(known))
