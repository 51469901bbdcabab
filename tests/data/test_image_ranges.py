"""Images as bytes and as floats between 0 and 1 have one meaning of white, in every call and every container."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import zarr
from PIL import Image

import tellapart as ta
from tellapart.data import as_pair, read

RNG = np.random.default_rng(0)
BYTES = RNG.integers(0, 256, size=(24, 8, 8), dtype=np.uint8)
#: The same images on the scale of the other sample, which has other images of the same distribution.
SCALED = (BYTES / 255).astype(np.float32)
FLOATS, MODEL = RNG.random((2, 24, 8, 8)).astype(np.float32)
KERNEL = ta.kernels.Gaussian(2.0)


def _save(path: Path, images: np.ndarray) -> Path:
    np.save(path, images)
    return path


def _save_npz(path: Path, images: np.ndarray) -> str:
    np.savez(path, images=images, labels=np.arange(len(images)))
    return f"{path}:images"


def _save_zarr(path: Path, images: np.ndarray) -> Path:
    zarr.open(str(path), mode="w", shape=images.shape, dtype=images.dtype)[:] = images
    return path


def _save_folder(path: Path, images: np.ndarray) -> Path:
    path.mkdir()
    for k, image in enumerate(images):
        Image.fromarray(image).save(path / f"{k:02}.png")
    return path


CONTAINERS: dict[str, Callable[[Path, np.ndarray], Any]] = {
    "array": lambda path, images: images,
    "list": lambda path, images: list(images),
    "tensor": lambda path, images: torch.from_numpy(images),
    "source": lambda path, images: read(images),
    "npy": lambda path, images: _save(path / "x.npy", images),
    "mapped": lambda path, images: np.load(_save(path / "x.npy", images), mmap_mode="r"),
    "npz": lambda path, images: _save_npz(path / "x.npz", images),
    "zarr": lambda path, images: _save_zarr(path / "x.zarr", images),
    "folder": lambda path, images: _save_folder(path / "x", images),
}

CALLS: dict[str, Callable[[Any], float]] = {
    "two_sample_test": lambda x: ta.two_sample_test(x, FLOATS, 39, rng=0).statistic,
    "k_sample_test": lambda x: ta.k_sample_test([FLOATS, x, MODEL], permutations=39, rng=0).statistic,
    "equivalence_test": lambda x: ta.equivalence_test(x, FLOATS, 0.2, rng=0).distance,
    "rank": lambda x: ta.rank(FLOATS, [x, MODEL], diagnostics=False, rng=0).pairs[0].pvalue,
    "plan": lambda x: ta.plan(x, FLOATS, repetitions=2, permutations=19, rng=0).pilot_pvalue,
    "mmd_test": lambda x: ta.mmd_test(x, FLOATS, permutations=39, rng=0).statistic,
    "mmd_test of a kernel": lambda x: ta.mmd_test(FLOATS, x, KERNEL, permutations=39, rng=0).statistic,
    "learned_test": lambda x: ta.learned_test(x, FLOATS, permutations=39, rng=0).pvalue,
    "compare": lambda x: ta.compare(x, FLOATS, permutations=39, rng=0).distance,
    "mmd2": lambda x: float(torch.as_tensor(ta.mmd2(x, FLOATS, KERNEL)).detach()),
    "reference": lambda x: ta.Reference.fit(x, rng=0).test(FLOATS, 39, rng=0).statistic,
}
#: Calls that take a second, and for which two containers must do.
SLOW = ("compare", "plan")
CASES = [(call, one) for call in CALLS for one in (CONTAINERS if call not in SLOW else ("array", "npy"))]


@cache
def expected(call: str) -> float:
    return CALLS[call](SCALED)


@pytest.mark.parametrize(("call", "container"), CASES)
def test_bytes_and_floats_are_compared_on_one_scale(call: str, container: str, tmp_path: Path) -> None:
    found = CALLS[call](CONTAINERS[container](tmp_path, BYTES))
    assert found == pytest.approx(expected(call), rel=1e-4, abs=1e-6)


@pytest.mark.parametrize("images", [BYTES, list(BYTES), read(BYTES), torch.from_numpy(BYTES)], ids=type)
def test_floats_keep_their_gradient(images: Any) -> None:
    generated = torch.from_numpy(FLOATS).requires_grad_()
    x, _ = as_pair(images, generated)
    assert float(x.values.max()) == 1
    ta.mmd2(images, generated, KERNEL).backward()
    gradient, generated.grad = generated.grad, None
    ta.mmd2(SCALED, generated, KERNEL).backward()
    assert gradient is not None
    assert torch.allclose(gradient, generated.grad, atol=1e-7)


@pytest.mark.parametrize("other", [FLOATS * 255, FLOATS * 2])
def test_floats_beyond_1_are_compared_as_they_come(other: np.ndarray) -> None:
    for given in (other, torch.from_numpy(other).requires_grad_()):
        x, y = as_pair(BYTES, given)
        assert float(x.values.max()) == 255
        assert np.array_equal(y.values.detach().numpy(), other)
