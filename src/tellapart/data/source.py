"""A sample as the user has it, not yet numbers to compute with."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import PurePath
from typing import Any

import numpy as np
from torch import Tensor

from .._util.text import printable
from .arrays import Array
from .columns import ColumnValues
from .images import Images
from .options import ReadOptions
from .precision import Precision, precision_of
from .sample import Kind, positions
from .tables import Table


@dataclass(frozen=True, eq=False)
class Rows:
    """Plain numbers, one row for each point; NaN where a value is missing."""

    values: Array
    names: tuple[str, ...] | None = None
    #: Whether they were a table, before they were matched with plain rows.
    from_table: bool = False
    #: Significant bits of the type that the numbers were stored in, or of each column; None for those of ``values``.
    stored: Precision | None = None

    def __len__(self) -> int:
        return len(self.values)

    def take(self, rows: Array) -> Rows:
        """Some of the rows."""
        return replace(self, values=self.values[rows])

    @property
    def precision(self) -> Precision:
        """Significant bits of the type that the numbers were stored in."""
        return precision_of(self.values.dtype) if self.stored is None else self.stored

    def row(self, i: int) -> Array:
        """The numbers of row ``i``."""
        return np.array(self.values[i])

    def values_of(self, k: int) -> ColumnValues:
        """The values of column ``k``."""
        return ColumnValues(np.asarray(self.values[:, k], float))


@dataclass(frozen=True, eq=False)
class Source:
    """A sample as the user has it: a table, images or plain rows of numbers. `read` makes it.

    It is also a `Display`: a `Sample` keeps its source as ``shown``.

    Attributes
    ----------
    content
        What was read.
    name
        What to call it in messages, such as the argument it came by.
    origin
        The file or folder it was read from, if any.
    numbers
        For each row its position in the user's data, counted from 0 (a header is not counted).
    total
        How many rows there were before any was dropped or left out; None where that is not known.
    files
        For each image of a folder its file, as seen from the folder.
    features
        What a function of the rows gave, where the features are to be compared instead of the rows.
    notes
        What was done on the way, for reports: rows dropped, columns left out.
    options
        How it was read.
    checked
        Whether its values have been looked at.
    """

    content: Rows | Table | Images
    name: str = "X"
    origin: str = ""
    numbers: Array = field(default_factory=lambda: np.arange(0))
    files: tuple[str, ...] | None = None
    features: Tensor | None = None
    notes: tuple[str, ...] = ()
    options: ReadOptions = field(default_factory=ReadOptions)
    checked: bool = False
    total: int | None = None

    def __post_init__(self) -> None:
        if len(self.numbers) != len(self.content):
            object.__setattr__(self, "numbers", np.arange(len(self.content)))

    def __len__(self) -> int:
        return len(self.content)

    @property
    def kind(self) -> Kind:
        """What the rows are."""
        return "table" if isinstance(self.content, Table) else "images" if isinstance(self.content, Images) else "rows"

    @property
    def label(self) -> str:
        """The name and the file, for messages."""
        return make_label(self.name, self.origin)

    @property
    def columns(self) -> tuple[str, ...]:
        """What the user calls the columns (by position where they have no names); empty for images."""
        if isinstance(self.content, Images):
            return ()
        if isinstance(self.content, Rows) and self.content.names is None:
            return tuple(str(k) for k in range(self.content.values.shape[1]))
        return self.content.names or ()

    def take(self, rows: Any) -> Source:
        """Some of the rows, by position or by a mask."""
        index = positions(rows, len(self))
        return replace(
            self,
            content=self.content.take(index),
            numbers=self.numbers[index],
            files=None if self.files is None else tuple(self.files[k] for k in index),
            features=None if self.features is None else self.features[index],
        )

    def row(self, i: int) -> list[str] | Array:
        """Row ``i``, to be shown: strings for a table, uint8 for an image, else the numbers as they came."""
        return self.content.row(i)

    def values_of(self, column: str) -> ColumnValues | None:
        """The values of a column; None for images, and for columns that features were computed from."""
        if self.features is not None or column not in self.columns:
            return None
        return self.content.values_of(self.columns.index(column))

    def where(self, i: int) -> str:
        """Where row ``i`` came from: ``"row 17"``, or the file of an image."""
        return f"row {self.numbers[i]}" if self.files is None else self.files[i]

    def like(self, data: Any, name: str = "Z") -> Source:
        """Read all rows of other data with the options this source was read with.

        >>> from tellapart.data import read
        >>> read([[1.0, 2.0], [3.0, 4.0]], columns=[1]).like([[5.0, 6.0]]).row(0)
        array([6.])
        """
        from .read import read_like  # which makes sources

        return read_like(self, data, name)

    def __repr__(self) -> str:
        what = (
            f"images of {' × '.join(map(str, self.content.shape))}" if isinstance(self.content, Images) else self.kind
        )
        return f"Source({self.label}: {len(self):,} rows, {what})"


def make_label(name: str, origin: str) -> str:
    """The name and the file, for messages; control characters in the name of a file are shown, not sent.

    >>> print(make_label("X", "a\\x1b[2Jb.csv"))
    X (a\\x1b[2Jb.csv)
    >>> print(make_label("b.csv", "a/b.csv"))
    a/b.csv
    """
    if not origin or name == PurePath(origin).name:
        return printable(origin) or name
    return f"{name} ({printable(origin)})"
