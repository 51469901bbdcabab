"""Rows at the extremes of the witness function, as images or as tables."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..criticism import Comparison, Exemplar, Weights
from ..data import Sample
from . import pictures
from .svg import number

#: Rows of each sample at each level, and columns of a table.
_IMAGES, _ROWS, _COLUMNS = 8, 5, 12
#: Characters of a cell, and of it under the pointer.
_CELL, _TITLE = 60, 500


@dataclass(frozen=True)
class Cell:
    """What a cell shows, the whole of it, and what it is sorted by."""

    text: str
    whole: str
    key: str


@dataclass(frozen=True)
class Example:
    """A row: its sample (``"x"`` or ``"y"``), where it came from, its witness value, and an image or cells."""

    style: str
    where: str
    value: float
    text: str
    image: str = ""
    cells: tuple[Cell, ...] = ()


@dataclass(frozen=True)
class Level:
    """The rows at one level of the witness function."""

    key: str
    title: str
    text: str
    rows: tuple[Example, ...]


@dataclass(frozen=True)
class Heading:
    """A column: its name, its weight, and that weight compared with the largest."""

    name: str
    weight: float | None
    share: float


@dataclass(frozen=True)
class Examples:
    """All levels. Tables have headings, and ``left_out`` columns that are not shown."""

    kind: str
    levels: tuple[Level, ...]
    headings: tuple[Heading, ...] = ()
    left_out: int = 0
    overlay: str = ""
    sharp: bool = True


def examples(c: Comparison, names: tuple[str, str]) -> Examples:
    """The examples of a comparison, ready to be laid out."""
    images = c.x.shown is not None and c.x.shown.kind == "images"
    found = c.exemplars(_IMAGES if images else _ROWS)
    samples = {"X": c.x, "Y": c.y}
    if images:
        cache: dict[tuple[str, int], str] = {}

        def image(e: Exemplar) -> str:
            shown = samples[e.sample].shown
            assert shown is not None
            if (e.sample, e.index) not in cache:
                cache[e.sample, e.index] = pictures.thumbnail(np.asarray(shown.row(e.index)))
            return cache[e.sample, e.index]

        rows = {id(e): Example(e.sample.lower(), e.where, e.value, _signed_text(e.value), image(e)) for e in found}
        unit = pictures.pixel_weights(c.weights)
        veil = "" if unit is None else pictures.overlay(unit)
        assert c.x.shown is not None
        sharp = pictures.is_sharp(np.asarray(c.x.shown.row(0)).shape)
        return Examples("images", _levels(found, rows, names), overlay=veil, sharp=sharp)
    columns = _columns(c.x)
    headings, order = _headings(columns, c.weights)
    rows = {id(e): _table_row(e, samples[e.sample], order) for e in found}
    return Examples("table", _levels(found, rows, names), headings, len(columns) - len(order))


def _levels(found: list[Exemplar], rows: dict[int, Example], names: tuple[str, str]) -> tuple[Level, ...]:
    first, second = names
    said = {
        "more of X": (
            "more-x",
            f"More of {first}",
            f"The rows of each sample where the witness is largest: most typical of {first}.",
        ),
        "more of Y": (
            "more-y",
            f"More of {second}",
            f"The rows of each sample where the witness is smallest: most typical of {second}.",
        ),
        "no difference": (
            "same",
            "No difference",
            "The rows of each sample where the witness is nearest to zero: as common in one as in the other.",
        ),
    }
    return tuple(
        Level(key, title, text, tuple(rows[id(e)] for e in found if e.level == level))
        for level, (key, title, text) in said.items()
    )


def _columns(sample: Sample) -> tuple[str, ...]:
    if sample.shown is not None:
        return sample.shown.columns
    return sample.names or tuple(str(k) for k in range(sample.values.flatten(1).shape[1]))


def _headings(columns: tuple[str, ...], weights: Weights) -> tuple[tuple[Heading, ...], list[int]]:
    """The columns to show, those with the largest weights first, and where they stand in a row."""
    known = dict(zip(weights.names, weights.values.tolist(), strict=True))
    order = sorted(range(len(columns)), key=lambda k: -known.get(columns[k], 0.0))[:_COLUMNS]
    largest = max(known.values(), default=0.0) or 1.0
    found = (Heading(columns[k], known.get(columns[k]), known.get(columns[k], 0.0) / largest) for k in order)
    return tuple(found), order


def _table_row(e: Exemplar, sample: Sample, order: list[int]) -> Example:
    row = sample.values[e.index].flatten().tolist() if sample.shown is None else sample.shown.row(e.index)
    cells = tuple(_cell(row[k]) for k in order)
    return Example(e.sample.lower(), e.where, e.value, _signed_text(e.value), cells=cells)


def _signed_text(value: float) -> str:
    text = f"{value:+.2g}" if 0 < abs(value) < 0.001 else f"{value:+.3f}"
    return text.replace("-", "−").replace("e−0", "e−")


def _cell(value: object) -> Cell:
    if isinstance(value, str):
        text = value if len(value) <= _CELL else value[: _CELL - 1] + "…"
        whole = value if len(value) <= _TITLE else value[: _TITLE - 1] + "…"
        return Cell(text, whole if whole != text else "", value[:_TITLE])
    known = float(value)  # type: ignore[arg-type]
    return Cell("", "", "") if np.isnan(known) else Cell(number(known), f"{known:.10g}", repr(known))
