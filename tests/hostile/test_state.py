"""What belongs to the whole process is the same before and after every public call, also one that fails."""

from __future__ import annotations

import csv
import locale
import random
import signal
import threading
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

import tellapart as ta
from tellapart import generative, kernels
from tellapart._util.errors import InputError
from tellapart.cli import main

X, Y = (np.random.default_rng(k).normal(size=(60, 3)) + 0.5 * k for k in range(2))
QUICK: dict[str, Any] = {"permutations": 19, "rng": 0}
LEARNING = {"steps": 3}


def state() -> dict[str, Any]:
    """What a library must leave alone."""
    return {
        "threads": torch.get_num_threads(),
        "type": torch.get_default_dtype(),
        "gradients": torch.is_grad_enabled(),
        "denormals": (torch.tensor([2.0**-130]) * 1).item() != 0,
        "generator of torch": hash(torch.random.get_rng_state().numpy().tobytes()),
        "generator of numpy": hash(np.random.get_state()[1].tobytes()),  # type: ignore[index]  # noqa: NPY002
        "generator of python": hash(random.getstate()),
        "errors of numpy": str(np.geterr()),
        "filters of warnings": list(warnings.filters),
        "signals": [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)],
        "threads of python": threading.active_count(),
        "fields of csv": csv.field_size_limit(),
        "locale": locale.setlocale(locale.LC_ALL),
        "options of pandas": pd.get_option("mode.copy_on_write"),
    }


CALLS: dict[str, Callable[[Path], Any]] = {
    "two_sample_test": lambda _: ta.two_sample_test(X, Y, 19, rng=0),
    "k_sample_test": lambda _: ta.k_sample_test([X, Y, X[:30]], permutations=19, rng=0),
    "mmd_test": lambda _: ta.mmd_test(X, Y, **QUICK),
    "mmd_test, threads": lambda _: ta.mmd_test(X, Y, threads=2, **QUICK),
    "mmd_test, spectral": lambda _: ta.mmd_test(X, Y, null="spectral", **QUICK),
    **{
        f"learned_test, {kernel}": lambda _, kernel=kernel: ta.learned_test(X, Y, kernel, learning=LEARNING, **QUICK)
        for kernel in ("witness", "rbf", "ard", "full", "deep")
    },
    "compare": lambda _: ta.compare(X, Y, **QUICK),
    "compare, deep": lambda _: ta.compare(X, Y, "deep", stability=1, learning=LEARNING, **QUICK),
    "report": lambda folder: ta.compare(X, Y, **QUICK).to_html(folder / "r.html"),
    "fit_kernel": lambda _: ta.fit_kernel(X, Y, "ard", steps=3, rng=0),
    "select_bandwidth": lambda _: ta.select_bandwidth(X, Y, rng=0),
    "t_statistic": lambda _: ta.t_statistic(X, Y, kernels.Gaussian(1.0)),
    "read": lambda folder: _read(folder),
    "train": lambda folder: generative.train(
        "gmmn", generative.load("digits"), folder / "run", {"steps": 2, "batch_size": 20, "hidden": [4]}, rng=0
    ),
    "the command line": lambda folder: _command_line(folder),
    "bad input": lambda _: ta.mmd_test(X, Y[:, :2]),
    "bad values": lambda _: ta.two_sample_test(np.where(X > 2, np.nan, X), Y),
    "a failing kernel": lambda _: ta.mmd_test(X, Y, lambda a, b: 1 / 0, **QUICK),
}


def _read(folder: Path) -> None:
    pd.DataFrame(X).to_csv(folder / "x.csv")
    ta.read(folder / "x.csv", max_rows=10, rng=0)


def _command_line(folder: Path) -> None:
    pd.DataFrame(X).to_csv(folder / "x.csv")
    assert main(["test", str(folder / "x.csv"), str(folder / "x.csv"), "--permutations", "19"]) == 0


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", CALLS)
def test_a_call_leaves_no_trace(name: str, tmp_path: Path) -> None:
    threads = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("TELLAPART_THREADS", "2")
            for time in ("first", "second"):
                (tmp_path / time).mkdir()
                before = state()
                try:
                    CALLS[name](tmp_path / time)
                except (InputError, ZeroDivisionError):
                    assert name.startswith(("bad", "a failing"))
                after = state()
                # At first, libraries are imported, of which some (scikit-learn, SymPy) have their own filters.
                known = before.keys() - ({"filters of warnings", "generator of python"} if time == "first" else ())
                assert {key: after[key] for key in known} == {key: before[key] for key in known}
    finally:
        torch.set_num_threads(threads)


@pytest.mark.parametrize("name", ["mmd_test", "learned_test, rbf", "compare, deep"])
def test_ctrl_c_inside_no_grad_leaves_gradients_on(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    enter, entered = torch.no_grad.__enter__, []

    def interrupted(self: Any) -> None:
        enter(self)
        entered.append(self)
        raise KeyboardInterrupt

    monkeypatch.setattr(torch.no_grad, "__enter__", interrupted)
    with pytest.raises(KeyboardInterrupt):
        CALLS[name](tmp_path)
    assert entered
    assert torch.is_grad_enabled()
