"""Rows of numbers, with or without names of their columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays import Array, fits_single, iterate_blocks
from ..columns import TableColumn
from ..encoding import Encoding, Standardise
from ..finite import check_finite
from ..hashing import hash_blocks
from ..names import select_columns
from ..precision import Precision, precision_of, to_single
from ..sample import Kind
from .base import Content, Given
from .features import Features, features_of_numbers

if TYPE_CHECKING:
    from ..options import Missing


@dataclass(frozen=True, eq=False)
class Rows(Content):
    """Plain numbers, one row for each point; NaN where a value is missing.

    Attributes
    ----------
    values
        The numbers, of shape (n, d).
    given_names
        The names of the columns, if they have any.
    from_table
        Whether they were a table, before they were aligned with plain rows.
    stored
        Significant bits of the type that the numbers were stored in, or of each column; None for those of ``values``.
    """

    values: Array
    given_names: tuple[str, ...] | None = None
    from_table: bool = False
    stored: Precision | None = None

    @property
    def kind(self) -> Kind:
        """Rows of numbers."""
        return "rows"

    @property
    def names(self) -> tuple[str, ...]:
        """What the user calls the columns, by position where they have no names."""
        return tuple(map(str, range(self.values.shape[1]))) if self.given_names is None else self.given_names

    @property
    def tabular(self) -> bool:
        """Whether they were a table."""
        return self.from_table

    @property
    def numeric(self) -> bool:
        """They are."""
        return True

    @property
    def precision(self) -> Precision:
        """Significant bits of the type that the numbers were stored in."""
        return precision_of(self.values.dtype) if self.stored is None else self.stored

    def __len__(self) -> int:
        return len(self.values)

    def take(self, rows: Array) -> Rows:
        """Some of the rows."""
        return replace(self, values=self.values[rows])

    def row(self, i: int) -> Array:
        """The numbers of row ``i``."""
        return np.array(self.values[i])

    def describe(self) -> str:
        """What it is, for messages."""
        return "list of rows"

    def split_columns(self) -> tuple[TableColumn, ...]:
        """The columns, as numbers."""
        return tuple(self._column(k, name) for k, name in enumerate(self.names))

    def column(self, name: str) -> TableColumn | None:
        """The numbers of a column."""
        return self._column(self.names.index(name), name) if name in self.names else None

    def _column(self, k: int, name: str) -> TableColumn:
        return TableColumn(name, "number", np.asarray(self.values[:, k], float))

    def select(self, columns: tuple[str, ...] | None, drop: tuple[str, ...] | None, label: str) -> Rows:
        """The columns that are wanted."""
        if columns is None and drop is None:
            return self
        return self._keep(select_columns(self.names, label, columns, drop))

    def without(self, names: Sequence[str]) -> Rows:
        """The rows without some of their columns."""
        return self._keep([k for k, name in enumerate(self.names) if name not in names])

    def _keep(self, places: list[int]) -> Rows:
        stored = self.stored[places] if isinstance(self.stored, np.ndarray) else self.stored
        names = tuple(self.names[k] for k in places)
        return replace(self, values=self.values[:, places], given_names=names, stored=stored)

    def validate(self, label: str, missing: Missing) -> Array | None:
        """Raise `InputError` for infinite values, and for NaN where nothing may be missing."""
        check_finite(
            self.values,
            label,
            allow_nan=missing != "error",
            advice="Remove or impute them, or read it with {missing} or {missing_}.",
            missing="indicator",
            missing_="drop",
        )
        return _find_nan(self.values) if missing == "drop" else None

    def to_matrix(self) -> Array:
        """The numbers."""
        return self.values

    def apply(self, function: Callable[..., Any], label: str, missing: Missing, batch_size: int) -> Features:
        """Features of each row."""
        return features_of_numbers(self, function, label, missing, batch_size)

    def needs_encoding(self, missing: Missing) -> bool:
        """Whether values are missing, which is to be compared."""
        return missing == "indicator" and self.values.dtype.kind == "f" and bool(np.isnan(self.values).any())

    def as_given(self, like: Content) -> Given:
        """The numbers, with names where they have any."""
        return Given(self.values, self.given_names)

    def fit_encoding(self, other: Content, rows: tuple[Array, Array], standardise: Standardise) -> Encoding:
        """Standardised numbers, or numbers as they are, and indicators of missing values."""
        matrices = self.values, other.numbers(None, "")
        return Encoding.fit_matrices(matrices, rows, self.names, bool(standardise))

    def numbers(self, encoding: Encoding | None, label: str) -> Array:
        """The numbers."""
        return self.values

    def concatenate(self, others: Sequence[Content]) -> Rows:
        """The rows of several samples."""
        return replace(self, values=np.concatenate([self.values, *(other.numbers(None, "") for other in others)]))

    def most_numbers(self, indicators: bool) -> int:
        """One number for each column, and one that says whether it is missing."""
        return int(self.values.shape[1]) * (1 + indicators)

    @property
    def single(self) -> tuple[bool, ...]:
        """For each column whether float32 holds its values exactly."""
        return (fits_single(self.values.dtype),) * int(self.values.shape[1])

    def to_single(self, which: Sequence[bool]) -> Rows:
        """All numbers rounded to single precision."""
        return self if not all(which) or all(self.single) else replace(self, values=to_single(self.values))

    def hash_rows(self) -> Array:
        """A number of 64 bits for each row, which equal rows share."""
        return hash_blocks(self.values)


def _find_nan(values: Array) -> Array:
    """Which rows have a NaN."""
    if values.dtype.kind != "f":
        return np.zeros(len(values), bool)
    return np.concatenate([np.isnan(block).any(axis=1) for _, block in iterate_blocks(values)])
