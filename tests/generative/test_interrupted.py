"""Runs that are stopped from outside, and runs that meet in one folder."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tellapart import generative
from tellapart._util.errors import InputError
from tellapart.generative import checkpoints
from tellapart.generative.callbacks import read_log
from tellapart.generative.trainer import Trainer

SETTINGS = {"batch_size": 40, "hidden": [16, 32], "log_every": 1, "evaluate_every": 1000, "checkpoint_every": 10**6}


@pytest.fixture
def words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    np.savez(tmp_path / "images.npz", images=generative.load("digits").rows.reshape(-1, 8, 8))
    given = [f"{key}={value}" for key, value in SETTINGS.items()]
    return ["train", "gmmn", "--data", str(tmp_path / "images.npz"), "--set", *given, "--out"]


def start(words: list[str], out: Path, *more: str) -> subprocess.Popen[str]:
    # A background job may have inherited that Ctrl-C is ignored.
    code = "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); "
    code += "from tellapart.cli import main; sys.exit(main())"
    command = [sys.executable, "-c", code, *words, str(out), *more]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def end(process: subprocess.Popen[str]) -> int:
    process.communicate(timeout=300)
    return process.returncode


def wait_for_steps(out: Path, count: int) -> None:
    until = time.monotonic() + 300
    while len(read_log(out / "log.jsonl")) < count and time.monotonic() < until:
        time.sleep(0.01)


@pytest.mark.parametrize(
    ("number", "word", "code"), [(signal.SIGINT, "interrupted", 130), (signal.SIGTERM, "terminated", 143)]
)
def test_a_signal_leaves_a_checkpoint_and_says_how_to_go_on(
    tmp_path: Path, words: list[str], number: int, word: str, code: int
) -> None:
    whole, stopped = tmp_path / "whole", tmp_path / "stopped"
    process = start(words, stopped)
    wait_for_steps(stopped, 7)
    process.send_signal(number)
    out, error = process.communicate(timeout=300)
    assert process.returncode == code
    assert out == ""
    step = checkpoints.read_run(stopped / "checkpoint.safetensors")[1]["step"]
    assert step >= 7
    assert error == f"tellapart: {word} at step {step:,}, whose checkpoint is in {stopped}. Continue with --resume.\n"
    total = str(step + 5)
    assert end(start(words, stopped, "--resume", "--steps", total)) == 0
    assert end(start(words, whole, "--steps", total)) == 0
    (a, first), (b, second) = (checkpoints.read_run(folder / "checkpoint.safetensors") for folder in (whole, stopped))
    assert first == second
    assert all(a[name].equal(b[name]) for name in a)
    assert read_log(whole / "log.jsonl") == read_log(stopped / "log.jsonl")


def test_two_processes_do_not_train_in_one_folder(tmp_path: Path, words: list[str]) -> None:
    first = start(words, tmp_path / "run")
    try:
        wait_for_steps(tmp_path / "run", 1)
        second = start(words, tmp_path / "run", "--resume")
        out, error = second.communicate(timeout=300)
        assert second.returncode == 2
        assert out == ""
        assert error == (
            f"tellapart: Process {first.pid} is training in {tmp_path / 'run'}. Wait until it ends, or choose another "
            "folder.\n"
        )
    finally:
        first.kill()
        first.communicate()
    # What a killed process leaves locks nobody out.
    assert end(start(words, tmp_path / "run", "--resume", "--steps", "3")) == 0


def _trainer(folder: Path, **more: Any) -> Trainer:
    settings = SETTINGS | {"steps": 2}
    return Trainer("gmmn", generative.load("digits"), folder, settings, rng=0, **more)


def test_a_run_that_has_gone_on_meanwhile(tmp_path: Path) -> None:
    early, other = _trainer(tmp_path / "run"), _trainer(tmp_path / "run")
    other.run()
    with pytest.raises(InputError, match="was trained by another process since this run was opened"):
        early.run()


def test_handlers_of_signals_are_left_as_they_were(tmp_path: Path) -> None:
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    _trainer(tmp_path / "run").run()
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == before


@pytest.fixture
def _listening_to_ctrl_c() -> Iterator[None]:
    """Shells start what runs in the background deaf to Ctrl-C, and so is whatever it starts."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("_listening_to_ctrl_c")
def test_an_impatient_user_is_not_kept_waiting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trainer = _trainer(tmp_path / "run")

    def step() -> Any:
        for _ in range(50):  # two that come at once are one
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.1)

    monkeypatch.setattr(trainer, "train_step", step)
    with pytest.raises(KeyboardInterrupt):
        trainer.run()
    assert checkpoints.read_run(trainer.path)[1]["step"] == 0


def test_no_thread_is_left(tmp_path: Path) -> None:
    import threading

    before = threading.active_count()
    generative.train("gmmn", generative.load("digits"), tmp_path / "run", SETTINGS | {"steps": 2}, rng=0)
    assert threading.active_count() == before
    assert multiprocessing.active_children() == []
