"""The page of several samples: all of them together, and each two as a heat map of adjusted p-values."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from typing import Any

from ..stats.pvalues import rejects
from ..twosample import KSampleResult
from ..twosample.findings import FAMILIES, Finding, PairwiseTest
from .sheets import as_pvalue, evidence_share, write_sheet

#: Columns (and pairs of them) that are listed, and named for two groups; and pairs of groups of which they are told.
_LISTED, _NAMED, _TOLD = 40, 3, 100


def write(
    result: KSampleResult, path: str | PathLike[str], by: str = "", alpha: float = 0.05, command: str | None = None
) -> None:
    """Write the page; ``by`` is the column that says which sample a row is of."""
    write_sheet("groups.html", path, contents(result, by, alpha, command))


def contents(result: KSampleResult, by: str, alpha: float, command: str | None) -> dict[str, Any]:
    """Everything that the page says."""
    differ = result.reject(alpha)
    sure = [one for one in result.pairwise if rejects(one.pvalue, alpha)]
    named, pairs = result.differing_columns(alpha), result.differing_pairs(alpha)
    tiles = [
        {"name": "p-value", "value": as_pvalue(result.pvalue), "text": f"exact, {result.permutations:,} relabellings"},
        {
            "name": "groups",
            "value": str(len(result.names)),
            "text": " to ".join(f"{size:,}" for size in sorted({min(result.sizes), max(result.sizes)})) + " rows each",
        },
        {
            "name": "columns that differ",
            "value": f"{len(named)} of {len(result.columns)}",
            "text": f"and {len(pairs)} of {len(result.pairs)} pairs of columns" if result.pairs else "",
        },
    ]
    if result.pairwise:  # two groups are one pair
        differing = f"{len(sure)} of {len(result.pairwise)}"
        tiles.insert(2, {"name": "pairs of groups", "value": differing, "text": f"differ at level {alpha:g}"})
    return {
        "title": f"Groups by {by}" if by else "Groups",
        "hero": {
            "title": f"{len(result.names)} groups{' by ' + by if by else ''}",
            "sentence": "The groups differ" if differ else "The groups are not shown to differ",
            "detail": ", ".join(
                f"{FAMILIES[name]}: p = {as_pvalue(one.pvalue)}" for name, one in result.families.items()
            ),
            "alarm": differ,
            "tiles": tiles,
        },
        "alpha": f"{alpha:g}",
        "names": [f"{name} ({rows:,})" for name, rows in zip(result.names, result.sizes, strict=True)],
        "matrix": _matrix(result, alpha) if result.pairwise else [],
        "told": [_told(one, alpha) for one in sure[:_TOLD]],
        "columns": _listed(result.columns, named),
        "pairs": _listed(result.pairs, pairs),
        "method": [
            "One exact permutation test of all groups together, and one of each two. P-values of these are adjusted "
            "for their number (Holm), those of columns and of pairs of columns jointly (Westfall & Young).",
            f"Seed {result.seed}, {result.seconds:.1f} s.",
        ],
        "notes": list(result.notes),
        "command": command,
    }


def _listed(findings: Sequence[Finding], named: Sequence[Finding]) -> list[dict[str, Any]]:
    """Columns, or pairs of them, over all groups."""
    return [
        {"name": one.name, "description": one.description, "pvalue": as_pvalue(one.pvalue), "sure": one in named}
        for one in findings[:_LISTED]
    ]


def _matrix(result: KSampleResult, alpha: float) -> list[dict[str, Any]]:
    by_pair = {frozenset(one.names): one for one in result.pairwise}
    rows = []
    for name in result.names:
        found = (by_pair.get(frozenset((name, other))) for other in result.names)
        cells = [None if one is None else _cell(one, alpha) for one in found]
        rows.append({"name": name, "cells": cells})
    return rows


def _cell(one: PairwiseTest, alpha: float) -> dict[str, Any]:
    title = f"{' and '.join(one.names)}: p = {as_pvalue(one.pvalue)}"
    sure = rejects(one.pvalue, alpha)
    return {"share": evidence_share(one.pvalue), "sure": sure, "text": as_pvalue(one.pvalue), "title": title}


def _told(one: PairwiseTest, alpha: float) -> dict[str, str]:
    """Two groups that differ, and the first of the columns, or pairs of columns, that they differ in."""
    named = [*one.test.differing_columns(alpha), *one.test.differing_pairs(alpha)]
    words = "; ".join(f"{c.name}: {c.description}" for c in named[:_NAMED]) or "no single column or pair differs"
    more = f"; and {len(named) - _NAMED} more" if len(named) > _NAMED else ""
    return {"names": f"{' and '.join(one.names)}:", "description": f"{words}{more}."}
