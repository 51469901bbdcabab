"""The same numbers in every container: each format, as a file or in memory.

Used by `test_formats.py` (what is read) and by `test_every_call.py` (what public calls make of it).
"""

from __future__ import annotations

import gzip
import json
import struct
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import torch
import zarr
from PIL import Image
from safetensors.torch import save_file
from torch.utils.data import DataLoader, TensorDataset

from tellapart.data import as_sample, spill
from tellapart.data.content import Images, TableContent
from tellapart.data.formats import delimited, parquet

VALUES = np.random.default_rng(0).normal(size=(40, 3))
OTHERS = np.random.default_rng(1).normal(size=(30, 3))
PICTURES = np.random.default_rng(2).integers(0, 256, (12, 8, 9, 3), dtype=np.uint8)


@dataclass
class Case:
    """How to make data of a format from numbers, what its class is called, and which file to damage."""

    format: str
    make: Callable[[Path, np.ndarray], Any]
    images: bool = False
    victim: str = ""


def save(function: Callable[[Path, np.ndarray], Any], name: str) -> Callable[[Path, np.ndarray], Path]:
    def make(folder: Path, values: np.ndarray) -> Path:
        function(folder / name, values)
        return folder / name

    return make


def frame(values: np.ndarray) -> pd.DataFrame:
    return pd.DataFrame(values, columns=["0", "1", "2"])


def write_idx(path: Path, values: np.ndarray) -> None:
    code, raw = (8, values) if values.dtype == np.uint8 else (14, values.astype(">f8"))
    head = bytes([0, 0, code, raw.ndim]) + struct.pack(f">{raw.ndim}I", *raw.shape)
    path.write_bytes(gzip.compress(head + raw.tobytes()) if path.suffix == ".gz" else head + raw.tobytes())


def write_folder(path: Path, values: np.ndarray) -> None:
    path.mkdir()
    for k, picture in enumerate(values):
        Image.fromarray(picture).save(path / f"{k:03d}.png")


def write_parts(path: Path, values: np.ndarray) -> None:
    path.mkdir()
    frame(values[:15]).to_parquet(path / "a.parquet")
    frame(values[15:]).to_parquet(path / "b.parquet")


class ArrowOnly:
    """An object of an unknown library with the Arrow PyCapsule interface."""

    def __init__(self, table: pa.Table) -> None:
        self.table = table

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self.table.__arrow_c_stream__(requested_schema)


class DlpackOnly:
    def __init__(self, values: np.ndarray) -> None:
        self.values = torch.from_numpy(values.copy())

    def __dlpack__(self, **options: Any) -> Any:
        return self.values.__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return self.values.__dlpack_device__()


class ArrayOnly:
    def __init__(self, values: np.ndarray) -> None:
        self.values = values

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        return np.array(self.values, dtype)


def relation(values: np.ndarray) -> duckdb.DuckDBPyRelation:
    connection = duckdb.connect()
    connection.register("points", frame(values))
    return connection.sql("select * from points")


def dask_array(values: np.ndarray) -> Any:
    import dask.array

    return dask.array.from_array(values, chunks=(7, 2))


def write_gz(path: Path, text: str) -> None:
    path.write_bytes(gzip.compress(text.encode()))


def json_lines(values: np.ndarray) -> str:
    return "\n".join(json.dumps({str(k): value for k, value in enumerate(row)}) for row in values.tolist())


CASES: dict[str, Case] = {
    "npy": Case("Npy", save(lambda p, v: np.save(p, v), "x.npy")),
    "npy, columns first": Case("Npy", save(lambda p, v: np.save(p, np.asfortranarray(v)), "x.npy")),
    "npy of images": Case("Npy", save(lambda p, v: np.save(p, v), "x.npy"), images=True),
    "npz": Case("Npz", save(lambda p, v: np.savez(p, points=v), "x.npz")),
    "npz, compressed": Case("Npz", save(lambda p, v: np.savez_compressed(p, v), "x.npz"), images=True),
    "csv": Case("Delimited", save(lambda p, v: frame(v).to_csv(p, index=False), "x.csv")),
    "csv, odd ending": Case("Delimited", save(lambda p, v: frame(v).to_csv(p, index=False), "x.tsv.txt.csv")),
    "csv.gz": Case("Delimited", save(lambda p, v: write_gz(p, frame(v).to_csv(index=False)), "x.csv.gz")),
    "tsv.gz": Case("Delimited", save(lambda p, v: write_gz(p, frame(v).to_csv(index=False, sep="\t")), "x.tsv.gz")),
    "jsonl": Case("JSONLines", save(lambda p, v: p.write_text(json_lines(v)), "x.jsonl")),
    "ndjson.gz": Case("JSONLines", save(lambda p, v: write_gz(p, json_lines(v)), "x.ndjson.gz")),
    "parquet": Case("Parquet", save(lambda p, v: frame(v).to_parquet(p), "x.parquet")),
    "parquet parts": Case("Parquet", save(write_parts, "parts"), victim="b.parquet"),
    "safetensors": Case(
        "Safetensors", save(lambda p, v: save_file({"x": torch.from_numpy(v.copy())}, p), "x.safetensors")
    ),
    "idx": Case("Idx", save(write_idx, "x.idx")),
    "idx.gz": Case("Idx", save(write_idx, "images-idx3-ubyte.gz"), images=True),
    "zarr 2": Case("Zarr", save(lambda p, v: zarr.save_array(str(p), v, zarr_format=2), "x.zarr"), victim=".zarray"),
    "zarr 3": Case("Zarr", save(lambda p, v: zarr.save_array(str(p), v, zarr_format=3), "x.zarr"), victim="zarr.json"),
    "image folder": Case("ImageFolder", save(write_folder, "images"), images=True, victim="003.png"),
    "pandas": Case("Frames", lambda _, v: frame(v)),
    "polars": Case("Frames", lambda _, v: pl.DataFrame(v)),
    "polars, lazy": Case("Frames", lambda _, v: pl.LazyFrame(v)),
    "pyarrow": Case("Frames", lambda _, v: pa.table(frame(v))),
    "record batch": Case("Frames", lambda _, v: pa.record_batch(frame(v))),
    "duckdb": Case("Frames", lambda _, v: relation(v)),
    "arrow interface": Case("Frames", lambda _, v: ArrowOnly(pa.table(frame(v)))),
    "dask": Case("Dask", lambda _, v: dask_array(v)),
    "loader": Case("TorchData", lambda _, v: DataLoader(TensorDataset(torch.from_numpy(v.copy())), batch_size=7)),
    "data set": Case("TorchData", lambda _, v: TensorDataset(torch.from_numpy(v.copy()), torch.zeros(len(v)))),
    "PIL images": Case("Pictures", lambda _, v: [Image.fromarray(picture) for picture in v], images=True),
    "array": Case("Arrays", lambda _, v: v),
    "tensor": Case("Arrays", lambda _, v: torch.from_numpy(v.copy())),
    "list": Case("Arrays", lambda _, v: v.tolist()),
    "dlpack": Case("Arrays", lambda _, v: DlpackOnly(v)),
    "__array__": Case("Arrays", lambda _, v: ArrayOnly(v)),
    "sample": Case("Arrays", lambda _, v: as_sample(v)),
}


def inputs(case: Case) -> tuple[np.ndarray, np.ndarray]:
    return (PICTURES, 255 - PICTURES) if case.images else (VALUES, OTHERS)


def numbers_of(source: Any) -> np.ndarray:
    content = source.content
    return (
        content.pixels
        if isinstance(content, Images)
        else content.to_matrix()
        if isinstance(content, TableContent)
        else content.values
    )


def keep_in_files(patch: Any, rows: int = 7) -> None:
    """From now on, tables of files are read in portions of a few rows, and kept in files, as if they were large."""
    patch.setattr(spill, "MANY_BYTES", -1)
    patch.setattr(parquet, "_BATCH", rows)
    patch.setattr(delimited, "_step", lambda options, most: rows)
