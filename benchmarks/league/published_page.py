"""The page of the league of others: ``docs/league.md``, made of ``docs/league.json``."""

from __future__ import annotations

import json
from statistics import median
from typing import Any

from .published import ABSENT, PAPERS, SETTINGS, Paper, Setting
from .results import Cell, Trials, rate

#: Rates this much below the largest of a row are as good as it; of fewer runs than these nothing is compared.
NEAR, ENOUGH = 0.03, 50

Row = dict[str, Any]


def compact(rows: list[Row]) -> str:
    """JSON with one line for each row."""
    lines = ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
    published = {name: dict(setting.rates) for name, setting in SETTINGS.items()}
    return f'{{"published": {json.dumps(published, ensure_ascii=False)},\n"rows": [\n{lines}\n]}}\n'


def line(cell: Cell, trials: Trials) -> str:
    """What is known of one setting and method, for the terminal."""
    known = rate({seed: one["reject"] for seed, one in trials.power.items()})
    name = f"{cell.problem:28} {cell.method:12}"
    if trials.error is not None or known is None:
        return f"{name} failed: {trials.error}"
    best = max(SETTINGS[cell.problem].rates.values(), default=None)
    other = "" if best is None else f"   published: up to {best:.3f}"
    return f"{name} {known['rate']:.3f} ± {known['error']:.3f} of {known['repetitions']}{other}"


def text(rows: list[Row]) -> str:
    """The page."""
    runs = [row["power"]["repetitions"] for row in rows]
    few = "**A first run: there are too few repetitions to compare single rates.**"
    parts = [
        "# The league of others",
        *([few] if runs and median(runs) < ENOUGH else []),
        "Made by `benchmarks/published.py` from `league.json`; do not edit.",
        "Problems that others published, as they define them, with the rates of rejection (power) at level 0.05 that "
        "they print next to those measured here. Rates are in percent; the small number is the standard error. Where "
        "nothing differs, the rate is the level. Bold: at most "
        f"{100 * NEAR:.0f} points below the largest of its row, of at least {ENOUGH} runs. "
        "`auto` is `ta.two_sample_test(X, Y)`, `median` is `ta.mmd_test(X, Y)`, with 399 permutations each; both get "
        "the rows as arrays or images, and no other information. Samples are drawn anew, by other seeds than the "
        "authors'. MNIST without 8s was among the problems looked at when the family of kinds of rows was designed, "
        "and development problems of `power.py` have perturbed uniforms, mixtures, Blob-D and HDGM of other "
        "parameters.",
        *(_section(paper, rows) for paper in PAPERS),
        _absent(),
        _versions(rows),
    ]
    return "\n\n".join(parts) + "\n"


def _section(name: str, rows: list[Row]) -> str:
    """The settings of one paper as a table."""
    paper, settings = PAPERS[name], [setting for setting in SETTINGS.values() if setting.paper == name]
    measured = {(row["problem"], row["method"]): row for row in rows}
    methods = dict.fromkeys(row["method"] for row in rows if SETTINGS[row["problem"]].paper == name)
    titles = {row["method"]: row["title"] for row in rows}
    others = list(dict.fromkeys(test for setting in settings for test in setting.rates))
    head = ["problem", "rows", "runs here", *(f"{titles[method]}, here" for method in methods), *others]
    lines = [_row(head), _row(["---", *["---:"] * (len(head) - 1)])]
    for setting in settings:
        ours = [measured.get((setting.problem.name, method)) for method in methods]
        lines.append(_setting(setting, ours, others, paper))
    return "\n".join(
        [f"## {paper.title}", "", f"{paper.problems} [{paper.link.removeprefix('https://')}]({paper.link})", "", *lines]
    )


def _setting(setting: Setting, ours: list[Row | None], others: list[str], paper: Paper) -> str:
    known = [None if row is None else row["power"] for row in ours]
    rates = [None if one is None else one["rate"] for one in known] + [setting.rates.get(test) for test in others]
    counts = [0 if one is None else one["repetitions"] for one in known] + [paper.runs] * len(others)
    compared = [one for one, count in zip(rates, counts, strict=True) if one is not None and count >= ENOUGH]
    largest = 2.0 if setting.is_null else max(compared, default=2.0)
    entries = [_entry(one, count, largest) for one, count in zip(rates, counts, strict=True)]
    runs = sorted({one["repetitions"] for one in known if one is not None})
    repetitions = "–" if not runs else f"{runs[0]}" if len(runs) == 1 else f"{runs[0]}–{runs[-1]}"
    return _row([setting.problem.title, f"{setting.problem.sizes[0][0]:,}", repetitions, *entries])


def _entry(found: float | None, count: int, largest: float) -> str:
    """A rate in percent with its standard error; bold if it is near the largest."""
    if found is None:
        return "–"
    percent = f"{100 * found:.1f}".removesuffix(".0")
    error = f" <sub>± {100 * (found * (1 - found) / count) ** 0.5:.0f}</sub>" if count and 0 < found < 1 else ""
    return f"**{percent}**{error}" if count >= ENOUGH and found >= largest - NEAR - 1e-9 else f"{percent}{error}"


def _row(entries: list[str]) -> str:
    return f"| {' | '.join(entries)} |"


def _absent() -> str:
    lines = "\n".join(f"- **{what}.** {why}" for what, why in ABSENT.items())
    return f"## What could not be run\n\n{lines}"


def _versions(rows: list[Row]) -> str:
    """Which versions of the default test the rates are of."""
    versions = sorted({row["effort"].split()[-1] for row in rows if row["method"] == "auto"})
    return f"*Rates of `auto` are of version{'s' * (len(versions) > 1)} {', '.join(versions) or '–'} of its sources.*"
