"""Numbers in whatever container, as one NumPy array whose memory is shared where it can be."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from .._util.errors import InputError, InputTypeError
from .._util.extras import extra
from .._util.tensors import is_tensor

if TYPE_CHECKING:
    from torch import Tensor

Array: TypeAlias = np.ndarray[Any, Any]

#: How many numbers are looked at together where an array may be larger than memory.
_BLOCK = 2**22

_COMPLEX = "has complex numbers. Stack the real and the imaginary part as two coordinates."


def as_array(data: Any, name: str) -> Array:
    """An array of real numbers, of any shape and number type; what holds no numbers is named in the error."""
    if not is_tensor(data) and hasattr(data, "__dlpack__") and not hasattr(data, "__array__"):
        data = _from_dlpack(data)
    if is_tensor(data):
        return _from_tensor(data, name)
    if type(data).__module__.startswith("scipy.sparse"):
        raise InputTypeError("sparse-array", f"{name} is sparse. Make it dense with {name}.toarray().")
    if np.ma.is_masked(data):
        raise InputError(
            "masked-values", f"{name} has masked values. Remove those rows, or fill them with {name}.filled(…)."
        )
    if isinstance(data, (str, bytes)):
        raise InputTypeError("not-an-array", f"{name} is a string ({data[:40]!r}). Give the array itself.")
    try:
        array = np.asarray(data)
    except ValueError:
        raise InputError(
            "ragged-rows", f"{name} has rows of different lengths. Give every row the same coordinates."
        ) from None
    if array.dtype.kind == "f" and isinstance(data, (list, tuple)) and np.abs(array).max(initial=0.0) >= 2**53:
        array = np.asarray(data, object)  # NumPy has rounded whole numbers where some are floats, or negative
    if array.dtype.kind == "O":
        array = _from_objects(array, name)
    if array.dtype.kind not in "biufc":
        raise InputTypeError(
            "not-numbers", f"{name} must hold numbers, but holds {array.dtype}. Encode text and dates as numbers."
        )
    if array.dtype.kind == "c":
        raise InputTypeError("complex-numbers", f"{name} {_COMPLEX}")
    return array


def check_dense_real(values: Tensor, name: str) -> None:
    """Raise `InputTypeError` for tensors that are sparse or complex."""
    if values.is_complex():
        raise InputTypeError("complex-numbers", f"{name} {_COMPLEX}")
    if values.is_sparse or str(values.layout) != "torch.strided":
        raise InputTypeError("sparse-array", f"{name} is sparse. Make it dense with {name}.to_dense().")


def iterate_blocks(array: Array) -> Iterator[tuple[slice, Array]]:
    """The rows of an array, some at a time, each block with its place."""
    step = max(1, _BLOCK // max(1, array[:1].size))
    for start in range(0, len(array), step):
        rows = slice(start, min(start + step, len(array)))
        yield rows, array[rows]


def fits_single(dtype: np.dtype[Any]) -> bool:
    """Whether float32 holds every value of a type exactly."""
    return dtype.itemsize <= (4 if dtype.kind == "f" else 2)


def float_type(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The smallest of float32 and float64 that holds every value of a type (int64: up to 2**53)."""
    return np.dtype(np.float32 if fits_single(dtype) else np.float64)


def check_exact(array: Array, name: str) -> None:
    """Raise `InputError` for whole numbers beyond 2**53, if some that differ become the same float."""
    if array.dtype.kind not in "iu" or array.dtype.itemsize < 8 or not array.size:
        return
    if int(array.max()) <= 2**53 and int(array.min()) >= -(2**53):
        return
    large = np.unique(array)
    rounded = large.astype(np.float64)
    merged = np.flatnonzero(rounded[1:] == rounded[:-1])
    if len(merged):
        raise _merged(name, *(int(large[merged[0] + k]) for k in range(2)))


def check_whole(values: Iterable[int], name: str) -> None:
    """`check_exact` for whole numbers of Python, which may be larger than those of NumPy."""
    large = sorted({value for value in values if abs(value) >= 2**53})
    for first, second in pairwise(large):
        if _as_float(first) == _as_float(second):
            raise _merged(name, first, second)


def _as_float(value: int) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.copysign(math.inf, value)


def _merged(name: str, first: int, second: int) -> InputError:
    return InputError(
        "indistinct-integers",
        f"{name} has whole numbers beyond 2**53 that floats cannot tell apart, such as {first} and {second}. Leave "
        "them out if they are identifiers, or subtract an offset.",
    )


def check_rows(shape: tuple[int, ...], name: str) -> None:
    """There must be rows, and something in them."""
    if not shape:
        raise InputError("not-rows", f"{name} is a single number. Give one row for each point.")
    if shape[0] == 0:
        raise InputError("no-rows", f"{name} is empty: it has no rows.")
    if 0 in shape:
        raise InputError("no-columns", f"{name} has {shape[0]} rows but no columns (shape {tuple(shape)}).")


def _from_tensor(values: Tensor, name: str) -> Array:
    check_dense_real(values, name)
    values = values.detach().cpu()
    array: Array = (values.float() if str(values.dtype) == "torch.bfloat16" else values).numpy()
    return array


def _from_dlpack(data: Any) -> Any:
    try:
        return np.from_dlpack(data)
    except (BufferError, RuntimeError, TypeError):  # on a device, or of a type that NumPy does not have
        return extra("torch", group="torch", what="An array with __dlpack__ alone").from_dlpack(data)


def _from_objects(array: Array, name: str) -> Array:
    """Numbers that came as Python objects."""
    for item in array.flat:
        if isinstance(item, (str, bytes)) or not isinstance(item, (int, float, np.number, np.bool_)):
            raise InputTypeError(
                "not-numbers",
                f"{name} must hold numbers, but holds {item!r:.80} ({type(item).__name__}). "
                "Encode text and dates as numbers, and give every row the same coordinates.",
            )
    check_whole((int(item) for item in array.flat if isinstance(item, (int, np.integer))), name)
    return array.astype(np.float64)
