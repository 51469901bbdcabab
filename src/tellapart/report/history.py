"""The page of a monitor: what became of p-values, bets and columns, batch by batch."""

from __future__ import annotations

from os import PathLike
from typing import Any

from ..twosample import BatchRecord, Monitor
from .histograms import Figure
from .sheets import as_pvalue, evidence_share, write_sheet
from .svg import Axis, Plot

#: Batches that are drawn one by one, listed, and shown with their columns; and columns.
_DRAWN, _LISTED, _SHOWN, _COLUMNS = 1_000, 200, 60, 40


def write(monitor: Monitor, path: str | PathLike[str], command: str | None = None) -> None:
    """Write the page."""
    write_sheet("history.html", path, contents(monitor, command))


def contents(monitor: Monitor, command: str | None = None) -> dict[str, Any]:
    """Everything that the page says."""
    records, alarms = monitor.records, monitor.alarms
    last = records[-1] if records else None
    shown = records[-_LISTED:]
    return {
        "title": "History",
        "hero": _hero(monitor, last, alarms),
        "lead": monitor.guarantee,
        "alpha": f"{monitor.alpha:g}",
        "figures": _figures(monitor, alarms) if records else [],
        "drift": _drift(records[-_SHOWN:]),
        "batches": [_row(one, one in alarms) for one in reversed(shown)],
        "hidden": len(records) - len(shown),
        "method": [
            f"Each batch is compared with rows of the reference ({len(monitor.reference):,} rows; "
            f"{len(monitor.reference.contents.rows):,} kept) by an exact permutation test of features that were fixed "
            "on other rows of it.",
            "The capital is 1 at the beginning. Before each batch it is staked on functions learned from earlier ones, "
            "that their means differ between the batch and rows of the reference not used before.",
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
        sentence = f"Alarm since {first}" if monitor.control == "anytime" else f"{len(alarms)} batches are flagged"
    tiles = [
        {"name": "batches", "value": f"{len(monitor.records):,}", "text": f"{len(alarms)} with an alarm"},
        {
            "name": "last p-value",
            "value": as_pvalue(last.pvalue) if last else "–",
            "text": f"{last.name}, {last.rows:,} rows" if last else "",
        },
        {
            "name": "capital",
            "value": f"{monitor.betting.capital:.3g}",
            "text": f"an alarm from {1 / monitor.alpha:g} on" if monitor.control == "anytime" else "an e-value",
        },
        {
            "name": "fresh rows left",
            "value": f"{monitor.features.fresh - monitor.used:,}",
            "text": f"of {monitor.features.fresh:,} to bet on",
        },
    ]
    detail = f"Control: {monitor.control}, α = {monitor.alpha:g}."
    return {
        "title": "Batches against a reference",
        "sentence": sentence,
        "detail": detail,
        "alarm": bool(alarms),
        "tiles": tiles,
    }


def _figures(monitor: Monitor, alarms: list[BatchRecord]) -> list[Figure]:
    records, alpha = monitor.records, monitor.alpha
    step = max(1, len(records) // _DRAWN)
    loud = set(map(id, alarms))
    drawn = [one for one in records if one.number % step == 0 or id(one) in loud or one is records[-1]]
    numbers = [float(one.number) for one in drawn]
    axis = Axis(-0.5, max(len(records) - 0.5, 1.5), "batch", form=lambda value: _name_at(records, value))
    highest = max([1 / alpha, *(one.capital for one in records)]) * 2
    lowest = max(min([0.5, *(one.capital for one in records)]) / 2, 1e-6)
    capital = Plot(axis, Axis(lowest, highest, log=True), width=520)
    capital.line([axis.low, axis.high], [1 / alpha, 1 / alpha], "limit")
    capital.line(numbers, [max(one.capital, lowest) for one in drawn], "capital")
    for style, some in (
        ("capital", [o for o in drawn if id(o) not in loud]),
        ("alarm", [o for o in drawn if id(o) in loud]),
    ):
        if len(records) <= _DRAWN // 4 or style == "alarm":
            titles = [f"{one.name}: capital {one.capital:.3g}" for one in some]
            capital.dots([float(o.number) for o in some], [max(o.capital, lowest) for o in some], style, titles)
    least = min([alpha, *(one.pvalue for one in records), *(one.level or 1.0 for one in records)]) / 2
    pvalues = Plot(axis, Axis(least, 1.3, log=True), width=520)
    levels = [one.level for one in drawn]
    pvalues.line(numbers, [alpha if level is None else level for level in levels], "limit")
    for style, some in (
        ("quiet", [o for o in drawn if id(o) not in loud]),
        ("alarm", [o for o in drawn if id(o) in loud]),
    ):
        titles = [f"{one.name}: p = {as_pvalue(one.pvalue)}" for one in some]
        pvalues.dots([float(one.number) for one in some], [one.pvalue for one in some], style, titles)
    limit = "level" if monitor.control == "holm" else f"α = {alpha:g}"
    return [
        Figure(
            "Capital of the bets",
            capital.svg("capital by batch"),
            (("capital", "capital"), (f"limit 1/α = {1 / alpha:g}", "limit"), ("alarm", "alarm")),
            "It may be read at any time: without a difference it ever reaches the limit with probability at most α.",
        ),
        Figure(
            "P-values of single batches",
            pvalues.svg("p-values by batch"),
            (("p-value", "quiet"), (limit, "limit"), ("alarm", "alarm")),
            "Each by itself is exact. Many batches will have a small one by chance: what counts is the alarm.",
        ),
    ]


def _name_at(records: list[BatchRecord], value: float) -> str:
    number = round(value)
    name = records[number].name if 0 <= number < len(records) and abs(number - value) < 1e-6 else ""
    return name if len(name) <= 14 else f"{name[:13]}…"


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
                "title": f"{one.name}: {c['words']}, p = {as_pvalue(c['pvalue'])}",
            }
            for c, one in zip(found, records, strict=True)
        ]
        rows.append({"name": name, "cells": cells})
    left_out = f"{len(names) - _COLUMNS} more columns are not shown." if len(names) > _COLUMNS else ""
    return {"columns": rows, "batches": [one.name for one in records], "left_out": left_out}


def _row(one: BatchRecord, alarm: bool) -> dict[str, Any]:
    return {
        "name": one.name,
        "rows": f"{one.rows:,}",
        "pvalue": as_pvalue(one.pvalue),
        "capital": f"{one.capital:.3g}",
        "alarm": alarm,
        "differs": "; ".join(f"{c['name']}: {c['words']}" for c in one.columns[:3]),
        "notes": " ".join(one.notes),
    }
