"""Figure 4 of Sutherland et al. 2017: digits drawn by four generative models.

    tellapart reproduce gans [--quick] [--steps N] [--out DIR]

GMMN, t-GMMN, feature matching with MMD, and the improved GAN with 1,000 labels, on MNIST at the paper's settings. Each
model has a folder of its own, which keeps its checkpoints: what was interrupted goes on, what is done is not done
again. Beside the pictures: MMD², t and the p-value against held-out digits, what a small classifier sees, and which of
the models are closer to the digits than others (`rank`). Then, since the paper says that feature matching with MMD
needs no labels and the improved GAN does: both without labels, from five seeds, for a sixth of the iterations.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from torch import Tensor

from .. import generative
from .._util.extras import extra
from .._util.files import write_json
from .._util.progress import ProgressLike
from ..generative import Data, checkpoints
from ..generative.callbacks import EVALUATED_ROWS, evaluate_on_held_out
from ..generative.evaluation import evaluate, load_or_train_classifier
from ..generative.images import as_images, image_grid
from ..generative.models import Model
from ..generative.runs import seconds_per_step, steps_done
from ..twosample import RankResult, rank
from .figures import new_figure

DATA = "mnist"
#: What is drawn, the model, and its settings besides those of the paper.
MODELS: dict[str, tuple[str, dict[str, Any]]] = {
    "GMMN": ("gmmn", {}),
    "t-GMMN": ("t-gmmn", {}),
    "feature matching": ("feature-matching", {}),
    "improved GAN": ("improved-gan", {}),
}
#: More models for the table of the full run.
BASELINES: dict[str, tuple[str, dict[str, Any]]] = {
    "improved GAN, no labels": ("improved-gan", {"labels": 0}),
    "feature matching, means": ("feature-matching", {"match": "means"}),
    "GMMN on codes": ("gmmn", {"codes": 32}),
}
#: Which models are trained from several seeds, to see how often they collapse.
REPEATED = ("feature matching", "improved GAN, no labels")
SEEDS = range(5)
STEPS = {"quick": 1500, "full": 50_000}
#: Iterations of the improved GAN, which are of 100 rows and not of 500, for each iteration of the others.
PER_STEP = {"improved-gan": 2}
SAMPLES = 2000


def run(out: Path, quick: bool = False, steps: int | None = None, progress: bool | None = None) -> dict[str, Any]:
    """Train or go on, print the table, write ``gans.json``, ``gans.png`` and ``gans.pdf``."""
    extra("matplotlib")
    out.mkdir(parents=True, exist_ok=True)
    titles = MODELS if quick or steps else MODELS | BASELINES
    steps = steps or STEPS["quick" if quick else "full"]
    data = generative.load(DATA)
    classifier = load_or_train_classifier(data, out, progress=progress)
    result: dict[str, Any] = {
        "data": DATA,
        "steps": steps,
        "samples": SAMPLES,
        "held out": evaluate(data.held_out, classifier).as_dict(),
        "models": {},
        "seeds": {},
    }

    def train_and_evaluate(title: str, steps: int, seed: int | None = None) -> tuple[Tensor, dict[str, Any]]:
        model = train_or_resume(title, data, out, steps, seed, progress)
        rows = model.sample(SAMPLES, checkpoints.make_generator(1))
        found = {"model": (MODELS | BASELINES)[title][0], "settings": settings(title, steps), "seed": seed or 0}
        return rows, found | evaluate_on_held_out(model, data, rng=1) | evaluate(rows, classifier).as_dict()

    samples = {}
    for title in titles:
        samples[title], result["models"][title] = train_and_evaluate(title, steps)
        write_json(out / "gans.json", result)
    draw({title: image_grid(as_images(samples[title][:100], data.shape)) for title in MODELS}, steps, out)
    ranked = rank_samples(samples, data, progress)
    result["ranking"] = {key: value for key, value in ranked.to_dict().items() if key != "seconds"}
    for title in () if quick else REPEATED:
        result["seeds"][title] = [train_and_evaluate(title, steps // 6, seed)[1] for seed in SEEDS]
        write_json(out / "gans.json", result)
    write_json(out / "gans.json", result)
    print(table(result))
    print(ranked.summary())
    return result


def rank_samples(samples: dict[str, Tensor], data: Data, progress: ProgressLike = None) -> RankResult:
    """Which of the models are closer to held-out data than others."""
    rows = {title: some.cpu().flatten(1) for title, some in samples.items()}
    return rank(data.held_out[:SAMPLES].flatten(1), rows, rng=1, progress=progress)


def train_or_resume(
    title: str, data: Data, out: Path, steps: int, seed: int | None = None, progress: ProgressLike = None
) -> Model[Any]:
    """A model of the table, trained if it is not there, after saying how long that will take."""
    name, wanted = (MODELS | BASELINES)[title][0], settings(title, steps)
    words = [title.replace(",", "").replace(" ", "-"), str(steps), *([] if seed is None else [str(seed)])]
    folder = out / "gans" / "-".join(words)
    left = wanted["steps"] - steps_done(folder)
    if left > 0:
        minutes = left * seconds_per_step(name, data, wanted) / 60
        print(f"{title}: {left:,} iterations to go, about {minutes:.0f} minutes, in {folder}", flush=True)
    return generative.train(name, data, folder, wanted, rng=seed or 0, resume=True, progress=progress)


def settings(title: str, steps: int) -> dict[str, Any]:
    """What a model of the table is trained with."""
    name, given = (MODELS | BASELINES)[title]
    return given | {"steps": steps * PER_STEP.get(name, 1)}


def table(result: dict[str, Any]) -> str:
    """One line for each model, and one for each seed of those that were trained from several."""
    heads = ("iterations", "MMD²", "t", "p", "rarest", "classes", "entropy", "confidence")
    widths = (10, 9, 7, 6, 7, 8, 8, 11)
    lines = [
        f"{result['data']}; {EVALUATED_ROWS:,} samples against held-out data",
        " ".join([" " * 31, *(f"{head:>{width}}" for head, width in zip(heads, widths, strict=True))]),
        *(_line(title, row) for title, row in result["models"].items()),
        f"{'held-out data':31} {'':35} {_classified(result['held out'])}",
    ]
    for title, rows in result["seeds"].items():
        lines += [_line(f"{title}, seed {row['seed']}", row) for row in rows]
    return "\n".join(lines)


def _line(title: str, row: dict[str, Any]) -> str:
    seen = f"{row['settings']['steps']:10,} {row['mmd2']:9.5f} {row['t']:7.2f} {row['pvalue']:6.3f}"
    return f"{title:31} {seen} {_classified(row)}"


def _classified(row: dict[str, Any]) -> str:
    rarest = f"{100 * min(row['proportions']):6.1f}%"
    return f"{rarest} {row['covered']:8} {row['entropy']:8.3f} {row['confidence']:11.3f}"


def draw(pictures: dict[str, Any], steps: int, out: Path) -> None:
    """Four grids of samples, as in the paper."""
    with new_figure(out / "gans", 9, 9.4) as figure:
        axes = figure.subplots(2, 2)
        for letter, axis, title in zip("abcd", axes.flat, MODELS, strict=True):
            axis.imshow(pictures[title], cmap="gray", vmin=0, vmax=255, interpolation="nearest")
            axis.set_title(f"({letter}) {title}, {settings(title, steps)['steps']:,} iterations")
            axis.axis("off")
