"""Everything that the page of a report says, section by section, as plain values for its templates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..criticism import Comparison
from .columns import SHOWN, columns
from .examples import Shower, examples
from .images import pixels
from .method import method
from .pairs import SHOWN as PAIRS_SHOWN
from .pairs import pairs
from .size import size
from .slices import slices
from .verdict import verdict
from .weights import weights


@dataclass(frozen=True)
class Link:
    """A section in the list of contents, with how much was found there."""

    section: str
    title: str
    count: str = ""


def contents(c: Comparison, command: str | None = None) -> dict[str, Any]:
    """The values of the templates: one for each section, which has a module and a template of its name."""
    names = distinct_names(c)
    shower = Shower(c, names)
    found = {
        "names": names,
        "verdict": verdict(c, names, command),
        "size": size(c, names),
        "pixels": pixels(c, names),
        "pairs": pairs(c, names),
        "slices": slices(c, names, shower),
        "examples": examples(c, names, shower),
        "weights": weights(c, names),
        "method": method(c, names, command),
        "version": c.settings.versions["tellapart"],
        "headings": shower.headings,
        "shown": {"columns": SHOWN, "pairs": PAIRS_SHOWN},
    }
    found["columns"] = columns(c, names) if found["pixels"] is None and c.columns else None
    return found | {"links": _links(found)}


def _links(found: dict[str, Any]) -> list[Link]:
    """The sections that there are, in their order."""
    links = [Link("size", "How much")]
    for name, title in (
        ("columns", "Columns"),
        ("pixels", "Pixels"),
        ("pairs", "Pairs"),
        ("slices", "Kinds of rows"),
    ):
        if found[name] is not None:
            part = found[name]
            links.append(Link(name, title, f"{part.named:,} of {part.total:,}"))
    links.append(Link("examples", "Examples"))
    if found["weights"] is not None:
        links.append(Link("weights", "Weights"))
    return [*links, Link("how", "Method")]


def distinct_names(c: Comparison) -> tuple[str, str]:
    """The names of the samples; samples of one name are told apart by X and Y."""
    first, second = c.names
    return (first, second) if first != second else (f"{first} (X)", f"{second} (Y)")
