"""Figure 3 of Sutherland et al. 2017: criticising a generative model of MNIST.

    tellapart reproduce criticism [--quick] [--steps N] [--samples FILE] [--out DIR]

Test images of MNIST against samples of the improved GAN with 1,000 labels (and of GMMN, t-GMMN and feature matching),
all made black and white. An ARD kernel is learned from 2,000 + 2,000 images and criticises on 2,000 + 2,000 others;
then it, other learned kernels and the median heuristic are tested on 100 draws from the remaining images, at several
sizes, since which size tells methods apart depends on how good the model is. A χ² test looks at the digits that a
classifier sees. Models are trained where they are missing, in the folders of Figure 4; what is done is not done again.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
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
from ..criticism import Array, Comparison, Weights, compare
from ..data import read
from ..generative import Data, checkpoints
from ..generative.evaluation import Classifier, load_or_train_classifier
from ..generative.images import image_grid
from ..kernels import Kernel, Witness
from ..learning import fit_kernel
from ..twosample import LearnedTest, mmd_test, two_sample_test, witness_test
from . import gans
from .figures import new_figure

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
    steps, draws = steps or STEPS["quick" if quick else "full"], DRAWS["quick" if quick else "full"]
    data = generative.load(gans.DATA)
    brought = read_samples(samples, data) if samples else None  # what does not fit is said before anything is trained
    out.mkdir(parents=True, exist_ok=True)
    binary = replace(
        data,
        name=f"{data.name}, black and white",
        rows=black_and_white(data.rows),
        held_out=black_and_white(data.held_out),
    )
    classifier = load_or_train_classifier(binary, out, progress=progress)
    titles = (samples.stem,) if samples else (LEADING,) if quick else (LEADING, *OTHERS)
    result: dict[str, Any] = {"data": data.name, "draws": draws, "accuracy": classifier.accuracy, "models": {}}
    for title in titles:
        rows = sample_model(title, data, out, steps, progress) if brought is None else brought
        leading = title == titles[0]
        found = criticise(title, binary, black_and_white(rows), classifier, out, draws, leading, progress)
        result["models"][title] = found | {"iterations": None if samples else gans.settings(title, steps)["steps"]}
        write_json(out / "criticism.json", result)
    print(table(result))
    return result


def black_and_white(rows: Tensor) -> Tensor:
    """Pixels of at least one half are 1: unlike rounding, which takes one half itself to the even side."""
    return (rows >= 0.5).to(rows.dtype)


def sample_model(title: str, data: Data, out: Path, steps: int, progress: bool | None) -> Tensor:
    """As many samples of a model as there are test images; it is trained first if it has not been."""
    model = gans.train_or_resume(title, data, out, steps, progress=progress)
    return model.sample(len(data.held_out), checkpoints.make_generator(2)).cpu()


def read_samples(path: Path, data: Data) -> Tensor:
    """Samples from a file, as rows from 0 to 1."""
    source = read(str(path), "samples")
    rows = source.content.planes(slice(None), torch.float32).flatten(1) if hasattr(source.content, "planes") else None
    if rows is None or rows.shape[1] != data.pixels:
        raise InputError(f"{path} must hold images of {' × '.join(map(str, data.shape))} pixels.")
    if len(rows) < 2 * LEARNED + SIZES[-1]:
        raise InputError(f"{path} holds {len(rows)} images, but {2 * LEARNED + SIZES[-1]} are needed.")
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
    """Learn and look at half of the images, then test kernels on draws from the others. Read if it has been done."""
    digest = Data(title, data.shape, made, data.held_out).digest
    path = out / f"criticism-{title.replace(' ', '-').replace('/', '-')}-{digest}-{draws}.json"
    if path.exists() and not (leading and not (out / "criticism.html").exists()):
        return dict(json.loads(path.read_text()))
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
    result = {
        "compared": {"pvalue": found.pvalue, "auc": found.auc, "weights": weights.values.tolist()},
        "tests": tests(kernels, fresh, data.shape, draws, progress),
        "digits": digits(classifier, fresh, draws),
    }
    write_json(path, result)
    return result


def tests(
    kernels: dict[str, Kernel | str],
    fresh: tuple[Tensor, Tensor],
    shape: tuple[int, ...],
    draws: int,
    progress: bool | None,
) -> dict[str, dict[str, list[float]]]:
    """The p-value of every kernel and of the automatic test, at every size, for every draw."""

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
    """So many images of each side, none of which was learned from or looked at."""
    draws = np.random.default_rng([seed, size])
    x, y = (rows[torch.from_numpy(draws.choice(len(rows), size, replace=False))] for rows in fresh)
    return x, y


@torch.no_grad()
def digits(classifier: Classifier, fresh: tuple[Tensor, Tensor], draws: int) -> dict[str, Any]:
    """The χ² test of homogeneity between the digits that a classifier sees, for every draw and for all images."""
    stats = extra("scipy.stats")
    seen = [torch.cat([classifier(part).argmax(1) for part in rows.split(1000)]) for rows in fresh]
    classes = 1 + max(int(labels.max()) for labels in seen)

    def pvalue(*labels: Tensor) -> float:
        counts = np.array([part.bincount(minlength=classes).numpy() for part in labels])
        return float(stats.chi2_contingency(counts[:, counts.sum(0) > 0]).pvalue)

    shares = [(labels.bincount(minlength=classes) / len(labels)).tolist() for labels in seen]
    of_draws = {str(size): [pvalue(*draw_rows((seen[0], seen[1]), size, r)) for r in range(draws)] for size in SIZES}
    return {"shares": shares, "all": pvalue(*seen), "draws": of_draws}


def informative_size(found: dict[str, Any]) -> int:
    """The largest size at which the median heuristic still misses much."""
    power = {size: rejection_rate(found["tests"]["median"][str(size)]) for size in SIZES}
    return max((size for size in SIZES if power[size] < INFORMATIVE), default=SIZES[0])


def rejection_rate(pvalues: list[float]) -> float:
    """The share of draws in which a test rejects."""
    return float(np.mean(np.array(pvalues) <= ALPHA))


def table(result: dict[str, Any]) -> str:
    """For each model: power of each kernel at each size, p-values at the most informative one, and the χ² test."""
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
            pvalues = found["tests"][name]
            least = np.mean(np.array(pvalues[str(size)]) < 1.5 / (PERMUTATIONS + 1))
            powers = "".join(f"{rejection_rate(pvalues[str(m)]):7.2f}" for m in SIZES)
            paper = f"{PAPER[name]:7.2f}" if name in PAPER and title == LEADING else ""
            lines.append(f"  {label:26}{powers}{max(pvalues[str(size)]):12.3f}{least:10.2f}{paper}")
        chi2 = found["digits"]
        rates = "".join(f"{rejection_rate(chi2['draws'][str(m)]):7.2f}" for m in SIZES)
        lines += [
            f"  {'χ² of digits':26}{rates}   all images together p = {chi2['all']:.2g}",
            "",
        ]
    return "\n".join(lines)


def draw(title: str, found: Comparison, learned: Weights, images: list[Array], out: Path) -> None:
    """(a) data, (b) samples, (c) weights, (d) the witness function, with images at its levels."""
    colours = ("#0072B2", "#D55E00")
    with new_figure(out / "criticism", 12, 8.6) as figure:
        above, below = figure.subfigures(2, 1, height_ratios=(1.05, 1))
        shown = above.subplots(1, 3)
        for axis, letter, name, part in zip(shown, "ab", ("MNIST", title), images, strict=False):
            axis.imshow(1 - image_grid(part[:100]), cmap="gray", vmin=0, vmax=1, interpolation="nearest")
            axis.set_title(f"({letter}) {name}", color=colours["ab".index(letter)])
        weights = learned.values.reshape(images[0].shape[1:])
        drawn = shown[2].imshow(weights, cmap="magma_r", vmin=0)
        above.colorbar(drawn, ax=shown[2], shrink=0.8, label="weight")
        shown[2].set_title("(c) ARD weights")
        for axis in shown:
            axis.axis("off")
        _draw_witness(below, found, weights, colours)


def _draw_witness(panel: Any, found: Comparison, weights: Array, colours: tuple[str, str], count: int = 11) -> None:
    """Two histograms over the witness, their means, and below them the images nearest to levels of it."""
    values = found.witness_x, found.witness_y
    pooled = np.concatenate(values)
    low, high = np.quantile(pooled, [0.001, 0.999])
    axis, strip = panel.subplots(2, 1, height_ratios=(1.3, 1))
    for of, colour, name in zip(values, colours, found.names, strict=True):
        axis.hist(of, np.linspace(low, high, 60), density=True, color=colour, alpha=0.5, label=name)
        axis.axvline(of.mean(), color=colour, linewidth=1.5)
    axis.set(xlim=(low, high), yticks=[], ylabel="density")
    axis.set_title(f"(d) witness function on images that were not learned from; AUC {found.auc:.2f}")
    axis.set_xlabel(f"← more of {found.names[1]}        witness        more of {found.names[0]} →")
    axis.legend(frameon=False)
    # Each image stands under its own level: those of the extremes are of the sample that has more there.
    levels = np.linspace(low, high, count)
    width = (high - low) / count
    overlay = np.clip(weights / weights.max(), 0, 1)
    for k, level in enumerate(levels):
        which = 0 if k > count // 2 else 1 if k < count // 2 else k % 2
        sample = (found.x, found.y)[which]
        image = sample.values[int(np.abs(values[which] - level).argmin())].reshape(weights.shape).numpy()
        picture = np.repeat(1 - image[:, :, None], 3, 2)
        picture = picture * (1 - 0.6 * overlay[:, :, None]) + 0.6 * overlay[:, :, None] * np.array([0.9, 0.1, 0.1])
        left = low + k * width + 0.04 * width
        place = strip.inset_axes((left, 0, 0.92 * width, 1), transform=strip.transData)
        place.imshow(picture, interpolation="nearest")
        place.set(xticks=[], yticks=[])
        for spine in place.spines.values():
            spine.set(visible=True, color=colours[which], linewidth=1.5)
        place.set_xlabel(f"{level:.2g}", fontsize=8)
    strip.set(xlim=(low, high), ylim=(0, 1))
    strip.axis("off")
