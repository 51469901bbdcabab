"""A sample as the user has it, not yet numbers to compute with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import PurePath
from typing import Any

import numpy as np

from .._util.text import printable
from .arrays import Array
from .columns import ColumnValues, TableColumn
from .content import Content
from .options import ReadOptions
from .sample import Kind, positions


@dataclass(frozen=True, eq=False)
class Source:
    """A sample as the user has it: a table, images or plain rows of numbers. `read` makes it.

    It is also a `Display`: a `Sample` keeps its source as ``shown``.

    Attributes
    ----------
    content
        What was read, or the features of it that are compared.
    name
        What to call it in messages, such as the argument it came by.
    origin
        The file or folder it was read from, if any.
    numbers
        For each row its position in the user's data, counted from 0 (a header is not counted).
    total
        How many rows the user's data has, to which ``numbers`` count; None where that is not known.
    files
        For each image of a folder its file, as seen from the folder.
    labels
        Labels of the rows that were columns of the data (groups, strata, items), by the argument that named them.
    notes
        What was done on the way, for reports: rows dropped, columns left out.
    options
        How it was read.
    """

    content: Content
    name: str = "X"
    origin: str = ""
    numbers: Array = field(default_factory=lambda: np.arange(0))
    files: tuple[str, ...] | None = None
    labels: Mapping[str, Array] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    options: ReadOptions = field(default_factory=ReadOptions)
    total: int | None = None

    def __post_init__(self) -> None:
        if not len(self.numbers):
            object.__setattr__(self, "numbers", np.arange(len(self.content)))
        assert len(self.numbers) == len(self.content), "each row needs its position in the user's data"

    def __len__(self) -> int:
        return len(self.content)

    @property
    def kind(self) -> Kind:
        """What the rows are."""
        return self.content.kind

    @property
    def label(self) -> str:
        """The name and the file, for messages."""
        return make_label(self.name, self.origin)

    @property
    def columns(self) -> tuple[str, ...]:
        """What the user calls the columns (by position where they have no names); empty for images."""
        return self.content.names

    @property
    def features(self) -> Array | None:
        """What a function of the rows gave, where that is compared instead of the rows."""
        return self.content.features

    def column(self, name: str) -> TableColumn | None:
        """The values of a column that is compared, as they came; None where there is no such column."""
        return self.content.column(name)

    def take(self, rows: Any) -> Source:
        """Some of the rows, by position or by a mask."""
        index = positions(rows, len(self))
        return replace(
            self,
            content=self.content.take(index),
            numbers=self.numbers[index],
            files=None if self.files is None else tuple(self.files[k] for k in index),
            labels={kind: values[index] for kind, values in self.labels.items()},
        )

    def row(self, i: int) -> list[str] | Array:
        """Row ``i``, to be shown: strings for a table, uint8 for an image, else the numbers as they came."""
        return self.content.row(i)

    def values_of(self, column: str) -> ColumnValues | None:
        """The values of a column; None for images, and for columns that features were computed from."""
        known = self.column(column)
        return None if known is None else known.shown_values()

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
        return f"Source({self.label}: {len(self):,} rows, {self.content.describe()})"


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
