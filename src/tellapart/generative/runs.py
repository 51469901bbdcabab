"""Training runs as folders: train into one, sample from one."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from .._util import workers
from .._util.files import atomic_path
from .._util.progress import ProgressLike
from .._util.rng import RNG, seed_of
from ..stats.estimators import estimate
from ..twosample import mmd_test
from . import checkpoints
from .data import Data, load
from .models import MODELS, Model, paper_kernel
from .trainer import Trainer, stream

_LOOK = 3
#: Rows of each side that a look at held-out data compares.
LOOKED_AT = 1000


def train(
    name: str,
    data: Data | str,
    out: str | Path,
    settings: Mapping[str, Any] | None = None,
    *,
    resume: bool = False,
    device: str | None = None,
    progress: ProgressLike = None,
) -> Model[Any]:
    """Train a model, with pictures of samples, looks at held-out data, and TensorBoard if it is installed.

    Parameters are as for `Trainer`, which it makes; ``data`` may also be ``"mnist"``, ``"digits"``, a folder or a file.
    """
    data, out = load(data) if isinstance(data, str) else data, Path(out)
    trainer = Trainer(name, data, out, settings, resume=resume, device=device)
    trainer.on_check += [look, draw]
    if find_spec("tensorboard"):
        board = Board(trainer)
        trainer.on_log.append(board.scalars)
        trainer.on_check.append(board.picture)
    return trainer.run(progress)


def steps_done(out: str | Path) -> int:
    """How far the run in a folder is, 0 if there is none."""
    path = Path(out) / "checkpoint.safetensors"
    return int(checkpoints.read(path)[1]["step"]) if path.exists() else 0


def seconds_per_step(name: str, data: Data, settings: Mapping[str, Any] | None = None, steps: int = 5) -> float:
    """What a step of training takes here, from a few steps of a model that is thrown away."""
    trainer = Trainer(name, data, Path(os.devnull, "no-run"), settings)
    with workers.flushing_denormals():
        trainer.advance()
        start = time.perf_counter()
        for _ in range(steps):
            trainer.advance()
    return (time.perf_counter() - start) / steps


def open_run(out: str | Path) -> tuple[Model[Any], dict[str, Any]]:
    """The model of a run at its last checkpoint, and what the checkpoint says of itself."""
    path = Path(out) / "checkpoint.safetensors"
    if not path.exists():
        raise ValueError(f"{out} holds no training run: there is no {path.name} in it.")
    tensors, facts = checkpoints.read(path)
    kind, data = MODELS[facts["model"]], facts["data"]
    settings = kind.Settings.of(facts["settings"])
    model = kind(settings, math.prod(data["shape"]), data["classes"], checkpoints.seeded(0))
    checkpoints.restore(model.networks, model.optimisers, tensors, facts)
    return model, facts


def sample(out: str | Path, n: int, rng: RNG = 0) -> np.ndarray[Any, Any]:
    """``n`` images of the model of a run, as uint8 of shape (n, h, w)."""
    model, facts = open_run(out)
    with workers.flushing_denormals():
        rows = model.sample(n, checkpoints.seeded(seed_of(rng)))
    return as_images(rows, facts["data"]["shape"])


def save_samples(out: str | Path, n: int, path: str | Path, rng: RNG = 0) -> str:
    """Write `sample` to an ``.npz`` or ``.npy`` file, and say what was written; it appears whole or not at all."""
    path = Path(path)
    if path.suffix not in (".npz", ".npy"):
        raise ValueError(f"--out must end in .npz or .npy, but is {path}.")
    if n < 1:
        raise ValueError(f"n must be at least 1, but is {n}.")
    images = sample(out, n, rng)
    with atomic_path(path) as unfinished, unfinished.open("wb") as file:
        if path.suffix == ".npz":
            np.savez_compressed(file, images=images)
        else:
            np.save(file, images)
    return f"{n:,} images of {' × '.join(map(str, images.shape[1:]))}"


def as_images(rows: Tensor, shape: Any) -> np.ndarray[Any, Any]:
    """Rows from 0 to 1 as images of uint8."""
    images: np.ndarray[Any, Any] = (rows.cpu() * 255).round().clamp(0, 255).to(torch.uint8).numpy()
    return images.reshape(-1, *shape)


def grid(images: np.ndarray[Any, Any], columns: int = 10) -> np.ndarray[Any, Any]:
    """Images side by side in rows, as one image."""
    rows = [np.concatenate(list(images[k : k + columns]), 1) for k in range(0, len(images), columns)]
    return np.concatenate(rows, 0)


def drawn(trainer: Trainer, n: int = 100) -> np.ndarray[Any, Any]:
    """A picture of samples, of the same noise at every step."""
    rows = trainer.model.sample(n, checkpoints.seeded(stream(trainer.settings.seed, _LOOK)))
    return grid(as_images(rows, trainer.data.shape))


def draw(trainer: Trainer, _: Mapping[str, float]) -> None:
    """Write a picture of samples, if Pillow is installed."""
    if find_spec("PIL"):
        from PIL import Image

        Image.fromarray(drawn(trainer)).save(trainer.out / "samples" / f"step-{trainer.step:06}.png")


def look(trainer: Trainer, _: Mapping[str, float]) -> None:
    """Log how samples differ from held-out data: MMD², t and the p-value of the permutation test."""
    seen = against(trainer.model, trainer.data, trainer.settings.seed)
    trainer.call(trainer.on_log, {f"held_out/{key}": value for key, value in seen.items()})


def against(model: Model[Any], data: Data, seed: int, n: int = LOOKED_AT) -> dict[str, float]:
    """MMD², t and p-value of samples against held-out data, with the kernel of the paper on raw pixels."""
    n = min(n, len(data.held_out))
    made = model.sample(n, checkpoints.seeded(stream(seed, _LOOK))).cpu()
    kernel = paper_kernel(type(model).Settings().bandwidths, data.pixels)
    with torch.no_grad():
        found = estimate(made, data.held_out[:n], kernel)
        test = mmd_test(made, data.held_out[:n], kernel, permutations=199, rng=seed)
    return {"mmd2": float(found.mmd2), "t": float(found.t), "pvalue": float(test.pvalue)}


class Board:
    """TensorBoard: every scalar of the log, and pictures of samples."""

    def __init__(self, trainer: Trainer) -> None:
        from torch.utils.tensorboard import SummaryWriter

        self.writer: Any = SummaryWriter(str(trainer.out / "tensorboard"), purge_step=trainer.step + 1)

    def scalars(self, trainer: Trainer, scalars: Mapping[str, float]) -> None:
        """Add what was logged."""
        for key, value in scalars.items():
            self.writer.add_scalar(key, value, trainer.step)

    def picture(self, trainer: Trainer, _: Mapping[str, float]) -> None:
        """Add a picture of samples."""
        picture = drawn(trainer)
        self.writer.add_image("samples", picture, trainer.step, dataformats="HW" if picture.ndim == 2 else "HWC")
        self.writer.flush()
