"""§1 of Sutherland et al. 2017: a streaming test "often needs m² samples" where the quadratic-time test needs m.

    tellapart reproduce streaming [--quick] [--out DIR]

How many rows the linear-time estimator (blocks of 2), blocks of √m rows, and the quadratic-time estimator need for a
power of 0.9, on three problems at several sizes of their difference; and the slope of the first two over the last, on
logarithmic axes. All use the same kernel, with a bandwidth that suits the problem. The first two are compared with the
normal quantile, as their authors do; the last is the permutation test. The required rows are interpolated between sizes
on a grid; the results of each curve are cached.
"""

from __future__ import annotations

import math
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
from ..kernels import Gaussian
from ..stats.estimators import block_estimate
from ..twosample import mmd_test
from .figures import new_figure, plain_ticks
from .parts import command, part

ALPHA, POWER = 0.05, 0.9
#: Repetitions after which a size whose power is below half of that is left for the next one.
GLANCE = 60
#: The one-sided normal quantile at the level.
QUANTILE = 1.6449
#: Repetitions, permutations, and the rows at which a search gives up.
EFFORT = {"quick": (60, 99, 2**16), "full": (300, 199, 2**20)}
ESTIMATORS = {
    "linear": ("linear time", "#D55E00"),
    "block": ("blocks of √m", "#009E73"),
    "quadratic": ("quadratic time", "#0072B2"),
}
Draw = Callable[[int, float, int], tuple[Tensor, Tensor]]


def _shifted(m: int, size: float, seed: int) -> tuple[Tensor, Tensor]:
    Z = torch.from_numpy(np.random.default_rng(seed).standard_normal((2, m, 2)))
    return Z[0], Z[1] + size


def _wider(m: int, size: float, seed: int) -> tuple[Tensor, Tensor]:
    Z = torch.from_numpy(np.random.default_rng(seed).standard_normal((2, m, 5)))
    return Z[0], Z[1] * (1 + size)


def _blobs(m: int, size: float, seed: int) -> tuple[Tensor, Tensor]:
    X, Y = datasets.blobs(m, ratio=size, rng=seed)
    return torch.from_numpy(X), torch.from_numpy(Y)


#: Title, bandwidth, draws, and the sizes of the difference.
PROBLEMS: dict[str, tuple[str, float, Draw, tuple[float, ...]]] = {
    "shift": ("shift in 2 dimensions", 2.0, _shifted, (0.7, 0.5, 0.35, 0.25, 0.175)),
    "wider": ("wider in 5 dimensions", 2.0, _wider, (0.7, 0.5, 0.35, 0.25, 0.175)),
    "blobs": ("Blobs, by ε", 0.7, _blobs, (20.0, 12.0, 8.0, 6.0, 5.0)),
}


def run(out: Path, quick: bool = False, progress: bool | None = None) -> dict[str, Any]:
    """Compute or read the rows needed, print a table, write ``streaming.json``, ``streaming.png`` and ``.pdf``."""
    extra("matplotlib")
    repetitions, permutations, most = EFFORT["quick" if quick else "full"]
    out.mkdir(parents=True, exist_ok=True)
    cells = [(p, size, e) for p, (_, _, _, sizes) in PROBLEMS.items() for size in sizes for e in ESTIMATORS]
    needed: dict[str, Any] = {problem: {name: [] for name in ESTIMATORS} for problem in PROBLEMS}
    with progress_bar(progress, "streaming") as report:
        for k, (problem, size, estimator) in enumerate(cells):
            found = part(
                out,
                f"streaming-{problem}-{size:g}-{estimator}-{repetitions}x{permutations}-{most}",
                partial(rows_needed, problem, size, estimator, repetitions, permutations, most),
            )
            needed[problem][estimator].append(found["rows"])
            if report is not None:
                report(k + 1, len(cells))
    result = {
        "command": command("streaming", quick=quick),
        "alpha": ALPHA,
        "power": POWER,
        "repetitions": repetitions,
        "permutations": permutations,
        "problems": {name: {"title": title, "sizes": list(sizes)} for name, (title, _, _, sizes) in PROBLEMS.items()},
        "needed": needed,
        "slopes": {problem: slopes(found) for problem, found in needed.items()},
    }
    write_json(out / "streaming.json", result)
    draw(result, out)
    print(table(result))
    return result


def rows_needed(
    problem: str, size: float, estimator: str, repetitions: int, permutations: int, most: int
) -> dict[str, Any]:
    """Sample size for the required power (None if above ``most``), and the power at all sizes that were tried.

    Sizes are doubled until the power is reached; then the rows are interpolated in log m. Far from it a few
    repetitions are enough.
    """
    m, tried = 16, []
    while m <= most:
        found: list[bool] = []
        while len(found) < repetitions and not (len(found) == GLANCE and np.mean(found) < POWER / 2):
            found.append(rejects(problem, size, estimator, m, permutations, len(found)))
        tried.append((m, float(np.mean(found))))
        if tried[-1][1] >= POWER:
            break
        m *= 2
    else:
        return {"rows": None, "tried": tried}
    if len(tried) == 1:
        return {"rows": float(m), "tried": tried}
    (a, low), (b, high) = tried[-2:]
    return {"rows": a * (b / a) ** ((POWER - low) / max(high - low, 1e-9)), "tried": tried}


def rejects(problem: str, size: float, estimator: str, m: int, permutations: int, seed: int) -> bool:
    """Whether the test with an estimator rejects for one pair of samples."""
    _, bandwidth, sample, _ = PROBLEMS[problem]
    X, Y = sample(m, size, seed)
    kernel = Gaussian(bandwidth)
    if estimator == "quadratic":
        return mmd_test(X, Y, kernel, permutations=permutations, rng=seed).reject(ALPHA)
    block = 2 if estimator == "linear" else max(2, math.isqrt(m))
    with torch.no_grad():
        return float(block_estimate(X, Y, kernel, block_size=block).ratio) > QUANTILE


def slopes(needed: dict[str, list[float | None]]) -> dict[str, float | None]:
    """Least-squares exponent with which sample sizes grow relative to those of the quadratic-time test."""
    found: dict[str, float | None] = {}
    for name in ("linear", "block"):
        pairs = [(q, r) for q, r in zip(needed["quadratic"], needed[name], strict=True) if q and r]
        x, y = (np.log([pair[side] for pair in pairs]) for side in (0, 1))
        found[name] = float(np.polyfit(x, y, 1)[0]) if len(pairs) > 1 else None
    return found


def table(result: dict[str, Any]) -> str:
    """Format the required sample sizes as a text table."""
    lines = [f"Rows of each sample for power {POWER} at α = {ALPHA}, {result['repetitions']} repetitions"]
    for problem, about in result["problems"].items():
        lines.append(f"  {about['title']}: " + "".join(f"{size:>11g}" for size in about["sizes"]))
        for name, (label, _) in ESTIMATORS.items():
            cells = (f"{rows:>11,.0f}" if rows else "     > limit" for rows in result["needed"][problem][name])
            slope = result["slopes"][problem].get(name)
            lines.append(f"    {label:16}" + "".join(cells) + (f"   slope {slope:.2f}" if slope else ""))
    return "\n".join(lines)


def found(result: dict[str, Any]) -> str:
    """Summarize the result in a sentence."""
    sentences = []
    for problem, about in result["problems"].items():
        linear, block = (result["slopes"][problem][name] for name in ("linear", "block"))
        sentences.append(f"{linear:.2f} and {block:.2f} ({about['title']})" if linear and block else "")
    return (
        "On logarithmic axes, the rows that the linear-time and the block test need grow over those of the "
        f"quadratic-time test with slopes of {', '.join(filter(None, sentences))}; the claim is a slope of 2."
    )


def draw(result: dict[str, Any], out: Path) -> None:
    """Plot the sample sizes of streaming tests against those of the quadratic-time test."""
    with new_figure(out / "streaming", 11.5, 3.8) as figure:
        panels = figure.subplots(1, len(PROBLEMS), sharey=True, squeeze=False)[0]
        for panel, (problem, about) in zip(panels, result["problems"].items(), strict=True):
            found = result["needed"][problem]
            quadratic = [rows for rows in found["quadratic"] if rows]
            ends = np.array([min(quadratic), max(quadratic)])
            for name in ("linear", "block"):
                label, colour = ESTIMATORS[name]
                pairs = [(q, r) for q, r in zip(found["quadratic"], found[name], strict=True) if q and r]
                slope = result["slopes"][problem][name]
                text = label if slope is None else f"{label}: slope {slope:.2f}"
                panel.plot(*zip(*pairs, strict=True), color=colour, marker="o", ms=4, label=text)
            panel.plot(ends, ends, color="#0072B2", linewidth=1, label="quadratic time itself")
            panel.plot(ends, ends**2, color="#888888", linestyle=":", label="its square")
            panel.set(title=about["title"], xscale="log", yscale="log", xlabel="rows needed in quadratic time")
            plain_ticks(panel.xaxis)
            panel.legend(frameon=False, fontsize=8)
        panels[0].set_ylabel(f"rows needed for power {POWER}")
