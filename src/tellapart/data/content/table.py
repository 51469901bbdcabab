"""Tables: named columns of numbers, yes or no, dates and text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..._util.errors import InputError
from ..arrays import Array
from ..columns import TableColumn, concatenate_columns
from ..encoding import Encoding, Standardise
from ..finite import check_columns
from ..hashing import hash_columns
from ..precision import to_single
from ..sample import Kind
from ..scaling import MOST_LEVELS
from ..vectors import vector_lengths
from .base import Content, Given
from .features import Features, features_of_numbers, features_of_texts

if TYPE_CHECKING:
    from ..options import Missing


@dataclass(frozen=True, eq=False)
class TableContent(Content):
    """Columns of one length, with names that differ."""

    columns: tuple[TableColumn, ...]

    @property
    def kind(self) -> Kind:
        """A table."""
        return "table"

    @property
    def in_file(self) -> bool:  # type: ignore[override]
        """Whether a column is in a temporary file."""
        return any(column.in_file for column in self.columns)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(column.name for column in self.columns)

    @property
    def tabular(self) -> bool:
        """It is a table."""
        return True

    @property
    def missing(self) -> Array:
        """Which rows miss a value."""
        found = np.zeros(len(self), bool)
        for column in self.columns:
            found |= column.missing
        return found

    @property
    def numeric(self) -> bool:
        """Whether every column holds numbers, or yes and no."""
        return all(column.kind in ("number", "boolean") for column in self.columns)

    @property
    def precision(self) -> Array:
        """Significant bits of the type that each column was stored in."""
        return np.array([column.precision for column in self.columns])

    def __len__(self) -> int:
        return len(self.columns[0])

    def take(self, rows: Array) -> TableContent:
        """Some of the rows."""
        return TableContent(tuple(column.take(rows) for column in self.columns))

    def row(self, i: int) -> list[str]:
        """The cells of row ``i`` as text."""
        return [column.cell(i) for column in self.columns]

    def describe(self) -> str:
        """What it is, for messages."""
        return "table"

    def column(self, name: str) -> TableColumn | None:
        """The column of this name."""
        return next((column for column in self.columns if column.name == name), None)

    def without(self, names: Sequence[str]) -> TableContent:
        """The table without some of its columns."""
        unwanted = set(names)
        return TableContent(tuple(column for column in self.columns if column.name not in unwanted))

    def notes(self, image_options: bool) -> tuple[str, ...]:
        """How columns were read, where that is worth reporting."""
        return tuple(column.note for column in self.columns if column.remark)

    def validate(self, label: str, missing: Missing) -> Array | None:
        """Raise `InputError` if values are infinite or too large, or missing where none may be."""
        check_columns(((c.name, c.values) for c in self.columns if c.kind == "number"), label)
        if missing == "error":
            self._check_missing(label)
        return self.missing if missing == "drop" else None

    def _check_missing(self, label: str) -> None:
        missing = {column.name: gap for column in self.columns if (gap := column.missing).any()}
        absent = _absent_vectors(self.names, missing)
        found = (
            f"{absent[name]!r} (no vector in {int(gap.sum())} of {len(self)} rows)"
            if name in absent
            else f"{name!r} ({int(gap.sum())} of {len(self)})"
            for name, gap in missing.items()
        )
        gaps = list(dict.fromkeys(found))
        if gaps:
            raise InputError(
                "missing-values",
                f"{label} has missing values in {', '.join(gaps[:5])}{', …' if len(gaps) > 5 else ''}.",
                "Read it with {missing} to compare what is missing too, or with {missing_} to leave these rows out.",
                missing="indicator",
                missing_="drop",
            )

    def to_matrix(self) -> Array | None:
        """One array, where every column holds numbers; float32 where that holds them exactly."""
        if not self.numeric:
            return None
        out = np.empty((len(self), len(self.columns)), np.float32 if all(self.single) else np.float64)
        for k, column in enumerate(self.columns):
            out[:, k] = column.values
        return out

    def text_column(self) -> TableColumn | None:
        """The only column, if it holds texts; answers such as "42" are texts here."""
        column = self.columns[0] if len(self.columns) == 1 else None
        return column if column is None or column.kind == "text" else column.texts

    def apply(self, function: Callable[..., Any], label: str, missing: Missing, batch_size: int) -> Features:
        """Features of each row of numbers; of a single column of text, features of each text."""
        text = self.text_column()
        if text is not None:
            return features_of_texts(self, text, function, label, batch_size)
        return features_of_numbers(self, function, label, missing, batch_size)

    def needs_encoding(self, missing: Missing) -> bool:
        """Whether there are texts, dates, or missing values that are to be compared."""
        return not self.numeric or (missing == "indicator" and bool(self.missing.any()))

    def as_given(self, like: Content) -> Given:
        """The numbers of all columns."""
        values = self.to_matrix()
        assert values is not None
        return Given(values, self.names, "table")

    def fit_encoding(self, other: Content, rows: tuple[Array, Array], standardise: Standardise) -> Encoding:
        """Numbers, or one coordinate for each of the most common texts."""
        return Encoding.fit_columns((self.columns, other.columns), rows, bool(standardise))

    def numbers(self, encoding: Encoding | None, label: str) -> Array:
        """The numbers of all columns."""
        values = self.to_matrix()
        if values is None:
            raise InputError(
                "kinds-differ", f"{label} is a table with text or dates, but the encoding was fitted on numbers."
            )
        return values

    def concatenate(self, others: Sequence[Content]) -> TableContent:
        """The rows of several tables."""
        columns = zip(self.columns, *(other.columns for other in others), strict=True)
        return TableContent(tuple(concatenate_columns(parts) for parts in columns))

    def most_numbers(self, indicators: bool) -> int:
        """One number for a column, or one for each of the texts that get one, and one for what is missing."""
        widths = (MOST_LEVELS + 1 if column.kind == "text" else 1 for column in self.columns)
        return sum(width + indicators for width in widths)

    @property
    def single(self) -> tuple[bool, ...]:
        """For each column whether float32 holds its values exactly."""
        return tuple(column.single for column in self.columns)

    def to_single(self, which: Sequence[bool]) -> TableContent:
        """Columns of numbers rounded to single precision, where ``which`` says so."""
        columns = [
            replace(column, values=column.keep(to_single(column.values)))
            if single and not column.single and column.kind == "number"
            else column
            for column, single in zip(self.columns, which, strict=True)
        ]
        return TableContent(tuple(columns))

    def hash_rows(self) -> Array:
        """A number of 64 bits for each row, which equal rows share."""
        return hash_columns(self.columns)


def _absent_vectors(names: Sequence[str], missing: dict[str, Array]) -> dict[str, str]:
    """The vector of each number, for vectors that are missing as a whole or not at all; ``missing`` has no other."""
    found: dict[str, str] = {}
    for vector, length in vector_lengths(names).items():
        places = [f"{vector}[{k}]" for k in range(length)]
        gaps = [missing[place] for place in places if place in missing]
        if 1 < length == len(gaps) and all(np.array_equal(gaps[0], gap) for gap in gaps):
            found |= dict.fromkeys(places, vector)
    return found
