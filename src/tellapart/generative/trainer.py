"""The trainer of all models: batches, checkpoints and exact resumption. Everything else is a `Callback`.

A run is a folder: ``checkpoint.safetensors`` (the last good state), ``log.jsonl`` (losses and evaluations, one line
each), ``samples/`` (pictures) and ``tensorboard/``. Every random number is a function of the seed and the step, or
comes from one generator whose state is in the checkpoint; so a run that was killed ends as one that was not.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from .._util import workers
from .._util.errors import InputError, InputMemoryError
from .._util.files import try_lock, write_tensors
from .._util.interrupts import stopping_between_steps
from .._util.locks import open_lock
from .._util.memory import available_memory
from .._util.progress import ProgressLike, progress_bar
from .._util.rng import RNG, seed_of
from . import checkpoints
from .callbacks import Callback, LogFile
from .data import Data
from .models import MODELS, Diverged, Model
from .seeds import INITIAL, NOISE, ORDER, derive_seed

#: Settings that may differ when a run is resumed: they change its length and its output, but not its numbers.
MAY_CHANGE = ("steps", "log_every", "evaluate_every", "checkpoint_every")


class Trainer:
    """Train the model ``name`` on ``data`` and write the results to the folder ``out``.

    Parameters
    ----------
    name
        One of `MODELS`.
    data
        Training data.
    out
        Folder of the run.
    settings
        Settings that differ from the defaults.
    rng
        Source of all randomness. Its seed is written to the checkpoint, and a resumed run uses the seed in there.
    resume
        Continue the run in ``out`` if there is one. Otherwise a folder with a run raises `InputError`.
    device
        By default a GPU if available.
    callbacks
        Called after the log of the run.
    """

    def __init__(
        self,
        name: str,
        data: Data,
        out: Path,
        settings: Mapping[str, Any] | None = None,
        *,
        rng: RNG = None,
        resume: bool = False,
        device: str | None = None,
        callbacks: Sequence[Callback] = (),
    ) -> None:
        if name not in MODELS:
            raise InputError("unknown-model", f"{name!r} is not a model. Choose one of {', '.join(MODELS)}.")
        self.name, self.data, self.out = name, data, out
        self.callbacks = [LogFile(), *callbacks]
        self.device = _find_device(device)
        found = checkpoints.read_run(self.path) if self.path.exists() else None
        if found and not resume:
            raise InputError(
                "training-run-exists",
                f"{out} already holds a training run.",
                "Continue it with {resume}, or choose another folder.",
                resume=True,
            )
        given = dict(settings or {})
        self.seed = seed_of(rng) if found is None or rng is not None else int(found[1]["seed"])
        if found:
            given = _settings_to_resume(found[1], given, name, data, self.seed)
        self.settings: Any = MODELS[name].settings_class.from_mapping(given)
        if self.settings.batch_size > len(data.rows):
            raise InputError(
                "too-few-rows",
                f"A batch has {self.settings.batch_size} rows, but {data.name} has {len(data.rows)} rows.",
                "Use a smaller {batch_size}.",
                batch_size=...,
            )
        shapes = MODELS[name].shapes(self.settings, data.pixels, data.classes)
        _check_memory(shapes)
        if found:
            checkpoints.check_shapes(self.path, found[0], shapes)
        initial = checkpoints.make_generator(derive_seed(self.seed, INITIAL))
        self.model: Model[Any] = MODELS[name](self.settings, data.pixels, data.classes, initial)
        self.model.prepare(data, initial)
        for network in self.model.networks.values():
            network.to(self.device)
        self.rng = checkpoints.make_generator(derive_seed(self.seed, NOISE), self.device)
        self.step = 0
        self._found_step = None if found is None else found[1]["step"]
        if found:
            tensors, facts = found
            if facts["device"] != self.device.type:
                raise InputError(
                    "training-run-differs",
                    f"The run was started on {facts['device']} and can be resumed exactly only there, not on "
                    f"{self.device.type}.",
                )
            with checkpoints.naming_damage(self.path):
                checkpoints.restore_state(self.model.networks, self.model.optimisers, tensors, facts)
                self.rng.set_state(tensors["rng"])
            self.step = facts["step"]

    @property
    def path(self) -> Path:
        """Path of the checkpoint."""
        return self.out / "checkpoint.safetensors"

    def run(self, progress: ProgressLike = None) -> Model[Any]:
        """Train to the last step and return the model."""
        (self.out / "samples").mkdir(parents=True, exist_ok=True)
        with self._alone(), workers.flushing_denormals(), stopping_between_steps() as stop_here:
            if self.step == 0:
                self.save_checkpoint()
            self._train(progress, stop_here)
        return self.model

    def _train(self, progress: ProgressLike, stop_here: Callable[[], None]) -> None:
        s = self.settings
        with ExitStack() as endings:
            for callback in self.callbacks:
                endings.callback(callback.on_end, self)
                callback.on_start(self)
            report = endings.enter_context(progress_bar(progress, f"{self.name}, step {self.step:,}"))
            while self.step < s.steps:
                losses = self.train_step()
                last = self.step == s.steps
                if last or self.step % s.log_every == 0:
                    self.log({key: float(value) for key, value in losses.items()})
                if last or self.step % s.evaluate_every == 0:
                    for callback in self.callbacks:
                        callback.on_evaluate(self)
                if last or self.step % s.checkpoint_every == 0:
                    self.save_checkpoint()
                if report is not None:
                    report(self.step, s.steps)
                if not last:
                    self._stop_if_asked(stop_here)

    def _stop_if_asked(self, stop_here: Callable[[], None]) -> None:
        """Save a checkpoint before Ctrl-C or SIGTERM ends the run."""
        try:
            stop_here()
        except KeyboardInterrupt as stop:
            self.save_checkpoint()
            raise type(stop)(f"{stop} at step {self.step:,}, whose checkpoint is in {self.out}") from None

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Raise `InputError` if another process trains in this folder, or has done so since the checkpoint was read.

        The lock is the system's: it ends with the process that has it, however that ends.
        """
        with open_lock(self.out / ".lock") as file:
            if not try_lock(file):
                raise InputError(
                    "training-run-in-use",
                    f"Process {file.read(20).strip() or '(unknown)'} is training in {self.out}. Wait until it ends, or "
                    "choose another folder.",
                )
            file.truncate(0)
            file.write(str(os.getpid()))
            file.flush()
            there = checkpoints.read_run(self.path)[1]["step"] if self.path.exists() else None
            if there != self._found_step:
                raise InputError(
                    "training-run-changed",
                    f"{self.out} was trained by another process since this run was opened. Open it again.",
                )
            yield
            self._found_step = self.step

    def train_step(self) -> dict[str, Tensor]:
        """Perform the next step and return the losses."""
        rows = self.data.rows[self.batch_rows(self.step)].to(self.device)
        try:
            losses = self.model.step(self.step + 1, rows, self.rng)
        except Diverged as error:
            kept = ""
            if self.path.exists():  # a trial of a few steps has none
                saved = checkpoints.read_run(self.path)[1]["step"]
                kept = f" The checkpoint of step {saved} in {self.out} is kept."
            raise Diverged(f"Step {self.step + 1}: {error}.{kept} Try a lower learning_rate.") from None
        self.step += 1
        return losses

    def batch_rows(self, step: int) -> Tensor:
        """Row numbers of the batch of a step. Each epoch visits all rows in a different order."""
        size, n = self.settings.batch_size, len(self.data.rows)
        epoch, position = divmod(step, n // size)
        return _epoch_order(self.seed, epoch, n)[position * size : (position + 1) * size]

    def log(self, scalars: Mapping[str, float]) -> None:
        """Pass scalars of this step to the callbacks."""
        for callback in self.callbacks:
            callback.on_log(self, scalars)

    def save_checkpoint(self) -> None:
        """Write a checkpoint of this step, which replaces the previous one."""
        tensors, facts = checkpoints.collect_state(self.model.networks, self.model.optimisers)
        data = {key: getattr(self.data, key) for key in ("name", "shape", "classes", "digest")}
        facts |= {"model": self.name, "settings": self.settings.as_dict(), "seed": self.seed, "step": self.step}
        facts |= {"data": data, "device": self.device.type}
        write_tensors(self.path, tensors | {"rng": self.rng.get_state()}, facts)


def _find_device(name: str | None) -> torch.device:
    """The device to train on: the given one, or a GPU if available."""
    if name is None:
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
        # A generator, a draw and what is read from it: not every device that has a name is here, and has all of these.
        torch.rand(1, generator=torch.Generator(device), device=device).item()
    except (RuntimeError, AssertionError, NotImplementedError, TypeError) as error:
        raise InputError(
            "unknown-device", f"Device {name!r} is not available.", "Leave {device} out.", device=...
        ) from error
    return device


@lru_cache(maxsize=1)
def _epoch_order(seed: int, epoch: int, n: int) -> Tensor:
    return torch.randperm(n, generator=checkpoints.make_generator(derive_seed(seed, ORDER, epoch)))


def _check_memory(shapes: Mapping[str, torch.Size]) -> None:
    """Raise `InputError` if weights, gradients and two states of the optimizer do not fit into memory."""
    need, free = 4 * 4 * sum(math.prod(shape) for shape in shapes.values()), available_memory()
    if need > free:
        raise InputMemoryError(
            "not-enough-memory",
            f"The networks need {need / 1e9:.3g} GB, but {free / 1e9:.3g} GB are free.",
            "Choose smaller layers.",
        )


def _settings_to_resume(
    facts: checkpoints.RunFacts, given: Mapping[str, Any], name: str, data: Data, seed: int
) -> dict[str, Any]:
    """Settings of the run to resume, with those changes that are allowed."""
    there = facts["data"]
    if (facts["model"], there["digest"]) != (name, data.digest):
        raise InputError(
            "training-run-differs",
            f"The run is of {facts['model']} on {there['name']}, and cannot be resumed as {name} on {data.name}.",
        )
    if seed != facts["seed"]:
        raise InputError(
            "training-run-differs", f"The run has seed {facts['seed']}, and cannot be resumed with seed {seed}."
        )
    stored = dict(facts["settings"])
    asked = MODELS[name].settings_class.from_mapping({**stored, **given}).as_dict()
    changed = [key for key in given if asked[key] != stored[key] and key not in MAY_CHANGE]
    if changed:
        key = changed[0]
        raise InputError(
            "training-run-differs", f"The run has {key}={stored[key]}, and cannot be resumed with {key}={asked[key]}."
        )
    return asked
