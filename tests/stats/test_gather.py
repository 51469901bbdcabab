"""Losses of a batch that is split over processes: the numbers of one process."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch
import torch.distributed as dist
from ranks import DATA, LOSSES, NOISE, SPLITS, gradients
from safetensors.torch import load_file

import tellapart as ta
from tellapart.cli import main

pytestmark = [
    pytest.mark.usefixtures("one_thread"),
    pytest.mark.skipif(not (dist.is_available() and dist.is_gloo_available()), reason="needs gloo"),
]


@pytest.fixture(scope="module")
def two_ranks(tmp_path_factory):
    """The results and the errors of both ranks."""
    folder = tmp_path_factory.mktemp("ranks")
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    source = Path(ta.__file__).parents[1]
    environment = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(source)}
    script = Path(__file__).with_name("ranks.py")
    done = subprocess.run([*torchrun, script, folder], env=environment, capture_output=True, text=True, timeout=180)
    assert done.returncode == 0, done.stderr
    results = [load_file(folder / f"{rank}.safetensors") for rank in range(2)]
    return results, [json.loads((folder / f"{rank}.json").read_text()) for rank in range(2)]


@pytest.mark.parametrize("way", ["ddp", "loop"])
@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.parametrize("name", LOSSES)
def test_loss_and_gradients_are_those_of_one_process(two_ranks, name, split, way):
    expected = gradients(name)
    for found in two_ranks[0]:
        for key, value in expected.items():
            assert value.abs().sum() > 0
            torch.testing.assert_close(found[f"{way}/{split}/{name}/{key}"], value)


def test_a_group_gathers_its_own_ranks(two_ranks):
    expected = gradients("root", NOISE[9:], DATA[2:])
    for key, value in expected.items():
        torch.testing.assert_close(two_ranks[0][1][f"group/{key}"], value)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("shape", "Rows of generated must .* 3 × torch.float64 on rank 0 and 4 × torch.float64 on rank 1"),
        ("shape of data", "Rows of data must .* 4 × torch.float64 on rank 1"),
        ("type", "3 × torch.float64 on rank 0 and 3 × torch.float32 on rank 1"),
        ("network", "Rows of generated must"),
        ("nan", "first at row 12"),
        ("rows", "X has 23 rows and Y has 24"),
    ],
)
def test_every_rank_raises_what_is_wrong_on_one(two_ranks, name, message):
    first, second = (errors[name] for errors in two_ranks[1])
    assert first == second
    assert re.search(message, first)


def test_a_process_outside_the_group_is_told(two_ranks):
    outside, inside = two_ranks[1]
    assert "that this process is in" in outside["group"]
    assert "group" not in inside


def test_nothing_is_gathered_unasked():
    assert ta.losses.MMDLoss(ta.kernels.Gaussian()).gather is False
    with pytest.raises(RuntimeError, match="init_process_group"):
        ta.losses.MMDLoss(ta.kernels.Gaussian(), gather=True)(DATA, DATA)
    for wrong in (None, "yes"):
        with pytest.raises(TypeError, match=f"gather must be .* but is {wrong!r}"):
            ta.losses.TStatisticLoss(ta.kernels.Gaussian(), gather=wrong)


def test_training_from_the_command_line_refuses_several_processes(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("WORLD_SIZE", "2")
    assert main(["train", "gmmn", "--data", "digits", "--out", str(tmp_path / "run")]) == 2
    assert "WORLD_SIZE is 2. Start it without torchrun." in capsys.readouterr().err
    assert not (tmp_path / "run").exists()
