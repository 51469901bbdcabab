"""A checked sample: what every statistic takes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol, TypeAlias

import numpy as np
import torch
from torch import Tensor

from .._util.errors import InputError, InputTypeError
from .arrays import Array, as_array, check_dense_real, check_exact
from .columns import ColumnValues

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

    def values_of(self, column: str) -> ColumnValues | None:
        """The values of a column; None if it is not among those compared."""


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
    columns
        For each coordinate the column it came from (a column of text becomes several coordinates).
    image_shape
        Where the coordinates are pixels: (h, w) or (h, w, 3), so that ``values[i].reshape(image_shape)`` is an image.
    shown
        How to show the rows, where it is known. Images of which features were computed are still shown as images.
    stored
        The name of the number type that the values were stored in, where it is known.
    """

    values: Tensor
    names: tuple[str, ...] | None = None
    from_tensor: bool = False
    kind: Kind = "rows"
    columns: tuple[str, ...] | None = None
    image_shape: tuple[int, ...] | None = None
    shown: Display | None = None
    stored: str = ""

    def __len__(self) -> int:
        return len(self.values)

    def values_of(self, column: str) -> ColumnValues | None:
        """The values of a column as the user knows them; None if there is no such column.

        Pixels and features have the values that were compared. The value of a pixel is the mean of its colors.
        """
        known = None if self.shown is None else self.shown.values_of(column)
        if known is not None:
            return known
        places = [k for k, name in enumerate(self.columns or self.names or ()) if name == column]
        if not places:
            return None
        return ColumnValues(self.values.flatten(1)[:, places].double().mean(1).cpu().numpy())

    @property
    def column_names(self) -> tuple[str, ...]:
        """For each coordinate the column it came from; empty where that is not known."""
        return self.columns or self.names or ()

    def take(self, rows: Any) -> Sample:
        """Some of the rows, by position or by a mask.

        >>> Sample(torch.tensor([[1.0], [2.0], [3.0]])).take([2, 0]).values.flatten().tolist()
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
            raise InputError("wrong-shape", f"rows is a mask of shape {index.shape}, but there are {length} rows.")
        return np.flatnonzero(index)
    if index.ndim != 1 or (index.dtype.kind not in "iu" and index.size):
        raise InputTypeError("wrong-type", f"rows must be a list of whole numbers or a mask, but is {rows!r:.80}.")
    return index.astype(np.int64)


def float_tensor(data: Any, name: str) -> Tensor:
    """Numbers as the smallest float type that holds them, one row for each point."""
    values = data if isinstance(data, Tensor) else _from_array(as_array(data, name))
    check_dense_real(values, name)
    if values.dtype in (torch.int64, torch.uint64) and values.device.type == "cpu":
        check_exact(values.detach().numpy(), name)
    if values.ndim == 0:
        raise InputError("not-rows", f"{name} is a single number. Give one row for each point.")
    values = values.to(_EXACT.get(values.dtype, torch.float32))
    return values[:, None] if values.ndim == 1 else values


def _from_array(array: Array) -> Tensor:
    if array.dtype.itemsize > 8:
        array = array.astype(np.float64)
    # torch shares the memory of the array, and warns where that is read-only or in the other byte order.
    native = array.dtype.newbyteorder("=")
    shareable = array.flags.writeable and all(s >= 0 and s % array.dtype.itemsize == 0 for s in array.strides)
    return torch.from_numpy(array.astype(native, copy=not shareable))
