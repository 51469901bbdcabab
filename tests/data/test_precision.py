"""Numbers of several precisions: compared in the coarser one, column by column."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

import tellapart as ta
from tellapart.data import as_pair
from tellapart.data.precision import round_array


@pytest.mark.parametrize("first", [torch.float16, torch.bfloat16, torch.float32])
@pytest.mark.parametrize("second", [torch.float32, torch.float64])
def test_tensors_are_compared_in_the_coarser_precision(first: torch.dtype, second: torch.dtype) -> None:
    values = torch.arange(12, dtype=torch.float64)[:, None] / 10
    x, y = as_pair(values.to(first), values.to(second))
    assert torch.equal(x.values, y.values)
    x, y = as_pair(values.to(second), values.to(first))
    assert torch.equal(x.values, y.values)


def test_the_gradient_passes_through_rounding() -> None:
    values = torch.rand(8, 1, dtype=torch.float64, requires_grad=True)
    x, _ = as_pair(values, torch.rand(8, 1))
    x.values.sum().backward()
    assert torch.equal(values.grad, torch.ones(8, 1, dtype=torch.float64))


def test_values_beyond_the_coarser_type_are_kept() -> None:
    x, y = as_pair(np.array([1.0, 2.0], np.float16), np.array([1e5, 1e100]))
    assert y.values.flatten().tolist() == [1e5, 1e100]
    assert x.values.dtype == y.values.dtype == torch.float64


def test_columns_are_rounded_one_by_one(tmp_path: Path) -> None:
    x = pd.DataFrame({"a": np.array([0.1, 0.2], np.float32), "b": [0.1, 0.3]})
    x.to_parquet(tmp_path / "x.parquet")
    y = pd.DataFrame({"b": [0.1, 0.3], "a": [0.1, 0.2]})
    y.to_parquet(tmp_path / "y.parquet")
    for first, second in ((x, y), (tmp_path / "x.parquet", tmp_path / "y.parquet")):
        a, b = as_pair(first, second)
        assert torch.equal(a.values, b.values)
        assert a.values[0, 1] == 0.1


def test_two_values_in_two_precisions_do_not_differ() -> None:
    random = np.random.default_rng(0)
    x, y = random.choice([0.1, 0.7], (2, 60, 1))
    expected = ta.two_sample_test(x, y, permutations=99, rng=0).pvalue
    assert expected > 0.05
    assert ta.two_sample_test(x.astype(np.float32), y, permutations=99, rng=0).pvalue == expected


def test_bfloat16_is_rounded_as_torch_does() -> None:
    """Every kind of number: halfway between two, denormal, and beyond the largest."""
    bits = np.random.default_rng(0).integers(0, 2**32, 100_000, dtype=np.uint64).astype(np.uint32)
    halfway = (np.arange(0, 2**16, 7, dtype=np.uint32) << np.uint32(16)) | np.uint32(0x8000)
    single = np.concatenate([bits, halfway]).view(np.float32)
    values = np.append(single[np.isfinite(single)].astype(np.float64), [0.1, 1e300])
    rounded = torch.from_numpy(values).to(torch.bfloat16).double().numpy()
    assert np.array_equal(round_array(values, 8), np.where(np.isfinite(rounded), rounded, values))
