"""Samples that may be larger than memory: left where they are if they can be read from there."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from .arrays import check_rows
from .delimited import parquet_parts
from .files import npy_layout
from .lazy import Lazy, Points, Stored
from .sample import as_pair, as_sample
from .stores import Columns, DaskArray, Parquet, Plain, Spooled, Zarr


def as_points(X: Any, Y: Any, *, at_least: int = 1) -> tuple[Points, Points]:
    """Two samples that can be compared, checked as `as_pair` does; what `open_lazy` opens is not read yet."""
    lazy_x, lazy_y = open_lazy(X, "X"), open_lazy(Y, "Y")
    if lazy_x is None and lazy_y is None:
        pair = as_pair(X, Y, at_least=at_least)
        return pair[0].values, pair[1].values
    x: Points = as_sample(X, "X").values if lazy_x is None else lazy_x
    y: Points = as_sample(Y, "Y").values if lazy_y is None else _in_order_of(x, lazy_y)
    for points, name in ((x, "X"), (y, "Y")):
        if len(points) < at_least:
            raise ValueError(f"{name} needs at least {at_least} rows, but has {len(points)}.")
    if x.shape[1:] != y.shape[1:]:
        shapes = [" × ".join(map(str, points.shape[1:])) for points in (x, y)]
        raise ValueError(
            f"X and Y must have rows of the same shape, but X has {shapes[0]} and Y has {shapes[1]}. "
            "Give both the same coordinates in the same order."
        )
    if x.device != y.device:
        raise ValueError(f"X is on {x.device} and Y on {y.device}. Move one with .to(device).")
    common = torch.promote_types(x.dtype, y.dtype)
    return _as_type(x, common), _as_type(y, common)


def open_lazy(data: Any, name: str = "X") -> Lazy | None:
    """Rows that can be read when they are used; None if ``data`` is in memory, or must be read as a whole.

    Parameters
    ----------
    data
        A path: .npy, .parquet (one file or a folder of parts) or zarr, of numbers only. Or an array that NumPy has
        mapped into memory, or a Dask array.
    name
        What to call it in messages.

    Notes
    -----
    Rows of Parquet, zarr and Dask are decoded once, to a temporary file (in ``TMPDIR``).
    """
    if isinstance(data, Lazy):
        return data
    if isinstance(data, (str, os.PathLike)):
        return _from_path(Path(data).expanduser(), f"{name} ({data})")
    if isinstance(data, np.memmap):
        store = _from_memmap(data, name)
        return None if store is None else Stored(store, name)
    if is_dask(data):
        return Stored(Spooled(DaskArray(data, name), name), name)
    return None


def is_dask(data: Any) -> bool:
    """Whether this is a Dask array."""
    return type(data).__module__.startswith("dask.array")


def is_zarr(path: Path) -> bool:
    """Whether a zarr array, or a group of them, is at a path."""
    return any((path / mark).exists() for mark in ("zarr.json", ".zarray", ".zgroup"))


def _from_path(path: Path, label: str) -> Lazy | None:
    if not path.exists():
        raise FileNotFoundError(f"{label} does not exist. Check the path: it is looked up from {Path.cwd()}.")
    if path.suffix.lower() == ".npy":
        shape, fortran, dtype, start = npy_layout(path, label)
        check_rows(np.broadcast_to(np.zeros((), dtype), shape), label)
        if fortran:
            return Stored(Spooled(Columns(path), label), label)
        return Stored(Plain(path, label, start, dtype, shape), label)
    if parts := parquet_parts(path):
        return Stored(Spooled(Parquet(parts, label), label), label)
    if is_zarr(path):
        return Stored(Spooled(Zarr(str(path.absolute()), label), label), label)
    return None


def _from_memmap(array: np.memmap[Any, Any], label: str) -> Plain | None:
    """The file of an array that is mapped into memory, if its rows lie there one after the other."""
    whole = array
    while isinstance(whole.base, np.memmap):
        whole = whole.base
    if not array.flags.c_contiguous or not isinstance(whole.filename, (str, os.PathLike)) or whole.mode == "c":
        return None
    offset = whole.offset + array.ctypes.data - whole.ctypes.data
    return Plain(Path(whole.filename), label, offset, array.dtype, array.shape)


def _in_order_of(x: Points, y: Lazy) -> Lazy:
    """The columns of a second Parquet file in the order of the first."""
    first, second = _parquet(x), _parquet(y)
    if first is None or second is None or first.names == second.names:
        return y
    if set(first.names) != set(second.names):
        odd = sorted(set(first.names) ^ set(second.names))[:5]
        raise ValueError(f"X and Y must have the same columns, but they differ in {', '.join(map(repr, odd))}.")
    return Stored(Spooled(second.with_columns(first.names), second.label), second.label)


def _parquet(points: Points) -> Parquet | None:
    chunks = points.store.chunks if isinstance(points, Stored) and isinstance(points.store, Spooled) else None
    return chunks if isinstance(chunks, Parquet) else None


def _as_type(points: Points, dtype: torch.dtype) -> Points:
    return points.to(dtype) if isinstance(points, (Tensor, Stored)) else points
