"""A checked sample: what every statistic takes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

import numpy as np

from .._util.errors import InputError, InputTypeError
from .._util.tensors import is_tensor
from .arrays import Array, as_array, check_exact, float_type
from .columns import ColumnValues

if TYPE_CHECKING:
    from typing_extensions import Self

Kind: TypeAlias = Literal["rows", "table", "images"]


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
        Finite floats with one row (of any shape: images stay images) for each point. A tensor for what computes with
        torch, if its gradient or its place on a device would be lost.
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

    values: Array
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
        values = as_array(self.values, "")
        return ColumnValues(values.reshape(len(values), -1)[:, places].astype(np.float64).mean(1))

    @property
    def column_names(self) -> tuple[str, ...]:
        """For each coordinate the column it came from; empty where that is not known."""
        return self.columns or self.names or ()

    def take(self, rows: Any) -> Self:
        """Some of the rows, by position or by a mask.

        >>> Sample(np.array([[1.0], [2.0], [3.0]])).take([2, 0]).values.flatten().tolist()
        [3.0, 1.0]
        """
        index = positions(rows, len(self))
        shown = None if self.shown is None else self.shown.take(index)
        return replace(self, values=self.values[index], shown=shown)


def positions(rows: Any, length: int) -> Array:
    """Positions from an index array or a mask, in a list, an array or a tensor."""
    index = rows.detach().cpu().numpy() if is_tensor(rows) else np.asarray(rows)
    if index.dtype.kind == "b":
        if index.shape != (length,):
            raise InputError("wrong-shape", f"rows is a mask of shape {index.shape}, but there are {length} rows.")
        return np.flatnonzero(index)
    if index.ndim != 1 or (index.dtype.kind not in "iu" and index.size):
        raise InputTypeError("wrong-type", f"rows must be a list of whole numbers or a mask, but is {rows!r:.80}.")
    return index.astype(np.int64)


def float_array(data: Any, name: str) -> Array:
    """Numbers as the smallest float type that holds them, one row for each point."""
    array = as_array(data, name)
    check_exact(array, name)
    if array.ndim == 0:
        raise InputError("not-rows", f"{name} is a single number. Give one row for each point.")
    values = array.astype(float_type(array.dtype), copy=False)
    return values[:, None] if values.ndim == 1 else values
