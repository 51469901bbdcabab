"""A footnote of Sutherland et al. 2017: a kernel that is updated adversarially, with which its authors had difficulty.

    tellapart reproduce footnote [--quick] [--steps N] [--out DIR]

On 8 × 8 digits a generator minimises t while the kernel maximises it, from five seeds. Two measures stabilise training:
a penalty on the slope of the kernel, and a learning rate of the kernel that is 20 times smaller than that of the
generator. Variants omit either or both. They are evaluated by t on held-out digits, with a fixed kernel.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from .. import generative
from .._util.extras import extra
from .._util.files import write_json
from .._util.progress import progress_bar
from ..generative.evaluation import load_or_train_classifier
from ..generative.models import Diverged
from .figures import new_figure, plain_ticks
from .parts import command
from .training import read_curves, read_picture, train_or_resume

VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {
    "found": ("penalty, slow kernel", {}),
    "no_penalty": ("slow kernel, no penalty", {"penalty": 0}),
    "quick": ("penalty, quick kernel", {"kernel_learning_rate": 0.002}),
    "neither": ("no penalty, quick kernel", {"penalty": 0, "kernel_learning_rate": 0.002}),
}
SETTINGS: dict[str, Any] = {"hidden": [64, 256], "features": [64, 16]}
STEPS = {"quick": 100, "full": 500}
SEEDS, POINTS = 5, 20


def run(out: Path, quick: bool = False, steps: int | None = None, progress: bool | None = None) -> dict[str, Any]:
    """Train or read all runs, print a table, write ``footnote.json``, ``footnote.png`` and ``.pdf``."""
    extra("matplotlib")
    made_by = command("footnote", quick=quick, steps=steps)
    steps = steps or STEPS["quick" if quick else "full"]
    data = generative.load("digits")
    classifier = load_or_train_classifier(data, out)
    wanted = SETTINGS | {"steps": steps, "evaluate_every": max(1, steps // POINTS)}
    runs: dict[str, list[dict[str, Any]]] = {}
    with progress_bar(progress, "footnote") as report:
        for k, (name, (_, given)) in enumerate(VARIANTS.items()):
            for seed in range(SEEDS):
                folder, diverged = run_folder(out, name, seed), False
                try:
                    train_or_resume(
                        "adversarial", data, folder, wanted | given, seed=seed, classifier=classifier, progress=False
                    )
                except Diverged:
                    diverged = True
                runs.setdefault(name, []).append(read_curves(folder) | {"diverged": diverged})
                if report is not None:
                    report(k * SEEDS + seed + 1, len(VARIANTS) * SEEDS)
    result = {
        "command": made_by,
        "steps": steps,
        "seeds": SEEDS,
        "settings": wanted,
        "variants": {name: {"title": VARIANTS[name][0], "runs": found} for name, found in runs.items()},
    }
    write_json(out / "footnote.json", result)
    draw(result, out)
    print(table(result))
    return result


def run_folder(out: Path, name: str, seed: int) -> Path:
    """Folder of one run."""
    return out / "footnote" / f"{name}-{seed}"


def summary(runs: list[dict[str, Any]]) -> dict[str, float]:
    """Final values of runs: mean of t and its standard error, minimum, maximum, rarest digit, number of diverged runs.

    The last evaluation before divergence is used. A run that diverged before its first evaluation is only counted.
    """
    ended = [one for one in runs if one["step"]]
    last = np.array([one["t"][-1] for one in ended] or [np.nan])
    return {
        "t": float(last.mean()),
        "error": float(last.std(ddof=1) / len(last) ** 0.5) if len(last) > 1 else np.nan,
        "lowest": float(last.min()),
        "largest": float(last.max()),
        "rarest": float(np.median([min(one["shares"][-1]) for one in ended] or [np.nan])),
        "diverged": sum(one["diverged"] for one in runs),
    }


def table(result: dict[str, Any]) -> str:
    """Format the final values of the runs of each variant as a text table."""
    lines = [
        f"t on held-out digits after {result['steps']:,} steps, {result['seeds']} seeds",
        f"  {'':28}{'t':>14}{'lowest':>9}{'largest':>9}{'rarest digit':>14}{'diverged':>10}",
    ]
    for one in result["variants"].values():
        found = summary(one["runs"])
        t = f"{found['t']:.2f} ± {found['error']:.2f}"
        lines.append(
            f"  {one['title']:28}{t:>14}{found['lowest']:>9.2f}{found['largest']:>9.2f}"
            f"{100 * found['rarest']:>12.1f} %{found['diverged']:>10}"
        )
    return "\n".join(lines)


def found(result: dict[str, Any]) -> str:
    """Summarize the result in a sentence."""
    ends = {one["title"]: summary(one["runs"]) for one in result["variants"].values()}
    at_end = (f"{end['t']:.1f} ± {end['error']:.1f} ({title})" for title, end in ends.items())
    return (
        f"After {result['steps']:,} steps t on held-out digits, by a kernel that is not learned, is "
        f"{', '.join(at_end)}; "
        f"{sum(end['diverged'] for end in ends.values())} of {len(ends) * result['seeds']} runs diverged."
    )


def draw(result: dict[str, Any], out: Path) -> None:
    """Plot t during training for each variant, and samples of the first seed at three times."""
    with new_figure(out / "footnote", 12, 5.2) as figure:
        panels = figure.subplots(2, len(VARIANTS), height_ratios=(1.4, 1), sharey="row", squeeze=False)
        for (above, below), (name, one) in zip(panels.T, result["variants"].items(), strict=True):
            for found in one["runs"]:
                above.plot(found["step"], found["t"], color="#0072B2", alpha=0.7, linewidth=1.2)
            above.set(title=one["title"], xlabel="steps", yscale="log")
            plain_ticks(above.yaxis)
            below.set(xticks=[], yticks=[])
            steps = one["runs"][0]["step"]
            if not steps:
                continue
            shown = [steps[0], steps[len(steps) // 4], steps[-1]]
            rows = [read_picture(run_folder(out, name, 0), step) for step in shown]
            side = len(rows[0]) // 10
            below.imshow(np.concatenate([_spaced(row[:side], side) for row in rows]), cmap="gray", vmin=0, vmax=255)
            below.set_yticks([(side + 2) * (k + 0.5) for k in range(len(rows))], [f"{step:,}" for step in shown])
            below.tick_params(length=0)
        panels[0, 0].set_ylabel("t on held-out digits, five seeds")
        panels[1, 0].set_ylabel("samples after …")


def _spaced(strip: np.ndarray[Any, Any], side: int) -> np.ndarray[Any, Any]:
    """Arrange images in a row with white frames."""
    images = strip.reshape(side, -1, side)
    return np.pad(images, ((1, 1), (0, 0), (1, 1)), constant_values=255).reshape(side + 2, -1)
