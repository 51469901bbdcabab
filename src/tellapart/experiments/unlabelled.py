"""Figure 4 (d) of Sutherland et al. 2017: the improved GAN without labels, and feature matching, six runs each.

    tellapart reproduce unlabelled [--quick] [--data mnist] [--steps N] [--out DIR]

The paper says that the improved GAN needs labels and that feature matching with MMD does not. Both are trained without
any, from six seeds. Each run is shown as a row of samples, with the share of each digit among 2,000 samples according
to a classifier. By default 8 × 8 digits are used, which takes minutes.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from .. import generative
from .._util.extras import extra
from .._util.files import write_json
from ..generative import checkpoints
from ..generative.evaluation import COVERED, evaluate, load_or_train_classifier
from ..generative.images import as_images, image_grid
from .figures import named, new_figure
from .parts import command
from .training import read_curves, train_or_resume

MODELS: dict[str, tuple[str, dict[str, Any]]] = {
    "improved GAN, no labels": ("improved-gan", {"labels": 0}),
    "feature matching with MMD": ("feature-matching", {}),
}
#: Networks and batches that are enough for 64 pixels.
SMALL: dict[str, dict[str, Any]] = {
    "improved-gan": {"hidden": (128, 128), "discriminator": (128, 64), "minibatch_kernels": 30},
    "feature-matching": {"hidden": (64, 256), "discriminator": (128, 64), "batch_size": 250},
}
STEPS = {"quick": 200, "full": 1500}
RUNS, SAMPLES, SHOWN = 6, 2000, 16


def run(
    out: Path, quick: bool = False, steps: int | None = None, data: str = "digits", progress: bool | None = None
) -> dict[str, Any]:
    """Train or resume, print a table, write ``unlabelled.json`` and ``.png`` (``unlabelled-mnist.json``, …)."""
    extra("matplotlib")
    made_by = command("unlabelled", quick=quick, steps=steps, data=data if data != "digits" else None)
    steps = steps or STEPS["quick" if quick else "full"]
    images = generative.load(data)
    classifier = load_or_train_classifier(images, out, progress=progress)
    result: dict[str, Any] = {
        "command": made_by,
        "data": data,
        "steps": steps,
        "accuracy": classifier.accuracy,
        "real": [round(share, 4) for share in evaluate(images.held_out, classifier).proportions],
        "models": {},
    }
    rows: dict[str, list[Any]] = {}
    for title, (name, given) in MODELS.items():
        wanted = given | (SMALL[name] if data == "digits" else {}) | {"steps": steps}
        for seed in range(RUNS):
            folder = out / "unlabelled" / f"{data}-{name}-{seed}"
            model = train_or_resume(name, images, folder, wanted, seed=seed, progress=progress)
            made = model.sample(SAMPLES, checkpoints.make_generator(1))
            found, curves = evaluate(made, classifier), read_curves(folder)
            result["models"].setdefault(title, []).append(
                {"seed": seed, "iterations": curves["step"][-1], "t": curves["t"][-1], "auc": curves["auc"][-1]}
                | {"shares": [round(share, 4) for share in found.proportions], "covered": found.covered}
                | {"entropy": round(found.entropy, 4), "confidence": round(found.confidence, 4)}
            )
            rows.setdefault(title, []).append(as_images(made[:SHOWN], images.shape))
    write_json(named(out, "unlabelled", data).with_suffix(".json"), result)
    draw(result, rows, named(out, "unlabelled", data))
    print(table(result))
    return result


def table(result: dict[str, Any]) -> str:
    """Format a line for each run."""
    digits = "".join(f"{digit:>6}" for digit in range(len(result["real"])))
    lines = [f"{result['data']}; share of each digit in {SAMPLES:,} samples, %", f"  {'':34}{digits}   entropy      t"]
    for title, runs in result["models"].items():
        for one in runs:
            shares = "".join(f"{100 * share:6.1f}" for share in one["shares"])
            lines.append(f"  {title:25} run {one['seed'] + 1:<4}{shares}{one['entropy']:10.2f}{one['t']:7.1f}")
    return "\n".join([*lines, f"  {'held-out digits':34}" + "".join(f"{100 * share:6.1f}" for share in result["real"])])


def found(result: dict[str, Any]) -> str:
    """Summarize the result in a sentence."""
    sentences = []
    for title, runs in result["models"].items():
        whole = sum(one["covered"] == len(result["real"]) for one in runs)
        rarest = [100 * min(one["shares"]) for one in runs]
        sentences.append(
            f"{title}: {whole} of {len(runs)} runs have every digit in at least {COVERED:.0%} of their samples, and "
            f"the rarest digit of a run has {min(rarest):.1f} to {max(rarest):.1f} %."
        )
    return " ".join(sentences)


def draw(result: dict[str, Any], rows: dict[str, list[Any]], path: Path) -> None:
    """Draw one row of samples for each run, next to the proportion of each digit."""
    with new_figure(path, 11, 6.2) as figure:
        for part, (title, runs) in zip(figure.subfigures(1, len(MODELS)), result["models"].items(), strict=True):
            part.suptitle(f"{title}, {runs[0]['iterations']:,} iterations")
            for (left, right), one, images in zip(
                part.subplots(RUNS, 2, width_ratios=(3.2, 1)), runs, rows[title], strict=True
            ):
                left.imshow(image_grid(images, SHOWN // 2), cmap="gray", vmin=0, vmax=255, interpolation="nearest")
                left.axis("off")
                right.bar(range(len(one["shares"])), one["shares"], color="#0072B2")
                right.axhline(1 / len(one["shares"]), color="#bbbbbb", linewidth=0.8)
                right.set(xticks=range(len(one["shares"])), yticks=[], ylim=(0, max(0.4, *np.array(one["shares"]))))
                right.tick_params(labelsize=7, length=0)
