"""A generator's samples against held-out data, in any training loop."""

from __future__ import annotations

import pytest
import torch

from tellapart.generative import SampleCheck


class Written:
    def __init__(self):
        self.numbers = {}

    def add_scalar(self, tag, value, step=None):
        self.numbers[tag, step] = value


def draw(n, shift=0.0):
    return torch.randn(n, 3, generator=torch.Generator().manual_seed(n)) + shift


def test_every_so_many_steps_and_no_others():
    written = Written()
    shift = 2.0
    check = SampleCheck(lambda n: draw(n, shift), draw(201), every=10, writer=written, rng=0)
    assert check(3) is None
    far = check(10)
    shift = 0.0
    near = check(20)
    assert far["pvalue"] == 0.005
    assert far["auc"] > 0.9 > near["auc"]
    assert far["t"] > near["t"]
    assert set(written.numbers) == {(f"held_out/{n}", k) for n in ("mmd2", "t", "pvalue", "auc") for k in (10, 20)}


def test_it_leaves_the_global_generator_and_gradients_alone():
    weight = torch.ones(3, requires_grad=True)
    check = SampleCheck(lambda n: draw(n) * weight, draw(101), every=1, rng=0)
    before = torch.get_rng_state()
    first, second = check(1), check(2)
    assert torch.equal(before, torch.get_rng_state())
    assert first == second
    assert weight.grad is None


def test_tensorboard_gets_it(tmp_path):
    tensorboard = pytest.importorskip("torch.utils.tensorboard")
    with tensorboard.SummaryWriter(str(tmp_path)) as writer:
        SampleCheck(draw, draw(64), every=1, writer=writer, rng=0)(1)
    assert any(path.stat().st_size > 0 for path in tmp_path.iterdir())


def test_too_few_rows():
    with pytest.raises(ValueError, match="at least 8"):
        SampleCheck(draw, draw(4))
