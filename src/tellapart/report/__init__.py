"""Renderers of results: text, notebook cards, one-file HTML pages, plots; and the schema of their JSON form.

`Result.view` gives blocks of plain data. `text`, `card`, `page` and `plots` render them. Figures on pages are SVG whose
colors are variables of the page, so that they follow its light and its dark theme.
"""

from __future__ import annotations

import json
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._util.extras import extra
from .._util.files import atomic_write_text
from ..twosample.result import SCHEMA_VERSION

if TYPE_CHECKING:
    from ..twosample.result import Result

__all__ = ["check_installed", "render", "schema", "write"]


def check_installed() -> None:
    """Raise `ImportError` if a library that pages need is not installed."""
    for library in ("jinja2", "PIL.Image"):
        extra(library, group="report", what="The report")


def write(result: Result, path: str | PathLike[str], command: str | None = None, *, alpha: float | None = None) -> None:
    """Write the page of a result. It appears complete or not at all.

    Parameters
    ----------
    result : Result
        What `tellapart.compare`, `tellapart.two_sample_test` or another test returned.
    path : str or path-like
        The HTML file.
    command : str, optional
        A command line that reproduces the result. By default the page of a comparison shows a call in Python.
    alpha : float, optional
        Significance level. By default that of the result, or 0.05.
    """
    atomic_write_text(path, render(result, command, alpha=alpha))


def render(result: Result, command: str | None = None, *, alpha: float | None = None) -> str:
    """The page of a result as HTML; see `write`."""
    from .page import render_page

    return render_page(result, command, alpha)


def schema() -> dict[str, Any]:
    """The JSON Schema of what ``to_json`` of a result writes; docs/schema.md describes it.

    >>> schema()["title"]
    'Results of tellapart as JSON'
    """
    path = Path(__file__).parent / "schema" / f"results-{SCHEMA_VERSION}.json"
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found
