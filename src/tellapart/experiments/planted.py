"""Comparisons of MNIST with planted defects.

    tellapart reproduce planted [--quick] [--out DIR]

Two samples of MNIST's training images, one of them with a defect: 30 % of the ones are missing; one column of pixels is
dead; 5 % of the images are rotated by 30 degrees. Samples are compared with the default options and a report. The
results measure whether the comparison finds the defect: the share of ones, or of rotated images, among exemplars and in
clusters, and of the column among the named pixels. Pairs of samples without a defect, 200 times, measure the level.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from .._util.extras import extra
from .._util.files import write_json
from .._util.progress import progress_bar
from ..criticism import Array, Comparison, compare
from ..data import datasets
from ..twosample import learned_test, two_sample_test
from .parts import command, part

COLUMN, DEGREES, DIGIT = 14, 30, 1
#: Exemplars of each sample at each end of the witness function.
EXEMPLARS = 20
#: Images of each sample.
ROWS = {"too few ones": 5000, "dead column": 1000, "turned images": 5000, "none": 400}
#: Repetitions without a defect, and the levels at which they are counted.
REPETITIONS = {"quick": 20, "full": 200}
LEVELS = (0.01, 0.05, 0.1)
TESTS = ("auto", "ard", "witness")


@dataclass(frozen=True)
class PlantedChange:
    """Two samples of images, and indicators of the rows that show the defect."""

    X: Tensor
    Y: Tensor
    marked_x: Array
    marked_y: Array


def run(out: Path, quick: bool = False, progress: bool | None = None) -> dict[str, Any]:
    """Run the comparisons, print a table, and write ``planted.json`` and a report for each defect."""
    extra("matplotlib")
    out.mkdir(parents=True, exist_ok=True)
    images, labels = map(torch.from_numpy, datasets.mnist()[:2])
    result: dict[str, Any] = {"command": command("planted", quick=quick)}
    for name, make in DEFECTS.items():
        problem = make(images, labels.numpy(), np.random.default_rng(0))
        result[name] = part(out, f"planted-{name.replace(' ', '-')}", partial(criticise, name, problem, out, progress))
    repetitions = REPETITIONS["quick" if quick else "full"]
    result["none"] = part(out, f"planted-none-{repetitions}", partial(level, images, repetitions, progress))
    write_json(out / "planted.json", result)
    print(table(result))
    return result


def criticise(name: str, problem: PlantedChange, out: Path, progress: bool | None) -> dict[str, Any]:
    """Compare the samples of one defect with a report, and summarize what it shows of the defect."""
    found = compare(problem.X.numpy(), problem.Y.numpy(), names=("intact", name), rng=0, progress=progress)
    report = out / f"planted-{name.replace(' ', '-')}.html"
    found.to_html(report, f"tellapart reproduce planted: {name}")
    return summarise(found, problem)


def split(images: Tensor, size: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Disjoint rows of two samples. The second has more rows, which are thinned."""
    order = rng.permutation(len(images))
    return order[:size], order[size:]


def rare_digit(images: Tensor, labels: Array, rng: np.random.Generator) -> PlantedChange:
    """Remove 30 % of one digit."""
    size = ROWS["too few ones"]
    first, rest = split(images, size, rng)
    second = rest[(labels[rest] != DIGIT) | (rng.random(len(rest)) < 0.7)][:size]
    return PlantedChange(images[first], images[second], labels[first] == DIGIT, labels[second] == DIGIT)


def dead_column(images: Tensor, labels: Array, rng: np.random.Generator) -> PlantedChange:
    """Set one column of pixels to 0."""
    size = ROWS["dead column"]
    first, rest = split(images, size, rng)
    Y = images[rest[:size]].clone()
    Y[:, :, COLUMN] = 0
    return PlantedChange(images[first], Y, np.zeros(size, bool), np.ones(size, bool))


def rotate_some(images: Tensor, labels: Array, rng: np.random.Generator) -> PlantedChange:
    """Rotate 5 % of the images slightly."""
    size = ROWS["turned images"]
    first, rest = split(images, size, rng)
    marked = rng.permutation(size) < size // 20
    Y = images[rest[:size]].clone()
    Y[torch.from_numpy(marked)] = rotate(Y[torch.from_numpy(marked)], DEGREES)
    return PlantedChange(images[first], Y, np.zeros(size, bool), marked)


def rotate(images: Tensor, degrees: float) -> Tensor:
    """Rotate images about their centers."""
    angle = math.radians(degrees)
    turn = torch.tensor([[math.cos(angle), -math.sin(angle), 0], [math.sin(angle), math.cos(angle), 0]])
    shape = (len(images), 1, *images.shape[1:])
    places = torch.nn.functional.affine_grid(turn.expand(len(images), 2, 3), list(shape), align_corners=False)
    moved = torch.nn.functional.grid_sample(images[:, None].float(), places, align_corners=False)
    return moved[:, 0].round().to(images.dtype)


DEFECTS = {"too few ones": rare_digit, "dead column": dead_column, "turned images": rotate_some}


def summarise(found: Comparison, problem: PlantedChange) -> dict[str, Any]:
    """Summarize a comparison, and the proportion of its examples that show the defect."""
    marked = {"X": problem.marked_x, "Y": problem.marked_y}
    rows = {"X": found.rows_x, "Y": found.rows_y}
    shares: dict[str, float | None] = {}
    for sample in ("X", "Y"):
        for end in ("more of X", "more of Y"):
            at = [e.row for e in found.exemplars(EXEMPLARS) if (e.sample, e.level) == (sample, end)]
            shares[f"{sample}, {end}"] = float(marked[sample][at].mean()) if at else None
    clusters = [
        {
            "pvalue": one.pvalue,
            "shares": [one.share_x, one.share_y],
            "marked": [
                float(marked[sample][rows[sample][members]].mean()) if len(members) else None
                for sample, members in (("X", one.members_x), ("Y", one.members_y))
            ],
        }
        for one in found.differing_slices
    ]
    named = [one.name for one in found.differing_columns()]
    in_column = [name for name in named if name.endswith(f",{COLUMN}")]
    return {
        "pvalue": found.pvalue,
        "auc": found.auc,
        "auc interval": list(found.auc_interval),
        "rows": len(problem.X),
        "seconds": found.seconds,
        "pixels named": len(named),
        "of the column": len(in_column),
        "marked": [float(part.mean()) for part in marked.values()],
        "marked among exemplars": shares,
        "clusters": clusters,
    }


def level(images: Tensor, repetitions: int, progress: bool | None) -> dict[str, list[float]]:
    """P-values of tests between pairs of random samples of MNIST."""
    found: dict[str, list[float]] = {kernel: [] for kernel in TESTS}
    with progress_bar(progress, "no defect") as report:
        for r in range(repetitions):
            rows = torch.from_numpy(np.random.default_rng([1, r]).permutation(len(images)))
            X, Y = (images[part].flatten(1).float() / 255 for part in rows.split(ROWS["none"])[:2])
            squares = [part.reshape(-1, *images.shape[1:]) for part in (X, Y)]
            found["auto"].append(two_sample_test(squares[0], squares[1], 199, rng=r).pvalue)
            for kernel in TESTS[1:]:
                learning: dict[str, Any] = {"steps": 100, "patience": 3} if kernel == "ard" else {}
                test = learned_test(X, Y, kernel, permutations=199, rng=r, progress=False, learning=learning)
                found[kernel].append(test.pvalue)
            if report is not None:
                report(r + 1, repetitions)
    return found


def table(result: dict[str, Any]) -> str:
    """Format a line for each defect, and the rejection rates without a defect."""
    lines = []
    for name, row in result.items():
        if name in ("none", "command"):
            continue
        shown = row["marked among exemplars"]
        what = {
            "too few ones": f"ones: {row['marked'][0]:.3f} and {row['marked'][1]:.3f} of the images, "
            f"{shown['X, more of X']:.2f} of the exemplars where there is more of X",
            "dead column": f"{row['of the column']} of {row['pixels named']} pixels named are of the column",
            "turned images": f"turned: {row['marked'][1]:.2f} of Y, {shown['Y, more of Y']:.2f} of the exemplars "
            "where there is more of Y",
        }[name]
        low, high = row["auc interval"]
        lines.append(
            f"{name}: p = {row['pvalue']:.3f}, AUC {row['auc']:.3f} [{low:.3f}, {high:.3f}] ({row['rows']:,} images, "
            f"{row['seconds']:.0f} s); {what}"
        )
        for one in row["clusters"]:
            inside = " and ".join("-" if share is None else f"{share:.2f}" for share in one["marked"])
            lines.append(
                f"  a cluster with {one['shares'][0]:.3f} and {one['shares'][1]:.3f} of the images (p = "
                f"{one['pvalue']:.3f}): {inside} of it marked"
            )
    for kernel, pvalues in result["none"].items():
        rates = ", ".join(f"{np.mean(np.array(pvalues) <= alpha):.3f} at {alpha}" for alpha in LEVELS)
        lines.append(f"no defect, {kernel}: {len(pvalues)} repetitions, rejected {rates}")
    return "\n".join(lines)


def found(result: dict[str, Any]) -> str:
    """Summarize the result in a sentence."""
    few, dead, turned = (result[name] for name in DEFECTS)
    return (
        f"p = {few['pvalue']:.3f}, {dead['pvalue']:.3f} and {turned['pvalue']:.3f}. "
        f"{few['marked among exemplars']['X, more of X']:.0%} of the images shown as typical of the intact sample "
        f"are ones ({few['marked'][0]:.0%} of it are); {dead['of the column']} of {dead['pixels named']} pixels named "
        f"are of the dead column; {turned['marked among exemplars']['Y, more of Y']:.0%} of those shown as typical of "
        "the defect are turned."
    )
