"""New results on top of those in ``power.json``, which may be of other machines and of earlier runs.

Decisions are joined by seed, and at a seed that both have the new one counts. Rates that were written before decisions
were kept cannot be joined: new ones take their place once they have as many repetitions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from typing import Any

from .results import Cell, decisions_of, rate

KINDS = ("power", "level")
#: A row of the league table, as ``power.json`` has it.
Row = dict[str, Any]


def cell_of(row: Row) -> Cell:
    return Cell(*(row[name] for name in Cell._fields))


def merge(known: list[Row], fresh: list[Row], changed: Collection[str] = ()) -> list[Row]:
    """All rows. Of methods that have changed, a fresh row takes the place of the known one; others are joined."""
    merged = {cell_of(row): row for row in known}
    for row in fresh:
        cell = cell_of(row)
        merged[cell] = row if cell not in merged or cell.method in changed else join(merged[cell], row)
    return list(merged.values())


def join(known: Row, fresh: Row) -> Row:
    """What failed takes nobody's place. Seconds are of the part with more repetitions."""
    if "error" in fresh or "error" in known:
        return fresh if "error" in known else known
    joined = known | {kind: join_rates(known[kind], fresh[kind]) for kind in KINDS}
    levels = [row.get("other_levels", {}) for row in (known, fresh)]
    if any(levels):
        joined["other_levels"] = {
            level: join_rates(*(part.get(level) for part in levels)) for level in levels[0] | levels[1]
        }
    return joined | {"seconds": max(fresh, known, key=_repetitions)["seconds"]}


def join_rates(known: dict[str, Any] | None, fresh: dict[str, Any] | None) -> dict[str, Any] | None:
    if known is None or fresh is None:
        return fresh or known
    if "decisions" in known:
        return rate(decisions_of(known) | decisions_of(fresh))
    return fresh if fresh["repetitions"] >= known["repetitions"] else known


def newer_sum(known: dict[str, Any] | None, fresh: dict[str, Any] | None, rows: list[Row]) -> dict[str, Any] | None:
    """The fresh sum; but the known one while it is of more trials, some of which are not known by seed."""
    more = known is not None and known["trials"] > (fresh or {"trials": 0})["trials"]
    return known if more and any("decisions" not in row["power"] for row in rows if row.get("power")) else fresh


def disagreements(known: list[Row], fresh: list[Row]) -> dict[str, tuple[int, int]]:
    """Of each method: how many decisions differ at seeds that were tried before, and how many such seeds there are.

    Samples and tests are drawn by seed, so that many differences mean another method, another problem or another
    version of a library.
    """
    before = {cell_of(row): row for row in known}
    differ, common = Counter[str](), Counter[str]()
    for row in fresh:
        for kind in KINDS:
            old, new = (decisions_of(part.get(kind)) for part in (before.get(cell_of(row), {}), row))
            both = old.keys() & new.keys()
            common[row["method"]] += len(both)
            differ[row["method"]] += sum(old[seed] != new[seed] for seed in both)
    return {method: (count, common[method]) for method, count in differ.items() if count}


def _repetitions(row: Row) -> int:
    return sum(row[kind]["repetitions"] for kind in KINDS if row[kind])
