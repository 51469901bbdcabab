"""The results as lines, as a figure, and as a page of the docs; all of ``power.json`` alone."""

from __future__ import annotations

import json
import math
from pathlib import Path
from statistics import median
from typing import Any

GROUP_TITLES = {
    "reporting": ("Reporting problems", "Nothing was chosen on these."),
    "real": ("Real problems", "Tables, images and embeddings; nothing was chosen on these either."),
    "null": ("Null problems", "P = Q: every rejection is an error."),
    "development": ("Development problems", "Our settings were chosen on these: compare methods elsewhere."),
}
NEAR = 0.05
#: A cell with fewer repetitions than this is shown with their number and is not the best of its row; where most have
#: fewer, the page is called a trial run.
ENOUGH = 20


def compact_json(result: dict[str, Any]) -> str:
    """JSON with one line for each cell: a difference of two versions can be read."""
    head = {key: value for key, value in result.items() if key != "cells"}
    cells = ",\n".join("    " + json.dumps(cell, ensure_ascii=False) for cell in result["cells"])
    return json.dumps(head, indent=2, ensure_ascii=False)[:-2] + f',\n  "cells": [\n{cells}\n  ]\n}}\n'


def listing(problems: dict[str, Any], methods: dict[str, Any]) -> str:
    lines = []
    for group in GROUP_TITLES:
        lines += ["", GROUP_TITLES[group][0]]
        for name, problem in problems.items():
            if problem.group == group:
                sizes = ", ".join(rows(m, n) for m, n in problem.sizes)
                lines.append(f"  {name:22} {problem.title:52} {sizes} {problem.missing() or ''}")
    lines += ["", "Methods"]
    for name, method in methods.items():
        lines.append(f"  {name:14} {method.settings}" + (f" ({reason})" if (reason := method.missing()) else ""))
    return "\n".join(lines[1:])


def rows(m: int, n: int) -> str:
    return f"{m:,} + {n:,}"


def percent(rate: dict[str, Any] | None) -> str:
    return "–" if rate is None else f"{100 * rate['rate']:.0f} ± {100 * rate['error']:.0f}"


def seconds(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:.1f} s" if value >= 1 else f"{value:.2g} s"


def line(cell: dict[str, Any]) -> str:
    name = f"{cell['group']:11} {cell['title'][:46]:46} {rows(cell['m'], cell['n']):15} {cell['method']:12}"
    if "error" in cell:
        return f"{name} failed: {cell['error'][:100]}"
    repetitions = (cell["level"] or cell["power"] or {"repetitions": 0})["repetitions"]
    numbers = f"power {percent(cell['power']):>8}  level {percent(cell['level']):>8}  {seconds(cell['seconds']):>8}"
    return f"{name} {numbers}  ({repetitions})"


def sum_line(total: dict[str, Any]) -> str:
    if not total["trials"]:
        return "No real problem has been tried by all of these methods."
    counts = ", ".join(f"{name} {k}" for name, k in sorted(total["rejections"].items(), key=lambda item: -item[1]))
    return f"Rejections of {total['trials']} over {total['problems']} real problems: {counts}"


class Table:
    """The cells of one group, by problem and size and by method."""

    def __init__(self, result: dict[str, Any], group: str) -> None:
        self.cells: dict[tuple[str, int, int, str], dict[str, dict[str, Any]]] = {}
        for cell in result["cells"]:
            if cell["group"] == group:
                key = cell["problem"], cell["m"], cell["n"], cell["effort"]
                self.cells.setdefault(key, {})[cell["method"]] = cell
        self.methods = [name for name in result["methods"] if any(name in row for row in self.cells.values())]
        self.titles = {name: result["methods"][name]["title"] for name in self.methods}
        self.kind = "level" if group == "null" else "power"

    def rate(self, row: dict[str, Any], method: str, kind: str | None = None) -> dict[str, Any] | None:
        return row.get(method, {}).get(kind or self.kind)

    def rates(self, row: dict[str, Any]) -> dict[str, dict[str, Any]]:
        """Those with enough repetitions, or all where none has."""
        known = {name: rate for name in self.methods if (rate := self.rate(row, name))}
        return {name: rate for name, rate in known.items() if rate["repetitions"] >= ENOUGH} or known

    def best(self, row: dict[str, Any]) -> float:
        return max((rate["rate"] for rate in self.rates(row).values()), default=math.nan)

    def is_near_best(self, row: dict[str, Any], method: str, alpha: float) -> bool:
        """Whether it sees about as much as the best, and the best sees anything."""
        rate, best = self.rates(row).get(method), self.best(row)
        return rate is not None and best > alpha and rate["rate"] >= best - NEAR - 1e-9

    @staticmethod
    def title(row: dict[str, Any]) -> str:
        cell = next(iter(row.values()))
        return f"{cell['title']}, {rows(cell['m'], cell['n'])}"


# The page.


def text(result: dict[str, Any]) -> str:
    settings = result["settings"]
    machine = ", ".join(f"{name} {value}" for name, value in result["machine"].items())
    tried = [rate["repetitions"] for cell in result["cells"] if (rate := cell.get("level"))]
    trial = not tried or median(tried) < ENOUGH
    few = "**A trial run: there are too few repetitions to compare anything.**" if trial else ""
    parts = [
        "# Which test sees most",
        few,
        "Made by `benchmarks/power.py` from `power.json`; do not edit. All methods saw the same samples, "
        f"with one setting each for all problems. α = {settings['alpha']}. The column auto was measured before the "
        "default test looked for kinds of rows, and while its families had different weights.",
        "A cell has the power and its standard error in percent; below, the level on samples of the same size that are "
        "both of P, and the median of CPU seconds on one thread. Bold: not more than "
        f"{100 * NEAR:.0f} points below the best of the row. R: repetitions. ⚠: a test of that level would reject so "
        "often in less than one of 1,000 runs. –: not tried.",
        "![Power of all methods on all problems](power.png)",
        *(_group(result, group) for group in GROUP_TITLES),
        _levels(result),
        _sum(result),
        _behind(result),
        _failed(result),
        _settings(result),
        f"*Last added to with {machine}; cells that were not tried then are of earlier runs.*",
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _group(result: dict[str, Any], group: str) -> str:
    table = Table(result, group)
    if not table.cells:
        return ""
    title, remark = GROUP_TITLES[group]
    head = ["problem", "R", *(table.titles[name] for name in table.methods)]
    lines = [f"## {title}", "", remark, "", _row(head), _row(["---", *["---:"] * (len(head) - 1)])]
    for (problem, *_), row in table.cells.items():
        mark = "\\*" if problem in result["notes"] else ""
        entries = [_entry(table, row, name, result["settings"]["alpha"]) for name in table.methods]
        lines.append(_row([f"{Table.title(row)}{mark}", _repetitions(table, row), *entries]))
    noted = {problem: result["notes"][problem] for problem, *_ in table.cells if problem in result["notes"]}
    remarks: dict[str, list[str]] = {}
    for problem, note in noted.items():
        remarks.setdefault(note, []).append(f"`{problem}`")
    lines += ["", *(f"\\* {note} ({', '.join(names)})\n" for note, names in remarks.items())] if remarks else []
    return "\n".join(lines).rstrip()


def _row(entries: list[str]) -> str:
    return "| " + " | ".join(entries) + " |"


def _repetitions(table: Table, row: dict[str, Any]) -> str:
    counts = {rate["repetitions"] for cell in row.values() if (rate := cell.get(table.kind))}
    return "–" if not counts else f"{min(counts)}" if len(counts) == 1 else f"{min(counts)}–{max(counts)}"


def _entry(table: Table, row: dict[str, Any], method: str, alpha: float) -> str:
    cell = row.get(method)
    if cell is None:
        return "–"
    if "error" in cell:
        return "failed"
    level = cell["level"]
    warning = " ⚠" if level and _too_many(level["rejections"], level["repetitions"], alpha) else ""
    tried = (cell[table.kind] or {"repetitions": 0})["repetitions"]
    time = seconds(cell["seconds"]) + (f", {tried} runs" if tried < ENOUGH else "")
    below = f"<br><sub>{time}</sub>"
    if table.kind == "level":
        return f"{percent(level)}{warning}{below}"
    power = percent(cell["power"])
    shown = f"**{power}**" if table.is_near_best(row, method, alpha) else power
    return f"{shown}<br><sub>{percent(level)}{warning}, {time}</sub>"


def _too_many(rejections: int, repetitions: int, alpha: float) -> bool:
    """Whether so many rejections are unlikely, below 0.001, at this level."""
    weights = (
        math.comb(repetitions, k) * alpha**k * (1 - alpha) ** (repetitions - k)
        for k in range(rejections, repetitions + 1)
    )
    return math.fsum(weights) < 0.001


def _levels(result: dict[str, Any], ours: str = "auto") -> str:
    """The level of our default at more than one α."""
    alpha = result["settings"]["alpha"]
    lines, levels = [], []
    for row in Table(result, "null").cells.values():
        if "other_levels" not in row.get(ours, {}):
            continue
        rates = {float(level): rate for level, rate in row[ours]["other_levels"].items()} | {alpha: row[ours]["level"]}
        levels = sorted(rates)
        entries = [f"{100 * rates[level]['rate']:.1f} ± {100 * rates[level]['error']:.1f}" for level in levels]
        lines.append(_row([Table.title(row), str(rates[alpha]["repetitions"]), *entries]))
    if not lines:
        return ""
    head = [
        _row(["problem", "R", *(f"α = {level:g}" for level in levels)]),
        _row(["---", *["---:"] * (1 + len(levels))]),
    ]
    return "\n".join([f"The level of `{ours}` in percent:", "", *head, *lines])


def _sum(result: dict[str, Any]) -> str:
    totals = [
        total for total in (result["sum_real"], result.get("sum_real_with_slow_ones")) if total and total["trials"]
    ]
    lines = ["## The real problems, summed"] if totals else []
    for total in totals:
        ranked = sorted(total["rejections"].items(), key=lambda item: -item[1])
        lines += [
            "",
            f"Rejections of {total['trials']} pairs of samples from {total['problems']} problems, at the seeds that "
            "all these methods tried.",
            "",
            _row(["method", "rejections"]),
            _row(["---", "---:"]),
            *(_row([result["methods"][name]["title"], str(count)]) for name, count in ranked),
        ]
    return "\n".join(lines)


def _behind(result: dict[str, Any], ours: str = "auto") -> str:
    """Where our default is not near the best: nothing is left out."""
    if ours not in result["methods"]:
        return ""
    lines = []
    for group in ("reporting", "real"):
        table = Table(result, group)
        for row in table.cells.values():
            found, best = table.rate(row, ours), table.best(row)
            if found is None or found["rate"] >= best - NEAR - 1e-9:
                continue
            rates = table.rates(row)
            first = max(rates, key=lambda name: rates[name]["rate"])
            there = rates[first]
            told = f"{table.titles[first]}: {percent(there)} of {there['repetitions']}"
            lines.append(_row([Table.title(row), f"{percent(found)} of {found['repetitions']}", told]))
    title = f"## Where `{ours}` is more than {100 * NEAR:.0f} points below the best"
    if not lines:
        return f"{title}\n\nOn none of the reporting and real problems tried."
    return "\n".join([title, "", _row(["problem", ours, "best"]), _row(["---", "---:", "---"]), *lines])


def _failed(result: dict[str, Any]) -> str:
    """Which tests could not be done, and what they said."""
    failed: dict[tuple[str, str], list[str]] = {}
    for cell in result["cells"]:
        if "error" in cell:
            method = result["methods"][cell["method"]]["title"]
            failed.setdefault((method, cell["error"]), []).append(f"`{cell['problem']}` ({rows(cell['m'], cell['n'])})")
    lines = [f"- **{method}**: {error.splitlines()[0]} {', '.join(where)}" for (method, error), where in failed.items()]
    return "\n".join(["## What could not be tried", "", *lines]) if lines else ""


def _settings(result: dict[str, Any]) -> str:
    s = result["settings"]
    lines = [
        "## Methods and their settings",
        "",
        f"{s['permutations']} permutations; {s['forest_permutations']} for the forest, which is fitted anew for each. "
        "Tables are given to `auto` as DataFrames and to all others as numbers with mean 0 and variance 1 and 0/1 "
        "columns; images to `auto` as images and to all others as rows of pixels.",
        "",
        *(f"- **{method['title']}**: {method['settings']}." for method in result["methods"].values()),
        "",
        "Sizes and strengths of four reporting and real problems were changed after a first look with median, energy, "
        "KS/χ² and logistic alone, the waves of perturbed uniforms after one with median, MMD-FUSE and MMDAgg, at "
        "other seeds; `auto` was not run for that.",
        "",
        "HIGGS itself is not fetched: `higgs_like` is simulated. Generated digits come from the file given by "
        "`--generated`.",
    ]
    return "\n".join(lines)


# The figure.


def draw(result: dict[str, Any], path: Path) -> None:
    """A row for each problem and size, a column for each method, and the rejection rate in the colour and as a number.

    Where P = Q the colour has a scale of its own, on which α is pale and four times α is dark.
    """
    import matplotlib
    from matplotlib.figure import Figure

    tables = {group: table for group in GROUP_TITLES if (table := Table(result, group)).cells}
    if not tables:
        return
    methods, alpha = list(result["methods"]), result["settings"]["alpha"]
    heights = [len(table.cells) for table in tables.values()]
    with matplotlib.rc_context({"font.size": 8.5, "axes.titlesize": 10, "axes.titlelocation": "left"}):
        size = 4.6 + 0.62 * len(methods), 1.2 + 0.235 * sum(heights) + 1.2 * len(heights)
        figure = Figure(figsize=size, layout="constrained", dpi=100)
        panels = figure.subplots(len(tables), 1, squeeze=False, height_ratios=heights).ravel()
        for panel, (group, table) in zip(panels, tables.items(), strict=True):
            _panel(panel, table, methods, alpha)
            panel.set_title(f"{GROUP_TITLES[group][0]}: " + ("level, %" if group == "null" else "power, %"))
            panel.set_xticks(range(len(methods)), [result["methods"][name]["title"] for name in methods])
            panel.tick_params(top=True, bottom=False, labeltop=True, labelbottom=False, length=0)
            for label in panel.get_xticklabels():
                label.set(rotation=40, ha="left", rotation_mode="anchor")
        figure.savefig(path)


def _panel(panel: Any, table: Table, methods: list[str], alpha: float) -> None:
    import matplotlib
    import numpy as np

    rates = np.full((len(table.cells), len(methods)), np.nan)
    for i, row in enumerate(table.cells.values()):
        for j, method in enumerate(methods):
            if rate := table.rate(row, method):
                rates[i, j] = rate["rate"]
    null = table.kind == "level"
    colours = matplotlib.colormaps["Oranges" if null else "Blues"].copy()
    colours.set_bad("#f4f4f4")
    top = 4 * alpha if null else 1.0
    panel.imshow(rates, cmap=colours, vmin=0, vmax=top, aspect="auto")
    for i, row in enumerate(table.cells.values()):
        for j, method in enumerate(methods):
            if np.isfinite(rates[i, j]):
                dark = rates[i, j] > 0.6 * top
                weight = "bold" if not null and table.is_near_best(row, method, alpha) else "normal"
                style = {"color": "white" if dark else "#222222", "weight": weight, "ha": "center", "va": "center"}
                panel.text(j, i, f"{100 * rates[i, j]:.0f}", fontsize=8, **style)
    panel.set_yticks(range(len(table.cells)), [Table.title(row) for row in table.cells.values()])
    panel.set_xticks(np.arange(-0.5, len(methods)), minor=True)
    panel.set_yticks(np.arange(-0.5, len(table.cells)), minor=True)
    panel.grid(which="minor", color="white", linewidth=1)
    panel.tick_params(which="minor", length=0)
    for spine in panel.spines.values():
        spine.set_visible(False)
