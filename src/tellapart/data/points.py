"""Two samples that can be compared, as tensors or as rows that stay where they are: the door of every test."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from typing import Any

import numpy as np
import torch
from torch import Tensor

from .._util.errors import InputError, note_after
from .formats import find_format
from .formats.arrays import Arrays
from .formats.parquet import Parts
from .lazy import Lazy, Points, Stored
from .notices import Keep, check_known, leave_out
from .options import ReadOptions, check_reading
from .pairs import Standardise, encode_numbers, encode_pair
from .paths import check_path
from .precision import Precision, coarsest, precision_of, round_tensor
from .read import check_pair, make_request, open_pair, read_with, use_format
from .sample import Sample, check_values, float_tensor
from .source import Source
from .stores import Spooled

_DEFAULTS = ReadOptions()


def as_sample(data: Any, name: str = "X", *, at_least: int = 1, **reading: Any) -> Sample:
    """Numbers as they came, checked, with one row for each point.

    Parameters
    ----------
    data
        Whatever `read` takes, of numbers only. A flat array is one coordinate. A `Sample` is given back.
    name
        What to call it in messages.
    at_least
        How many rows are needed.
    **reading
        Options of `read`.

    Examples
    --------
    >>> as_sample([[1, 2], [3, 4]]).values
    tensor([[1., 2.],
            [3., 4.]], dtype=torch.float64)
    >>> as_sample([1.0, float("nan")])
    Traceback (most recent call last):
    ...
    tellapart.InputError: X has 1 NaN among its 2 values, the first at row 1, column 0. Remove or ...
    """
    options = _check_options(reading)
    sample = _as_sample(data, name, options)
    _check_count(sample.values, name, at_least)
    return sample


def as_pair(
    X: Any,
    Y: Any,
    *,
    at_least: int = 1,
    names: tuple[str, str] = ("X", "Y"),
    dtype: torch.dtype | None = None,
    standardise: Standardise = False,
    **reading: Any,
) -> tuple[Sample, Sample]:
    """Two samples that can be compared: checked, of one row shape, one float type and one device.

    Parameters
    ----------
    X, Y
        Whatever `read` takes. Tables are matched by the names of their columns. Tensors and arrays keep their memory,
        and tensors their gradient.
    at_least
        How many rows each needs.
    names
        What to call them in messages.
    dtype
        The float type, by default the one that holds both.
    standardise
        False: numbers as they came; texts become 0 and 1, one coordinate for each. ``"auto"``: the columns of tables
        get mean 0 and standard deviation 1 over both samples, and texts together as much weight as one such column
        (see `Encoding`); arrays, tensors, images and features stay as they came. True: everything is standardised.
        Images whose pixels have different ranges (bytes, and floats from 0 to 1) are brought to [0, 1] in any case.
    **reading
        Options of `read`.

    Examples
    --------
    >>> x, y = as_pair([[1.0], [2.0]], [[3.0]])
    >>> x.values.shape, y.values.shape
    (torch.Size([2, 1]), torch.Size([1, 1]))
    """
    return _as_pair(X, Y, at_least, names, dtype, standardise, _check_options(reading))[0]


def as_points(
    X: Any,
    Y: Any,
    *,
    at_least: int = 1,
    names: tuple[str, str] = ("X", "Y"),
    standardise: Standardise = False,
    paired: bool = False,
    **reading: Any,
) -> tuple[Points, Points]:
    """Two samples that can be compared, as `as_pair` gives them; rows that can stay in their file are not read yet.

    That is so for what `open_lazy` opens, where neither options nor standardising change the rows.

    Parameters
    ----------
    X, Y, at_least, names, standardise, **reading
        As in `as_pair`.
    paired
        Whether row i of X and row i of Y belong together.
    """
    x, y, _ = open_points(X, Y, _check_options(reading), at_least, names, standardise, paired, keep=True)
    return x, y


def open_points(
    X: Any,
    Y: Any,
    options: ReadOptions,
    at_least: int,
    names: tuple[str, str],
    standardise: Standardise,
    paired: bool,
    keep: Keep = (),
) -> tuple[Points, Points, tuple[str, ...]]:
    """The same for options that are checked, without the columns that are left out; and notes on the samples."""
    options = replace(options, paired=paired)
    for data, name in zip((X, Y), names, strict=True):
        check_path(data, name)
    x: Points | None = _open_lazy(X, names[0], options, standardise, keep)
    y: Points | None = _open_lazy(Y, names[1], options, standardise, keep)
    if x is not None and y is None:
        y = _points_from_memory(Y, names[1], options)
    elif y is not None and x is None:
        x = _points_from_memory(X, names[0], options)
    if x is None or y is None:
        pair, notes = _as_pair(X, Y, at_least, names, None, standardise, options, keep)
        return pair[0].values, pair[1].values, notes
    if isinstance(y, Lazy):
        y = _reorder_columns(x, y, names)
    _check_alike(x, y, names, at_least)
    x, y = to_common_type([x, y], [X, Y])
    return x, y, ()


def open_rows(data: Any, name: str, options: ReadOptions) -> Points | None:
    """Rows of numbers that need no encoding, in memory or in their file; None for all else, tables among it."""
    check_path(data, name)
    found: Points | None = _open_lazy(data, name, options, "auto")
    return _points_from_memory(data, name, options) if found is None else found


def agree(points: list[Points], names: Sequence[str], at_least: int, data: Sequence[Any] | None = None) -> list[Points]:
    """Rows that can be compared, in one float type; raise `InputError` where they cannot be compared.

    Where they are not encoded yet, ``data`` is what the user gave: rows are compared in the coarsest of its precisions.
    """
    for other, name in zip(points[1:], names[1:], strict=True):
        _check_alike(points[0], other, (names[0], name), at_least)
    return to_common_type(points, data)


def to_common_type(points: Sequence[Points], data: Sequence[Any] | None) -> list[Points]:
    """Rows in the float type that holds all of them, rounded to the coarsest precision that they came in.

    Parameters
    ----------
    points
        The rows of each sample.
    data
        What the user gave for each sample, to see in which type it was stored; None to round nothing.
    """
    common = reduce(torch.promote_types, (part.dtype for part in points))
    found = [_to_dtype(part, common) for part in points]
    if data is None:
        return found
    precision = coarsest([_stored_precision(*pair) for pair in zip(data, points, strict=True)])
    return [
        part if isinstance(part, Lazy) and not isinstance(part, Stored) else _round(part, precision) for part in found
    ]


def _stored_precision(data: Any, points: Points) -> Precision:
    """Significant bits of the type that rows were stored in."""
    if isinstance(points, Stored):
        parts = _find_parts(points)
        return precision_of(points.store.dtype) if parts is None else parts.precision
    values = data.values if isinstance(data, Sample) else data
    return precision_of(getattr(values, "dtype", None))


def _round(points: Tensor | Stored, precision: Precision) -> Points:
    return round_tensor(points, precision) if isinstance(points, Tensor) else points.rounded(precision)


def _check_options(reading: dict[str, Any]) -> ReadOptions:
    return check_reading(reading) if reading else _DEFAULTS


def _as_pair(
    X: Any,
    Y: Any,
    at_least: int,
    names: tuple[str, str],
    dtype: torch.dtype | None,
    standardise: Standardise,
    options: ReadOptions,
    keep: Keep = True,
) -> tuple[tuple[Sample, Sample], tuple[str, ...]]:
    if standardise not in ("auto", True, False):
        raise InputError("unknown-choice", f"standardise={standardise!r} is not known. Choose 'auto', True or False.")
    x, y = (_from_memory(data, name, options) for data, name in zip((X, Y), names, strict=True))
    notes: tuple[str, ...] = ()
    encoded = False
    if x is None or y is None or standardise is True:
        pinned = [name for data, name in zip((X, Y), names, strict=True) if _is_pinned(data)]
        if pinned and (standardise is True or options.change_rows):
            raise InputError(
                "gradient-would-be-lost",
                f"{pinned[0]} has a gradient or is on a device, which options of reading would lose.",
            )
        if pinned:
            x, y = _as_sample(X, names[0], options), _as_sample(Y, names[1], options)
        else:
            encoded = True
            (first, second), notes = leave_out(open_pair(X, Y, names, options), keep, names, options.paired)
            first, second = check_pair(first, second, options.paired)
            own = (note_after(f"{source.label}: ", note) for source in (first, second) for note in source.notes)
            notes = tuple(dict.fromkeys((*notes, *own)))
            x, y = encode_pair(first, second, standardise)
            x, y = replace(x, from_tensor=_is_tensor(X)), replace(y, from_tensor=_is_tensor(Y))
    else:
        check_known(keep, x.names or tuple(map(str, range(x.values[:1].numel()))))
    y = _match_names(x, y, names)
    _check_alike(x.values, y.values, names, at_least)
    if dtype is not None:
        return (replace(x, values=x.values.to(dtype)), replace(y, values=y.values.to(dtype))), notes
    of_x, of_y = to_common_type([x.values, y.values], None if encoded else [X, Y])
    return (replace(x, values=of_x), replace(y, values=of_y)), notes  # type: ignore[arg-type]


def _as_sample(data: Any, name: str, options: ReadOptions) -> Sample:
    sample = _from_memory(data, name, options)
    return encode_numbers(read_with(data, name, options)) if sample is None else sample


def _from_memory(data: Any, name: str, options: ReadOptions) -> Sample | None:
    """The short way for arrays and tensors, which shares their memory; None for everything else."""
    if options.change_rows or isinstance(data, (Source, Lazy)):
        return None
    if isinstance(data, Sample):
        return data
    if not isinstance(data, (Tensor, np.ndarray)):
        request = make_request(data, name, options)
        if not isinstance(find_format(request), Arrays):
            return None
    values = float_tensor(data, name)
    check_values(values, name)
    return Sample(values, from_tensor=isinstance(data, Tensor))


def _open_lazy(data: Any, name: str, options: ReadOptions, standardise: Standardise, keep: Keep = True) -> Lazy | None:
    if options.change_rows or standardise is True or isinstance(data, (Tensor, Source, Sample)):
        return None
    request = make_request(data, name, options)
    entry = find_format(request)
    # What a table is without is known once all of it is read.
    if entry.tabular and (standardise == "auto" or keep is not True):
        return None
    return use_format(request, entry.open_lazy)


def _points_from_memory(data: Any, name: str, options: ReadOptions) -> Points | None:
    sample = _from_memory(data, name, options)
    return None if sample is None else sample.values


def _reorder_columns(x: Points, y: Lazy, names: tuple[str, str]) -> Lazy:
    """The columns of a second Parquet file in the order of the first."""
    first, second = _find_parts(x), _find_parts(y)
    if first is None or second is None or first.names == second.names:
        return y
    if set(first.names) != set(second.names):
        raise _differing_columns(first.names, second.names, names)
    return Stored(Spooled(second.with_columns(first.names), second.label), second.label)


def _find_parts(points: Points) -> Parts | None:
    chunks = points.store.chunks if isinstance(points, Stored) and isinstance(points.store, Spooled) else None
    return chunks if isinstance(chunks, Parts) else None


def _match_names(x: Sample, y: Sample, names: tuple[str, str]) -> Sample:
    """The second sample with its columns in the order of the first, where both have names."""
    if x.names is None or y.names is None or x.names == y.names:
        return y
    if len(set(x.names)) < len(x.names) or set(x.names) != set(y.names) or len(x.names) != len(y.names):
        raise _differing_columns(x.names, y.names, names)
    order = [y.names.index(name) for name in x.names]
    columns = None if y.columns is None else tuple(y.columns[k] for k in order)
    return replace(y, values=y.values[:, order], names=x.names, columns=columns)


def _differing_columns(first: tuple[str, ...], second: tuple[str, ...], names: tuple[str, str]) -> InputError:
    odd = sorted(set(first) ^ set(second))[:5] or ["names that stand twice"]
    return InputError(
        "columns-differ",
        f"{names[0]} and {names[1]} must have the same columns, but they differ in {', '.join(map(repr, odd))}.",
        "Rename columns, leave some out with {columns} or {drop}, or give arrays to compare by position.",
        columns=...,
        drop=...,
    )


def _check_alike(x: Points, y: Points, names: tuple[str, str], at_least: int) -> None:
    """Complain about too few rows, and rows of different shapes or on different devices."""
    _check_count(x, names[0], at_least)
    _check_count(y, names[1], at_least)
    if x.shape[1:] != y.shape[1:]:
        shapes = [" × ".join(map(str, points.shape[1:])) for points in (x, y)]
        raise InputError(
            "shapes-differ",
            f"{names[0]} and {names[1]} must have rows of the same shape, but {names[0]} has {shapes[0]} and "
            f"{names[1]} has {shapes[1]}. Give both the same coordinates in the same order.",
        )
    if x.device != y.device:
        raise InputError(
            "devices-differ", f"{names[0]} is on {x.device} and {names[1]} on {y.device}. Move one with .to(device)."
        )


def _check_count(points: Points, name: str, at_least: int) -> None:
    if len(points) < at_least:
        raise InputError("too-few-rows", f"{name} needs at least {at_least} rows, but has {len(points)}.")


def _is_pinned(data: Any) -> bool:
    """Whether a gradient, or a place on a device, would be lost on the way through a source."""
    values = data.values if isinstance(data, Sample) else data
    return isinstance(values, Tensor) and (values.requires_grad or values.device.type != "cpu")


def _is_tensor(data: Any) -> bool:
    return isinstance(data, Tensor) or (isinstance(data, Sample) and data.from_tensor)


def _to_dtype(points: Points, dtype: torch.dtype) -> Points:
    return points.to(dtype) if isinstance(points, (Tensor, Stored)) else points
