"""Everything that the page of a report says, section by section, as plain values for its templates."""

from __future__ import annotations

from typing import Any

from ..criticism import Comparison
from .evidence import evidence
from .examples import examples
from .marginals import marginals
from .method import method
from .verdict import verdict
from .weights import weights


def contents(c: Comparison, command: str | None = None) -> dict[str, Any]:
    """The values of the templates: one for each section, which has a module and a template of its name."""
    names = distinct_names(c)
    return {
        "names": names,
        "verdict": verdict(c, names),
        "evidence": evidence(c, names),
        "examples": examples(c, names),
        "weights": weights(c),
        "marginals": marginals(c, names),
        "method": method(c, names, command),
        "version": c.settings.versions["tellapart"],
    }


def distinct_names(c: Comparison) -> tuple[str, str]:
    """The names of the samples; samples of one name are told apart by X and Y."""
    first, second = c.names
    return (first, second) if first != second else (f"{first} (X)", f"{second} (Y)")
