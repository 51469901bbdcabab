"""Views as cards in a notebook: small, self-contained, and in the notebook's light or dark theme."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import singledispatch

from .._util.view import Block, Detail, Facts, Headline, Matrix, Notes, TableBlock, View
from .svg import Markup, tag
from .words import clip

#: Rows, notes, and characters of a cell and of a sentence that are shown.
_ROWS, _NOTES, _CELL, _SENTENCE = 8, 5, 90, 300

# Colors are those of the notebook, lighter and fainter; the others can be read on white and on black.
_STYLE = """
.tellapart{font:13px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif;max-width:780px;
border:1px solid rgb(128 128 128/.35);border-radius:10px;padding:12px 16px;margin:4px 0}
.tellapart p{margin:0 0 6px}.tellapart .ta-head{font-size:15px;font-weight:600}
.tellapart .ta-yes{color:#7a68e0}.tellapart .ta-no{color:#2f8f71}.tellapart .ta-soft{opacity:.75}
.tellapart table{border-collapse:collapse;margin:8px 0 0;font-size:12.5px;font-variant-numeric:tabular-nums}
.tellapart table.ta-wide{width:100%}
.tellapart th,.tellapart td{text-align:left!important;padding:3px 14px 3px 0;border:0;vertical-align:top;
overflow-wrap:anywhere;background:none}
.tellapart tr+tr td,.tellapart thead+tbody td{border-top:1px solid rgb(128 128 128/.2)}
.tellapart th{font-weight:600;opacity:.75}.tellapart td.ta-num{white-space:nowrap}
.tellapart .ta-named{font-weight:600}
"""


def render_card(view: View) -> str:
    """A view as HTML without scripts or links."""
    parts = (part for block in view.within(Detail.CARD) for part in _parts(block))
    return str(tag("div", tag("style", Markup(_STYLE)), *parts, class_="tellapart"))


@singledispatch
def _parts(block: Block) -> Iterator[Markup]:
    raise TypeError(f"there is no card for {type(block).__name__}")


@_parts.register
def _(block: Headline) -> Iterator[Markup]:
    style = "" if block.positive is None else " ta-yes" if block.positive else " ta-no"
    yield tag("p", f"{clip(block.text, _SENTENCE)}.", class_=f"ta-head{style}")
    sentences = (f"{block.evidence}.",) if block.evidence else ()
    yield from map(_line, (*sentences, *block.sentences))


@_parts.register
def _(block: Facts) -> Iterator[Markup]:
    rows = (tag("tr", tag("th", name, scope="row"), tag("td", clip(value, _SENTENCE))) for name, value in block.items)
    yield tag("table", tag("tbody", *rows))


@_parts.register
def _(block: Notes) -> Iterator[Markup]:
    yield from (_line(f"{block.prefix}{note}") for note in block.items[:_NOTES])


@_parts.register
def _(block: TableBlock) -> Iterator[Markup]:
    if block.instead:
        yield _line(block.instead)
        return
    places = [k for k, column in enumerate(block.columns) if column.detail <= Detail.CARD]
    shown = block.rows[:_ROWS]
    rows = ([_unit(row.cells[k].text, row.cells[k].unit) for k in places] for row in shown)
    yield _table([block.columns[k].name for k in places], rows, [row.strong for row in shown])
    if block.total > len(shown):
        yield _line(f"… and {block.total - len(shown):,} more.")


@_parts.register
def _(block: Matrix) -> Iterator[Markup]:
    rows = (
        [name, *("" if cell is None else cell.text for cell in cells)]
        for name, cells in zip(block.names, block.cells, strict=True)
    )
    yield _table([block.corner or "adjusted p", *block.columns], rows, [False] * len(block.names))


def _unit(text: str, unit: str) -> str:
    return f"{text} {unit}" if unit else clip(text, _CELL)


def _line(text: str) -> Markup:
    return tag("p", clip(text, _SENTENCE), class_="ta-soft")


def _table(head: Iterable[str], rows: Iterable[Iterable[str]], strong: Iterable[bool]) -> Markup:
    first = tag("tr", *(tag("th", clip(text, _CELL), scope="col") for text in head))
    lines = (
        tag("tr", *(tag("td", text) for text in row), class_="ta-named" if bold else "")
        for row, bold in zip(rows, strong, strict=True)
    )
    return tag("table", tag("thead", first), tag("tbody", *lines), class_="ta-wide")
