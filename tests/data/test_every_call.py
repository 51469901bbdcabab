"""Every public call takes every kind of input, and the same numbers give the same result."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from containers import CASES, frame

import tellapart as ta
from tellapart.criticism import witness
from tellapart.learning import median_bandwidth

MNIST = Path(__file__).parents[3] / "shared" / "data"
KERNEL = ta.kernels.Gaussian(1.5).requires_grad_(False)

#: The calls, each as one number that would differ if a single value differed. Tables are not standardised, so that the
#: numbers are the same as those of arrays.
CALLS = {
    "two_sample_test": lambda x, y: ta.two_sample_test(x, y, 99, rng=0).pvalue,
    "mmd_test": lambda x, y: ta.mmd_test(x, y, permutations=49, standardise=False, rng=0).pvalue,
    "mmd_test, its statistic": lambda x, y: ta.mmd_test(x, y, KERNEL, permutations=19, rng=0).statistic,
    "learned_test": lambda x, y: ta.learned_test(x, y, "witness", permutations=49, standardise=False, rng=0).statistic,
    "compare": lambda x, y: ta.compare(x, y, "witness", permutations=49, stability=0, rng=0).auc,
    "estimate": lambda x, y: float(ta.estimate(x, y, KERNEL).t),
    "mmd2": lambda x, y: float(ta.mmd2(x, y, KERNEL)),
    "mmd2_variance": lambda x, y: float(ta.mmd2_variance(x, y, KERNEL)),
    "t_statistic": lambda x, y: float(ta.t_statistic(x, y, KERNEL)),
    "median_bandwidth": lambda x, y: median_bandwidth(x, y, rng=0),
    "select_bandwidth": lambda x, y: ta.select_bandwidth(x, y, [0.5, 1.0, 2.0], rng=0).table["t"].sum(),
    "fit_kernel": lambda x, y: float(ta.fit_kernel(x, y, "rbf", rng=0)[0].bandwidth),
    "witness": lambda x, y: float(witness(KERNEL, x, y, at=x).sum()),
}


def rows(seed: int) -> np.ndarray:
    """Numbers that text holds exactly."""
    return np.random.default_rng(seed).integers(-40, 40, size=(24, 3)) / 8 + 0.25 * seed


#: Kinds of inputs: those of `containers`, one of each way in, and what was read before.
KINDS = (
    *("array", "tensor", "list", "pandas", "polars", "pyarrow", "duckdb", "dask", "data set", "loader", "__array__"),
    *(
        "dlpack",
        "source",
        "npy",
        "npz",
        "safetensors",
        "zarr 3",
        "csv",
        "csv.gz",
        "csv, odd ending",
        "jsonl",
        "parquet",
    ),
)
IMAGES = ("idx.gz", "image folder", "PIL images", "tensor", "npy", "source")


def given(kind: str, values: np.ndarray, folder: Path) -> object:
    """Values as a kind of input; files are written to a folder of their own."""
    if kind == "source":
        return ta.read(values if values.ndim > 2 else frame(values))
    folder.mkdir()
    return CASES[kind].make(folder, values)


@pytest.fixture(scope="module")
def expected() -> dict[str, float]:
    return {name: call(rows(0), rows(1)) for name, call in CALLS.items()}


@pytest.fixture(scope="module")
def expected_of_images() -> dict[str, float]:
    return {name: call(pictures(0), pictures(1)) for name, call in CALLS.items()}


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("kind", KINDS)
def test_the_same_numbers_give_the_same_result(kind, call, expected, tmp_path):
    x, y = (given(kind, rows(k), tmp_path / str(k)) for k in range(2))
    assert CALLS[call](x, y) == expected[call]


def pictures(seed: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 200 + 50 * seed, size=(20, 6, 6), dtype=np.uint8)


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("kind", IMAGES)
def test_the_same_images_give_the_same_result(kind, call, expected_of_images, tmp_path):
    x, y = (given(kind, pictures(k), tmp_path / str(k)) for k in range(2))
    assert CALLS[call](x, y) == expected_of_images[call]


@pytest.mark.skipif(not MNIST.exists(), reason="MNIST is not beside the project")
def test_mnist_by_name(monkeypatch):
    monkeypatch.setenv("TELLAPART_DATA", str(MNIST))
    images = ta.datasets.mnist().test_images
    other = images[:40] // 2
    options = {"permutations": 19, "rng": 0, "max_rows": 40}
    assert ta.mmd_test("mnist", other, **options).statistic == ta.mmd_test(images, other, **options).statistic


def test_tables_are_standardised_where_the_data_choose_the_kernel():
    """A column in other units must not decide alone; a kernel that is given sees the numbers as they are."""
    x, y = frame(rows(0)), frame(rows(1))
    x_grams, y_grams = x.assign(**{"0": 1000 * x["0"]}), y.assign(**{"0": 1000 * y["0"]})
    statistics = {
        (kernel, unit): ta.mmd_test(*pair, kernel, rng=0).statistic
        for kernel in ("median", KERNEL)
        for unit, pair in (("kg", (x, y)), ("g", (x_grams, y_grams)))
    }
    assert statistics["median", "kg"] == pytest.approx(statistics["median", "g"], rel=1e-5)
    assert statistics[KERNEL, "kg"] != pytest.approx(statistics[KERNEL, "g"], rel=1e-5)
    assert statistics[KERNEL, "kg"] == ta.mmd_test(rows(0), rows(1), KERNEL, rng=0).statistic
