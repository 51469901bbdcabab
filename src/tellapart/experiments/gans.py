"""Figure 4 of Sutherland et al. 2017: digits drawn by four generative models.

    python -m tellapart.experiments.gans [--quick] [--out DIR]

GMMN, t-GMMN, feature matching with MMD, and the improved GAN with 1,000 labels, on MNIST at the paper's settings. Each
model has a folder of its own, which keeps its checkpoints: what was interrupted goes on, what is done is not done
again. Beside the pictures: MMD², t and the p-value against held-out digits, and what a small classifier sees.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from .. import generative
from .._extras import extra
from .._files import write_json
from ..generative import checkpoints
from ..generative.evaluation import evaluate, fitted
from ..generative.runs import LOOKED_AT, against, as_images, grid

DATA = "mnist"
#: What is drawn, the model, and its settings besides those of the paper.
MODELS: dict[str, tuple[str, dict[str, Any]]] = {
    "GMMN": ("gmmn", {}),
    "t-GMMN": ("t-gmmn", {}),
    "feature matching": ("feature-matching", {}),
    "improved GAN": ("improved-gan", {}),
}
#: More models for the table.
BASELINES: dict[str, tuple[str, dict[str, Any]]] = {
    "improved GAN, no labels": ("improved-gan", {"labels": 0}),
    "feature matching, means": ("feature-matching", {"match": "means"}),
    "GMMN on codes": ("gmmn", {"codes": 32}),
}
STEPS = {"quick": 1500, "full": 50_000}
SAMPLES = 2000


def run(out: Path, quick: bool = False, progress: bool | None = None) -> dict[str, Any]:
    """Train or go on, print the table, write ``gans.json``, ``gans.png`` and ``gans.pdf``."""
    extra("matplotlib")
    out.mkdir(parents=True, exist_ok=True)
    steps = STEPS["quick" if quick else "full"]
    data = generative.load(DATA)
    classifier = fitted(data, out, progress=progress)
    result: dict[str, Any] = {
        "data": DATA,
        "steps": steps,
        "samples": SAMPLES,
        "held out": evaluate(data.held_out, classifier).as_dict(),
        "models": {},
    }
    pictures = {}
    for title, (name, settings) in (MODELS | ({} if quick else BASELINES)).items():
        folder = out / "gans" / f"{title.replace(',', '').replace(' ', '-')}-{steps}"
        model = generative.train(name, data, folder, settings | {"steps": steps}, resume=True, progress=progress)
        rows = model.sample(SAMPLES, checkpoints.seeded(1))
        found = {"model": name, "settings": settings} | against(model, data, seed=1)
        result["models"][title] = found | evaluate(rows, classifier).as_dict()
        pictures[title] = grid(as_images(rows[:100], data.shape))
        write_json(out / "gans.json", result)
    draw(pictures, steps, out)
    print(table(result))
    return result


def table(result: dict[str, Any]) -> str:
    """One line for each model."""
    lines = [
        f"{result['data']}, {result['steps']:,} iterations; {LOOKED_AT:,} samples against held-out data",
        f"{'':26} {'MMD²':>9} {'t':>7} {'p':>6} {'rarest':>7} {'classes':>8} {'entropy':>8} {'confidence':>11}",
    ]
    for title, row in result["models"].items():
        seen = f"{row['mmd2']:9.5f} {row['t']:7.2f} {row['pvalue']:6.3f}"
        lines.append(f"{title:26} {seen} {_classified(row)}")
    lines.append(f"{'held-out data':26} {'':24} {_classified(result['held out'])}")
    return "\n".join(lines)


def _classified(row: dict[str, Any]) -> str:
    rarest = f"{100 * min(row['proportions']):6.1f}%"
    return f"{rarest} {row['covered']:8} {row['entropy']:8.3f} {row['confidence']:11.3f}"


def draw(pictures: dict[str, Any], steps: int, out: Path) -> None:
    """Four grids of samples, as in the paper."""
    figure = extra("matplotlib.figure").Figure(figsize=(9, 9.6), layout="constrained")
    axes = figure.subplots(2, 2)
    for letter, axis, title in zip("abcd", axes.flat, MODELS, strict=True):
        axis.imshow(pictures[title], cmap="gray", vmin=0, vmax=255, interpolation="nearest")
        axis.set_title(f"({letter}) {title}")
        axis.axis("off")
    figure.suptitle(f"Samples after {steps:,} iterations")
    for suffix in ("png", "pdf"):
        figure.savefig(out / f"gans.{suffix}", dpi=150)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--out", type=Path, default=Path("out"))
    options = parser.parse_args()
    run(options.out, options.quick)
