"""Callbacks of training runs: the log, evaluations, images, TensorBoard."""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .._util.errors import InputError
from .._util.files import atomic_path, atomic_write_text
from .._util.rng import RNG, seed_of
from . import checkpoints
from .data import Data
from .evaluation import Classifier, evaluate
from .images import as_images, image_grid
from .measures import measure_samples
from .models import Model
from .models.base import paper_kernel
from .seeds import EVALUATION, derive_seed

if TYPE_CHECKING:
    from .trainer import Trainer

#: Rows of each side that an evaluation compares.
EVALUATED_ROWS = 1000


class Callback:
    """Base class of callbacks. Its methods do nothing."""

    def on_start(self, trainer: Trainer) -> None:
        """Called when training starts, or resumes at ``trainer.step``."""

    def on_log(self, trainer: Trainer, scalars: Mapping[str, float]) -> None:
        """Called with scalars every ``log_every`` steps, at the last step, and by other callbacks."""

    def on_evaluate(self, trainer: Trainer) -> None:
        """Called every ``evaluate_every`` steps and at the last step."""

    def on_end(self, trainer: Trainer) -> None:
        """Called when training is finished, has failed or was interrupted."""


class LogFile(Callback):
    """``log.jsonl``: one line for every `on_log`."""

    def on_start(self, trainer: Trainer) -> None:
        """Remove lines that a killed run logged after its last checkpoint."""
        path = trainer.out / "log.jsonl"
        atomic_write_text(path, "".join(json.dumps(entry) + "\n" for entry in read_log(path, trainer.step)))

    def on_log(self, trainer: Trainer, scalars: Mapping[str, float]) -> None:
        """Add a line."""
        with (trainer.out / "log.jsonl").open("a") as file:
            file.write(json.dumps({"step": trainer.step} | dict(scalars)) + "\n")


def read_log(path: Path, last: int | None = None) -> list[dict[str, Any]]:
    """Read the entries of a log up to a step, without an incomplete last line."""
    if path.exists() and not path.is_file():
        raise InputError("not-a-file", f"{path} is not a file. Remove it, or choose another folder.")
    lines = path.read_text(errors="replace").splitlines(keepends=True) if path.exists() else []
    entries = []
    for number, line in enumerate(lines, 1):
        if line.endswith("\n"):
            try:
                entry = json.loads(line)
            except (ValueError, RecursionError):
                entry = None
            if not isinstance(entry, dict) or not isinstance(entry.get("step"), int):
                raise InputError(
                    "damaged-file", f"Line {number} of {path} is damaged. Remove it, or choose another folder."
                )
            entries.append(entry)
    return [entry for entry in entries if last is None or entry["step"] <= last]


class EvaluateOnHeldOut(Callback):
    """Log the difference of samples from held-out data: MMD², t, the permutation p-value and the AUC."""

    def on_evaluate(self, trainer: Trainer) -> None:
        """Log ``held_out/mmd2``, ``held_out/t``, ``held_out/pvalue`` and ``held_out/auc``."""
        found = evaluate_on_held_out(trainer.model, trainer.data, rng=trainer.seed)
        trainer.log({f"held_out/{key}": value for key, value in found.items()})


def evaluate_on_held_out(
    model: Model[Any], data: Data, n: int = EVALUATED_ROWS, *, rng: RNG = None
) -> dict[str, float]:
    """Apply `measure_samples` to samples and held-out data, with the kernel of the paper on raw pixels."""
    n, seed = min(n, len(data.held_out)), seed_of(rng)
    made = model.sample(n, checkpoints.make_generator(derive_seed(seed, EVALUATION))).cpu()
    kernel = paper_kernel(model.settings_class().bandwidths, data.pixels)
    return measure_samples(made, data.held_out[:n], kernel, rng=seed)


class EvaluateClasses(Callback):
    """Log the distribution of samples over classes and the confidence of a classifier."""

    def __init__(self, classifier: Classifier) -> None:
        self.classifier = classifier

    def on_evaluate(self, trainer: Trainer) -> None:
        """Log ``classes/0``, …, and ``classes/confidence``."""
        made = trainer.model.sample(EVALUATED_ROWS, checkpoints.make_generator(derive_seed(trainer.seed, EVALUATION)))
        found = evaluate(made, self.classifier)
        shares = {f"classes/{k}": share for k, share in enumerate(found.proportions)}
        trainer.log(shares | {"classes/confidence": found.confidence})


class SavePictures(Callback):
    """Write ``samples/step-….png``, generated from the same noise at every evaluation, if Pillow is installed."""

    def on_evaluate(self, trainer: Trainer) -> None:
        """Write an image."""
        if find_spec("PIL"):
            from PIL import Image

            with atomic_path(trainer.out / "samples" / f"step-{trainer.step:06}.png") as unfinished:
                Image.fromarray(sample_picture(trainer)).save(unfinished, "png")


class TensorBoard(Callback):
    """Write scalars and images of samples to ``tensorboard/``, if TensorBoard is installed."""

    def __init__(self) -> None:
        self.writer: Any = None

    def on_start(self, trainer: Trainer) -> None:
        """Open the writer and purge events that a killed run wrote after its last checkpoint."""
        if find_spec("tensorboard"):
            from torch.utils.tensorboard import SummaryWriter

            self.writer = SummaryWriter(str(trainer.out / "tensorboard"), purge_step=trainer.step + 1)

    def on_log(self, trainer: Trainer, scalars: Mapping[str, float]) -> None:
        """Add logged scalars."""
        if self.writer is not None:
            for key, value in scalars.items():
                self.writer.add_scalar(key, value, trainer.step)

    def on_evaluate(self, trainer: Trainer) -> None:
        """Add an image of samples."""
        if self.writer is not None:
            picture = sample_picture(trainer)
            self.writer.add_image("samples", picture, trainer.step, dataformats="HW" if picture.ndim == 2 else "HWC")
            self.writer.flush()

    def on_end(self, trainer: Trainer) -> None:
        """Close the writer."""
        if self.writer is not None:
            self.writer.close()
            self.writer = None


def sample_picture(trainer: Trainer, n: int = 100) -> np.ndarray[Any, Any]:
    """Image of samples that are generated from the same noise at every step."""
    rng = checkpoints.make_generator(derive_seed(trainer.seed, EVALUATION))
    return image_grid(as_images(trainer.model.sample(n, rng), trainer.data.shape))
