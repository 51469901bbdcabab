"""Values that were stored with different precision are compared in the coarser one.

The float32 number nearest to 0.1 is not the float64 number nearest to 0.1. A sample stored in one type would always
differ from the same sample stored in the other. So values of both samples are rounded to the coarser type. The rounding
is the same function of a value in both samples: permutation tests stay exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from .arrays import Array

#: Significant bits of a float type: of a whole array, or of each of its columns.
Precision: TypeAlias = "int | Array"

#: Significant bits of float64. Whole numbers, booleans and dates have this precision too.
DOUBLE = 53
_BITS = {"bfloat16": 8, "float16": 11, "float32": 24}


def precision_of(dtype: Any) -> int:
    """Significant bits of a float type of NumPy, torch or another library; 53 for all other types.

    >>> precision_of(np.dtype("float16")), precision_of(np.dtype("float32")), precision_of(np.dtype("int8"))
    (11, 24, 53)
    """
    return _BITS.get(str(dtype).rpartition(".")[2].lower(), DOUBLE)


def coarsest(precisions: Sequence[Precision]) -> Precision:
    """The smallest of some precisions, column by column where they are given by column."""
    found: Array = np.minimum.reduce(np.broadcast_arrays(*precisions))
    return int(found) if found.ndim == 0 else found


def round_array(values: Array, precision: Precision) -> Array:
    """Values rounded to the nearest of a float type; those beyond its range stay as they are.

    >>> round_array(np.array([0.1, 1e300]), 24).tolist()
    [0.10000000149011612, 1e+300]
    """
    if isinstance(precision, np.ndarray):
        if all(_holds(values.dtype, bits) for bits in set(precision.tolist())):
            return values
        rounded = values.astype(values.dtype if values.dtype.kind == "f" else np.float64)
        for k in range(len(precision)):
            rounded[..., k] = round_array(values[..., k], int(precision[k]))
        return rounded
    if _holds(values.dtype, precision):
        return values
    wide = values.astype(np.float64)
    with np.errstate(over="ignore"):
        rounded = _cast(wide, precision)
    rounded = np.where(np.isfinite(rounded), rounded, wide)
    return rounded.astype(values.dtype) if values.dtype.kind == "f" else rounded


def to_single(values: Array) -> Array:
    """Numbers as single precision has them; those beyond its largest become that.

    >>> to_single(np.array([0.1, 1e100])).tolist()
    [0.10000000149011612, 3.4028234663852886e+38]
    """
    largest = np.finfo(np.float32).max
    return np.clip(values, -largest, largest).astype(np.float32).astype(np.float64)


def _holds(dtype: np.dtype[Any], bits: int) -> bool:
    """Whether floats of this precision hold all values of a type. (Of 64-bit integers: all that float64 holds.)"""
    return bits >= min(precision_of(dtype), DOUBLE if dtype.kind == "f" else 8 * dtype.itemsize)


def _cast(wide: Array, bits: int) -> Array:
    if bits == _BITS["bfloat16"]:
        return _round_to_bfloat16(wide.astype(np.float32)).astype(np.float64)
    return wide.astype(np.float16 if bits == _BITS["float16"] else np.float32).astype(np.float64)


def _round_to_bfloat16(single: Array) -> Array:
    """Numbers rounded to the nearest of bfloat16, which is the first half of float32 and which NumPy does not have."""
    bits = single.view(np.uint32)
    even = (bits >> np.uint32(16)) & np.uint32(1)
    rounded: Array = ((bits + np.uint32(0x7FFF) + even) & np.uint32(0xFFFF0000)).view(np.float32)
    return np.where(np.isnan(single), single, rounded)
