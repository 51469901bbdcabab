"""Views as pages: one HTML file that needs nothing else."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .._util.errors import spell_keyword
from .._util.extras import extra
from .._util.spelling import spell_flag, spell_note
from .._util.text import printable
from .._util.view import Block, Facts, Figure, Gallery, Headline, Matrix, Notes, TableBlock, View
from ..criticism import Comparison
from ..twosample.auto_result import AutoResult
from ..twosample.result import Result
from . import check_installed
from .blocks import Command, PictureBlock
from .comparison import view_comparison
from .figures import draw_figure, legend
from .images import pixels_block
from .pictures import thumbnail
from .words import keep_units

#: Blocks that share a line with their neighbors of the same kind.
_SIDE_BY_SIDE = (Figure, Gallery)


@dataclass(frozen=True)
class Section:
    """A section of a page: its anchor and heading, its entry in the contents, paragraphs, and blocks by lines."""

    anchor: str
    title: str
    link: str
    count: str
    lead: str
    lines: list[list[Block]]


def render_page(result: Result, command: str | None = None, alpha: float | None = None) -> str:
    """The page of a result as HTML."""
    check_installed()
    from .. import __version__

    blocks = page_view(result, command, alpha).blocks
    headline = next(block for block in blocks if isinstance(block, Headline))
    first = next((k for k, block in enumerate(blocks) if block.section), len(blocks))
    values = {
        "headline": headline,
        "title": " and ".join(headline.samples) or headline.title,
        "noticed": [block for block in blocks[:first] if isinstance(block, Notes)],
        "overview": _lines([block for block in blocks[:first] if not isinstance(block, (Headline, Notes))]),
        "sections": _sections(blocks[first:]),
        "names": headline.samples or ("X", "Y"),
        "version": __version__,
    }
    # A page that shows a command line spells arguments as its reader would.
    environment = _environment(spell_flag if command else spell_keyword)
    page = str(environment.get_template("page.html").render(values))
    return printable(page, keep="\n\t")


def page_view(result: Result, command: str | None = None, alpha: float | None = None) -> View:
    """The blocks of a page: those of the result's view, with pictures where the data are known."""
    if isinstance(result, Comparison):
        return view_comparison(result.at_level(alpha), command)
    blocks = list(result.view(alpha).blocks)
    if isinstance(result, AutoResult) and len(result.names) == 2:
        pixels = pixels_block(result, 0.05 if alpha is None else alpha)
        if pixels is not None:
            blocks = [pixels if _is_columns(block) else block for block in blocks]
    if command:
        heading = "" if any(block.section for block in blocks) else "How can it be repeated?"
        blocks.append(Command(section=heading, title="Repeat it", text=command, language="shell"))
    return View(tuple(blocks))


def _is_columns(block: Block) -> bool:
    return isinstance(block, TableBlock) and block.anchor == "columns"


def _environment(spell: Callable[[str, Any], str]) -> Any:
    jinja2 = extra("jinja2", group="report", what="The report")
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("tellapart", "report/templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "sentence": lambda text: keep_units(spell_note(text, spell)),
        "kind": _kind,
        "draw": draw_figure,
        "legend": legend,
        "thumbnail": thumbnail,
    }
    return environment


def _kind(block: Block) -> str:
    """Which macro or template renders a block."""
    if isinstance(block, PictureBlock):
        return "picture"
    kinds = {
        TableBlock: "table",
        Matrix: "matrix",
        Figure: "figure",
        Gallery: "gallery",
        Facts: "facts",
        Notes: "notes",
    }
    return next((name for kind, name in kinds.items() if isinstance(block, kind)), type(block).__name__.lower())


def _sections(blocks: tuple[Block, ...]) -> list[Section]:
    """Sections, each from a block with a heading up to the next one."""
    sections: list[Section] = []
    start = 0
    for end in range(1, len(blocks) + 1):
        if end < len(blocks) and not blocks[end].section:
            continue
        first = blocks[start]
        anchor = getattr(first, "anchor", "") or re.sub(r"\W+", "-", first.section.lower()).strip("-")
        link = first.link or first.section.rstrip("?")
        sections.append(
            Section(anchor, first.section, link, _count(first), first.lead, _lines(list(blocks[start:end])))
        )
        start = end
    return sections


def _count(block: Block) -> str:
    """How many rows of a table are strong, for the contents."""
    if isinstance(block, PictureBlock):
        return block.count
    return f"{block.strong_total:,} of {block.total:,}" if isinstance(block, TableBlock) and block.strong_title else ""


def _lines(blocks: list[Block]) -> list[list[Block]]:
    """Blocks by lines: figures share one, other blocks have one each."""
    lines: list[list[Block]] = []
    before = False
    for block in blocks:
        beside = isinstance(block, _SIDE_BY_SIDE) or _is_small(block)
        if beside and before:
            lines[-1].append(block)
        else:
            lines.append([block])
        before = beside
    return lines


def _is_small(block: Block) -> bool:
    """Whether a block may stand next to a figure."""
    return isinstance(block, Facts) and block.title == "Settings"
