"""What is known so far: one line of JSON for each trial, written as it comes; and rates made of them."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from .problem import Problem

#: Levels at which tests with a p-value are looked at besides the one they decide at.
OTHER_LEVELS = (0.01, 0.1)


class Cell(NamedTuple):
    """One problem at one size, tried by one method with one effort."""

    problem: str
    m: int
    n: int
    method: str
    effort: str


@dataclass
class Trials:
    """Of one cell: what happened at each seed, for "power" and for "level"."""

    power: dict[int, dict[str, Any]] = field(default_factory=dict)
    level: dict[int, dict[str, Any]] = field(default_factory=dict)
    error: str | None = None

    def of(self, kind: str) -> dict[int, dict[str, Any]]:
        return self.power if kind == "power" else self.level

    @property
    def seconds(self) -> float:
        return sum(trial["seconds"] for kind in (self.power, self.level) for trial in kind.values())


class Journal:
    """A file of trials. Each is appended at once, so that nothing is lost, and not run again."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.cells: dict[Cell, Trials] = defaultdict(Trials)
        for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
            self._keep(json.loads(line))

    def add(self, cell: Cell, kind: str, seed: int, **outcome: Any) -> None:
        trial = {**cell._asdict(), "kind": kind, "seed": seed, **outcome}
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(trial, ensure_ascii=False) + "\n")
        self._keep(trial)

    def forget(self, methods: Iterable[str]) -> None:
        """Drop all trials of some methods, because they have changed."""
        if not (dropped := set(methods)):
            return
        lines = self.path.read_text(encoding="utf-8").splitlines() if self.path.exists() else []
        kept = [line for line in lines if json.loads(line)["method"] not in dropped]
        self.path.write_text("".join(line + "\n" for line in kept), encoding="utf-8")
        for cell in [cell for cell in self.cells if cell.method in dropped]:
            del self.cells[cell]

    def _keep(self, trial: dict[str, Any]) -> None:
        trials = self.cells[Cell(*(trial[name] for name in Cell._fields))]
        if "error" in trial:
            trials.error = trial["error"]
        else:
            trials.of(trial["kind"])[trial["seed"]] = {key: trial[key] for key in ("reject", "pvalue", "seconds")}


def encode(decisions: dict[int, bool]) -> dict[str, str]:
    """Runs of consecutive seeds: the first seed of each, and "1" for every rejection and "0" for every other decision.

    >>> encode({0: True, 1: False, 2: True, 10_000: False})
    {'0': '101', '10000': '0'}
    """
    runs: dict[str, str] = {}
    for seed in sorted(decisions):
        if seed - 1 not in decisions:
            first = str(seed)
        runs[first] = runs.get(first, "") + "01"[decisions[seed]]
    return runs


def decisions_of(rate: dict[str, Any] | None) -> dict[int, bool]:
    """By seed. Rates that were written before decisions were kept have none."""
    runs = (rate or {}).get("decisions", {})
    return {int(first) + k: bit == "1" for first, bits in runs.items() for k, bit in enumerate(bits)}


def rate(decisions: dict[int, bool]) -> dict[str, Any] | None:
    """The rejection rate, its standard error, and its 95% interval (Wilson), which is no point at 0 and 1."""
    if not (n := len(decisions)):
        return None
    r = sum(decisions.values()) / n
    middle, half = (r + 1.92 / n) / (1 + 3.84 / n), 1.96 * math.sqrt(r * (1 - r) / n + 0.96 / n**2) / (1 + 3.84 / n)
    return {
        "rate": r,
        "error": round(math.sqrt(r * (1 - r) / n), 4),
        "low": max(0.0, round(min(middle - half, r), 4)),
        "high": min(1.0, round(max(middle + half, r), 4)),
        "rejections": sum(decisions.values()),
        "repetitions": n,
        "decisions": encode(decisions),
    }


def summary(cell: Cell, trials: Trials, problem: Problem) -> dict[str, Any]:
    """One row of the league table."""
    found: dict[str, Any] = {**cell._asdict(), "title": problem.title, "group": problem.group}
    if trials.error is not None:
        return found | {"error": trials.error}
    for kind in ("power", "level"):
        found[kind] = rate({seed: trial["reject"] for seed, trial in trials.of(kind).items()})
    times = [trial["seconds"] for kind in ("power", "level") for trial in trials.of(kind).values()]
    pvalues = {seed: trial["pvalue"] for seed, trial in trials.level.items()}
    if problem.group == "null" and None not in pvalues.values():
        found["other_levels"] = {
            str(level): rate({seed: p <= level + 1e-12 for seed, p in pvalues.items()}) for level in OTHER_LEVELS
        }
    return found | {"seconds": round(median(times), 4) if times else None}


def sum_over(cells: list[dict[str, Any]], group: str, methods: list[str]) -> dict[str, Any]:
    """Rejections summed over problems, at the seeds that all these methods have tried; other cells are left out."""
    tried: dict[tuple[Any, ...], dict[str, dict[int, bool]]] = defaultdict(dict)
    for cell in cells:
        if cell["group"] == group and cell["method"] in methods:
            key = cell["problem"], cell["m"], cell["n"], cell["effort"]
            tried[key][cell["method"]] = decisions_of(cell.get("power"))
    total, rejections, used = 0, dict.fromkeys(methods, 0), set()
    for (problem, *_), by_method in tried.items():
        if set(by_method) != set(methods):
            continue
        seeds = set.intersection(*(set(decisions) for decisions in by_method.values()))
        total += len(seeds)
        used.update([problem] if seeds else [])
        for method, decisions in by_method.items():
            rejections[method] += sum(decisions[seed] for seed in seeds)
    return {"problems": len(used), "trials": total, "rejections": rejections}
