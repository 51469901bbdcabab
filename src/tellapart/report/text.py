"""Views as plain text: the summary of a result."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import singledispatch
from typing import Any

from .._util.errors import spell_keyword
from .._util.numbers import with_sign
from .._util.spelling import spell_note
from .._util.view import Block, Detail, Facts, Headline, Matrix, Notes, Row, TableBlock, View


def render_text(view: View, spell: Callable[[str, Any], str] = spell_keyword) -> str:
    """A view as lines of text.

    Parameters
    ----------
    view : View
        The view of a result.
    spell : callable, optional
        Writes an argument that a note recommends, given its name and value. By default as in Python.
    """
    return "\n".join(line for block in view.within(Detail.SUMMARY) for line in _lines(block, spell))


@singledispatch
def _lines(block: Block, spell: Callable[[str, Any], str]) -> Iterator[str]:
    raise TypeError(f"there is no text for {type(block).__name__}")


@_lines.register
def _(block: Headline, spell: Callable[[str, Any], str]) -> Iterator[str]:
    yield str(block)
    yield from block.sentences


@_lines.register
def _(block: Facts, spell: Callable[[str, Any], str]) -> Iterator[str]:
    if block.title:
        yield f"{block.title}:"
    indent = "  " if block.title else ""
    yield from (f"{indent}{name}: {value}" for name, value in block.items)


@_lines.register
def _(block: Notes, spell: Callable[[str, Any], str]) -> Iterator[str]:
    yield from (f"{block.prefix}{spell_note(note, spell)}" for note in block.items)


@_lines.register
def _(block: TableBlock, spell: Callable[[str, Any], str]) -> Iterator[str]:
    if block.instead:
        return
    rows = [row for row in block.rows if row.strong] if block.strong_title else list(block.rows)
    total = block.strong_total if block.strong_title else block.total
    if not rows:
        return
    yield f"{block.strong_title}: {total:,} of {block.total:,}" if block.strong_title else f"{block.title}:"
    yield from (f"  {_row(block, row)}" for row in rows[: block.in_text])
    if total > block.in_text:
        yield f"  … and {total - block.in_text:,} more"


@_lines.register
def _(block: Matrix, spell: Callable[[str, Any], str]) -> Iterator[str]:
    yield f"{block.title}:"
    hints = (cell.hint for row in block.cells for cell in row if cell is not None)
    # A matrix of unordered pairs has each of them twice.
    yield from (f"  {hint}" for hint in dict.fromkeys(hints))


def _row(table: TableBlock, row: Row) -> str:
    """``name: first cell (other cells)``. Empty cells are left out, and an empty name is quoted."""
    shown = [
        with_sign(cell.text) if column.kind == "p" else cell.text
        for column, cell in zip(table.columns[1:], row.cells[1:], strict=True)
        if column.detail == Detail.SUMMARY and cell.text
    ]
    name = row.cells[0].text or "''"
    others = f" ({', '.join(shown[1:])})" if len(shown) > 1 else ""
    return f"{name}: {shown[0]}{others}" if shown else name
