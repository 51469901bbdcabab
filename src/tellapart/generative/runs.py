"""Training runs, each in a folder: train, resume, sample."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .._util import workers
from .._util.errors import InputError, InputMemoryError
from .._util.files import atomic_path
from .._util.memory import available_memory
from .._util.progress import ProgressLike
from .._util.rng import RNG, seed_of
from . import checkpoints
from .callbacks import Callback, EvaluateOnHeldOut, SavePictures, TensorBoard
from .data import Data, load
from .images import as_images
from .models import MODELS, Model
from .trainer import Trainer


def train(
    name: str,
    data: Data | str,
    out: str | Path,
    settings: Mapping[str, Any] | None = None,
    *,
    rng: RNG = None,
    resume: bool = False,
    device: str | None = None,
    callbacks: Sequence[Callback] = (),
    progress: ProgressLike = None,
) -> Model[Any]:
    """Train a model, with images of samples, evaluations on held-out data, and TensorBoard if installed.

    Parameters are those of `Trainer`. ``data`` may also be ``"mnist"``, ``"digits"``, a folder or a file,
    and ``callbacks`` are called after the default ones.
    """
    data, out = load(data) if isinstance(data, str) else data, Path(out)
    called = (EvaluateOnHeldOut(), SavePictures(), TensorBoard(), *callbacks)
    return Trainer(name, data, out, settings, rng=rng, resume=resume, device=device, callbacks=called).run(progress)


def has_run(out: str | Path) -> bool:
    """Whether a folder contains a training run."""
    return (Path(out) / "checkpoint.safetensors").exists()


def steps_done(out: str | Path) -> int:
    """Return the number of completed steps of the run in a folder, or 0 without a run."""
    path = Path(out) / "checkpoint.safetensors"
    return int(checkpoints.read_run(path)[1]["step"]) if path.exists() else 0


def seconds_per_step(name: str, data: Data, settings: Mapping[str, Any] | None = None, steps: int = 5) -> float:
    """Measure the seconds per training step with a few steps of a temporary model."""
    trainer = Trainer(name, data, Path(os.devnull, "no-run"), settings)
    with workers.flushing_denormals():
        trainer.train_step()
        start = time.perf_counter()
        for _ in range(steps):
            trainer.train_step()
    return (time.perf_counter() - start) / steps


def open_run(out: str | Path) -> tuple[Model[Any], checkpoints.RunFacts]:
    """Load the model of a run at its last checkpoint, and the facts that the checkpoint stores."""
    path = Path(out) / "checkpoint.safetensors"
    if not path.exists():
        raise InputError("no-training-run", f"{out} does not contain a training run: {path.name} is missing.")
    tensors, facts = checkpoints.read_run(path)
    if facts["model"] not in MODELS:
        raise InputError(
            "unknown-model", f"{path} contains the unknown model {facts['model']!r}. Known models: {', '.join(MODELS)}."
        )
    kind, data = MODELS[facts["model"]], facts["data"]
    with checkpoints.naming_damage(path):
        settings: Any = kind.settings_class.from_mapping(facts["settings"])
        pixels = math.prod(data["shape"])
        checkpoints.check_shapes(path, tensors, kind.shapes(settings, pixels, data["classes"]))
        model = kind(settings, pixels, data["classes"], checkpoints.make_generator(0))
        checkpoints.restore_state(model.networks, model.optimisers, tensors, facts)
    return model, facts


def sample(out: str | Path, n: int, *, rng: RNG = None) -> np.ndarray[Any, Any]:
    """Generate ``n`` images with the model of a run, as uint8 of shape (n, h, w)."""
    if n < 1:
        raise InputError("out-of-range", f"`n` must be at least 1, got {n}.")
    model, facts = open_run(out)
    shape = facts["data"]["shape"]
    # Rows in single precision twice over (as they come, and as one tensor), and as images.
    need, free = 9 * n * math.prod(shape), available_memory()
    if need > free:
        raise InputMemoryError(
            "not-enough-memory",
            f"{n:,} images need {need / 1e9:.3g} GB, but {free / 1e9:.3g} GB are free.",
            "Generate fewer.",
        )
    with workers.flushing_denormals():
        rows = model.sample(n, checkpoints.make_generator(seed_of(rng)))
    return as_images(rows, shape)


def save_samples(out: str | Path, n: int, path: str | Path, *, rng: RNG = None) -> tuple[int, ...]:
    """Write the result of `sample` to an ``.npz`` or ``.npy`` file atomically, and return its shape."""
    path = Path(path)
    if path.suffix not in (".npz", ".npy"):
        raise InputError("unknown-format", f"Unsupported format {path.suffix!r} of {path}. Supported: .npz, .npy.")
    images = sample(out, n, rng=rng)
    with atomic_path(path) as unfinished, unfinished.open("wb") as file:
        if path.suffix == ".npz":
            np.savez_compressed(file, images=images)
        else:
            np.save(file, images)
    return tuple(images.shape)
