"""Figure 4 of Sutherland et al. 2017: digits drawn by four generative models, and how they get there.

    tellapart reproduce gans [--quick] [--steps N] [--out DIR]

GMMN, t-GMMN, feature matching with MMD, and the improved GAN with 1,000 labels, on MNIST at the paper's settings. Each
model has a folder of its own, which keeps its checkpoints: what was interrupted goes on, what is done is not done
again, and what has been taken further than asked for is shown as it is. Beside the pictures: MMD², t, the p-value and
the AUC against held-out digits over training, what a small classifier sees, and which of the models are closer to the
digits than others (`rank`).
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
from ..generative.runs import steps_done
from ..twosample import RankResult, rank
from .figures import new_figure
from .parts import command
from .training import MEASURES, read_curves, train_or_resume

DATA = "mnist"
#: What is drawn, the model, its settings besides those of the paper, and its colour.
MODELS: dict[str, tuple[str, dict[str, Any], str]] = {
    "GMMN": ("gmmn", {}, "#0072B2"),
    "t-GMMN": ("t-gmmn", {}, "#D55E00"),
    "feature matching": ("feature-matching", {}, "#009E73"),
    "improved GAN": ("improved-gan", {}, "#CC79A7"),
}
STEPS = {"quick": 1500, "full": 50_000}
#: Iterations of the improved GAN, which are of 100 rows and not of 500, for each iteration of the others.
PER_STEP = {"improved-gan": 2}
SAMPLES = 2000
#: Iterations between points of the curves.
EVALUATE_EVERY = 500


def run(out: Path, quick: bool = False, steps: int | None = None, progress: bool | None = None) -> dict[str, Any]:
    """Train or go on, print the table, write ``gans.json``, ``gans.png``, ``gans-curves.png`` and the same as PDF."""
    extra("matplotlib")
    out.mkdir(parents=True, exist_ok=True)
    made_by = command("gans", quick=quick, steps=steps)
    steps = steps or STEPS["quick" if quick else "full"]
    data = generative.load(DATA)
    classifier = load_or_train_classifier(data, out, progress=progress)
    held_out = evaluate(data.held_out, classifier).as_dict()
    result: dict[str, Any] = {"command": made_by, "data": DATA, "samples": SAMPLES}
    result |= {"held out": held_out, "models": {}}
    pictures, samples = {}, {}
    for title, (name, _, _) in MODELS.items():
        model = train_model(title, data, out, steps, progress)
        rows = model.sample(SAMPLES, checkpoints.make_generator(1))
        found = {"model": name, "iterations": steps_done(run_folder(out, title))}
        measured = evaluate_on_held_out(model, data, rng=1) | evaluate(rows, classifier).as_dict()
        result["models"][title] = found | measured | {"curves": read_curves(run_folder(out, title))}
        samples[title], pictures[title] = rows, image_grid(as_images(rows[:100], data.shape))
        write_json(out / "gans.json", result)
    draw(result, pictures, out)
    draw_curves(result, out)
    ranked = rank_samples(samples, data, progress)
    result["ranking"] = {key: value for key, value in ranked.to_dict().items() if key != "seconds"}
    write_json(out / "gans.json", result)
    print(table(result))
    print(ranked.summary())
    return result


def rank_samples(samples: dict[str, Tensor], data: Data, progress: ProgressLike = None) -> RankResult:
    """Rank the models by their distance from held-out data."""
    rows = {title: some.cpu().flatten(1) for title, some in samples.items()}
    return rank(data.held_out[:SAMPLES].flatten(1), rows, rng=1, progress=progress)


def train_model(title: str, data: Data, out: Path, steps: int, progress: ProgressLike = None) -> Model[Any]:
    """Load a model of the figure, trained further if necessary."""
    name, settings, _ = MODELS[title]
    wanted = settings | {"steps": steps * PER_STEP.get(name, 1), "evaluate_every": EVALUATE_EVERY}
    classifier = load_or_train_classifier(data, out, progress=progress)
    return train_or_resume(name, data, run_folder(out, title), wanted, classifier=classifier, progress=progress)


def run_folder(out: Path, title: str) -> Path:
    """Folder of a model of the figure."""
    return out / "gans" / title.replace(" ", "-")


def table(result: dict[str, Any]) -> str:
    """Format a line for each model."""
    heads = ("iterations", "MMD²", "t", "p", "AUC", "rarest", "classes", "entropy", "confidence")
    widths = (10, 9, 7, 6, 6, 7, 8, 8, 11)
    lines = [
        f"{result['data']}; {EVALUATED_ROWS:,} samples against held-out data",
        " ".join([" " * 20, *(f"{head:>{width}}" for head, width in zip(heads, widths, strict=True))]),
    ]
    for title, row in result["models"].items():
        seen = f"{row['iterations']:10,} {row['mmd2']:9.5f} {row['t']:7.2f} {row['pvalue']:6.3f} {row['auc']:6.3f}"
        lines.append(f"{title:20} {seen} {_classified(row)}")
    return "\n".join([*lines, f"{'held-out data':20} {'':42} {_classified(result['held out'])}"])


def _classified(row: dict[str, Any]) -> str:
    rarest = f"{100 * min(row['proportions']):6.1f}%"
    return f"{rarest} {row['covered']:8} {row['entropy']:8.3f} {row['confidence']:11.3f}"


def found(result: dict[str, Any]) -> str:
    """Summarize the result in a sentence."""
    models = result["models"]
    plain, by_t = (models[title]["curves"] for title in ("GMMN", "t-GMMN"))
    common = [step for step in by_t["step"] if step in plain["step"]]
    t, u = (curves["t"][curves["step"].index(common[-1])] for curves in (by_t, plain))
    sentences = (f"{title}: {row['iterations']:,} iterations, AUC {row['auc']:.2f}" for title, row in models.items())
    return (
        f"{'; '.join(sentences)} (0.5 where samples cannot be told from digits). The rarest digit has "
        f"{100 * min(min(row['proportions']) for row in models.values()):.1f} % of the samples or more in every model. "
        f"After {common[-1]:,} iterations t on held-out digits is {t:.2f} for t-GMMN and {u:.2f} for GMMN."
    )


def draw(result: dict[str, Any], pictures: dict[str, Any], out: Path) -> None:
    """Draw four grids of samples, as in the paper."""
    with new_figure(out / "gans", 9, 9.4) as figure:
        axes = figure.subplots(2, 2)
        for letter, axis, title in zip("abcd", axes.flat, MODELS, strict=True):
            axis.imshow(pictures[title], cmap="gray", vmin=0, vmax=255, interpolation="nearest")
            axis.set_title(f"({letter}) {title}, {result['models'][title]['iterations']:,} iterations")
            axis.axis("off")


def draw_curves(result: dict[str, Any], out: Path) -> None:
    """Plot the measurements during training: MMD², t, p, AUC, and the proportion of the rarest digit."""
    with new_figure(out / "gans-curves", 12, 5.6) as figure:
        *panels, legend = figure.subplots(2, 3).flat
        for panel, (key, label) in zip(
            panels, [*MEASURES.items(), ("rarest", "share of the rarest digit")], strict=True
        ):
            for title, row in result["models"].items():
                curves = row["curves"] | {"rarest": [min(shares) for shares in row["curves"]["shares"]]}
                panel.plot(curves["step"], curves[key], color=MODELS[title][2], label=title, marker="o", markersize=3)
            panel.set(title=label, xlabel="iterations", yscale="log" if key in ("mmd2", "t") else "linear")
            if key == "pvalue":
                panel.set_ylim(0, 1)
        panels[-1].axhline(
            min(result["held out"]["proportions"]), color="#888888", linestyle=":", label="held-out data"
        )
        legend.legend(*panels[-1].get_legend_handles_labels(), loc="center", frameon=False)
        legend.axis("off")
