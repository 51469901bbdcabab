"""Blocks of pages that show data: pictures which only a renderer of HTML can make."""

from __future__ import annotations

from dataclasses import dataclass

from .._util.view import Block, Detail, TableBlock
from .svg import Markup


@dataclass(frozen=True, kw_only=True)
class PictureBlock(Block):
    """A block with a template of its own.

    Attributes
    ----------
    template : str
        The file of the template, which sees the block as ``block``.
    anchor : str
        The anchor of its section.
    count : str
        How much was found, for the contents.
    """

    template: str
    anchor: str
    count: str = ""
    detail: Detail = Detail.PAGE


@dataclass(frozen=True)
class Bar:
    """A value, its share in each of two samples, and the lengths of its bars in percent of the longest."""

    name: str
    share_x: str
    share_y: str
    length_x: float
    length_y: float


@dataclass(frozen=True)
class ColumnDetail:
    """A large picture of a column: its name, a remark next to it, a plot or bars, and a caption."""

    name: str
    subtitle: str
    plot: Markup | None
    bars: tuple[Bar, ...]
    caption: str


@dataclass(frozen=True, kw_only=True)
class PicturedTable(TableBlock):
    """A table of findings with a picture of each row, and large pictures of the first rows.

    Attributes
    ----------
    shown : int
        Rows that are visible at first.
    pictures : tuple
        For each row the markup of its picture, or None.
    closer, closer_lead
        Large pictures, and what to say about them.
    """

    shown: int
    pictures: tuple[Markup | None, ...]
    closer: tuple[ColumnDetail, ...] = ()
    closer_lead: str = ""


@dataclass(frozen=True, kw_only=True)
class Command(Block):
    """What reproduces a result: a command line, or a call in Python."""

    text: str
    language: str
    detail: Detail = Detail.PAGE
