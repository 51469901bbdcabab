"""Figure 2 of Sutherland et al. 2017: bandwidths selected by criteria, and their power.

    tellapart reproduce blobs [--quick] [--out DIR]

Two grids of 5 × 5 blobs; those of Q are ε times as wide one way as the other. For each ε, many samples of 500 + 500
points: MMD², t and the permutation test at 30 bandwidths, in one pass each. The power of a choice is the rejection
rate, over all samples, of the bandwidth chosen. The results of each ε are cached.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

from .._util.extras import extra
from .._util.files import write_json
from .._util.progress import progress_bar
from ..data.datasets import blobs
from ..engine import Compute
from ..kernels import Grid
from ..learning.bandwidths import median_bandwidth, select_bandwidth
from ..stats import nulls
from ..stats.pvalues import critical_value
from .figures import new_figure
from .parts import command, part

RATIOS = (1, 2, 4, 6, 8, 10)
BANDWIDTHS = np.logspace(-1.7, 1.7, 30)
#: Repetitions and permutations.
EFFORT = {"quick": (40, 199), "full": (100, 1000)}
ALPHA = 0.1
M = 500
#: The curves of the paper, read off its figure.
PAPER = {
    "best": {1: 0.16, 2: 0.23, 4: 0.59, 6: 0.96, 8: 0.99, 10: 1.00},
    "t": {1: 0.10, 2: 0.16, 4: 0.46, 6: 0.91, 8: 0.97, 10: 1.00},
    "mmd": {1: 0.10, 2: 0.16, 4: 0.36, 6: 0.65, 8: 0.77, 10: 0.86},
}
LABELS = {
    "best": ("best choice", "#000000"),
    "t": ("max t", "#0072B2"),
    "power": ("max power", "#009E73"),
    "mmd": ("max MMD²", "#D55E00"),
    "median": ("median distance", "#CC79A7"),
}


def run(out: Path, quick: bool = False, progress: bool | None = None) -> dict[str, Any]:
    """Compute or read what each ε gives, print the curves, write ``blobs.json``, ``blobs.png`` and ``blobs.pdf``."""
    extra("matplotlib")
    repetitions, permutations = EFFORT["quick" if quick else "full"]
    out.mkdir(parents=True, exist_ok=True)
    trials = {}
    with progress_bar(progress, "blobs") as report:
        for k, ratio in enumerate(RATIOS):
            trials[ratio] = part(
                out,
                f"blobs-{ratio}-{repetitions}x{permutations}",
                partial(trials_of, ratio, repetitions, permutations),
            )
            if report is not None:
                report(k + 1, len(RATIOS))
    result = {"command": command("blobs", quick=quick)} | summary(trials, repetitions, permutations)
    write_json(out / "blobs.json", result)
    draw(result, trials, out)
    print(table(result))
    return result


def trials_of(ratio: int, repetitions: int, permutations: int) -> list[dict[str, list[float]]]:
    """Evaluate all pairs of samples of one ε."""
    return [trial(ratio, permutations, seed=1000 * ratio + r) for r in range(repetitions)]


def trial(ratio: float, permutations: int, seed: int) -> dict[str, list[float]]:
    """Evaluate every bandwidth on one pair of samples."""
    X, Y = map(torch.from_numpy, blobs(M, ratio=ratio, rng=seed))
    with torch.no_grad():
        found = select_bandwidth(X, Y, BANDWIDTHS.tolist(), "t", rng=seed).table
        problem = nulls.Problem(Grid(BANDWIDTHS.tolist()), X, Y, np.random.default_rng(seed), Compute())
        null = nulls.Permutation().draw(problem, permutations)
    threshold = critical_value(null.distribution, ALPHA).numpy()
    power = (found["mmd2"] - threshold) / np.sqrt(found["variance"])
    nearest = np.abs(np.log(BANDWIDTHS / median_bandwidth(X, Y, rng=seed))).argmin()
    columns = {"mmd": found["mmd2"], "t": found["t"], "power": power, "pvalue": null.pvalue(1e-6).numpy()}
    return {name: column.tolist() for name, column in columns.items()} | {"median": [int(nearest)]}


def summary(trials: dict[int, Any], repetitions: int, permutations: int) -> dict[str, Any]:
    """The rejection rate of each bandwidth, and of the bandwidths chosen by each criterion: mean and deviation."""
    rates = {
        ratio: np.mean([np.array(row["pvalue"]) <= ALPHA for row in rows], axis=0) for ratio, rows in trials.items()
    }
    curves: dict[str, dict[str, list[float]]] = {name: {"mean": [], "deviation": []} for name in LABELS}
    for ratio, rows in trials.items():
        for name, curve in curves.items():
            if name == "best":
                worth = np.full(len(rows), rates[ratio].max())
            else:
                worth = rates[ratio][[choose(name, row) for row in rows]]
            curve["mean"].append(float(worth.mean()))
            curve["deviation"].append(float(worth.std()))
    return {
        "ratios": list(RATIOS),
        "bandwidths": BANDWIDTHS.tolist(),
        "alpha": ALPHA,
        "m": M,
        "repetitions": repetitions,
        "permutations": permutations,
        "rejection_rate_of_each_bandwidth": {str(ratio): rate.tolist() for ratio, rate in rates.items()},
        "curves": curves,
        "paper": PAPER,
    }


def choose(criterion: str, row: dict[str, list[float]]) -> int:
    """Bandwidth that a criterion selects for one pair of samples."""
    return int(row["median"][0]) if criterion == "median" else int(np.argmax(row[criterion]))


def table(result: dict[str, Any]) -> str:
    """Return the curves next to those of the paper, as readable text."""
    effort = f"{result['repetitions']} repetitions, {result['permutations']} permutations"
    head = f"Blobs, {M} + {M} points, {effort}, α = {ALPHA}"
    lines = [head, "  ε" + " " * 21 + "".join(f"{ratio:8d}" for ratio in RATIOS)]
    for name, (label, _) in LABELS.items():
        lines.append(f"  {label:22}" + "".join(f"{value:8.2f}" for value in result["curves"][name]["mean"]))
        if name in PAPER:
            lines.append("    in the paper        " + "".join(f"{PAPER[name][ratio]:8.2f}" for ratio in RATIOS))
    return "\n".join(lines)


def found(result: dict[str, Any]) -> str:
    """Summarize the result in a sentence."""
    at = result["ratios"].index(6)
    ours = {name: curve["mean"][at] for name, curve in result["curves"].items()}
    return (
        f"At ε = 6 the bandwidth chosen by t is worth a rejection rate of {ours['t']:.2f}, that chosen by MMD² "
        f"{ours['mmd']:.2f}, that chosen by the power {ours['power']:.2f} and the median distance "
        f"{ours['median']:.2f}; the best has {ours['best']:.2f}. In the paper: t "
        f"{PAPER['t'][6]:.2f}, MMD² {PAPER['mmd'][6]:.2f}, best {PAPER['best'][6]:.2f}."
    )


def draw(result: dict[str, Any], trials: dict[int, Any], out: Path) -> None:
    """Plot samples, selected bandwidths over their power, and rejection rates against ε."""
    shown = 6
    with new_figure(out / "blobs", 13.5, 4.1) as figure:
        samples, choices, power = figure.subplots(1, 3, width_ratios=(1, 1.25, 1.25))
        for points, colour, name in zip(blobs(M, ratio=shown, rng=0), ("#0072B2", "#D55E00"), "PQ", strict=True):
            samples.scatter(*points.T, s=3, color=colour, label=f"sample of {name}", linewidths=0)
        samples.set(title=f"Samples, ε = {shown}", aspect="equal", xticks=range(0, 41, 10), yticks=range(0, 41, 10))
        samples.legend(loc="upper center", bbox_to_anchor=(0.5, -0.08), ncols=2, frameon=False, markerscale=4)
        edges = np.sqrt(BANDWIDTHS[1:] * BANDWIDTHS[:-1])
        edges = np.concatenate([[BANDWIDTHS[0] ** 2 / edges[0]], edges, [BANDWIDTHS[-1] ** 2 / edges[-1]]])
        for name in ("mmd", "t", "median"):
            label, colour = LABELS[name]
            picks = BANDWIDTHS[[choose(name, row) for row in trials[shown]]]
            choices.hist(
                picks,
                edges,
                color=colour,
                alpha=0.65,
                label=f"chosen by {label}",
                weights=np.full(len(picks), 1 / len(picks)),
            )
        rate = result["rejection_rate_of_each_bandwidth"][str(shown)]
        choices.plot(BANDWIDTHS, rate, color="black", label="power of each bandwidth")
        choices.set(title=f"Bandwidths chosen, ε = {shown}", xscale="log", xlabel="bandwidth", ylim=(0, 1.4))
        choices.set_ylabel("share of choices; rejection rate")
        choices.set_yticks([0, 0.25, 0.5, 0.75, 1])
        choices.legend(frameon=False, fontsize=8.5, loc="upper left")
        for k, (name, (label, colour)) in enumerate(LABELS.items()):
            mean, deviation = (np.array(result["curves"][name][key]) for key in ("mean", "deviation"))
            x = np.array(RATIOS) + 0.08 * (k - 2)
            power.errorbar(x, mean, deviation, color=colour, label=label, marker="o", markersize=4, elinewidth=0.8)
        for name, values in PAPER.items():
            power.plot(*zip(*values.items(), strict=True), color=LABELS[name][1], linestyle=":", linewidth=1)
        power.plot([], [], color="#555555", linestyle=":", label="in the paper")
        power.axhline(ALPHA, color="#bbbbbb", linewidth=0.8, zorder=0)
        power.set(title=f"Rejection rate at α = {ALPHA}", xlabel="ε", xticks=RATIOS, ylim=(0, 1.05))
        power.legend(frameon=False, fontsize=9, loc="center left", bbox_to_anchor=(1, 0.5))
