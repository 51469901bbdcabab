"""Numbers in whatever container, as one NumPy array whose memory is shared where it can be."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

import numpy as np
import torch
from torch import Tensor

Array: TypeAlias = np.ndarray[Any, Any]

#: Numbers that are looked at together where an array may be larger than memory.
_BLOCK = 2**22


def as_array(data: Any, name: str) -> Array:
    """An array of real numbers, of any shape and number type; what holds no numbers is named in the error."""
    if isinstance(data, Tensor):
        return _from_tensor(data, name)
    if type(data).__module__.startswith("scipy.sparse"):
        raise TypeError(f"{name} is sparse. Make it dense with {name}.toarray().")
    if np.ma.is_masked(data):
        raise ValueError(f"{name} has masked values. Remove those rows, or fill them with {name}.filled(…).")
    if isinstance(data, (str, bytes)):
        raise TypeError(f"{name} is a string ({data[:40]!r}). Give the array itself.")
    try:
        array = np.asarray(data)
    except ValueError:
        raise ValueError(f"{name} has rows of different lengths. Give every row the same coordinates.") from None
    if array.dtype.kind == "O":
        array = _from_objects(array, name)
    if array.dtype.kind not in "biufc":
        raise TypeError(f"{name} must hold numbers, but holds {array.dtype}. Encode text and dates as numbers.")
    if array.dtype.kind == "c":
        raise TypeError(f"{name} has complex numbers. Stack the real and the imaginary part as two coordinates.")
    return array


def blocks(array: Array) -> Iterator[tuple[slice, Array]]:
    """The rows of an array, some at a time, each with where it stands."""
    step = max(1, _BLOCK // max(1, array[:1].size))
    for start in range(0, len(array), step):
        rows = slice(start, min(start + step, len(array)))
        yield rows, array[rows]


def float_type(array: Array) -> torch.dtype:
    """The smallest of float32 and float64 that holds every value of the array's type (int64: up to 2**53)."""
    exact = array.dtype.itemsize <= (4 if array.dtype.kind == "f" else 2)
    return torch.float32 if exact else torch.float64


def check_rows(array: Array, name: str) -> None:
    """There must be rows, and something in them."""
    if array.ndim == 0:
        raise ValueError(f"{name} is a single number. Give one row for each point.")
    if len(array) == 0:
        raise ValueError(f"{name} is empty: it has no rows.")
    if array.size == 0:
        raise ValueError(f"{name} has {len(array)} rows but no columns (shape {array.shape}).")


def check_finite(array: Array, name: str, *, allow_nan: bool = False, advice: str = "Remove or impute them.") -> None:
    """Say how many values are not finite numbers, and where the first stands."""
    if array.dtype.kind != "f":
        return
    for what, test in (("NaN", np.isnan), ("infinite", np.isinf)):
        if what == "NaN" and allow_nan:
            continue
        count, first = 0, (0, 0)
        for rows, block in blocks(array):
            bad = test(block).reshape(len(block), -1)
            if bad.any():
                row, column = np.argwhere(bad)[0]
                first = first if count else (rows.start + int(row), int(column))
                count += int(bad.sum())
        if count:
            raise ValueError(
                f"{name} has {count} {what} among its {array.size} values, the first at row {first[0]}, "
                f"column {first[1]}. {advice if what == 'NaN' else 'Remove or impute them.'}"
            )


def _from_tensor(values: Tensor, name: str) -> Array:
    if values.is_complex():
        raise TypeError(f"{name} has complex numbers. Stack the real and the imaginary part as two coordinates.")
    if values.is_sparse or values.layout != torch.strided:
        raise TypeError(f"{name} is sparse. Make it dense with {name}.to_dense().")
    values = values.detach().cpu()
    array: Array = (values.float() if values.dtype == torch.bfloat16 else values).numpy()
    return array


def _from_objects(array: Array, name: str) -> Array:
    """Numbers that came as Python objects (a DataFrame of mixed number types does that)."""
    for item in array.flat:
        if isinstance(item, (str, bytes)) or not isinstance(item, (int, float, np.number, np.bool_)):
            raise TypeError(
                f"{name} must hold numbers, but holds {item!r} ({type(item).__name__}). "
                "Encode text and dates as numbers, and give every row the same coordinates."
            )
    return array.astype(np.float64)
