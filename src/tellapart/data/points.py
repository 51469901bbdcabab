"""Rows of numbers that are compared as they came: arrays that keep their memory, or rows that stay in their file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from .._util.errors import InputError
from .._util.tensors import is_tensor
from .arrays import as_array
from .content.alignment import check_same_columns
from .finite import check_values
from .formats.arrays import Arrays, type_name
from .formats.parquet import Parts
from .lazy import Lazy, Points, Stored
from .locate import Location
from .options import ReadOptions
from .precision import Precision, coarsest, precision_of, round_array
from .sample import Sample, float_array
from .source import Source
from .stores import Spooled


def open_rows(
    location: Location, options: ReadOptions, *, tables: bool = False, tensors: bool = False
) -> Sample | Lazy | None:
    """Rows of numbers that need no encoding, in memory or in their file; None for everything else.

    ``tables`` says whether the columns of a Parquet file may be such rows: only if none of them may be left out, which
    is known once all of it is read, and none is brought to another scale. For ``tensors`` see `open_memory`.
    """
    if options.change_rows or isinstance(location.data, Source):
        return None
    if not (is_tensor(location.data) or isinstance(location.data, Sample)) and (tables or not location.format.tabular):
        lazy = location.open_lazy(options)
        if lazy is not None:
            return lazy
    return open_memory(location, options, tensors=tensors)


def open_memory(location: Location, options: ReadOptions, *, tensors: bool = False) -> Sample | None:
    """The short way for arrays and tensors, which shares their memory; None for everything else.

    ``tensors`` says whether what computes with torch is to have tensors as they came, where a gradient or a place on a
    device would be lost otherwise.
    """
    data = location.data
    if options.change_rows or isinstance(data, (Source, Lazy)):
        return None
    if isinstance(data, Sample):
        return data if tensors else replace(data, values=as_array(data.values, location.name))
    if not (is_tensor(data) or isinstance(data, np.ndarray)) and not isinstance(location.format, Arrays):
        return None
    if tensors and is_pinned(data):
        from .torch_rows import float_tensor

        values: Any = float_tensor(data, location.name)
        stored = data.dtype
    else:
        array = as_array(data, location.name)
        stored = data.dtype if is_tensor(data) else array.dtype
        values = float_array(array, location.name)
    check_values(values, location.name)
    return Sample(values, from_tensor=is_tensor(data), stored=type_name(stored))


def agree(rows: Sequence[Sample | Lazy], located: Sequence[Location], at_least: int) -> list[Points]:
    """Rows of several samples that can be compared: columns in one order, one float type, one precision.

    Raises
    ------
    InputError
        If they cannot be compared, or are fewer than ``at_least``.
    """
    names = [location.name for location in located]
    found: list[Points] = []
    first = rows[0]
    for part, name in zip(rows, names, strict=True):
        if isinstance(part, Sample):
            part = match_names(first, part, (names[0], name)) if isinstance(first, Sample) else part
            found.append(part.values)
        else:
            found.append(_reorder_columns(found[0], part, (names[0], name)) if found else part)
    check_alike(found, names, at_least)
    return to_common_type(found, [location.data for location in located])


def check_alike(points: Sequence[Points], names: Sequence[str], at_least: int) -> None:
    """Raise `InputError` for too few rows, and for rows of different shapes or on different devices."""
    first = points[0]
    for other, name in zip(points[1:], names[1:], strict=True):
        check_count(first, names[0], at_least)
        check_count(other, name, at_least)
        if first.shape[1:] != other.shape[1:]:
            shapes = [" × ".join(map(str, part.shape[1:])) for part in (first, other)]
            raise InputError(
                "shapes-differ",
                f"{names[0]} and {name} must have rows of the same shape, but {names[0]} has {shapes[0]} and "
                f"{name} has {shapes[1]}. Give both the same coordinates in the same order.",
            )
        devices = [str(getattr(part, "device", "cpu")) for part in (first, other)]
        if devices[0] != devices[1]:
            raise InputError(
                "devices-differ",
                f"{names[0]} is on {devices[0]} and {name} on {devices[1]}. Move one with .to(device).",
            )


def to_common_type(points: Sequence[Points], data: Sequence[Any] | None) -> list[Any]:
    """Rows in the float type that holds all of them, rounded to the coarsest precision that they came in.

    If some are tensors, all become tensors.

    Parameters
    ----------
    points
        The rows of each sample.
    data
        What the user gave for each sample, to see in which type it was stored; None to round nothing.
    """
    double = any(part.dtype.itemsize == 8 for part in points)
    found = [_to_float(part, double) for part in points]
    if data is not None:
        precision = coarsest([_stored_precision(*pair) for pair in zip(data, points, strict=True)])
        found = [_round(part, precision) for part in found]
    if any(map(is_tensor, found)):
        from .torch_rows import as_tensors

        return [as_tensors(part) for part in found]
    return found


def match_names(x: Sample, y: Sample, names: tuple[str, str]) -> Sample:
    """The second sample with its columns in the order of the first, where both have names."""
    if x.names is None or y.names is None or x.names == y.names:
        return y
    for own, name in zip((x.names, y.names), names, strict=True):
        if len(set(own)) < len(own):
            raise InputError("columns-differ", f"{name} has columns of the same name. Give arrays, or rename them.")
    check_same_columns(x.names, y.names, names)
    order = [y.names.index(name) for name in x.names]
    columns = None if y.columns is None else tuple(y.columns[k] for k in order)
    return replace(y, values=y.values[:, order], names=x.names, columns=columns)


def check_count(points: Points, name: str, at_least: int) -> None:
    """Raise `InputError` if there are too few rows."""
    if len(points) < at_least:
        raise InputError("too-few-rows", f"{name} needs at least {at_least} rows, but has {len(points)}.")


def is_pinned(data: Any) -> bool:
    """Whether a gradient, or a place on a device, would be lost on the way through a source."""
    values = data.values if isinstance(data, Sample) else data
    return is_tensor(values) and (values.requires_grad or values.device.type != "cpu")


def _stored_precision(data: Any, points: Points) -> Precision:
    """Significant bits of the type that rows were stored in."""
    if isinstance(points, Stored):
        parts = _find_parts(points)
        return precision_of(points.store.dtype) if parts is None else parts.precision
    values = data.values if isinstance(data, Sample) else data
    return precision_of(getattr(values, "dtype", None))


def _round(points: Any, precision: Precision) -> Any:
    if isinstance(points, Lazy):
        return points.rounded(precision)
    if is_tensor(points):
        from .torch_rows import round_tensor

        return round_tensor(points, precision)
    return round_array(points, precision)


def _reorder_columns(x: Points, y: Points, names: tuple[str, str]) -> Points:
    """The columns of a second Parquet file in the order of the first."""
    first, second = _find_parts(x), _find_parts(y)
    if first is None or second is None or first.names == second.names:
        return y
    check_same_columns(first.names, second.names, names)
    return Stored(Spooled(second.with_columns(first.names), second.label), second.label)


def _find_parts(points: Points) -> Parts | None:
    chunks = points.store.chunks if isinstance(points, Stored) and isinstance(points.store, Spooled) else None
    return chunks if isinstance(chunks, Parts) else None


def _to_float(points: Any, double: bool) -> Any:
    """Rows in double or single precision."""
    if is_tensor(points):
        return points.double() if double else points.float()
    dtype = np.dtype(np.float64 if double else np.float32)
    return points.astype(dtype) if isinstance(points, Lazy) else points.astype(dtype, copy=False)
