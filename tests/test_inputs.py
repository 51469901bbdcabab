"""Every public call takes every kind of input, and the same numbers give the same result."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest
import torch

import tellapart as ta
from tellapart.criticism import witness
from tellapart.learning import median_bandwidth

MNIST = Path(__file__).parents[2] / "shared" / "data"
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


def frame(values: np.ndarray):
    import pandas as pd

    return pd.DataFrame(values, columns=["a", "b", "c"])


def duckdb_relation(values: np.ndarray):
    import duckdb
    import pyarrow as pa

    return duckdb.connect().from_arrow(pa.Table.from_pandas(frame(values)))


def polars_frame(values: np.ndarray):
    import polars as pl

    return pl.DataFrame({name: values[:, k] for k, name in enumerate("abc")})


def arrow_table(values: np.ndarray):
    import pyarrow as pa

    return pa.Table.from_pandas(frame(values))


def dask_array(values: np.ndarray):
    import dask.array

    return dask.array.from_array(values, chunks=(10, 3))


class Labelled(torch.utils.data.Dataset):
    def __init__(self, values: np.ndarray) -> None:
        self.values = torch.from_numpy(values)

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, i: int):
        return self.values[i], 0


class ArrayLike:
    def __init__(self, values: np.ndarray) -> None:
        self.values = values

    def __array__(self, dtype=None, copy=None) -> np.ndarray:
        return self.values if dtype is None else self.values.astype(dtype)


class DLPack:
    def __init__(self, values: np.ndarray) -> None:
        self.values = values

    def __dlpack__(self, **options):
        return self.values.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.values.__dlpack_device__()


def written(name: str):
    """A kind of input that is a file: a function that writes it and gives its path."""

    def write(values: np.ndarray, folder: Path) -> str:
        path = folder / name
        if name.endswith(".npy"):
            np.save(path, values)
        elif name.endswith(".npz"):
            np.savez(path, data=values)
        elif name.endswith(".safetensors"):
            from safetensors.numpy import save_file

            save_file({"data": values}, path)
        elif name.endswith(".zarr"):
            import zarr

            zarr.save(str(path), values)
        elif name.endswith(".parquet"):
            frame(values).to_parquet(path)
        elif name.endswith(".jsonl"):
            frame(values).to_json(path, orient="records", lines=True)
        elif name.endswith(".gz"):
            path.write_bytes(gzip.compress(frame(values).to_csv(index=False).encode()))
        else:
            frame(values).to_csv(path, index=False)
        return str(path)

    return write


IN_MEMORY = {
    "array": lambda v: v,
    "tensor": torch.from_numpy,
    "list": np.ndarray.tolist,
    "pandas": frame,
    "polars": polars_frame,
    "pyarrow": arrow_table,
    "DuckDB": duckdb_relation,
    "Dask": dask_array,
    "Dataset": Labelled,
    "DataLoader": lambda v: torch.utils.data.DataLoader(Labelled(v), batch_size=7),
    "__array__": ArrayLike,
    "__dlpack__": DLPack,
    "Source": lambda v: ta.read(frame(v)),
}
FILES = ("a.npy", "a.npz", "a.safetensors", "a.zarr", "a.csv", "a.csv.gz", "a.tsv.txt.csv", "a.jsonl", "a.parquet")


@pytest.fixture(scope="module")
def expected() -> dict[str, float]:
    return {name: call(rows(0), rows(1)) for name, call in CALLS.items()}


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("kind", [*IN_MEMORY, *FILES])
def test_the_same_numbers_give_the_same_result(kind, call, expected, tmp_path):
    if kind in IN_MEMORY:
        x, y = (IN_MEMORY[kind](rows(k)) for k in range(2))
    else:
        folders = tmp_path / "x", tmp_path / "y"
        for folder in folders:
            folder.mkdir()
        x, y = (written(kind)(rows(k), folder) for k, folder in enumerate(folders))
    assert CALLS[call](x, y) == expected[call]


# --- Images


def pictures(seed: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 200 + 50 * seed, size=(20, 6, 6), dtype=np.uint8)


def idx_file(values: np.ndarray, folder: Path) -> str:
    path = folder / "images-idx3-ubyte"
    path.write_bytes(bytes([0, 0, 8, 3]) + np.array(values.shape, ">u4").tobytes() + values.tobytes())
    return str(path)


def image_folder(values: np.ndarray, folder: Path) -> str:
    from PIL import Image

    for k, image in enumerate(values):
        Image.fromarray(image).save(folder / f"{k:03}.png")
    return str(folder)


def pil_images(values: np.ndarray, folder: Path):
    from PIL import Image

    return [Image.fromarray(image) for image in values]


IMAGES = {
    "idx": idx_file,
    "folder": image_folder,
    "PIL": pil_images,
    "tensor": lambda v, _: torch.from_numpy(v),
    "npy": lambda v, folder: written("a.npy")(v, folder),
    "Source": lambda v, _: ta.read(v),
}


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("kind", IMAGES)
def test_the_same_images_give_the_same_result(kind, call, tmp_path):
    folders = tmp_path / "x", tmp_path / "y"
    for folder in folders:
        folder.mkdir()
    x, y = (IMAGES[kind](pictures(k), folder) for k, folder in enumerate(folders))
    assert CALLS[call](x, y) == CALLS[call](pictures(0), pictures(1))


@pytest.mark.skipif(not MNIST.exists(), reason="MNIST is not beside the project")
def test_mnist_by_name(monkeypatch):
    monkeypatch.setenv("TELLAPART_DATA", str(MNIST))
    images = ta.datasets.mnist().test_images.numpy()
    other = images[:40] // 2
    options = {"permutations": 19, "rng": 0, "max_rows": 40}
    assert ta.mmd_test("mnist", other, **options).statistic == ta.mmd_test(images, other, **options).statistic


def test_tables_are_standardised_where_the_data_choose_the_kernel():
    """A column in other units must not decide alone; a kernel that is given sees the numbers as they are."""
    x, y = frame(rows(0)), frame(rows(1))
    x_grams, y_grams = x.assign(a=1000 * x["a"]), y.assign(a=1000 * y["a"])
    statistics = {
        (kernel, unit): ta.mmd_test(*pair, kernel, rng=0).statistic
        for kernel in ("median", KERNEL)
        for unit, pair in (("kg", (x, y)), ("g", (x_grams, y_grams)))
    }
    assert statistics["median", "kg"] == pytest.approx(statistics["median", "g"], rel=1e-5)
    assert statistics[KERNEL, "kg"] != pytest.approx(statistics[KERNEL, "g"], rel=1e-5)
    assert statistics[KERNEL, "kg"] == ta.mmd_test(rows(0), rows(1), KERNEL, rng=0).statistic
