"""The page of a monitor: what became of p-values, bets and columns, batch by batch."""

from __future__ import annotations

from os import PathLike
from typing import Any

from ..twosample import BatchRecord, Monitor
from .histograms import Figure
from .sheets import as_pvalue, evidence_share, write_sheet
from .svg import Axis, Plot
from .words import number, short_names

#: Batches that are drawn one by one, listed, and shown with their columns; and columns.
_DRAWN, _LISTED, _SHOWN, _COLUMNS = 1_000, 200, 60, 40
#: Characters of the names of batches over the table of columns.
_NAME = 18


def write(monitor: Monitor, path: str | PathLike[str], command: str | None = None) -> None:
    """Write the page."""
    write_sheet("history.html", path, contents(monitor, command))


def contents(monitor: Monitor, command: str | None = None) -> dict[str, Any]:
    """Everything that the page says."""
    records, alarms = monitor.records, monitor.alarms
    last = records[-1] if records else None
    shown, loud = records[-_LISTED:], {one.number for one in alarms}
    return {
        "title": "History",
        "hero": _hero(monitor, last, alarms),
        "lead": monitor.guarantee,
        "alpha": f"{monitor.alpha:g}",
        "figures": _figures(monitor, alarms) if records else [],
        "drift": _drift(records[-_SHOWN:]),
        "batches": [_row(one, one.number in loud) for one in reversed(shown)],
        "hidden": len(records) - len(shown),
        "method": [
            f"Each batch is compared with rows of the reference ({len(monitor.reference):,} rows; "
            f"{len(monitor.reference.contents.rows):,} kept) by an exact permutation test of features that were fixed "
            "on other rows of it.",
            "The evidence is the capital of bets, and 1 at the beginning. It is staked on telling rows of the batch "
            "from rows of the reference not used before, by what the rows before showed.",
        ],
        "notes": list(dict.fromkeys(note for one in shown[-10:] for note in one.notes)),
        "command": command,
    }


def _hero(monitor: Monitor, last: BatchRecord | None, alarms: list[BatchRecord]) -> dict[str, Any]:
    first = alarms[0].name if alarms else ""
    if last is None:
        sentence = "No batches yet"
    elif not alarms:
        sentence = "No alarm so far"
    else:
        sentence = (
            f"Alarm, first raised by {first}" if monitor.control == "anytime" else f"{_batches(len(alarms))} flagged"
        )
    tiles = [
        {"name": "batches", "value": f"{len(monitor.records):,}", "text": f"{len(alarms)} with an alarm"},
        {
            "name": "last p-value",
            "value": as_pvalue(last.pvalue) if last else "–",
            "text": f"{last.name}, {last.rows:,} rows" if last else "",
        },
        {
            "name": "evidence",
            "value": number(monitor.bets.evidence),
            "text": f"an alarm from {1 / monitor.alpha:g} on" if monitor.control == "anytime" else "an e-value",
        },
        {
            "name": "fresh rows left",
            "value": f"{monitor.bets.left:,}",
            "text": f"of {monitor.bets.total:,} to bet on",
        },
    ]
    detail = f"Control: {monitor.control}, α = {monitor.alpha:g}."
    if last is not None and monitor.is_for_later(last):
        detail += (
            f" {last.name} by itself differs from the reference (p = {as_pvalue(last.pvalue)}): an alarm needs the "
            "next batches to confirm it."
        )
    return {
        "title": "Batches against a reference",
        "sentence": sentence,
        "detail": detail,
        "alarm": bool(alarms),
        "tiles": tiles,
    }


def _batches(count: int) -> str:
    return "1 batch is" if count == 1 else f"{count:,} batches are"


def _figures(monitor: Monitor, alarms: list[BatchRecord]) -> list[Figure]:
    records, alpha = monitor.records, monitor.alpha
    step = max(1, len(records) // _DRAWN)
    loud = {one.number for one in alarms}
    drawn = [one for one in records if one.number % step == 0 or one.number in loud or one is records[-1]]
    numbers = [float(one.number) for one in drawn]
    names = short_names([one.name for one in records])
    axis = Axis(-0.5, max(len(records) - 0.5, 1.5), "batch", form=lambda value: _name_at(names, value))
    highest = max([1 / alpha, *(one.evidence for one in records)]) * 2
    lowest = max(min([0.5, *(one.evidence for one in records)]) / 2, 1e-6)
    evidence = Plot(axis, Axis(lowest, highest, log=True), width=520)
    evidence.line([axis.low, axis.high], [1 / alpha, 1 / alpha], "limit")
    evidence.line(numbers, [max(one.evidence, lowest) for one in drawn], "evidence")
    for style, some in (
        ("evidence", [o for o in drawn if o.number not in loud]),
        ("alarm", [o for o in drawn if o.number in loud]),
    ):
        if len(records) <= _DRAWN // 4 or style == "alarm":
            titles = [f"{one.name}: evidence {number(one.evidence)}" for one in some]
            evidence.dots([float(o.number) for o in some], [max(o.evidence, lowest) for o in some], style, titles)
    least = min([alpha, *(one.pvalue for one in records), *(one.level or 1.0 for one in records)]) / 2
    pvalues = Plot(axis, Axis(least, 1.3, log=True), width=520)
    levels = [one.level for one in drawn]
    pvalues.line(numbers, [alpha if level is None else level for level in levels], "limit")
    for style, some in (
        ("quiet", [o for o in drawn if o.number not in loud]),
        ("alarm", [o for o in drawn if o.number in loud]),
    ):
        titles = [f"{one.name}: p = {as_pvalue(one.pvalue)}" for one in some]
        pvalues.dots([float(one.number) for one in some], [one.pvalue for one in some], style, titles)
    limit = "level" if monitor.control == "fwer" else f"α = {alpha:g}"
    return [
        Figure(
            "Evidence so far",
            evidence.svg("evidence by batch"),
            (("evidence", "evidence"), (f"limit 1/α = {1 / alpha:g}", "limit"), ("alarm", "alarm")),
            "It may be read at any time: without a difference it ever reaches the limit with probability at most α.",
        ),
        Figure(
            "P-values of single batches",
            pvalues.svg("p-values by batch"),
            (("p-value", "quiet"), (limit, "limit"), ("alarm", "alarm")),
            "Each by itself is exact. Many batches will have a small one by chance: what counts is the alarm.",
        ),
    ]


def _name_at(names: list[str], value: float) -> str:
    """The name of a batch; nothing between two of them."""
    place = round(value)
    return names[place] if 0 <= place < len(names) and abs(place - value) < 1e-6 else ""


def _drift(records: list[BatchRecord]) -> dict[str, Any]:
    """A row for each column that was named, a cell for each batch."""
    weight: dict[str, float] = {}
    for one in records:
        for column in one.columns:
            weight[column["name"]] = weight.get(column["name"], 0.0) + evidence_share(column["pvalue"])
    names = sorted(weight, key=lambda name: -weight[name])
    rows = []
    for name in names[:_COLUMNS]:
        found = [next((c for c in one.columns if c["name"] == name), None) for one in records]
        cells = [
            None
            if c is None
            else {
                "share": max(0.25, evidence_share(c["pvalue"])),
                "title": f"{one.name}: {c['description']}, p = {as_pvalue(c['pvalue'])}",
            }
            for c, one in zip(found, records, strict=True)
        ]
        rows.append({"name": name, "cells": cells})
    more = max(0, len(names) - _COLUMNS)
    left_out = f"{more} more {'column is' if more == 1 else 'columns are'} not shown." if more else ""
    called = [one.name for one in records]
    batches = list(zip(called, short_names(called, _NAME), strict=True))
    return {"columns": rows, "batches": batches, "left_out": left_out}


def _row(one: BatchRecord, alarm: bool) -> dict[str, Any]:
    return {
        "name": one.name,
        "rows": f"{one.rows:,}",
        "pvalue": as_pvalue(one.pvalue),
        "evidence": number(one.evidence),
        "alarm": alarm,
        "columns": ", ".join(c["name"] for c in one.columns),
        "differs": "; ".join(f"{c['name']}: {c['description']}" for c in one.columns),
        # The row begins with the name already.
        "notes": " ".join(note.removeprefix(f"{one.name}: ") for note in one.notes),
    }
