"""A checked sample: what every statistic takes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol, TypeAlias

import numpy as np
import torch
from torch import Tensor

from .arrays import Array, as_array

Kind: TypeAlias = Literal["rows", "table", "images"]

#: The smallest float type that holds every value of a type exactly (int64: up to 2**53).
_EXACT = {
    torch.float64: torch.float64,
    torch.int32: torch.float64,
    torch.int64: torch.float64,
    torch.uint32: torch.float64,
    torch.uint64: torch.float64,
}


class Display(Protocol):
    """How to show the rows of a sample as the user knows them. A `Source` is one.

    What ``row(i)`` returns depends on ``kind``:

    * ``"table"``: a list of strings, one for each of ``columns``;
    * ``"images"``: an array of uint8 and shape (h, w) or (h, w, 3);
    * ``"rows"``: the numbers before any standardising, one for each of ``columns``.

    ``where(i)`` says where the row came from: ``"row 17"`` (counted from 0, in the user's data) or an image's file.
    """

    @property
    def kind(self) -> Kind:
        """What the rows are."""

    @property
    def columns(self) -> tuple[str, ...]:
        """What the user calls the columns; empty for images."""

    def __len__(self) -> int: ...

    def row(self, i: int) -> list[str] | Array:
        """Row ``i``, to be shown."""

    def where(self, i: int) -> str:
        """Where row ``i`` came from."""

    def take(self, rows: Any) -> Display:
        """Some of the rows, by position."""


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
    kind
        What the coordinates are: plain numbers, a table's encoded columns, or the pixels of an image.
    groups
        For each coordinate the column it came from (a column of text becomes several coordinates).
    image_shape
        Where the coordinates are pixels: (h, w) or (h, w, 3), so that ``values[i].reshape(image_shape)`` is an image.
    shown
        How to show the rows, where it is known. Images of which features were computed are still shown as images.
    """

    values: Tensor
    names: tuple[str, ...] | None = None
    from_tensor: bool = False
    kind: Kind = "rows"
    groups: tuple[str, ...] | None = None
    image_shape: tuple[int, ...] | None = None
    shown: Display | None = None

    def __len__(self) -> int:
        return len(self.values)

    def take(self, rows: Any) -> Sample:
        """Some of the rows, by position or by a mask.

        >>> as_sample([1, 2, 3]).take([2, 0]).values.flatten().tolist()
        [3.0, 1.0]
        """
        index = positions(rows, len(self))
        shown = None if self.shown is None else self.shown.take(index)
        return replace(self, values=self.values[torch.from_numpy(index).to(self.values.device)], shown=shown)


def positions(rows: Any, length: int) -> Array:
    """Positions from an index array or a mask, in a list, an array or a tensor."""
    index = rows.detach().cpu().numpy() if isinstance(rows, Tensor) else np.asarray(rows)
    if index.dtype.kind == "b":
        if index.shape != (length,):
            raise ValueError(f"rows is a mask of shape {index.shape}, but there are {length} rows.")
        return np.flatnonzero(index)
    if index.ndim != 1 or (index.dtype.kind not in "iu" and index.size):
        raise TypeError(f"rows must be a list of whole numbers or a mask, but is {rows!r:.80}.")
    return index.astype(np.int64)


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
            values=float_tensor(data, name),
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
    groups = None if y.groups is None else tuple(y.groups[k] for k in order)
    return replace(y, values=y.values[:, order], names=x.names, groups=groups)


def float_tensor(data: Any, name: str) -> Tensor:
    """Numbers as the smallest float type that holds them, one row for each point."""
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
    array = as_array(data, name)
    if array.dtype.itemsize > 8:
        array = array.astype(np.float64)
    # torch shares the memory of the array, and warns where that is read-only or in the other byte order.
    native = array.dtype.newbyteorder("=")
    shareable = array.flags.writeable and all(s >= 0 and s % array.dtype.itemsize == 0 for s in array.strides)
    return torch.from_numpy(array.astype(native, copy=not shareable))


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
