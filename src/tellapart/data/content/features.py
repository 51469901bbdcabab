"""Features: what a function gives of each row, which is compared instead of the rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from ..._util.errors import InputError
from ..arrays import Array
from ..columns import TableColumn
from ..encoding import Encoding, Standardise
from ..features import apply_features, name_outputs
from ..finite import check_finite
from ..hashing import hash_blocks
from ..names import unique_names
from ..sample import Kind
from .base import Content, Given

if TYPE_CHECKING:
    from ..options import Missing

#: Texts of each sample by which features are named.
_TEXTS = 1_000


@dataclass(frozen=True, eq=False)
class Features(Content):
    """Features of rows, and the rows that they were computed from, which are still what is shown.

    Attributes
    ----------
    values
        The features, one row for each point.
    function
        What computed them.
    shown
        The rows.
    """

    values: Array
    function: Callable[..., Any]
    shown: Content

    @property
    def kind(self) -> Kind:
        """What is shown."""
        return self.shown.kind

    @property
    def features(self) -> Array:
        """What the function gave."""
        return self.values

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that are shown."""
        return self.shown.names

    @property
    def read_columns(self) -> tuple[TableColumn, ...]:
        """The columns of the table that was read."""
        return self.shown.read_columns

    def split_columns(self) -> tuple[TableColumn, ...]:
        """The columns that are shown."""
        return self.shown.split_columns()

    def __len__(self) -> int:
        return len(self.values)

    def take(self, rows: Array) -> Features:
        """Some of the rows."""
        return Features(self.values[rows], self.function, self.shown.take(rows))

    def row(self, i: int) -> list[str] | Array:
        """Row ``i`` as it came."""
        return self.shown.row(i)

    def describe(self) -> str:
        """What is shown."""
        return self.shown.describe()

    def validate(self, label: str, missing: Missing) -> Array | None:
        """Nothing: the rows were checked before features were computed, and the features were checked then."""
        return None

    def apply(self, function: Callable[..., Any], label: str, missing: Missing, batch_size: int) -> Features:
        """They are features already."""
        return self

    def as_given(self, like: Content) -> Given:
        """The features."""
        return Given(self.values)

    def fit_encoding(self, other: Content, rows: tuple[Array, Array], standardise: Standardise) -> Encoding:
        """Standardised features, or features as they are."""
        matrices = self.values, other.numbers(None, "")
        return Encoding.fit_matrices(matrices, rows, self._name_outputs(other), bool(standardise))

    def _name_outputs(self, other: Content) -> tuple[str, ...]:
        """What the outputs of the function are called; it may look at some texts of both samples."""
        shown = [part.shown for part in (self, other) if isinstance(part, Features)]
        columns = [content.columns[0] for content in shown if content.columns and content.columns[0].kind == "text"]
        texts = [text for column in columns for text in islice(column.used_levels(), _TEXTS)]
        return unique_names(name_outputs(self.function, int(self.values.shape[1]), texts))

    @property
    def variable_kinds(self) -> dict[str, str]:
        """What the outputs hold, by their names, as the function's attribute ``output_kinds`` says."""
        kinds = getattr(self.function, "output_kinds", ())
        return dict(zip(unique_names(name_outputs(self.function, len(kinds), [])), kinds, strict=True)) if kinds else {}

    def numbers(self, encoding: Encoding | None, label: str) -> Array:
        """The features."""
        return self.values

    def concatenate(self, others: Sequence[Content]) -> Features:
        """The features of several samples, and the rows that they were computed from."""
        values = [self.values, *(other.numbers(None, "") for other in others)]
        shown = [other.shown for other in others if isinstance(other, Features)]
        return Features(np.concatenate(values), self.function, self.shown.concatenate(shown))

    def most_numbers(self, indicators: bool) -> int:
        """One number for each output, and one that says whether it is missing."""
        return int(self.values.shape[1]) * (1 + indicators)

    @property
    def single(self) -> tuple[bool, ...]:
        """For each output whether it is in single precision."""
        return (self.values.dtype != np.float64,) * int(self.values.shape[1])

    def hash_rows(self) -> Array:
        """A number of 64 bits for each row, which rows with equal features share."""
        return hash_blocks(self.values)


def features_of_numbers(
    content: Content, function: Callable[..., Any], label: str, missing: Missing, batch_size: int
) -> Features:
    """Features of rows of numbers, which the function gets in shape (n, d)."""
    values = content.require_matrix(label, "features")
    if missing == "indicator":
        advice = "{features} needs all values: read it with {missing}."
        check_finite(values, label, advice=advice, features=..., missing="drop")

    blocks = (values[start : start + batch_size].astype(np.float64) for start in range(0, len(values), batch_size))
    return Features(apply_features(blocks, function, label), function, content)


def features_of_texts(
    content: Content, column: TableColumn, function: Callable[..., Any], label: str, batch_size: int
) -> Features:
    """Features of a column of texts; each text is looked at once, however often it occurs."""
    if column.missing.any():
        raise InputError("missing-values", f"{label} has missing texts.", "Drop them with {missing}.", missing="drop")
    used, places = np.unique(column.values, return_inverse=True)
    texts = [column.levels[k] for k in used]

    batches = (texts[start : start + batch_size] for start in range(0, len(texts), batch_size))
    return Features(apply_features(batches, function, label)[places], function, content)
