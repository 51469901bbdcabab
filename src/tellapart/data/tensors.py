"""Samples as tensors, for statistics that take numbers as they come and may be differentiated."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch

from .._util.errors import InputError
from .._util.tensors import is_tensor
from .encoding import Standardise
from .lazy import TensorPoints
from .locate import locate
from .open import open_samples, read_numbers
from .options import ReadOptions, check_reading
from .points import check_count
from .sample import Sample
from .torch_rows import TensorSample, as_tensors

_DEFAULTS = ReadOptions()


def as_sample(data: Any, name: str = "X", *, at_least: int = 1, **reading: Any) -> TensorSample:
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
    sample = read_numbers(locate(data, name), _check_options(reading))
    check_count(sample.values, name, at_least)
    return TensorSample.of(sample)


def as_pair(
    X: Any,
    Y: Any,
    *,
    at_least: int = 1,
    names: tuple[str, str] = ("X", "Y"),
    dtype: torch.dtype | None = None,
    standardise: Standardise = False,
    **reading: Any,
) -> tuple[TensorSample, TensorSample]:
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
    if standardise not in ("auto", True, False):
        raise InputError("unknown-choice", f"standardise={standardise!r} is not known. Choose 'auto', True or False.")
    options = _check_options(reading)
    opened = open_samples(
        (X, Y), names, options, keep_columns=True, min_rows=at_least, standardise=standardise, lazy=False, tensors=True
    )
    x, y = map(TensorSample.of, opened.encode().encoded)
    return (
        replace(x, from_tensor=_is_tensor(X), values=x.values.to(dtype or x.values.dtype)),
        replace(y, from_tensor=_is_tensor(Y), values=y.values.to(dtype or y.values.dtype)),
    )


def as_points(
    X: Any,
    Y: Any,
    *,
    at_least: int = 1,
    names: tuple[str, str] = ("X", "Y"),
    standardise: Standardise = False,
    paired: bool = False,
    **reading: Any,
) -> tuple[TensorPoints, TensorPoints]:
    """Two samples that can be compared, as `as_pair` gives them; rows that can stay in their file are not read yet.

    That is so for what `open_lazy` opens, where neither options nor standardising change the rows.

    Parameters
    ----------
    X, Y, at_least, names, standardise, **reading
        As in `as_pair`.
    paired
        Whether row i of X and row i of Y belong together.
    """
    options = _check_options(reading)
    opened = open_samples(
        (X, Y),
        names,
        options,
        keep_columns=True,
        min_rows=at_least,
        standardise=standardise,
        paired=paired,
        tensors=True,
    )
    x, y = map(as_tensors, opened.encode().points)
    return x, y


def _check_options(reading: dict[str, Any]) -> ReadOptions:
    return check_reading(reading) if reading else _DEFAULTS


def _is_tensor(data: Any) -> bool:
    return is_tensor(data) or (isinstance(data, Sample) and data.from_tensor)
