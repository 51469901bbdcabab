"""The whole paper on one page: figure by figure, claim by claim, their number, ours, and the command.

    tellapart reproduce paper [--quick] [--out DIR]

Runs every experiment that takes minutes and is not in DIR yet, and writes ``paper.md`` from the JSON files there, with
the figures beside it. What takes hours is listed with its command; once that has been run in the same folder, its
numbers are on the page too.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from .._util.files import atomic_write_text

HEAD = """\
# The paper, claim by claim

Sutherland, Tung, Strathmann, De, Ramdas, Smola, Gretton: *Generative Models and Model Criticism via Optimized Maximum
Mean Discrepancy* (ICLR 2017). Made by `tellapart reproduce paper` from the JSON files that the commands below write; do
not edit.
"""


@dataclass(frozen=True)
class Section:
    """An experiment on the page: what the paper says, and what we found in words, from its JSON file."""

    name: str
    title: str
    claim: str
    hours: bool = False
    found: Callable[[dict[str, Any]], str] = lambda result: ""

    @property
    def command(self) -> str:
        """What runs it."""
        return f"tellapart reproduce {self.name} --out DIR"


def _threshold(result: dict[str, Any]) -> str:
    cells = [(p, m, one) for p, sizes in result["worth"].items() for m, one in sizes.items()]
    ahead = [(p, m, one) for p, m, one in cells if one["gain"] > 2 * one["gain_error"]]
    behind = [(p, m, one) for p, m, one in cells if one["gain"] < -2 * one["gain_error"]]
    largest = max(cells, key=lambda cell: cell[2]["gain"])
    return (
        f"The whole power beats t by more than two standard errors in {len(ahead)} of {len(cells)} cells, and falls "
        f"behind in {len(behind)}; its largest gain is {largest[2]['gain']:+.3f} ± {largest[2]['gain_error']:.3f} "
        f"({result['problems'][largest[0]]}, m = {largest[1]})."
    )


def _streaming(result: dict[str, Any]) -> str:
    told = []
    for problem, about in result["problems"].items():
        slopes = result["slopes"][problem]
        told.append(f"{about['title']}: {slopes['linear']:.2f} and {slopes['block']:.2f}" if slopes["linear"] else "")
    return (
        "Slopes, on logarithmic axes, of the rows that the linear-time and the block estimator need over those of the "
        f"quadratic-time test (2 is the claim): {'; '.join(filter(None, told))}."
    )


def _minimising(result: dict[str, Any]) -> str:
    ordered = sorted(result["variants"].values(), key=lambda one: one["t"][-1])
    plain = result["variants"]["gmmn"]

    def told(one: dict[str, Any]) -> str:
        return f"{one['title']}, {one['t'][-1]:.2f} ± {one['t_error'][-1]:.2f}"

    return f"The smallest t on held-out digits has {told(ordered[0])}; {told(plain)}."


SECTIONS = (
    Section(
        "speed", "Figure 1: the permutation test against spectral tests", "One pass of all permutations is faster."
    ),
    Section(
        "streaming",
        "§1: streaming estimators",
        "A streaming test often needs m² samples where the quadratic-time test needs m.",
        found=_streaming,
    ),
    Section(
        "blobs", "Figure 2: the bandwidth chosen by t", "Maximising t chooses nearly the best bandwidth; MMD² does not."
    ),
    Section(
        "threshold",
        "§2: when the threshold matters",
        "Close to the null both terms of the power should be maximised, not t alone.",
        found=_threshold,
    ),
    Section("criticism", "Figure 3: criticising a GAN", "ARD finds what the median heuristic misses.", hours=True),
    Section(
        "planted", "Beyond the paper: planted defects", "(ours) Defects of known kind are found and shown.", hours=True
    ),
    Section("gans", "Figure 4: digits drawn by four models", "MMD with feature matching needs no labels.", hours=True),
    Section(
        "minimising_t",
        "§4: a generator that minimises t",
        "t-GMMN minimises t instead of MMD, which weighs the discrepancy by how well it is known.",
        found=_minimising,
    ),
)


def run(out: Path, quick: bool = False, progress: bool | None = None) -> dict[str, Any]:
    """Run what takes minutes and is missing, write ``paper.md``, and list what takes hours."""
    out.mkdir(parents=True, exist_ok=True)
    for section in SECTIONS:
        if not section.hours and not (out / f"{section.name}.json").exists():
            import_module(f".{section.name}", __package__).run(out, quick=quick, progress=progress)
    known = {s.name: json.loads(path.read_text()) for s in SECTIONS if (path := out / f"{s.name}.json").exists()}
    atomic_write_text(out / "paper.md", page(known))
    missing = [section for section in SECTIONS if section.name not in known]
    print(f"{out / 'paper.md'}: {len(known)} of {len(SECTIONS)} sections have numbers.")
    for section in missing:
        print(f"  takes hours: {section.command.replace('DIR', str(out))}    # {section.title}")
    return {"sections": sorted(known), "missing": [section.name for section in missing]}


def page(known: dict[str, Any]) -> str:
    """The page, in Markdown."""
    parts = [HEAD]
    for section in SECTIONS:
        parts.append(f"## {section.title}\n\n*The paper:* {section.claim}\n\nCommand: `{section.command}`\n")
        if section.name not in known:
            parts.append("Not run in this folder: it takes hours.\n")
            continue
        result = known[section.name]
        told = section.found(result)
        table = import_module(f".{section.name}", __package__).table(result)
        parts.append(f"{told}\n\n```text\n{table.strip()}\n```\n" if told else f"```text\n{table.strip()}\n```\n")
        if section.name != "planted":
            parts.append(f"![{section.title}]({section.name}.png)\n")
    return "\n".join(parts)
