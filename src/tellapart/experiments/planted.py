"""Defects planted in MNIST, and whether a comparison points to them.

    tellapart reproduce planted [--quick] [--out DIR]

Two samples of MNIST's training images, one of them with a defect: 30 % of the ones are missing; one column of pixels is
dead; 5 % of the images are turned by 30 degrees. Each is compared as a user would, with a report, and numbers say
whether the report points to the defect: the share of ones among the exemplars, of the column among the weights, of
turned images among the exemplars. Then two samples without any defect, 200 times: how often is one claimed?
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
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
from ..twosample import learned_test

COLUMN, DEGREES, DIGIT = 14, 30, 1
#: Exemplars of each sample at each end of the witness function.
EXEMPLARS = 20
#: Images of each sample.
ROWS = {"too few ones": 10_000, "dead column": 1000, "turned images": 10_000, "none": 400}
#: Repetitions without a defect, and the levels at which they are counted.
REPETITIONS = {"quick": 20, "full": 200}
LEVELS = (0.01, 0.05, 0.1)
KERNELS = ("ard", "witness")


@dataclass(frozen=True)
class Problem:
    """Two samples of images, which of the rows of each show the defect, and what to compare them with."""

    X: Tensor
    Y: Tensor
    marked_x: Array
    marked_y: Array
    kernel: str


def run(out: Path, quick: bool = False, progress: bool | None = None) -> dict[str, Any]:
    """Compare, print what was found, write ``planted.json`` and a report for each defect."""
    extra("matplotlib")
    out.mkdir(parents=True, exist_ok=True)
    images, labels, _, _ = datasets.mnist()
    result: dict[str, Any] = {}
    for name, make in DEFECTS.items():
        path = out / f"planted-{name.replace(' ', '-')}.json"
        if not path.exists():
            problem = make(images, labels.numpy(), np.random.default_rng(0))
            found = compare(
                problem.X.numpy(),
                problem.Y.numpy(),
                problem.kernel,
                names=("intact", name),
                rng=0,
                stability=0,
                progress=progress,
            )
            found.to_html(path.with_suffix(".html"), f"tellapart reproduce planted: {name}")
            write_json(path, summarise(found, problem))
        result[name] = json.loads(path.read_text())
    result["none"] = level(images, REPETITIONS["quick" if quick else "full"], out, progress)
    write_json(out / "planted.json", result)
    print(table(result))
    return result


def split(images: Tensor, size: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Rows of two samples that have none in common; the second in reserve, to be thinned."""
    order = rng.permutation(len(images))
    return order[:size], order[size:]


def rare_digit(images: Tensor, labels: Array, rng: np.random.Generator) -> Problem:
    """30 % of one digit are missing."""
    size = ROWS["too few ones"]
    first, rest = split(images, size, rng)
    second = rest[(labels[rest] != DIGIT) | (rng.random(len(rest)) < 0.7)][:size]
    return Problem(images[first], images[second], labels[first] == DIGIT, labels[second] == DIGIT, "rbf")


def dead_column(images: Tensor, labels: Array, rng: np.random.Generator) -> Problem:
    """One column of pixels is 0."""
    size = ROWS["dead column"]
    first, rest = split(images, size, rng)
    Y = images[rest[:size]].clone()
    Y[:, :, COLUMN] = 0
    return Problem(images[first], Y, np.zeros(size, bool), np.ones(size, bool), "ard")


def rotate_some(images: Tensor, labels: Array, rng: np.random.Generator) -> Problem:
    """5 % of the images are turned a little."""
    size = ROWS["turned images"]
    first, rest = split(images, size, rng)
    marked = rng.permutation(size) < size // 20
    Y = images[rest[:size]].clone()
    Y[torch.from_numpy(marked)] = rotate(Y[torch.from_numpy(marked)], DEGREES)
    return Problem(images[first], Y, np.zeros(size, bool), marked, "witness")


def rotate(images: Tensor, degrees: float) -> Tensor:
    """The images turned about their centres."""
    angle = math.radians(degrees)
    turn = torch.tensor([[math.cos(angle), -math.sin(angle), 0], [math.sin(angle), math.cos(angle), 0]])
    shape = (len(images), 1, *images.shape[1:])
    places = torch.nn.functional.affine_grid(turn.expand(len(images), 2, 3), list(shape), align_corners=False)
    moved = torch.nn.functional.grid_sample(images[:, None].float(), places, align_corners=False)
    return moved[:, 0].round().to(images.dtype)


DEFECTS = {"too few ones": rare_digit, "dead column": dead_column, "turned images": rotate_some}


def summarise(found: Comparison, problem: Problem) -> dict[str, Any]:
    """What the comparison says, and how much of what it shows is the defect."""
    weights = found.weights.values.reshape(problem.X.shape[1:])
    shares = {}
    for sample, rows, marked in (
        ("X", found.split.test_x, problem.marked_x),
        ("Y", found.split.test_y, problem.marked_y),
    ):
        for end in ("more of X", "more of Y"):
            at = [e.index for e in found.exemplars(EXEMPLARS) if (e.sample, e.level) == (sample, end)]
            shares[f"{sample}, {end}"] = float(marked[rows[at]].mean())
    return {
        "pvalue": found.pvalue,
        "auc": found.auc,
        "kernel": problem.kernel,
        "rows": len(problem.X),
        "weight of the column": float(weights[:, COLUMN].sum()),
        "marked": [float(problem.marked_x.mean()), float(problem.marked_y.mean())],
        "marked among exemplars": shares,
    }


def level(images: Tensor, repetitions: int, out: Path, progress: bool | None) -> dict[str, list[float]]:
    """p-values of learned tests between two samples of MNIST, each time other ones."""
    path = out / f"planted-none-{repetitions}.json"
    if path.exists():
        return dict(json.loads(path.read_text()))
    found: dict[str, list[float]] = {kernel: [] for kernel in KERNELS}
    with progress_bar(progress, "no defect") as report:
        for r in range(repetitions):
            rows = torch.from_numpy(np.random.default_rng([1, r]).permutation(len(images)))
            X, Y = (images[part].flatten(1).float() / 255 for part in rows.split(ROWS["none"])[:2])
            for kernel in KERNELS:
                learning: dict[str, Any] = {"steps": 100, "patience": 3} if kernel == "ard" else {}
                test = learned_test(X, Y, kernel, permutations=199, rng=r, progress=False, learning=learning)
                found[kernel].append(test.pvalue)
            if report is not None:
                report(r + 1, repetitions)
    write_json(path, found)
    return found


def table(result: dict[str, Any]) -> str:
    """A line for each defect, and the rejection rates without one."""
    lines = []
    for name, row in result.items():
        if name == "none":
            continue
        ones = row["marked among exemplars"]
        what = {
            "too few ones": f"ones: {row['marked'][0]:.3f} and {row['marked'][1]:.3f} of the images, "
            f"{ones['X, more of X']:.2f} of the exemplars where there is more of X",
            "dead column": f"the column has {row['weight of the column']:.3f} of all weight (1 of 28 columns)",
            "turned images": f"turned: {row['marked'][1]:.2f} of Y, {ones['Y, more of Y']:.2f} of the exemplars "
            "where there is more of Y",
        }[name]
        lines.append(
            f"{name}: p = {row['pvalue']:.3f}, AUC {row['auc']:.3f} ({row['kernel']}, {row['rows']:,} images); {what}"
        )
    for kernel, pvalues in result["none"].items():
        rates = ", ".join(f"{np.mean(np.array(pvalues) <= alpha):.3f} at {alpha}" for alpha in LEVELS)
        lines.append(f"no defect, {kernel}: {len(pvalues)} repetitions, rejected {rates}")
    return "\n".join(lines)
