"""Kernels as files: what is kept, users' own kernels, and files that lie."""

from __future__ import annotations

import json
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
import torch
from kernel_cases import REGISTERED, D, in_space
from safetensors.torch import save_file
from torch import nn

from tellapart import kernels
from tellapart.kernels import Gaussian, Kernel


def test_a_kernel_twice_in_a_combination_can_be_saved(tmp_path) -> None:
    k = Gaussian(1.3)
    x, y = in_space()
    kernels.save(k * k, tmp_path / "k.safetensors")
    assert torch.equal(kernels.load(tmp_path / "k.safetensors")(x, y), (k * k)(x, y))


def test_load_fills_a_network_without_layers(tmp_path) -> None:
    """An empty nn.Sequential is a network too, though it counts as false."""
    k, (x, y) = kernels.Deep(nn.Sequential(), Gaussian(1.3)), in_space()
    kernels.save(k, tmp_path / "k.safetensors")
    again = kernels.load(tmp_path / "k.safetensors", network=nn.Sequential())
    assert torch.equal(again(x, y), k(x, y))


def test_load_names_a_file_that_is_no_kernel(tmp_path) -> None:
    save_file({"a": torch.zeros(1)}, tmp_path / "other.safetensors")
    with pytest.raises(ValueError, match=r"other.safetensors .* not a kernel written by"):
        kernels.load(tmp_path / "other.safetensors")


# --- Users' own kernels


@pytest.fixture
def registry(monkeypatch):
    """Whatever a test registers is forgotten after it."""
    monkeypatch.setattr("tellapart.kernels.registry.REGISTRY", dict(REGISTERED))
    monkeypatch.setattr("tellapart.kernels.files.REGISTRY", kernels.registry.REGISTRY)
    return kernels.registry.REGISTRY


def own_kernel():
    @kernels.register
    class Cauchy(Kernel):
        """k(x, y) = weight / (1 + |x - y|^power)."""

        def __init__(self, power: float = 2.0, weight: float = 1.0) -> None:
            super().__init__()
            self.power = power
            self.weight = nn.Parameter(torch.tensor(weight, dtype=torch.float64))

        def tile(self, a, b, plan, out=None):
            distances = torch.cdist(a, b, compute_mode="donot_use_mm_for_euclid_dist")
            return self.weight.to(plan.dtype) / (1 + distances**self.power)

        def config(self):
            return {"power": self.power}

    return Cauchy


def test_a_registered_kernel_is_saved_alone_and_within_others(registry, tmp_path) -> None:
    cauchy, path, (x, y) = own_kernel(), tmp_path / "k.safetensors", in_space()
    for kernel in (cauchy(1.5, 0.7), 0.5 * cauchy(1.5) + Gaussian(2.0), kernels.Witness(cauchy(), x, x[:, 0])):
        kernels.save(kernel, path)
        assert torch.equal(kernels.load(path)(x, y), kernel(x, y))
    assert [type(example) for example in cauchy.examples(D)] == [cauchy]
    del registry["Cauchy"]
    with pytest.raises(ValueError, match=r"unknown class 'Cauchy'\. Import .* Known classes: ARD, "):
        kernels.load(path)
    with pytest.raises(TypeError, match="A Cauchy kernel cannot be saved"):
        kernels.save(cauchy(), path)


def test_names_are_not_taken_away(registry) -> None:
    first = own_kernel()
    assert own_kernel() is registry["Cauchy"] is not first  # the same definition, run again
    with pytest.raises(ValueError, match=r"kernel class Gaussian is already registered by tellapart\.kernels"):
        kernels.register(type("Gaussian", (Kernel,), {}))
    unregistered = type("Gaussian", (Gaussian,), {})
    with pytest.raises(TypeError, match="Gaussian kernel cannot be saved"):
        kernels.save(unregistered(1.0), "never.safetensors")


def test_a_registered_kernel_passes_the_conformance_suite(registry, tmp_path, monkeypatch) -> None:
    import kernel_cases
    import test_conformance as suite

    (case,) = kernel_cases.cases_of(own_kernel())
    suite.test_value_is_the_formula(case)
    suite.test_symmetric_and_positive_semidefinite(case)
    suite.test_engine_agrees_with_the_definition(case)
    suite.test_float32_and_float64_agree(case, torch.float32, torch.float64)
    suite.test_gradient_of_mmd2(case, "full", True, monkeypatch)
    suite.test_save_and_load(case, tmp_path)
    suite.test_read_only_arrays_and_no_writing(case)


# --- Files that lie


def written(path, description, **tensors):
    save_file(
        {name.replace("__", "."): torch.as_tensor(value) for name, value in tensors.items()},
        path,
        {"tellapart": json.dumps(description)},
    )
    return path


@contextmanager
def little_memory(most: int = 2**28) -> Iterator[None]:
    """Whatever takes more memory than this fails."""
    limits = resource.getrlimit(resource.RLIMIT_AS)
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + most, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, limits)


HUGE = 10**11
GAUSSIAN = {"kernel": "Gaussian", "config": {}}


@pytest.mark.parametrize(
    ("description", "tensors", "message"),
    [
        ({"kernel": "ARD", "config": {"d": HUGE}}, {}, "'log_scales' is not in the file"),
        (
            {"kernel": "ARD", "config": {"d": HUGE}},
            {"log_scales": [0.0, 0.0]},
            "specifies d = 100000000000, but .* have 2",
        ),
        ({"kernel": "ARD", "config": {"d": 2}}, {"log_scales": [[0.0]]}, r"shape \(1, 1\), but should have 1 dim"),
        ({"kernel": "Precomputed", "config": {"rows": 10**6}}, {}, "'matrix' is not in the file"),
        ({"kernel": "Precomputed", "config": {"rows": 10**6}}, {"matrix": np.eye(2)}, "rows = 1000000, but .* have 2"),
        (
            {"kernel": "Witness", "config": {"points": [10**9, 3]}, "components": {"kernel": GAUSSIAN}},
            {"points": np.zeros((2, 3)), "weights": np.zeros(2)},
            r"specifies points = \[1000000000, 3\], but the tensors have \[2, 3\]",
        ),
        ({"kernel": "Witness", "config": {"points": [10**9, 3]}}, {}, "'points' is not in the file"),
        (
            {"kernel": "Deep", "config": {"network": "MLP", "widths": [10**6, 10**6]}},
            {"network__1__weight": np.zeros((2, 3)), "network__1__bias": np.zeros(2)},
            r"widths = \[1000000, 1000000\], but the tensors have \[3, 2\]",
        ),
        ({"kernel": "Deep", "config": {"network": "MLP", "widths": [10**6, 10**6]}}, {}, "is not in the file"),
        (
            {"kernel": "Deep", "config": {"network": "Waves"}},
            {},
            r"class Waves. Pass a network .* load\(path, network=",
        ),
        (GAUSSIAN, {}, "log_bandwidth"),
        (GAUSSIAN, {"log_bandwidth": 0.0, "more": 1.0}, "more"),
        ({"kernel": "os.system", "config": {}}, {}, "unknown class 'os.system'"),
        ({"kernel": "Grid", "config": {}}, {}, "unknown class 'Grid'"),
        ({"kernel": ["Gaussian"], "config": {}}, {}, "of the unknown class"),
        ({"kernel": "Gaussian", "config": {"nonsense": 1}}, {}, "nonsense"),
        ({"kernel": "Matern", "config": {"nu": "x"}}, {}, "`nu` must be 0.5, 1.5 or 2.5"),
        ({"kernel": "Gaussian", "config": [1]}, {}, "does not describe a kernel"),
        ({"kernel": "Sum", "config": {}, "components": [1]}, {}, "does not describe a kernel"),
        ({"kernel": "Sum", "config": {}, "components": {"parts": [3]}}, {}, "does not describe a kernel"),
        ({"config": {}}, {}, "of the unknown class"),
        ([], {}, "does not describe a kernel"),
    ],
)
def test_files_that_lie_are_refused_before_memory_is_taken(tmp_path, description, tensors, message) -> None:
    path = written(tmp_path / "k.safetensors", description, **tensors)
    with little_memory(), pytest.raises(ValueError, match=rf"k.safetensors cannot be read as a kernel.*{message}"):
        kernels.load(path)


def test_kernels_within_kernels_without_end(tmp_path) -> None:
    description = GAUSSIAN
    for _ in range(200):
        description = {"kernel": "Sum", "config": {}, "components": {"parts": [description]}}
    with pytest.raises(ValueError, match="more than 50 levels deep"):
        kernels.load(written(tmp_path / "k.safetensors", description))


def test_a_small_file_does_not_take_gigabytes(tmp_path) -> None:
    path = written(tmp_path / "k.safetensors", {"kernel": "Precomputed", "config": {"rows": 20_000}})
    assert path.stat().st_size < 200
    with little_memory(), pytest.raises(ValueError, match="'matrix' is not in the file"):
        kernels.load(path)


def test_load_does_not_draw_from_the_global_generator(tmp_path) -> None:
    kernels.save(kernels.Deep(kernels.MLP([D, 4, 2], rng=0)), tmp_path / "k.safetensors")
    torch.manual_seed(0)
    expected = torch.rand(3)
    torch.manual_seed(0)
    kernels.load(tmp_path / "k.safetensors")
    assert torch.equal(torch.rand(3), expected)
