"""Models of other images: Fashion-MNIST, and 16 × 16 color patches of photographs.

    tellapart reproduce other_images [--quick] [--data FOLDER] [--steps N] [--out DIR]

GMMN on the codes of an autoencoder, and feature matching. FOLDER holds the four idx files of Fashion-MNIST, by default
where Debian's package ``dataset-fashion-mnist`` puts them. The patches are cut from the two photographs that come with
scikit-learn.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch

from .. import generative
from .._util.extras import extra
from .._util.files import write_json
from ..generative import Data, checkpoints
from ..generative.images import as_images, image_grid
from .figures import new_figure
from .parts import command
from .training import read_curves, train_or_resume

FASHION = "/usr/share/datasets/fashion-mnist"
SIDE, PATCHES = 16, 12_000
MODELS: dict[str, tuple[str, dict[str, Any]]] = {
    "GMMN on codes": ("gmmn", {"codes": 32}),
    "feature matching": ("feature-matching", {}),
}
STEPS = {"quick": 100, "full": 800}
#: The share of the steps that the autoencoder is trained for, where there is one.
AUTOENCODER = 0.3


def run(
    out: Path, quick: bool = False, steps: int | None = None, data: str = FASHION, progress: bool | None = None
) -> dict[str, Any]:
    """Train or resume, print a table, write ``other_images.json``, ``other_images.png`` and ``.pdf``."""
    extra("matplotlib")
    out.mkdir(parents=True, exist_ok=True)
    made_by = command("other_images", quick=quick, steps=steps, data=data if data != FASHION else None)
    steps = steps or STEPS["quick" if quick else "full"]
    result: dict[str, Any] = {"command": made_by, "steps": steps, "runs": []}
    pictures = []
    for images in (generative.load(data), colour_patches()):
        pictures.append((f"{images.name}: data", picture(images.held_out, images)))
        for title, (name, given) in MODELS.items():
            wanted = given | {"steps": steps}
            if "codes" in given:
                wanted["autoencoder_steps"] = int(AUTOENCODER * steps)
            folder = out / "other_images" / f"{images.name}-{name}"
            model = train_or_resume(name, images, folder, wanted, progress=progress)
            curves = read_curves(folder)
            result["runs"].append(
                {"data": images.name, "shape": list(images.shape), "title": title, "iterations": curves["step"][-1]}
                | {key: curves[key][-1] for key in ("mmd2", "t", "pvalue", "auc")}
            )
            made = model.sample(100, checkpoints.make_generator(1))
            pictures.append((f"{title}, {curves['step'][-1]:,} iterations", picture(made, images)))
    write_json(out / "other_images.json", result)
    with new_figure(out / "other_images", 10, 7) as figure:
        for axis, (title, shown) in zip(figure.subplots(2, 3).flat, pictures, strict=True):
            axis.imshow(shown, cmap="gray", vmin=0, vmax=255, interpolation="nearest")
            axis.set_title(title, fontsize=10)
            axis.axis("off")
    print(table(result))
    return result


def picture(rows: torch.Tensor, images: Data) -> np.ndarray[Any, Any]:
    """Image of 100 rows."""
    return image_grid(as_images(rows[:100], images.shape))


def colour_patches() -> Data:
    """Random patches of two photographs, which may overlap. Every sixth is held out."""
    rng = np.random.default_rng(0)
    photographs = extra("sklearn.datasets").load_sample_images().images
    patches = []
    for k in range(PATCHES):
        photograph = photographs[k % len(photographs)]
        y, x = (rng.integers(side - SIDE) for side in photograph.shape[:2])
        patches.append(photograph[y : y + SIDE, x : x + SIDE].reshape(-1))
    rows = torch.from_numpy(np.stack(patches)[rng.permutation(PATCHES)]).float() / 255
    return Data("colour-patches", (SIDE, SIDE, 3), rows[PATCHES // 6 :], rows[: PATCHES // 6])


def table(result: dict[str, Any]) -> str:
    """Format a line for each run."""
    lines = [f"{'data':16}{'images':>12}  {'model':18}{'iterations':>11}{'MMD²':>10}{'t':>8}{'p':>8}{'AUC':>7}"]
    for one in result["runs"]:
        shape = " × ".join(map(str, one["shape"]))
        lines.append(
            f"{one['data']:16}{shape:>12}  {one['title']:18}{one['iterations']:>11,}{one['mmd2']:>10.5f}"
            f"{one['t']:>8.2f}{one['pvalue']:>8.3f}{one['auc']:>7.2f}"
        )
    return "\n".join(lines)


def found(result: dict[str, Any]) -> str:
    """Summarize the result in a sentence."""
    sentences = (f"{one['title']} on {one['data']}: AUC {one['auc']:.2f}" for one in result["runs"])
    return f"How well a witness tells samples from held-out images: {'; '.join(sentences)}."
