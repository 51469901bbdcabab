"""Which texts differ in words: what occurs more often in one sample, with whole texts and the items that differ."""

from __future__ import annotations

from dataclasses import dataclass

from .._util.numbers import p_text
from ..criticism import Comparison
from ..criticism.texts import ItemShare, NamedText, Spans, TextExample
from .blocks import PictureBlock
from .svg import Markup, tag
from .words import clip

#: Characters of a text and of an item that are shown.
_TEXT, _ITEM = 4_000, 300


@dataclass(frozen=True)
class ShownText:
    """A text with its marks, its sample and place, its item, and the other sample's text of that item."""

    style: str
    where: str
    text: Markup
    item: str
    counterpart: str


@dataclass(frozen=True)
class ShownItem:
    """An item with its counts in both samples."""

    item: str
    x: str
    y: str


@dataclass(frozen=True)
class ShownPart:
    """A part of texts that differs."""

    name: str
    description: str
    p: str
    examples: tuple[ShownText, ...]
    items: tuple[ShownItem, ...]


@dataclass(frozen=True, kw_only=True)
class TextsBlock(PictureBlock):
    """Parts of texts that differ, with texts."""

    parts: tuple[ShownPart, ...]


def texts_block(c: Comparison) -> TextsBlock | None:
    """The section "What do the texts say?"; None if no occurrences in texts differ."""
    found = c.texts()
    if not found:
        return None
    return TextsBlock(
        section="Which texts?",
        lead="What occurs more often in one sample, with the most typical texts of that sample in which it does. "
        "P-values are adjusted for all columns together.",
        template="texts.html",
        anchor="texts",
        link="Texts",
        parts=tuple(_show(one, c) for one in found),
    )


def _show(one: NamedText, c: Comparison) -> ShownPart:
    return ShownPart(
        one.column,
        one.description,
        p_text(one.pvalue, c.min_pvalue),
        tuple(map(_example, one.examples)),
        tuple(map(_item, one.items)),
    )


def _example(one: TextExample) -> ShownText:
    counterpart = clip(one.counterpart or "", _TEXT)
    return ShownText(
        one.sample.lower(), one.where, _mark(one.text, one.spans), clip(one.item or "", _ITEM), counterpart
    )


def _item(one: ItemShare) -> ShownItem:
    x, y = (f"{count:,} of {total:,}" for count, total in (one.x, one.y))
    return ShownItem(clip(one.item, _ITEM), x, y)


def _mark(text: str, spans: Spans) -> Markup:
    """The text, with marks; what is cut off at the end is said.

    >>> _mark("Sure! <b>", [(0, 5)])
    '<span><mark>Sure!</mark> &lt;b&gt;</span>'
    """
    parts: list[str] = []
    end = 0
    # A text that is cut off keeps what it is shown for, which may be its end.
    shift = max(0, min(spans[0][0] - _TEXT // 4, len(text) - _TEXT)) if spans and spans[0][1] > _TEXT else 0
    shown, spans = text[shift : shift + _TEXT], [(a - shift, b - shift) for a, b in spans]
    for start, stop in spans:
        if stop > len(shown):
            break
        parts += [shown[end:start], tag("mark", shown[start:stop])]
        end = stop
    parts.append(shown[end:])
    return tag("span", "… " if shift else "", *parts, " …" if shift + _TEXT < len(text) else "")
