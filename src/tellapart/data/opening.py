"""Open whatever a user has: in memory, a file, or a folder of images."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from torch import Tensor

from .._util.rng import RNG, seed_of
from . import files
from .arrays import Array, as_array, blocks, check_finite, check_rows
from .batches import apply_features, is_batched, read_batched
from .delimited import parquet_parts, read_delimited, read_parquet
from .folders import read_folder
from .images import Images, check_size, images_of
from .points import is_dask, is_zarr
from .room import check_count, check_room, choose
from .sample import Sample
from .source import Rows, Source
from .stores import Chunks, DaskArray, Zarr
from .tables import Table, check_table, is_table, selected, table_of

_PICKLES = (".pt", ".pth", ".pkl", ".pickle", ".joblib", ".bin", ".ckpt")
_FORMATS = ".npy, .npz, .csv, .tsv, .parquet, .safetensors, zarr, idx files and folders of PNG or JPEG images"


def open_source(
    data: Any,
    name: str = "X",
    *,
    columns: Iterable[Any] | None = None,
    drop: Iterable[Any] | None = None,
    missing: Literal["error", "indicator", "drop"] = "error",
    image_shape: tuple[int, ...] | None = None,
    image_size: tuple[int, int] | None = None,
    max_rows: int | None = None,
    rng: RNG = 0,
    features: Callable[[Tensor], Any] | None = None,
    batch_size: int = 256,
) -> Source:
    """Open a sample, wherever it is.

    Parameters
    ----------
    data
        In memory: arrays, tensors, nested lists, DataFrames of pandas or polars, tables of pyarrow, a ``Dataset`` or
        ``DataLoader`` of torch (of items with labels, the first element is taken), Dask arrays. Or a path: .npy (left
        in the file until rows are used), .npz and .safetensors (several arrays: name one, as in
        ``"run.npz:images"``), .csv, .tsv, .parquet (also a folder of parts), a zarr array, an idx file (MNIST), or a
        folder of PNG and JPEG images.
    name
        What to call it in messages.
    columns, drop
        Which columns of a table to take, or to leave out.
    missing
        What to do about missing values: complain; compare what is missing too (see `Encoding`); or drop these rows.
    image_shape
        Declares that rows of numbers are the pixels of images of this shape, such as (28, 28).
    image_size
        Bring images to this (height, width).
    max_rows
        Draw at most this many rows, uniformly at random, in bounded memory. ``rng`` decides which.
    features
        A function or module to apply to the rows (batch by batch, ``batch_size`` at a time; images as floats between 0
        and 1 of shape (n, channels, h, w)). Its output is compared; the rows are still what is shown.

    Notes
    -----
    Arrays of shape (n, h, w), (n, h, w, 1 or 3) or (n, 1 or 3, h, w) with sides of at least 4 are images. Other arrays
    are flattened to rows. Before a file is read, its needs are compared with the memory that is free.

    Examples
    --------
    >>> source = open_source([[1.0, 2.0], [3.0, 4.0]])
    >>> source.kind, len(source), source.row(1)
    ('rows', 2, array([3., 4.]))
    """
    if isinstance(data, Source):
        return data
    if missing not in ("error", "indicator", "drop"):
        raise ValueError(f"missing={missing!r} is not known. Choose one of 'error', 'indicator', 'drop'.")
    max_rows, size, seed = check_count(max_rows, "max_rows"), check_size(image_size), seed_of(rng)
    if isinstance(data, (str, os.PathLike)):
        source = _from_path(data, name, columns, drop, size, max_rows, seed)
    else:
        source = _from_memory(data, name, columns, drop, max_rows, seed)
    source = _as_images(source, image_shape, size, columns, drop)
    source = _checked(source, missing)
    if features is not None:
        content = _numbers(source)
        found = apply_features(content, features, source.label, check_count(batch_size, "batch_size") or 256)
        source = replace(source, features=found)
    return source


def check_path(data: Any, name: str) -> None:
    """Complain if ``data`` is a path where nothing is."""
    if isinstance(data, (str, os.PathLike)) and not files.split_member(os.fspath(data))[0].exists():
        raise FileNotFoundError(f"{name} ({data}) does not exist. Check the path: it is looked up from {Path.cwd()}.")


def _from_memory(data: Any, name: str, columns: Any, drop: Any, max_rows: int | None, seed: int) -> Source:
    if is_table(data):
        if len(data) == 0:
            raise ValueError(f"{name} is empty: it has no rows.")
        table = table_of(data, name, columns, drop)
        numbers = choose(len(table), max_rows, seed)
        return Source(table.take(numbers) if len(numbers) < len(table) else table, name, numbers=numbers)
    if type(data).__module__.startswith("polars"):
        raise TypeError(f"{name} is a polars {type(data).__name__}. Give {name}.collect().")
    if is_dask(data):
        return _from_chunks(DaskArray(data, name), name, "", max_rows, seed)
    if is_batched(data):
        values, numbers = read_batched(data, name, max_rows, seed)
        return Source(_rows(values, name), name, numbers=numbers)
    names = data.names if isinstance(data, Sample) else None
    values = as_array(data.values if isinstance(data, Sample) else data, name)
    return _drawn(values, name, "", max_rows, seed, names)


def _from_path(
    data: Any, name: str, columns: Any, drop: Any, size: tuple[int, int] | None, max_rows: int | None, seed: int
) -> Source:
    check_path(data, name)
    path, member = files.split_member(os.fspath(data))
    label, suffix = f"{name} ({data})", path.suffix.lower()
    if is_zarr(path):
        return _from_chunks(Zarr(str(path.absolute()), label), name, str(data), max_rows, seed)
    if path.is_dir() and not parquet_parts(path):
        read = read_folder(path, label, size, max_rows, seed)
        return Source(read.images, name, str(data), read.numbers, read.files, notes=read.notes)
    if suffix in _PICKLES:
        raise ValueError(f"{label} may hold a pickle, which can run code when read. Save it as .npy or .safetensors.")
    if path.is_file() and path.stat().st_size == 0:
        raise ValueError(f"{label} is an empty file.")
    if suffix in (".csv", ".tsv", ".parquet") or path.is_dir():
        reader = read_delimited if suffix in (".csv", ".tsv") else read_parquet
        found = reader(path, label, columns, drop, max_rows, seed)
        return Source(found.table, name, str(data), found.numbers, notes=found.notes)
    if suffix == ".npy":
        values = files.read_npy(path, label, max_rows)
    elif suffix == ".npz":
        values = files.read_npz(path, member, label)
    elif suffix == ".safetensors":
        values = files.read_safetensors(path, member, label)
    elif files.is_idx(path):
        values = files.read_idx(path, label, max_rows)
    else:
        raise ValueError(f"{label} has a format that is not read ({suffix or 'no suffix'}). Read are {_FORMATS}.")
    return _drawn(as_array(values, label), name, str(data), max_rows, seed)


def _from_chunks(chunks: Chunks, name: str, origin: str, max_rows: int | None, seed: int) -> Source:
    """A source of some rows of an array that is stored in chunks."""
    label = f"{name} ({origin})" if origin else name
    check_rows(np.broadcast_to(np.zeros((), chunks.dtype), chunks.shape), label)
    numbers = choose(chunks.shape[0], max_rows, seed)
    need = float(len(numbers)) * math.prod(chunks.shape[1:]) * 8
    check_room(need, label, "Give max_rows= to draw some of its rows.")
    pieces, start = [], 0
    for block in chunks.blocks():
        first, last = np.searchsorted(numbers, (start, start + len(block)))
        pieces.append(block[numbers[first:last] - start])
        start += len(block)
    return Source(_rows(as_array(np.concatenate(pieces), label), label), name, origin, numbers)


def _drawn(
    values: Array, name: str, origin: str, max_rows: int | None, seed: int, names: tuple[str, ...] | None = None
) -> Source:
    """A source of some rows of an array, which may still be in its file."""
    label = f"{name} ({origin})" if origin else name
    check_rows(values, label)
    numbers = choose(len(values), max_rows, seed)
    values = values[numbers] if len(numbers) < len(values) else values
    return Source(_rows(values, label, names), name, origin, numbers)


def _rows(values: Array, label: str, names: tuple[str, ...] | None = None) -> Rows | Images:
    check_rows(values, label)
    images = images_of(values, label) if values.ndim > 2 else None
    return images or Rows(values.reshape(len(values), -1), names)


def _as_images(source: Source, shape: Any, size: tuple[int, int] | None, columns: Any, drop: Any) -> Source:
    """Rows that are images are made so; columns of rows are selected; images get their size."""
    content = source.content
    if isinstance(content, Rows) and (columns is not None or drop is not None):
        keep = selected(source.columns, source.label, columns, drop)
        content = Rows(content.values[:, keep], tuple(source.columns[k] for k in keep))
        source = replace(source, content=content)
    if shape is not None:
        values = content.pixels if isinstance(content, Images) else _numbers(source, "image_shape=")
        assert not isinstance(values, Images)
        content = images_of(values, source.label, shape) or content
    if size is not None:
        if not isinstance(content, Images):
            raise ValueError(f"image_size= is for images, but {source.label} is a list of rows. Give image_shape= too.")
        content = content.resized(size)
    return replace(source, content=content)


def _numbers(source: Source, argument: str = "features=") -> Images | Array:
    """What a function can be applied to."""
    content = source.content
    values = (
        content.matrix() if isinstance(content, Table) else content.values if isinstance(content, Rows) else content
    )
    if values is None:
        raise ValueError(f"{argument} needs numbers or images, but {source.label} has columns of text or dates.")
    if argument == "features=" and not isinstance(values, Images):
        check_finite(values, source.label, advice="features= needs all values: open it with missing='drop'.")
    return values


def _checked(source: Source, missing: str) -> Source:
    content = source.content
    if isinstance(content, Images):
        check_finite(content.pixels, source.label)
        return source
    if isinstance(content, Table):
        check_table(content, source.label, missing)
        gaps = content.missing if missing == "drop" else None
    else:
        check_finite(
            content.values,
            source.label,
            allow_nan=missing != "error",
            advice="Remove or impute them, or open it with missing='indicator' or missing='drop'.",
        )
        gaps = _with_nan(content.values) if missing == "drop" else None
    if gaps is None or not gaps.any():
        return source
    if gaps.all():
        raise ValueError(f"{source.label} has missing values in every row: missing='drop' would leave nothing.")
    note = f"{int(gaps.sum())} of {len(source)} rows had missing values and were dropped."
    return replace(source.take(~gaps), notes=(*source.notes, note))


def _with_nan(values: Array) -> Array:
    """Which rows have a NaN; read block by block, as they may be in a file."""
    if values.dtype.kind != "f":
        return np.zeros(len(values), bool)
    return np.concatenate([np.isnan(block).any(axis=1) for _, block in blocks(values)])
