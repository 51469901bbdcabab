"""Training runs of experiments, with the expected time, and their logs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from .. import generative
from .._util.extras import extra
from .._util.progress import ProgressLike
from ..generative import Data
from ..generative.callbacks import EvaluateClasses, read_log
from ..generative.evaluation import Classifier
from ..generative.models import Model
from ..generative.runs import seconds_per_step, steps_done

#: What `read_curves` gives besides the shares of classes.
MEASURES = {"mmd2": "MMD²", "t": "t", "pvalue": "p", "auc": "AUC"}
#: Number of minutes from which the expected training time is printed.
LONG = 1.0


def train_or_resume(
    name: str,
    data: Data,
    folder: Path,
    settings: Mapping[str, Any],
    *,
    seed: int = 0,
    classifier: Classifier | None = None,
    progress: ProgressLike = None,
) -> Model[Any]:
    """Train a model in its folder up to the requested step, after printing the expected time."""
    left = settings["steps"] - steps_done(folder)
    minutes = left * seconds_per_step(name, data, settings) / 60 if left > 0 else 0
    if minutes > LONG:
        print(f"{folder.name}: {left:,} iterations to go, about {minutes:.0f} minutes, in {folder}", flush=True)
    seen = () if classifier is None else (EvaluateClasses(classifier),)
    return generative.train(name, data, folder, settings, rng=seed, resume=True, callbacks=seen, progress=progress)


def read_curves(folder: Path) -> dict[str, list[Any]]:
    """Measurements on held-out data during the training of a run, with the proportion of the rarest class if known."""
    found: dict[int, dict[str, Any]] = {}
    for entry in read_log(folder / "log.jsonl"):
        found.setdefault(entry["step"], {}).update(entry)
    rows = [row for row in found.values() if "held_out/t" in row]
    curves: dict[str, list[Any]] = {"step": [row["step"] for row in rows]}
    curves |= {key: [float(f"{row[f'held_out/{key}']:.4g}") for row in rows] for key in MEASURES}
    if rows and "classes/0" in rows[-1]:
        classes = [key for key in rows[-1] if key.startswith("classes/") and key != "classes/confidence"]
        curves["shares"] = [[round(row[key], 4) for key in classes] for row in rows]
    return curves


def read_picture(folder: Path, step: int) -> np.ndarray[Any, Any]:
    """Image of 100 samples from the same noise, for every step at which a run was evaluated."""
    with extra("PIL.Image").open(folder / "samples" / f"step-{step:06}.png") as image:
        return np.asarray(image)
