"""Results for people and for programs: the one-file HTML report, pictures, cards in notebooks, the schema of JSON.

`write` asks `page` for everything the page says, in the order in which it says it; the templates beside it lay that
out. Plots are drawn as SVG whose colours are variables of the page, so that they follow its light and its dark theme.
"""

from __future__ import annotations

import json
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._util.extras import extra
from .._util.files import atomic_write_text
from .._util.schema import SCHEMA_VERSION

if TYPE_CHECKING:
    from ..criticism import Comparison

__all__ = ["check_installed", "render", "schema", "write"]


def check_installed() -> None:
    """Complain where what a report needs is not installed."""
    for library in ("jinja2", "PIL.Image"):
        extra(library, group="report", what="The report")


def write(comparison: Comparison, path: str | PathLike[str], command: str | None = None) -> None:
    """Write the report; it appears whole or not at all.

    Parameters
    ----------
    comparison
        What `tellapart.compare` found.
    path
        The HTML file.
    command
        The command line that repeats the comparison; by default the report shows a call in Python.
    """
    atomic_write_text(path, render(comparison, command))


def render(comparison: Comparison, command: str | None = None) -> str:
    """The report as HTML."""
    from .page import contents
    from .sheets import render_sheet

    return render_sheet("report.html", contents(comparison, command))


def schema() -> dict[str, Any]:
    """The JSON Schema of what ``to_json`` of a result writes; docs/schema.md describes it.

    >>> schema()["title"]
    'Results of tellapart as JSON'
    """
    path = Path(__file__).parent / "schema" / f"results-{SCHEMA_VERSION}.json"
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found
