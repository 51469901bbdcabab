"""Figure 3 of Sutherland et al. 2017: criticising a generative model of MNIST.

    tellapart reproduce criticism [--quick] [--steps N] [--samples FILE] [--out DIR]

Test images of MNIST against samples of the improved GAN with 1,000 labels (and of GMMN, t-GMMN and feature matching),
all made black and white. An ARD kernel is learned from 2,000 + 2,000 images and criticises on 2,000 + 2,000 others;
then it, other learned kernels and the median heuristic are tested on 100 draws from the remaining images, at several
sizes, because the informative size depends on the quality of the model. A χ² test compares the predicted digits of a
classifier. Missing models are trained in the folders of Figure 4; results are cached.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from .. import generative
from .._util.errors import InputError
from .._util.extras import extra
from .._util.files import write_json
from .._util.progress import progress_bar
from ..criticism import Array, compare
from ..data import read
from ..generative import Data, checkpoints
from ..generative.evaluation import Classifier, load_or_train_classifier
from ..generative.runs import steps_done
from ..kernels import Kernel, Witness
from ..learning import fit_kernel
from ..twosample import LearnedTest, mmd_test, two_sample_test, witness_test
from . import gans
from .criticism_figures import draw, draw_power
from .parts import command, part

#: The model that is criticised in the figure, and those that are only tested.
LEADING, OTHERS = "improved GAN", ("GMMN", "t-GMMN", "feature matching")
STEPS = {"quick": 1000, "full": gans.STEPS["full"]}
DRAWS = {"quick": 40, "full": 100}
#: Images of each side to learn from, and as many to look at; the rest is drawn from.
LEARNED = 2000
LEARNING: dict[str, Any] = {"batch_size": 500}
#: Repetitions of learning, for the range of the weights in the report.
STABILITY = 4
SIZES = (25, 50, 75, 100, 125, 150, 200, 400)
PERMUTATIONS, ALPHA = 1000, 0.01
#: At the size reported first, the median heuristic rejects in less than this share of draws.
INFORMATIVE = 0.6
LABELS = {
    "auto": ("two_sample_test", "#000000"),
    "ard": ("ARD, t maximised", "#0072B2"),
    "witness": ("witness test", "#009E73"),
    "deep": ("deep kernel, t maximised", "#E69F00"),
    "rbf": ("RBF, t maximised", "#D55E00"),
    "median": ("RBF, median distance", "#CC79A7"),
    "chi2": ("χ² of a classifier's digits", "#999999"),
}
#: Power at α = 0.01 in the paper, with 500 + 500 images and the authors' GAN.
PAPER = {"ard": 1.0, "rbf": 0.57, "median": 0.42}


def run(
    out: Path,
    quick: bool = False,
    steps: int | None = None,
    samples: Path | None = None,
    progress: bool | None = None,
) -> dict[str, Any]:
    """Train or read what is missing, print the tables, write ``criticism.json``, ``.png``, ``.pdf`` and ``.html``."""
    extra("matplotlib"), extra("scipy.stats")
    made_by = command("criticism", quick=quick, steps=steps, samples=samples)
    steps, draws = steps or STEPS["quick" if quick else "full"], DRAWS["quick" if quick else "full"]
    data = generative.load(gans.DATA)
    brought = read_samples(samples, data) if samples else None  # fail before training
    out.mkdir(parents=True, exist_ok=True)
    binary = replace(
        data,
        name=f"{data.name}, black and white",
        rows=black_and_white(data.rows),
        held_out=black_and_white(data.held_out),
    )
    classifier = load_or_train_classifier(binary, out, progress=progress)
    titles = (samples.stem,) if samples else (LEADING,) if quick else (LEADING, *OTHERS)
    result: dict[str, Any] = {"command": made_by, "data": data.name, "draws": draws}
    result |= {"accuracy": classifier.accuracy, "models": {}}
    for title in titles:
        rows = sample_model(title, data, out, steps, progress) if brought is None else brought
        leading, made = title == titles[0], black_and_white(rows)
        digest = Data(title, data.shape, made, data.held_out).digest
        name = f"criticism-{title.replace(' ', '-').replace('/', '-')}-{digest}-{draws}"
        found = part(out, name, partial(criticise, title, binary, made, classifier, out, draws, leading, progress))
        found |= {"tests": {test: summary(pvalues) for test, pvalues in found["tests"].items()}}
        result["models"][title] = found | {"iterations": None if samples else steps_done(gans.run_folder(out, title))}
        write_json(out / "criticism.json", result)
    draw_power(result["models"], LABELS, SIZES, out)
    print(table(result))
    return result


def summary(pvalues: dict[str, list[float]]) -> dict[str, dict[str, float]]:
    """Summarize the draws of each size: rejection rate, largest p, proportion with the smallest p."""
    return {
        size: {
            "power": float(np.mean(np.array(found) <= ALPHA)),
            "largest": round(max(found), 4),
            "least": float(np.mean(np.array(found) < 1.5 / (PERMUTATIONS + 1))),
        }
        for size, found in pvalues.items()
    }


def black_and_white(rows: Tensor) -> Tensor:
    """Set pixels of at least 0.5 to 1 and others to 0. (Rounding would set 0.5 to 0.)"""
    return (rows >= 0.5).to(rows.dtype)


def sample_model(title: str, data: Data, out: Path, steps: int, progress: bool | None) -> Tensor:
    """Generate as many samples as there are test images, after training the model if necessary."""
    model = gans.train_model(title, data, out, steps, progress)
    return model.sample(len(data.held_out), checkpoints.make_generator(2)).cpu()


def read_samples(path: Path, data: Data) -> Tensor:
    """Read samples from a file as rows with values from 0 to 1."""
    source = read(str(path), "samples")
    images = source.content.planes(slice(None)) if source.kind == "images" else None
    rows = None if images is None else torch.from_numpy(images).float().flatten(1)
    if rows is None or rows.shape[1] != data.pixels:
        raise InputError("wrong-image-shape", f"{path} must hold images of {' × '.join(map(str, data.shape))} pixels.")
    if len(rows) < 2 * LEARNED + SIZES[-1]:
        raise InputError("too-few-rows", f"{path} holds {len(rows)} images, but {2 * LEARNED + SIZES[-1]} are needed.")
    return rows


def criticise(
    title: str,
    data: Data,
    made: Tensor,
    classifier: Classifier,
    out: Path,
    draws: int,
    leading: bool,
    progress: bool | None,
) -> dict[str, Any]:
    """Learn from half of the images, and test kernels on draws from the others."""
    images = [rows.reshape(-1, *data.shape).numpy() for rows in (data.held_out, made)]
    found = compare(
        images[0][: 2 * LEARNED],
        images[1][: 2 * LEARNED],
        "ard",
        names=("MNIST", title),
        rng=0,
        stability=STABILITY if leading else 0,
        learning=LEARNING,
        progress=progress,
    )
    test, weights = found.test, found.weights
    assert isinstance(test, LearnedTest)
    assert weights is not None
    learn = data.held_out[test.split.train_x], made[test.split.train_y]
    kernels: dict[str, Kernel | str] = {"auto": "auto", "ard": test.kernel, "median": "median"}
    for name in ("rbf", "deep", "witness"):
        kernels[name], _ = fit_kernel(*learn, name, rng=0, progress=progress, **LEARNING)
    fresh = data.held_out[2 * LEARNED :], made[2 * LEARNED :]
    if leading:
        found.to_html(out / "criticism.html", f"tellapart reproduce criticism: {title}")
        draw(title, found, weights, images, out)
    chi2, shares, pvalue = digits(classifier, fresh, draws)
    return {
        "compared": {"pvalue": found.pvalue, "auc": found.auc},
        "pixels": heaviest_pixels(weights.values, images),
        "specks": [share_with_specks(part) for part in images],
        "weights": [float(f"{weight:.3g}") for weight in weights.values.ravel()],
        "tests": tests(kernels, fresh, data.shape, draws, progress) | {"chi2": chi2},
        "digits": {"shares": shares, "all": pvalue},
    }


def heaviest_pixels(weights: Array, images: list[Array], count: int = 8) -> list[dict[str, float]]:
    """The pixel with the largest weight: its proportion of the total, and how often it is black in data and samples."""
    shares = np.asarray(weights).reshape(images[0].shape[1:]) / weights.sum()
    found = []
    for place in np.argsort(-shares, axis=None)[:count]:
        row, column = (int(k) for k in np.unravel_index(place, shares.shape))
        black = [round(float(part[:, row, column].mean()), 5) for part in images]
        found.append({"row": row, "column": column, "weight": round(float(shares[row, column]), 4)})
        found[-1] |= {"black in data": black[0], "black in samples": black[1]}
    return found


def share_with_specks(images: Array) -> float:
    """Proportion of images with a black pixel that has no black neighbor."""
    black = torch.from_numpy(images)[:, None].float()
    around = torch.nn.functional.conv2d(black, torch.ones(1, 1, 3, 3), padding=1)
    return round(float(((black == 1) & (around == 1)).flatten(1).any(1).double().mean()), 4)


def tests(
    kernels: dict[str, Kernel | str],
    fresh: tuple[Tensor, Tensor],
    shape: tuple[int, ...],
    draws: int,
    progress: bool | None,
) -> dict[str, dict[str, list[float]]]:
    """P-values of every kernel and of the automatic test, for every size and draw."""

    def automatic(x: Tensor, y: Tensor, _: Any, *, permutations: int, rng: int) -> Any:
        return two_sample_test(x, y, permutations, image_shape=shape, rng=rng)

    found: dict[str, dict[str, list[float]]] = {name: {} for name in kernels}
    with progress_bar(progress, "tests") as report, torch.no_grad():
        for k, (name, kernel) in enumerate(kernels.items()):
            test: Callable[..., Any] = witness_test if isinstance(kernel, Witness) else mmd_test
            test = automatic if kernel == "auto" else test
            for size in SIZES:
                found[name][str(size)] = [
                    test(*draw_rows(fresh, size, r), kernel, permutations=PERMUTATIONS, rng=r).pvalue
                    for r in range(draws)
                ]
                if report is not None:
                    report(k * len(SIZES) + SIZES.index(size) + 1, len(kernels) * len(SIZES))
    return found


def draw_rows(fresh: tuple[Tensor, Tensor], size: int, seed: int) -> tuple[Tensor, Tensor]:
    """Draw the given number of images of each sample, none of which was used for learning."""
    draws = np.random.default_rng([seed, size])
    x, y = (rows[torch.from_numpy(draws.choice(len(rows), size, replace=False))] for rows in fresh)
    return x, y


@torch.no_grad()
def digits(
    classifier: Classifier, fresh: tuple[Tensor, Tensor], draws: int
) -> tuple[dict[str, list[float]], list[list[float]], float]:
    """χ² test of homogeneity of classified digits: p-values of draws, proportions, and the p-value of all images."""
    stats = extra("scipy.stats")
    seen = [torch.cat([classifier(part).argmax(1) for part in rows.split(1000)]) for rows in fresh]
    classes = 1 + max(int(labels.max()) for labels in seen)

    def pvalue(*labels: Tensor) -> float:
        counts = np.array([part.bincount(minlength=classes).numpy() for part in labels])
        return float(stats.chi2_contingency(counts[:, counts.sum(0) > 0]).pvalue)

    shares = [(labels.bincount(minlength=classes) / len(labels)).tolist() for labels in seen]
    of_draws = {str(size): [pvalue(*draw_rows((seen[0], seen[1]), size, r)) for r in range(draws)] for size in SIZES}
    return of_draws, shares, pvalue(*seen)


def informative_size(found: dict[str, Any]) -> int:
    """The largest size at which the median heuristic has low power."""
    median = found["tests"]["median"]
    return max((size for size in SIZES if median[str(size)]["power"] < INFORMATIVE), default=SIZES[0])


def table(result: dict[str, Any]) -> str:
    """Format for each model the power of each kernel, p-values at the most informative size, and the χ² test."""
    lines = []
    for title, found in result["models"].items():
        size = informative_size(found)
        iterations = "" if found["iterations"] is None else f", {found['iterations']:,} iterations"
        lines += [
            f"MNIST against {title}{iterations}: power at α = {ALPHA}, {result['draws']} draws, "
            f"{PERMUTATIONS} permutations, and p-values with {size} + {size} images",
            " " * 28 + "".join(f"{m:>7}" for m in SIZES) + "   largest p  least in  paper",
        ]
        for name, (label, _) in LABELS.items():
            rates = found["tests"][name]
            powers = "".join(f"{rates[str(m)]['power']:7.2f}" for m in SIZES)
            paper = f"{PAPER[name]:7.2f}" if name in PAPER and title == LEADING else ""
            at = rates[str(size)]
            lines.append(f"  {label:26}{powers}{at['largest']:12.3f}{at['least']:10.2f}{paper}")
        data, made = found["specks"]
        lines += [
            f"  χ² of the digits of all images together: p = {found['digits']['all']:.2g}",
            f"  a black pixel without a black neighbour: {100 * data:.1f} % of data, {100 * made:.1f} % of samples",
            "  heaviest pixels (row, column): how often black in data and samples, %",
            *(
                f"    ({one['row']:2}, {one['column']:2}){100 * one['black in data']:8.2f}"
                f"{100 * one['black in samples']:8.2f}   {100 * one['weight']:.1f} % of all weight"
                for one in found["pixels"]
            ),
            "",
        ]
    return "\n".join(lines)


def found(result: dict[str, Any]) -> str:
    """Summarize the result in a sentence."""
    title, model = next(iter(result["models"].items()))
    size = informative_size(model)
    rates = {name: model["tests"][name][str(size)]["power"] for name in LABELS}
    powers = ", ".join(f"{label} {rates[name]:.0%}" for name, (label, _) in LABELS.items())
    return (
        f"With {size} + {size} images of {title}, at α = {ALPHA}: {powers}. The paper, with its own GAN and 500 + 500 "
        f"images: ARD {PAPER['ard']:.0%}, one bandwidth {PAPER['rbf']:.0%}, median {PAPER['median']:.0%}."
    )
