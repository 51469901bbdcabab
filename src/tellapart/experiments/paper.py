"""All results of the paper on one page: each claim with its published number, our number and the command.

    tellapart reproduce paper [--quick] [--out DIR]

Runs the experiments that take minutes and are not in DIR yet, and writes ``paper.md`` from the JSON files there, with
the figures beside it. Experiments that take hours are listed with their commands; if they have been run in the same
folder, the page includes their numbers. The page in the documentation, ``docs/paper/paper.md``, is such a file.
"""

from __future__ import annotations

import json
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
class PaperSection:
    """An experiment on the page: its subject and the claims of the paper.

    ``data`` is the data set if it is not the default; ``figures`` are the names of figures that differ from the
    experiment's.
    """

    name: str
    title: str
    claim: str
    hours: bool = False
    data: str = ""
    figures: tuple[str, ...] | None = None

    @property
    def key(self) -> str:
        """Name of its JSON file."""
        return f"{self.name}-{self.data}" if self.data else self.name

    @property
    def module(self) -> Any:
        """The experiment."""
        return import_module(f".{self.name}", __package__)

    @property
    def command(self) -> str:
        """Command that runs it."""
        return f"tellapart reproduce {self.name}{f' --data {self.data}' if self.data else ''}"

    def write(self, result: dict[str, Any] | None) -> str:
        """Format its section of the page as Markdown."""
        head = f"## {self.title}\n\n*The paper:* {self.claim}\n"
        if result is None:
            time = "hours" if self.hours else "minutes"
            return f"{head}\nNot run in this folder: `{self.command}`, which takes {time}.\n"
        figures = (self.key,) if self.figures is None else self.figures
        pictures = "".join(f"\n![{self.title}]({figure}.png)\n" for figure in figures)
        return (
            f"{head}\n*Here:* {self.module.found(result)}\n\nCommand: `{result['command']}`. Numbers: "
            f"[{self.key}.json]({self.key}.json).\n\n```text\n{self.module.table(result).strip()}\n```\n{pictures}"
        )


SECTIONS = (
    PaperSection(
        "speed",
        "Figure 1: the permutation test against spectral tests",
        "All permutations in one pass, 12 s, are faster than the spectral test, 87 s and more.",
    ),
    PaperSection(
        "streaming",
        "§1: streaming estimators",
        "A streaming test often needs m² samples where the quadratic-time test needs m.",
    ),
    PaperSection(
        "blobs", "Figure 2: the bandwidth chosen by t", "Maximising t chooses nearly the best bandwidth; MMD² does not."
    ),
    PaperSection(
        "threshold",
        "§2: when the threshold matters",
        "Close to the null both terms of the power should be maximised, not t alone.",
    ),
    PaperSection(
        "criticism",
        "Figure 3: criticising a GAN",
        "A learned ARD kernel finds what one bandwidth and the median heuristic miss.",
        hours=True,
        figures=("criticism-power", "criticism"),
    ),
    PaperSection(
        "gans",
        "Figure 4: digits drawn by four models",
        "GMMN, t-GMMN and feature matching draw digits after 50,000 iterations.",
        hours=True,
        figures=("gans", "gans-curves"),
    ),
    PaperSection(
        "unlabelled",
        "Figure 4 (d): without labels",
        "The improved GAN needs labels, feature matching with MMD does not.",
    ),
    PaperSection(
        "minimising_t",
        "§4: a generator that minimises t",
        "t-GMMN minimises t instead of MMD, which weighs the discrepancy by how well it is known.",
    ),
    PaperSection(
        "minimising_t",
        "§4: the same on MNIST",
        "The same, with the generator of the paper.",
        hours=True,
        data="mnist",
    ),
    PaperSection(
        "footnote",
        "A footnote: the kernel updated adversarially",
        "The authors had difficulty with a kernel that is updated against the generator.",
    ),
    PaperSection(
        "other_images",
        "Beyond the paper: other images",
        "(ours) The models are not only for 28 × 28 digits.",
        hours=True,
    ),
    PaperSection(
        "planted",
        "Beyond the paper: planted defects",
        "(ours) Defects of known kind are found and shown.",
        hours=True,
        figures=(),
    ),
)


def run(out: Path, quick: bool = False, progress: bool | None = None) -> dict[str, Any]:
    """Run missing experiments that take minutes, write ``paper.md``, and list those that take hours."""
    out.mkdir(parents=True, exist_ok=True)
    for section in SECTIONS:
        if not section.hours and not (out / f"{section.key}.json").exists():
            section.module.run(out, quick=quick, progress=progress)
    known = read_results(out)
    atomic_write_text(out / "paper.md", page(known))
    missing = [section for section in SECTIONS if section.key not in known]
    print(f"{out / 'paper.md'}: {len(known)} of {len(SECTIONS)} sections have numbers.")
    for section in missing:
        print(f"  takes hours: {section.command} --out {out}    # {section.title}")
    return {"sections": sorted(known), "missing": [section.key for section in missing]}


def read_results(out: Path) -> dict[str, Any]:
    """Read the results of experiments from a folder, by their keys."""
    return {s.key: json.loads(path.read_text()) for s in SECTIONS if (path := out / f"{s.key}.json").exists()}


def page(known: dict[str, Any]) -> str:
    """Format the page as Markdown."""
    return "\n".join([HEAD, *(section.write(known.get(section.key)) for section in SECTIONS)])
