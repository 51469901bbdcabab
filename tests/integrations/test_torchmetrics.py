"""`KernelDistance`: equal to torchmetrics' KID, in sums or in a buffer, on one process or two."""

from __future__ import annotations

import copy
import json
import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from metric_ranks import FAKE, METRICS, REAL, measure
from torch import nn
from torchmetrics import MetricCollection
from torchmetrics.image.kid import KernelInceptionDistance

import tellapart as ta
from tellapart.integrations import torchmetrics
from tellapart.integrations.torchmetrics import KernelDistance

pytestmark = pytest.mark.usefixtures("one_thread")


def fill(metric, real, fake, batch=16):
    for x, is_real in ((real, True), (fake, False)):
        for rows in x.split(batch):
            metric.update(rows, real=is_real)
    return metric


def plain(found):
    return {name: value.item() for name, value in found.items()}


class Extractor(nn.Module):
    """Six features of an image."""

    num_features = 6

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.layer = nn.Linear(48, 6)
        self.dropout = nn.Dropout()

    def forward(self, x):
        return self.dropout(self.layer(x.float().flatten(1)))


@pytest.mark.filterwarnings("ignore:Metric `Kernel Inception Distance` will save all")
def test_equal_to_kid_on_the_same_features_and_subsets():
    g = torch.Generator().manual_seed(0)
    real, fake = (torch.rand(n, 3, 4, 4, generator=g) ** power for n, power in ((90, 1.0), (70, 1.5)))
    extractor = Extractor().eval()
    theirs = fill(KernelInceptionDistance(feature=extractor, subsets=5, subset_size=40), real, fake)
    torch.manual_seed(3)
    mean, std = theirs.compute()
    ours = fill(KernelDistance(extractor, subsets=5, subset_size=40, rng=3), real, fake).compute()
    torch.testing.assert_close(ours["mmd2"].float(), mean, rtol=1e-4, atol=1e-6)
    torch.testing.assert_close(ours["std"].float(), std, rtol=1e-4, atol=1e-6)


def test_a_buffer_gives_what_tellapart_gives():
    found = fill(KernelDistance(kernel=ta.kernels.Gaussian(2.0), permutations=99, rng=1), REAL, FAKE).compute()
    e = ta.estimate(REAL, FAKE, ta.kernels.Gaussian(2.0))
    assert found["mmd2"].item() == pytest.approx(e.mmd2.item())
    assert found["standard_error"].item() == pytest.approx(e.positive_variance.item() ** 0.5)
    assert found["pvalue"].item() == ta.mmd_test(REAL, FAKE, ta.kernels.Gaussian(2.0), permutations=99, rng=1).pvalue


@pytest.mark.parametrize(
    "kernel",
    [ta.kernels.Linear(), ta.kernels.Polynomial(3), ta.kernels.Polynomial(2, gamma=0.3, coef0=0.0)],
    ids=["linear", "KID", "quadratic"],
)
def test_sums_give_what_a_buffer_gives(kernel):
    real, fake = REAL.double() + 1, FAKE.double() + 1
    metric = fill(KernelDistance(kernel=kernel, dimensions=4), real, fake)
    assert metric.streaming
    assert metric.real_moments.numel() < 1500  # and not a row of the data
    found = metric.compute()
    e = ta.estimate(real, fake, kernel)
    assert found["mmd2"].item() == pytest.approx(e.mmd2.item(), rel=1e-9)
    assert found["standard_error"].item() == pytest.approx(e.positive_variance.item() ** 0.5, rel=1e-9)
    expected = ta.mmd_test(real, fake, kernel, null="gamma", permutations=9999, precision="double").pvalue
    assert found["pvalue"].item() == pytest.approx(expected, abs=2e-4)


def test_sums_are_kept_only_where_the_kernel_allows():
    assert not KernelDistance().streaming  # dimensions unknown
    assert not KernelDistance(dimensions=2048).streaming
    assert not KernelDistance(dimensions=4, streaming=False).streaming
    assert KernelDistance(kernel=ta.kernels.Linear(), dimensions=1024).streaming
    with pytest.raises(ValueError, match="Streaming is not possible with the kernel Gaussian"):
        KernelDistance(kernel=ta.kernels.Gaussian(), dimensions=4, streaming=True)
    with pytest.raises(ValueError, match="dimensions=4, but a batch has 3"):
        KernelDistance(dimensions=4).update(torch.ones(5, 3), real=True)


@pytest.mark.filterwarnings("ignore:The ``compute`` method of metric KernelDistance was called before")
@pytest.mark.parametrize("name", METRICS)
def test_reset_copies_and_collections(name):
    metric = METRICS[name]()
    metric.reset_real_features = False
    fill(metric, REAL, FAKE)
    first = pytest.approx(plain(metric.compute()))
    metric.reset()
    with pytest.raises(ValueError, match="fake"):
        metric.compute()
    metric.update(FAKE, real=False)
    assert plain(metric.compute()) == first
    assert plain(copy.deepcopy(metric).compute()) == first
    assert plain(pickle.loads(pickle.dumps(metric)).compute()) == first
    metric.reset_real_features = True
    metric.reset()
    metric.update(FAKE, real=False)
    with pytest.raises(ValueError, match="real"):
        metric.compute()
    both = MetricCollection({"kd": METRICS[name]()}, compute_groups=False)
    both.update(REAL, real=True)
    both.update(FAKE, real=False)
    assert {key.split("_", 1)[-1] for key in both.compute()} >= {"mmd2", "pvalue"}


def test_an_extractor_is_in_eval_mode_and_without_gradient():
    metric = KernelDistance(Extractor().train(), kernel=ta.kernels.Linear(), permutations=0)
    images = torch.rand(8, 3, 4, 4)
    metric.update(images, real=True)
    metric.update(images, real=False)
    assert torch.equal(metric.real_features[0], metric.fake_features[0])
    assert not metric.real_features[0].requires_grad
    assert sorted(metric.compute()) == ["mmd2", "standard_error"]
    with pytest.raises(ValueError, match="one row of floating-point numbers"):
        KernelDistance().update(torch.ones(3, 2, dtype=torch.long), real=True)


def test_the_pvalue_holds_its_level():
    """Sums and gamma: 400 nulls at α = 0.05, whose count has a standard error of 4.4."""
    rng = np.random.default_rng(0)
    rejected = 0
    for _ in range(400):
        x, y = (torch.from_numpy(rng.normal(size=(60, 3))) for _ in range(2))
        rejected += fill(KernelDistance(dimensions=3), x, y, batch=60).compute()["pvalue"].item() <= 0.05
    assert 7 <= rejected <= 33


@pytest.fixture(scope="module")
def two_ranks(tmp_path_factory):
    folder = tmp_path_factory.mktemp("metric_ranks")
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    environment = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(Path(ta.__file__).parents[1])}
    script = Path(__file__).with_name("metric_ranks.py")
    done = subprocess.run([*torchrun, script, folder], env=environment, capture_output=True, text=True, timeout=180)
    assert done.returncode == 0, done.stderr
    return [json.loads((folder / f"{rank}.json").read_text()) for rank in range(2)]


@pytest.mark.parametrize("name", METRICS)
def test_two_ranks_give_what_one_process_gives(two_ranks, name):
    expected = measure(name, REAL, FAKE)
    for found in two_ranks:
        assert found[name] == pytest.approx(expected, rel=1e-6)


def test_it_needs_its_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "torchmetrics", None)
    monkeypatch.delitem(sys.modules, torchmetrics.__name__)
    with pytest.raises(ImportError, match=r"pip install 'tellapart\[torchmetrics\]'"):
        __import__(torchmetrics.__name__)
