"""Tables of what was measured, made from JSON files of this folder when the site is built.

``{power-table} reporting`` shows all problems of a group; ``{power-choice}`` for each kind of difference the test that
saw most; ``{planted-table}`` what `compare` names where changes were planted; ``{promises-table}`` how often promises
are broken in simulations; ``{dials-table}`` the power of other combinations of the families; ``{speed-table}`` what
calls take; ``{files-table}`` time and memory of rows in files, and of more rows at the same rate; ``{bins-table}`` the
power of permuted bins and rows.
"""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.parsers.rst import Directive

POWER, PLANTED, PROMISES, DIALS, SPEED, FILES, BINS = (
    Path(__file__).parents[1] / f"{name}.json"
    for name in ("power", "planted", "promises", "dials", "speed", "files", "bins")
)
#: Rows for which times are extrapolated, and dollars for an hour of a core.
MORE, DOLLARS = (10**8, 10**9), 0.05
Cells = dict[tuple[str, int, int], dict[str, Any]]


def load(group: str) -> tuple[dict[str, Any], Cells]:
    """The methods, and the cells of a group by problem and size."""
    data = json.loads(POWER.read_text(encoding="utf-8"))
    cells: Cells = defaultdict(dict)
    for cell in data["cells"]:
        if cell["group"] == group:
            cells[cell["title"], cell["m"], cell["n"]][cell["method"]] = cell["power"]
    return data["methods"], cells


def percent(power: dict[str, Any] | None) -> str:
    """A rate with its standard error."""
    return "" if power is None else f"{100 * power['rate']:.0f} ± {100 * power['error']:.0f}"


def table(header: list[str], rows: list[tuple[list[str], set[int]]], kind: str) -> nodes.table:
    """A table whose first column is text; the numbers of a row's best cells are given beside it."""
    found = nodes.table(classes=["power", kind])
    group = nodes.tgroup(cols=len(header))
    found += group
    group += [nodes.colspec(colwidth=3 if k == 0 else 1) for k in range(len(header))]
    head, body = nodes.thead(), nodes.tbody()
    group += [head, body]
    for part, lines in ((head, [(header, set[int]())]), (body, rows)):
        for texts, best in lines:
            row = nodes.row()
            for k, text in enumerate(texts):
                row += nodes.entry("", nodes.paragraph(text=text), classes=["best"] if k in best else [])
            part += row
    return found


class PowerTable(Directive):
    """All problems of a group, in % of runs in which each test rejects."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """The table."""
        methods, cells = load(self.arguments[0])
        shown = [name for name in methods if any(name in cell for cell in cells.values())]
        header = ["problem", "rows", *(methods[name]["title"] for name in shown)]
        rows: list[tuple[list[str], set[int]]] = []
        for (title, m, n), cell in cells.items():
            rates = [cell[name]["rate"] if name in cell else -1.0 for name in shown]
            texts = [title, f"{m:,} + {n:,}", *(percent(cell.get(name)) for name in shown)]
            rows.append((texts, {2 + k for k, rate in enumerate(rates) if rate == max(rates)}))
        return [table(header, rows, "numbers")]


class PowerChoice(Directive):
    """Of each problem the largest size that tells tests apart, and by how much."""

    required_arguments = 0

    def run(self) -> list[nodes.Node]:
        """The table."""
        methods, found = load("reporting")
        real = load("real")[1]
        chosen: dict[str, tuple[tuple[str, int, int], dict[str, Any]]] = {}
        for key, cell in {**found, **real}.items():
            spread = max(p["rate"] for p in cell.values()) - min(p["rate"] for p in cell.values())
            known = chosen.get(key[0])
            if len(cell) > 1 and (known is None or spread > known[1]["spread"]):
                chosen[key[0]] = (key, {"spread": spread, "cell": cell})
        rows: list[tuple[list[str], set[int]]] = []
        for (title, m, n), entry in chosen.values():
            cell = entry["cell"]
            order = sorted(cell, key=lambda name: -cell[name]["rate"])
            first, second = order[0], order[1]
            near = cell[first]["rate"] - cell[second]["rate"] < cell[first]["error"] + cell[second]["error"]
            names = " or ".join(methods[name]["title"] for name in (order[:2] if near else order[:1]))
            others = " · ".join(f"{methods[name]['title']} {100 * cell[name]['rate']:.0f}" for name in order)
            rows.append(([title, f"{m:,} + {n:,}", names, others], set()))
        return [table(["what differs", "rows", "sees most", "rejections in %"], rows, "words")]


class PlantedTable(Directive):
    """Changes planted in tables, and what is named."""

    required_arguments = 0

    def run(self) -> list[nodes.Node]:
        """The table."""
        data = json.loads(PLANTED.read_text(encoding="utf-8"))
        header = ["table, change", "rows", "the test rejects", "something is named", "first the planted one", "another"]
        rows: list[tuple[list[str], set[int]]] = []
        for key, cell in data.items():
            shares = ("" if cell[k] is None else f"{100 * cell[k]:.0f} %" for k in ("power", "named", "right", "false"))
            rows.append(([key, f"{cell['rows']:,}", *shares], set()))
        return [table(header, rows, "numbers")]


class DialsTable(Directive):
    """Mean power of combinations of the families of the default test."""

    required_arguments = 0

    def run(self) -> list[nodes.Node]:
        """The table."""
        data = json.loads(DIALS.read_text(encoding="utf-8"))
        groups = ("learning", "reporting")
        count = {group: max((len(found) for found in data[group].values()), default=0) for group in groups}
        header = ["combination", *(f"{group}: mean power over {count[group]} problems" for group in groups)]
        rows: list[tuple[list[str], set[int]]] = []
        for name in data["learning"]:
            powers = [list(data[group][name].values()) for group in groups]
            rows.append(([name, *(f"{sum(p) / len(p):.3f}" if p else "–" for p in powers)], set()))
        return [table(header, rows, "numbers")]


class PromisesTable(Directive):
    """Rates of simulations, and the rates that are promised."""

    required_arguments = 0

    def run(self) -> list[nodes.Node]:
        """The table."""
        data = json.loads(PROMISES.read_text(encoding="utf-8"))
        header = ["promise", "setting", "repetitions", "rate ± standard error", "promised"]
        rows: list[tuple[list[str], set[int]]] = []
        for rate in (rate for entry in data.values() for rate in entry["rates"]):
            sign = "at least" if rate["bound"] > 0.5 else "at most"
            found = f"{100 * rate['rate']:.1f} ± {100 * rate['error']:.1f} %"
            bound = f"{sign} {100 * rate['bound']:.0f} %"
            rows.append(([rate["promise"], rate["setting"], f"{rate['repetitions']:,}", found, bound], set()))
        return [table(header, rows, "numbers")]


class SpeedTable(Directive):
    """CPU seconds and memory of calls: other seconds depend on what else a machine does."""

    required_arguments = 0

    def run(self) -> list[nodes.Node]:
        """The table."""
        data = json.loads(SPEED.read_text(encoding="utf-8"))["default"]
        header = ["call", "rows × columns", "permutations", "CPU seconds", "threads", "memory"]
        rows: list[tuple[list[str], set[int]]] = []
        for case in sorted(data.values(), key=lambda case: (case["call"], case["new"]["cpu"])):
            of, source = case["new"], " from files" * case["files"]
            seconds = f"{of['cpu']:.2g}" if of["cpu"] < 10 else f"{of['cpu']:.0f}"
            texts = [case["call"] + source, case["title"], f"{case['permutations']:,}", seconds]
            rows.append(([*texts, str(case["threads"]), f"{of['peak_mb']:,} MB"], set()))
        return [table(header, rows, "numbers")]


class FilesTable(Directive):
    """CPU time and memory of `two_sample_test` on files, and what more rows take at the rate of the most rows."""

    def run(self) -> list[nodes.Node]:
        """The table."""
        tests = json.loads(FILES.read_text(encoding="utf-8"))["tests"]
        header = ["rows", "file", "size", "CPU time", "peak memory", "dollars"]
        rows: list[tuple[list[str], set[int]]] = []
        last: dict[str, tuple[int, dict[str, Any]]] = {}
        for count in sorted(map(int, tests)):
            for name, one in tests[str(count)].items():
                last[name] = count, one
                cells = [f"{one['CPU seconds']:.0f} s", f"{one['peak MB']} MB", ""]
                rows.append(([f"{count:,}", name, f"{one['file GB']:.2f} GB", *cells], set()))
        for count in MORE:
            for name, (measured, one) in last.items():
                hours, size = one["CPU seconds"] / measured * count / 3600, one["file GB"] / measured * count
                cells = [f"{hours:.1f} hours", "", f"{hours * DOLLARS:.2f}"]
                rows.append(([f"{count:,}", name, f"{size:,.0f} GB", *cells], set()))
        return [table(header, rows, "numbers")]


class BinsTable(Directive):
    """Power of the tests that permute bins and rows, on the same data."""

    def run(self) -> list[nodes.Node]:
        """The table."""
        header = ["problem", "runs", "bins", "rows", "difference ± standard error"]
        rows: list[tuple[list[str], set[int]]] = []
        for name, found in json.loads(BINS.read_text(encoding="utf-8")).items():
            reject = [[p <= 0.05 for p in found[kind]] for kind in ("bins", "rows")]
            n = min(map(len, reject))
            apart = [a - b for a, b in zip(*reject, strict=True)]
            mean = sum(apart) / n
            error = (sum((value - mean) ** 2 for value in apart) / n / n) ** 0.5
            powers = [f"{sum(kind) / n:.3f}" for kind in reject]
            rows.append(([name, str(n), *powers, f"{mean:+.3f} ± {error:.3f}"], set()))
        return [table(header, rows, "numbers")]


def setup(app: Any) -> dict[str, Any]:
    """Add the directives."""
    app.add_directive("power-table", PowerTable)
    app.add_directive("power-choice", PowerChoice)
    app.add_directive("planted-table", PlantedTable)
    app.add_directive("promises-table", PromisesTable)
    app.add_directive("dials-table", DialsTable)
    app.add_directive("speed-table", SpeedTable)
    app.add_directive("files-table", FilesTable)
    app.add_directive("bins-table", BinsTable)
    return {"version": "1", "parallel_read_safe": True}
