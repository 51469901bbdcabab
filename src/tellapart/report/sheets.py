"""Pages, one template each, in the same style: the report of a comparison, and those of rankings, histories, groups."""

from __future__ import annotations

import math
from os import PathLike
from typing import Any

from .._util.extras import extra
from .._util.files import atomic_write_text
from .._util.text import printable
from . import check_installed
from .words import keep_units


def write_sheet(template: str, path: str | PathLike[str], values: dict[str, Any]) -> None:
    """Fill a template and write it; the page appears whole or not at all."""
    atomic_write_text(path, render_sheet(template, values))


def render_sheet(template: str, values: dict[str, Any]) -> str:
    """A template filled with values, as HTML."""
    check_installed()
    from .. import __version__

    jinja2 = extra("jinja2", group="report", what="The report")
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("tellapart", "report/templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["sentence"] = keep_units
    page = str(environment.get_template(template).render(values | {"version": __version__}))
    return printable(page, keep="\n\t")


def evidence_share(pvalue: float) -> float:
    """How strongly a cell is coloured, from 0 to 1, by its p-value.

    >>> evidence_share(1.0), round(evidence_share(0.05), 2), evidence_share(1e-9)
    (0.0, 0.33, 1.0)
    """
    return min(1.0, abs(math.log10(max(pvalue, 1e-300))) / 4)


def as_pvalue(pvalue: float) -> str:
    """A p-value for people.

    >>> as_pvalue(0.0312), as_pvalue(2e-5), as_pvalue(1e-200)
    ('0.031', '2.0e-05', '< 1e-15')
    """
    if pvalue < 1e-15:
        return "< 1e-15"
    return f"{pvalue:.3f}" if pvalue >= 0.001 else f"{pvalue:.1e}"
