"""§2 of Sutherland et al. 2017: near the null, the power should be maximised instead of t.

    tellapart reproduce threshold [--quick] [--out DIR]

The power of the test is about Φ((MMD² - c)/√V): t = MMD²/√V neglects the threshold c, which decreases as 1/m. For small
samples of several problems, and kernels of two families at many bandwidths, the kernel is chosen on one sample by t, by
the power or by MMD². A choice is evaluated by its rejection rate over all samples. The results of each problem are
cached.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from .._util.extras import extra
from .._util.files import write_json
from .._util.progress import progress_bar
from ..data import datasets
from ..engine import Compute
from ..kernels import Gaussian, Grid, Laplacian
from ..learning.bandwidths import select_bandwidth
from ..stats import nulls
from ..stats.pvalues import critical_value
from .figures import new_figure
from .parts import command, part

SIZES = (10, 20, 50, 100, 200)
BANDWIDTHS = np.logspace(-1, 1.4, 15)
FAMILIES = (Gaussian, Laplacian)
#: Repetitions and permutations.
EFFORT = {"quick": (60, 99), "full": (500, 199)}
ALPHA = 0.05
CRITERIA = {"t": ("max t", "#0072B2"), "power": ("max power", "#009E73"), "mmd": ("max MMD²", "#D55E00")}


def _shifted(m: int, seed: int) -> tuple[Tensor, Tensor]:
    Z = torch.from_numpy(np.random.default_rng(seed).standard_normal((2 * m, 3)))
    return Z[:m], Z[m:] + 2 / m**0.5 / 3**0.5


def _wider(m: int, seed: int) -> tuple[Tensor, Tensor]:
    Z = torch.from_numpy(np.random.default_rng(seed).standard_normal((2 * m, 2)))
    return Z[:m], Z[m:] * (1 + 2.5 / m**0.5)


def _waves(m: int, seed: int) -> tuple[Tensor, Tensor]:
    X, Y = datasets.perturbed_uniform(m, perturbations=1, amplitude=min(1.0, 8 / m**0.5), rng=seed)
    return torch.from_numpy(6 * X), torch.from_numpy(6 * Y)


#: Differences that shrink with m, so that the power stays between the level and 1: "close to the null" at every size.
PROBLEMS: dict[str, tuple[str, Callable[[int, int], tuple[Tensor, Tensor]]]] = {
    "shift": ("shift of 2/√m in 3 dimensions", _shifted),
    "wider": ("wider by 2.5/√m in 2 dimensions", _wider),
    "waves": ("uniform v a wave of 8/√m", _waves),
}


def run(out: Path, quick: bool = False, progress: bool | None = None) -> dict[str, Any]:
    """Compute or read every problem, print a table, write ``threshold.json``, ``threshold.png`` and ``.pdf``."""
    extra("matplotlib")
    repetitions, permutations = EFFORT["quick" if quick else "full"]
    out.mkdir(parents=True, exist_ok=True)
    cells = [(problem, m) for problem in PROBLEMS for m in SIZES]
    worth: dict[str, Any] = {}
    with progress_bar(progress, "threshold") as report:
        for k, (problem, m) in enumerate(cells):
            worth.setdefault(problem, {})[str(m)] = part(
                out,
                f"threshold-{problem}-{m}-{repetitions}x{permutations}",
                partial(worth_of_choices, problem, m, repetitions, permutations),
            )
            if report is not None:
                report(k + 1, len(cells))
    result = {
        "command": command("threshold", quick=quick),
        "alpha": ALPHA,
        "repetitions": repetitions,
        "permutations": permutations,
        "kernels": [f"{family.__name__}({bandwidth:.3g})" for family in FAMILIES for bandwidth in BANDWIDTHS],
        "problems": {name: title for name, (title, _) in PROBLEMS.items()},
        "worth": worth,
    }
    write_json(out / "threshold.json", result)
    draw(result, out)
    print(table(result))
    return result


def worth_of_choices(problem: str, m: int, repetitions: int, permutations: int) -> dict[str, Any]:
    """Evaluate the choice of each criterion on one problem and one sample size."""
    return summary([trial(problem, m, permutations, seed) for seed in range(repetitions)])


def trial(problem: str, m: int, permutations: int, seed: int) -> dict[str, list[float]]:
    """Evaluate every kernel on one pair of samples."""
    X, Y = PROBLEMS[problem][1](m, seed)
    found: dict[str, list[float]] = {"t": [], "power": [], "mmd": [], "pvalue": []}
    for family in FAMILIES:
        with torch.no_grad():
            table = select_bandwidth(X, Y, BANDWIDTHS.tolist(), "t", family=family, rng=seed).table
            grid = Grid(BANDWIDTHS.tolist(), family)
            null = nulls.Permutation().draw(
                nulls.Problem(grid, X, Y, np.random.default_rng([seed, 1]), Compute()), permutations
            )
        threshold = critical_value(null.distribution, ALPHA).numpy()
        found["t"] += table["t"].tolist()
        found["power"] += ((table["mmd2"] - threshold) / np.sqrt(table["variance"])).tolist()
        found["mmd"] += table["mmd2"].tolist()
        found["pvalue"] += null.pvalue(1e-6).tolist()
    return found


def summary(rows: list[dict[str, list[float]]]) -> dict[str, Any]:
    """Mean power of the choice of each criterion with standard errors, and the paired advantage of power over t."""
    rate = np.mean([np.array(row["pvalue"]) <= ALPHA for row in rows], axis=0)
    chosen = {name: np.array([rate[int(np.argmax(row[name]))] for row in rows]) for name in CRITERIA}
    gain = chosen["power"] - chosen["t"]
    return {
        "best": float(rate.max()),
        **{name: float(value.mean()) for name, value in chosen.items()},
        "gain": float(gain.mean()),
        "gain_error": float(gain.std(ddof=1) / len(gain) ** 0.5),
    }


def table(result: dict[str, Any]) -> str:
    """Format the rejection rates as a text table."""
    lines = [f"Rejection rate of the kernel chosen, α = {ALPHA}, {result['repetitions']} repetitions"]
    for problem, title in result["problems"].items():
        lines.append(f"  {title}")
        lines.append("    m     best   max t  max power  max MMD²   power - t")
        for m, found in result["worth"][problem].items():
            lines.append(
                f"  {m:>5}    {found['best']:.3f}   {found['t']:.3f}      {found['power']:.3f}     {found['mmd']:.3f}"
                f"   {found['gain']:+.4f} ± {found['gain_error']:.4f}"
            )
    return "\n".join(lines)


def found(result: dict[str, Any]) -> str:
    """Summarize the result in a sentence."""
    cells = [(p, m, one) for p, sizes in result["worth"].items() for m, one in sizes.items()]
    ahead = [one for _, _, one in cells if one["gain"] > 2 * one["gain_error"]]
    behind = [one for _, _, one in cells if one["gain"] < -2 * one["gain_error"]]
    (p, m, most), (q, n, least) = (f(cells, key=lambda cell: cell[2]["gain"]) for f in (max, min))
    return (
        f"The whole power beats t by more than two standard errors in {len(ahead)} of {len(cells)} cells and falls "
        f"behind in {len(behind)}. Its largest gain is {most['gain']:+.3f} ± {most['gain_error']:.3f} of rejections "
        f"({result['problems'][p]}, m = {m}), its largest loss {least['gain']:+.3f} ± {least['gain_error']:.3f} "
        f"({result['problems'][q]}, m = {n})."
    )


def draw(result: dict[str, Any], out: Path) -> None:
    """Plot the rejection rate of the choice of each criterion against m, with one panel for each problem."""
    with new_figure(out / "threshold", 11.5, 3.4) as figure:
        panels = figure.subplots(1, len(PROBLEMS), sharey=True, squeeze=False)[0]
        for panel, (problem, title) in zip(panels, result["problems"].items(), strict=True):
            found = result["worth"][problem]
            sizes = [int(m) for m in found]
            panel.plot(sizes, [found[str(m)]["best"] for m in sizes], color="black", linestyle=":", label="best kernel")
            for name, (label, colour) in CRITERIA.items():
                panel.plot(sizes, [found[str(m)][name] for m in sizes], color=colour, marker="o", ms=4, label=label)
            panel.axhline(ALPHA, color="#bbbbbb", linewidth=0.8, zorder=0)
            panel.set(title=title, xscale="log", xlabel="m", xticks=sizes, ylim=(0, 1))
            panel.set_xticklabels(sizes)
            panel.minorticks_off()
        panels[0].set_ylabel("rejection rate of the kernel chosen")
        panels[-1].legend(frameon=False, fontsize=9)
