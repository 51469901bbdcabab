"""Whatever a user has, as a checked `Sample`: every complaint about input data is made here."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

#: The smallest float type that holds every value of a type exactly (int64: up to 2**53).
_EXACT = {
    torch.float64: torch.float64,
    torch.int32: torch.float64,
    torch.int64: torch.float64,
    torch.uint32: torch.float64,
    torch.uint64: torch.float64,
}


@dataclass(frozen=True)
class Sample:
    """A checked sample.

    Attributes
    ----------
    values
        A finite float tensor with one row (of any shape: images stay images) for each point.
    names
        The names of the coordinates, where the data have them.
    from_tensor
        Whether the user gave a tensor, and so gets tensors back.
    """

    values: Tensor
    names: tuple[str, ...] | None = None
    from_tensor: bool = False

    def __len__(self) -> int:
        return len(self.values)


def as_sample(data: Any, name: str = "X", *, at_least: int = 1) -> Sample:
    """Check ``data`` and turn it into a `Sample`.

    Parameters
    ----------
    data
        Array, tensor, DataFrame or nested list with one row for each point. A flat array is one coordinate.
    name
        What to call it in error messages.
    at_least
        How many rows are needed.

    Examples
    --------
    >>> as_sample([[1, 2], [3, 4]]).values
    tensor([[1., 2.],
            [3., 4.]], dtype=torch.float64)
    >>> as_sample([1.0, float("nan")])
    Traceback (most recent call last):
    ...
    ValueError: X has 1 NaN among its 2 values, the first at row 1, column 0. Remove or impute them.
    """
    if isinstance(data, Sample):
        sample = data
    else:
        names = getattr(data, "columns", None)
        _check_columns(data, name)
        sample = Sample(
            values=_float_tensor(data, name),
            names=None if names is None else tuple(str(column) for column in names),
            from_tensor=isinstance(data, Tensor),
        )
        _check(sample.values, name)
    if len(sample) < at_least:
        raise ValueError(f"{name} needs at least {at_least} rows, but has {len(sample)}.")
    return sample


def as_pair(
    X: Any,
    Y: Any,
    *,
    at_least: int = 1,
    dtype: torch.dtype | None = None,
    names: tuple[str, str] = ("X", "Y"),
) -> tuple[Sample, Sample]:
    """Two samples that can be compared: checked, of one row shape, one float type and one device."""
    x, y = (as_sample(data, name, at_least=at_least) for data, name in zip((X, Y), names, strict=True))
    y = _matched(x, y, names)
    if x.values.shape[1:] != y.values.shape[1:]:
        shapes = [" × ".join(map(str, s.values.shape[1:])) for s in (x, y)]
        raise ValueError(
            f"{names[0]} and {names[1]} must have rows of the same shape, but {names[0]} has {shapes[0]} and "
            f"{names[1]} has {shapes[1]}. Give both the same coordinates in the same order."
        )
    if x.values.device != y.values.device:
        raise ValueError(
            f"{names[0]} is on {x.values.device} and {names[1]} on {y.values.device}. Move one with .to(device)."
        )
    common = dtype or torch.promote_types(x.values.dtype, y.values.dtype)
    return replace(x, values=x.values.to(common)), replace(y, values=y.values.to(common))


def _matched(x: Sample, y: Sample, names: tuple[str, str]) -> Sample:
    """The second sample with its columns in the order of the first, where both have names."""
    if x.names is None or y.names is None or x.names == y.names:
        return y
    if len(set(x.names)) < len(x.names) or set(x.names) != set(y.names) or len(x.names) != len(y.names):
        odd = sorted(set(x.names) ^ set(y.names))[:5] or ["names that stand twice"]
        raise ValueError(
            f"{names[0]} and {names[1]} must have the same columns, but they differ in {', '.join(map(repr, odd))}. "
            "Rename or drop columns, or give arrays to compare by position."
        )
    order = [y.names.index(name) for name in x.names]
    return replace(y, values=y.values[:, order], names=x.names)


def _float_tensor(data: Any, name: str) -> Tensor:
    values = data if isinstance(data, Tensor) else _from_array(data, name)
    if values.is_complex():
        raise TypeError(f"{name} has complex numbers. Stack the real and the imaginary part as two coordinates.")
    if values.is_sparse or values.layout != torch.strided:
        raise TypeError(f"{name} is sparse. Make it dense with {name}.to_dense().")
    if values.ndim == 0:
        raise ValueError(f"{name} is a single number. Give one row for each point.")
    values = values.to(_EXACT.get(values.dtype, torch.float32))
    return values[:, None] if values.ndim == 1 else values


def _from_array(data: Any, name: str) -> Tensor:
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
    if array.dtype.itemsize > 8:
        array = array.astype(np.float64)
    # torch shares the memory of the array, and warns where that is read-only or in the other byte order.
    native = array.dtype.newbyteorder("=")
    shareable = array.flags.writeable and all(s >= 0 and s % array.dtype.itemsize == 0 for s in array.strides)
    return torch.from_numpy(array.astype(native, copy=not shareable))


def _from_objects(array: np.ndarray[Any, Any], name: str) -> np.ndarray[Any, Any]:
    """Numbers that came as Python objects (a DataFrame of mixed number types does that)."""
    for item in array.flat:
        if isinstance(item, (str, bytes)) or not isinstance(item, (int, float, np.number, np.bool_)):
            raise TypeError(
                f"{name} must hold numbers, but holds {item!r} ({type(item).__name__}). "
                "Encode text and dates as numbers, and give every row the same coordinates."
            )
    return array.astype(np.float64)


def _check_columns(table: Any, name: str) -> None:
    """A DataFrame's columns must be numbers: say which are not."""
    if not (hasattr(table, "columns") and hasattr(table, "iloc")):
        return
    bad = []
    for k, (column, dtype) in enumerate(zip(table.columns, table.dtypes, strict=True)):
        numbers = dtype.kind in "biufc" or not any(isinstance(v, (str, bytes)) for v in table.iloc[:, k])
        if not numbers or dtype.kind in "mM":
            bad.append(f"{column!r} ({dtype})")
    if bad:
        raise TypeError(
            f"{name} has columns that do not hold numbers: {', '.join(bad[:5])}{', …' if len(bad) > 5 else ''}. "
            "Encode text and dates as numbers, or drop these columns."
        )


def _check(values: Tensor, name: str) -> None:
    if len(values) == 0:
        raise ValueError(f"{name} is empty: it has no rows.")
    if values.numel() == 0:
        raise ValueError(f"{name} has {len(values)} rows but no columns (shape {tuple(values.shape)}).")
    # One sum finds out whether anything is wrong; only then is it worth looking for what and where.
    if torch.isfinite(values.detach().sum()):
        return
    flat = values.detach().flatten(1)
    for what, bad in (("NaN", flat.isnan()), ("infinite", flat.isinf())):
        count = int(bad.sum())
        if count:
            row, column = bad.nonzero()[0].tolist()
            raise ValueError(
                f"{name} has {count} {what} among its {flat.numel()} values, the first at row {row}, "
                f"column {column}. Remove or impute them."
            )
