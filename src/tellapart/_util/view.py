"""The view of a result: blocks of plain data that summaries, notebook cards, pages and plots are rendered from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Literal, TypeAlias

import numpy as np

Array: TypeAlias = "np.ndarray[Any, Any]"

#: What a mark shows, which decides its color: a sample, the null distribution, the result itself, a limit, an alarm,
#: or one of several lines.
Role: TypeAlias = Literal[
    "x",
    "y",
    "null",
    "estimate",
    "limit",
    "alarm",
    "quiet",
    "training",
    "validation",
    "line0",
    "line1",
    "line2",
    "line3",
]


class Detail(IntEnum):
    """The shortest rendering that shows a block or a column of a table. Longer ones show it too."""

    SUMMARY = 0
    CARD = 1
    PAGE = 2


@dataclass(frozen=True, kw_only=True)
class Block:
    """A part of a view.

    Attributes
    ----------
    title : str
        What the block is about.
    section : str
        Heading of the section that the block starts on a page. Blocks without one belong to the section before.
    link : str
        Entry of the section in the contents of a page. By default its heading.
    lead : str
        A paragraph that introduces the section on a page.
    detail : Detail
        The shortest rendering that shows the block.
    """

    title: str = ""
    section: str = ""
    link: str = ""
    lead: str = ""
    detail: Detail = Detail.SUMMARY


@dataclass(frozen=True)
class Tile:
    """A key number with its name and a remark."""

    name: str
    value: str
    remark: str = ""


@dataclass(frozen=True)
class Point:
    """A sentence of a page's overview: its beginning, the rest, and the anchor of the section with the details."""

    strong: str
    text: str
    anchor: str


@dataclass(frozen=True, kw_only=True)
class Headline(Block):
    """The answer.

    Attributes
    ----------
    text : str
        One sentence without its full stop, such as ``"The samples differ"``.
    evidence : str
        What follows in parentheses, such as ``"p ≤ 0.001, 999 permutations"``.
    positive : bool or None
        Whether a difference was found; None if that is not the question.
    sentences : tuple of str
        What the answer means, for every rendering.
    explanation : str
        The same at length, for pages, which show it in place of `evidence` and `sentences`.
    tiles : tuple of Tile
        Key numbers, for pages.
    points : tuple of Point
        Overview of the sections, for pages.
    samples : tuple of str
        Names of the two samples, for pages that mark them by color; empty for other results.
    """

    text: str
    evidence: str = ""
    positive: bool | None = None
    sentences: tuple[str, ...] = ()
    explanation: str = ""
    tiles: tuple[Tile, ...] = ()
    points: tuple[Point, ...] = ()
    samples: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.text} ({self.evidence})." if self.evidence else f"{self.text}."


@dataclass(frozen=True, kw_only=True)
class Facts(Block):
    """Names and values."""

    items: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class BlockColumn:
    """A column of a table; ``kind="p"`` marks p-values, which text renderings write as ``p = 0.03``."""

    name: str
    kind: Literal["name", "text", "number", "p"] = "text"
    detail: Detail = Detail.SUMMARY
    hint: str = ""


@dataclass(frozen=True)
class EffectBar:
    """An effect with its interval, on an axis that all effects with its unit share.

    Attributes
    ----------
    kind, measure : str
        What differs, such as ``"location"``, and what its effect is measured in.
    value, low, high : float
        The effect and the ends of its interval; the effect itself if there is no interval.
    reach : float
        The largest distance from 0 on the axis.
    """

    kind: str
    measure: str
    value: float
    low: float
    high: float
    reach: float

    def place(self, value: float) -> float:
        """The position of a value in percent of the axis, whose middle is 0."""
        return 50 + 48 * value / (self.reach or 1.0)


@dataclass(frozen=True)
class ShareBar:
    """A share (0 to 1), with its range if that is known."""

    value: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Cell:
    """A cell of a table.

    Attributes
    ----------
    text : str
        What it shows.
    hint : str
        What appears under the pointer.
    key : float or None
        What the column is sorted by.
    unit : str
        Unit of the number in `text`.
    bar : EffectBar or None
        The number as a picture.
    shares : tuple of ShareBar
        The shares in `text`, as bars: one, or one for each of two samples.
    """

    text: str
    hint: str = ""
    key: float | None = None
    unit: str = ""
    bar: EffectBar | None = None
    shares: tuple[ShareBar, ...] = ()

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Row:
    """A row of a table; strong rows are what was found, the others are shown for completeness."""

    cells: tuple[Cell, ...]
    strong: bool = False

    @classmethod
    def of(cls, *cells: str | Cell, strong: bool = False) -> Row:
        """A row of texts and cells."""
        return cls(tuple(cell if isinstance(cell, Cell) else Cell(cell) for cell in cells), strong)


@dataclass(frozen=True, kw_only=True)
class TableBlock(Block):
    """A table; the first column names the rows.

    Attributes
    ----------
    columns, rows : tuple
        The table.
    total : int
        How many rows there are, with those that the block does not have.
    strong_title : str
        Title of the strong rows alone. If it is given, text summaries show only these.
    strong_total : int
        How many of all rows are strong.
    instead : str
        What to write in place of the table where none of its rows may be strong. Pages show the rows all the same.
    anchor : str
        Name of the table on a page, whose rows can then be searched, filtered and sorted.
    after : str
        A remark below the table on a page.
    in_text : int
        Maximum number of rows in text summaries.
    """

    columns: tuple[BlockColumn, ...]
    rows: tuple[Row, ...]
    total: int = 0
    strong_title: str = ""
    strong_total: int = 0
    instead: str = ""
    anchor: str = ""
    after: str = ""
    in_text: int = 10


@dataclass(frozen=True)
class MatrixCell:
    """A cell of a matrix: its text, how strongly it is colored (0 to 1), whether it is bold, and what it means."""

    text: str
    share: float
    strong: bool = False
    hint: str = ""


@dataclass(frozen=True, kw_only=True)
class Matrix(Block):
    """Numbers for pairs of things.

    Attributes
    ----------
    names : tuple of str
        Names of the rows.
    columns : tuple of str
        Names of the columns.
    cells : tuple of tuple of (MatrixCell or None)
        The rows.
    corner : str
        What stands over the names of the rows.
    narrow : bool
        Whether the columns are narrow, with their names written upwards.
    hints : tuple of str
        The columns' names in full, where `columns` has short ones.
    """

    names: tuple[str, ...]
    columns: tuple[str, ...]
    cells: tuple[tuple[MatrixCell | None, ...], ...]
    corner: str = ""
    narrow: bool = False
    hints: tuple[str, ...] = ()


@dataclass(frozen=True)
class Axis:
    """An axis of a figure.

    Attributes
    ----------
    label : str
        Its name.
    low, high : float
        Where it begins and ends.
    log : bool
        Whether it is logarithmic.
    names : tuple of str
        Names of the positions 0, 1, 2, … in place of numbers.
    percent : bool
        Whether numbers are percentages.
    """

    label: str
    low: float
    high: float
    log: bool = False
    names: tuple[str, ...] = ()
    percent: bool = False


@dataclass(frozen=True)
class Series:
    """Marks of a figure.

    Attributes
    ----------
    shape : str
        ``"steps"``: a histogram; `x` has the edges of its bins, one more than `y`. ``"line"`` and ``"dots"``.
        ``"rule"``: a vertical line at ``x[0]``. ``"interval"``: for each position in `y` a line from ``x[2 k]`` to
        ``x[2 k + 1]``.
    role : Role
        What it shows.
    name : str
        Its name in the legend; of a rule, its label.
    x, y : tuple of float
        Its coordinates.
    hints : tuple of str
        For each bin or dot, what appears under the pointer.
    """

    shape: Literal["steps", "line", "dots", "rule", "interval"]
    role: Role
    name: str
    x: tuple[float, ...]
    y: tuple[float, ...] = ()
    hints: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Figure(Block):
    """A figure: two axes, marks, a caption, and a description for readers who do not see it."""

    x: Axis
    y: Axis
    series: tuple[Series, ...]
    caption: str = ""
    description: str = ""
    detail: Detail = Detail.PAGE


@dataclass(frozen=True, eq=False)
class Strip:
    """Images in a line: what they are, whose they are, and the images as arrays of uint8."""

    caption: str
    role: Role
    images: tuple[Array, ...]


@dataclass(frozen=True, kw_only=True, eq=False)
class Gallery(Block):
    """Images."""

    strips: tuple[Strip, ...]
    detail: Detail = Detail.PAGE


@dataclass(frozen=True, kw_only=True, eq=False)
class PixelMap(Block):
    """Effects laid out as the pixels of an image.

    Attributes
    ----------
    effects, pvalues, named : array (height, width)
        For each pixel its effect (0 if it never varies), its adjusted p-value, and whether it differs.
    label : str
        What a positive effect means.
    """

    effects: Array
    pvalues: Array
    named: Array
    label: str = ""
    detail: Detail = Detail.PAGE


@dataclass(frozen=True, kw_only=True)
class Notes(Block):
    """Sentences. Text summaries put `prefix` before each of them."""

    items: tuple[str, ...]
    prefix: str = ""


@dataclass(frozen=True)
class View:
    """A result as blocks, in the order in which they are read."""

    blocks: tuple[Block, ...]

    @classmethod
    def of(cls, *blocks: Block | None) -> View:
        """A view of those blocks that are not None."""
        return cls(tuple(block for block in blocks if block is not None))

    def within(self, detail: Detail) -> tuple[Block, ...]:
        """The blocks that a rendering with so much detail shows."""
        return tuple(block for block in self.blocks if block.detail <= detail)


def facts(*items: tuple[str, str] | None, title: str = "", detail: Detail = Detail.SUMMARY) -> Facts:
    """Facts of those items that are not None."""
    return Facts(items=tuple(item for item in items if item is not None), title=title, detail=detail)


def notes(items: Sequence[str], title: str = "", prefix: str = "", detail: Detail = Detail.SUMMARY) -> Notes | None:
    """Notes, or None if there are none."""
    return Notes(items=tuple(items), title=title, prefix=prefix, detail=detail) if items else None
