"""One trainer for every model: batches, log, looks at held-out data, checkpoints, and resuming exactly.

A run is a folder: ``checkpoint.safetensors`` (the last good state), ``log.jsonl`` (losses and looks, one line each),
``samples/`` (pictures) and ``tensorboard/``. Every random number is a function of the seed and the step, or comes from
one generator whose state is in the checkpoint; so a run that was killed ends as one that was not.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from .._util import workers
from .._util.files import atomic_write_text, write_tensors
from .._util.progress import ProgressLike, progress_bar
from . import checkpoints
from .data import Data
from .models import MODELS, Diverged, Model

#: What happens at a step besides training: a function of the trainer and what there is to say of the step.
Callback = Callable[["Trainer", Mapping[str, float]], None]
#: Settings that may differ when a run is resumed: they change how far it goes and what it tells, not its numbers.
MAY_CHANGE = ("steps", "log_every", "check_every", "keep_every")
_INITIAL, _NOISE, _ORDER = range(3)


class Trainer:
    """Trains the model ``name`` on ``data`` and writes what comes of it to the folder ``out``.

    Parameters
    ----------
    name
        One of `MODELS`.
    data
        What to train on.
    out
        The folder of the run.
    given
        Settings other than the defaults.
    resume
        Go on with the run in ``out``, if there is one. Without it a folder with a run is left alone, with an error.
    device
        By default a GPU if there is one.
    on_log, on_check
        Called every ``log_every`` and every ``check_every`` steps, and at the last.
    """

    def __init__(
        self,
        name: str,
        data: Data,
        out: Path,
        given: Mapping[str, Any] | None = None,
        *,
        resume: bool = False,
        device: str | None = None,
        on_log: list[Callback] | None = None,
        on_check: list[Callback] | None = None,
    ) -> None:
        if name not in MODELS:
            raise ValueError(f"{name!r} is not a model. Choose one of {', '.join(MODELS)}.")
        self.name, self.data, self.out = name, data, out
        self.on_log, self.on_check = [write_log, *(on_log or [])], on_check or []
        self.device = torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu"))
        found = checkpoints.read(self.path) if self.path.exists() else None
        if found and not resume:
            raise ValueError(f"{out} already holds a training run. Go on with --resume, or choose another folder.")
        settings = dict(given or {})
        if found:
            settings = _merged(found[1], settings, name, data)
        self.settings: Any = MODELS[name].Settings.of(settings)
        if self.settings.batch_size > len(data.rows):
            raise ValueError(f"batch_size is {self.settings.batch_size}, but {data.name} has {len(data.rows)} rows.")
        seed = self.settings.seed
        initial = checkpoints.seeded(stream(seed, _INITIAL))
        self.model: Model[Any] = MODELS[name](self.settings, data.pixels, data.classes, initial)
        self.model.prepare(data, initial)
        for network in self.model.networks.values():
            network.to(self.device)
        self.rng = checkpoints.seeded(stream(seed, _NOISE), self.device)
        self.step = 0
        if found:
            tensors, facts = found
            if facts["device"] != self.device.type:
                raise ValueError(
                    f"The run was made on {facts['device']}, and goes on exactly only there, not on {self.device.type}."
                )
            checkpoints.restore(self.model.networks, self.model.optimisers, tensors, facts)
            self.rng.set_state(tensors["rng"])
            self.step = facts["step"]

    @property
    def path(self) -> Path:
        """The checkpoint."""
        return self.out / "checkpoint.safetensors"

    def run(self, progress: ProgressLike = None) -> Model[Any]:
        """Train to the last step and return the model."""
        s = self.settings
        (self.out / "samples").mkdir(parents=True, exist_ok=True)
        cut_log(self.out / "log.jsonl", self.step)
        if self.step == 0:
            self.keep()
        with workers.flushing_denormals(), progress_bar(progress, f"{self.name}, step {self.step:,}") as report:
            while self.step < s.steps:
                losses = self.advance()
                last = self.step == s.steps
                if last or self.step % s.log_every == 0:
                    self.call(self.on_log, {key: float(value) for key, value in losses.items()})
                if last or self.step % s.check_every == 0:
                    self.call(self.on_check, {})
                if last or self.step % s.keep_every == 0:
                    self.keep()
                if report is not None:
                    report(self.step, s.steps)
        return self.model

    def advance(self) -> dict[str, Tensor]:
        """One step of training."""
        rows = self.data.rows[self.batch(self.step)].to(self.device)
        try:
            losses = self.model.step(self.step + 1, rows, self.rng)
        except Diverged as error:
            kept = checkpoints.read(self.path)[1]["step"]
            raise Diverged(
                f"Step {self.step + 1}: {error}. The checkpoint of step {kept} in {self.out} is kept. "
                "Try a lower learning_rate."
            ) from None
        self.step += 1
        return losses

    def batch(self, step: int) -> Tensor:
        """The rows of a step: each epoch goes through all data in an order of its own."""
        size, n = self.settings.batch_size, len(self.data.rows)
        epoch, position = divmod(step, n // size)
        return _order(self.settings.seed, epoch, n)[position * size : (position + 1) * size]

    def keep(self) -> None:
        """Write a checkpoint."""
        tensors, facts = checkpoints.state_of(self.model.networks, self.model.optimisers)
        data = {key: getattr(self.data, key) for key in ("name", "shape", "classes", "digest")}
        facts |= {"model": self.name, "settings": self.settings.as_dict(), "step": self.step, "data": data}
        facts |= {"device": self.device.type}
        write_tensors(self.path, tensors | {"rng": self.rng.get_state()}, facts)

    def call(self, callbacks: list[Callback], scalars: Mapping[str, float]) -> None:
        """Tell callbacks about this step."""
        for callback in callbacks:
            callback(self, scalars)


def write_log(trainer: Trainer, scalars: Mapping[str, float]) -> None:
    """Add a line to the log of the run."""
    with (trainer.out / "log.jsonl").open("a") as file:
        file.write(json.dumps({"step": trainer.step} | dict(scalars)) + "\n")


def read_log(path: Path, last: int | None = None) -> list[dict[str, Any]]:
    """The lines of a log up to a step; a line that was cut off is left out."""
    lines = path.read_text().splitlines(keepends=True) if path.exists() else []
    entries = [json.loads(line) for line in lines if line.endswith("\n")]
    return [entry for entry in entries if last is None or entry["step"] <= last]


def cut_log(path: Path, last: int) -> None:
    """Take out what a killed run logged after its last checkpoint: it will be logged again."""
    atomic_write_text(path, "".join(json.dumps(entry) + "\n" for entry in read_log(path, last)))


def stream(*path: int) -> int:
    """A seed for one use of randomness, independent of those of all others."""
    return int(np.random.SeedSequence(path).generate_state(1, np.uint64)[0] >> 1)


@lru_cache(maxsize=1)
def _order(seed: int, epoch: int, n: int) -> Tensor:
    return torch.randperm(n, generator=checkpoints.seeded(stream(seed, _ORDER, epoch)))


def _merged(facts: Mapping[str, Any], given: dict[str, Any], name: str, data: Data) -> dict[str, Any]:
    """The settings of the run to be resumed, with those that may change."""
    there = facts["data"]
    if (facts["model"], there["digest"]) != (name, data.digest):
        raise ValueError(
            f"The run is of {facts['model']} on {there['name']}, and cannot go on as {name} on {data.name}."
        )
    stored = dict(facts["settings"])
    asked = MODELS[name].Settings.of(stored | given).as_dict()
    changed = [key for key in given if asked[key] != stored[key] and key not in MAY_CHANGE]
    if changed:
        key = changed[0]
        raise ValueError(f"The run has {key}={stored[key]}, and cannot go on with {key}={asked[key]}.")
    return asked
