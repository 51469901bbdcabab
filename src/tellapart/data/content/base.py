"""The interface of what a sample holds: a table, images, rows of numbers, or features computed from one of these."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ..._util.errors import InputError
from ..arrays import Array
from ..columns import TableColumn
from ..sample import Kind

if TYPE_CHECKING:
    from ..encoding import Encoding, Standardise
    from ..options import Missing


class Given(NamedTuple):
    """Numbers as they came: the values, the names of their columns, and the shape of an image where they are pixels."""

    values: Array
    names: tuple[str, ...] | None = None
    kind: Kind = "rows"
    image_shape: tuple[int, ...] | None = None


class Content(ABC):
    """What a sample holds, one row for each point.

    Code outside this package does not ask which subclass it has: every question has a method.
    """

    #: The columns of a table, with their types; empty for everything else.
    columns: tuple[TableColumn, ...] = ()

    #: Whether values are in a temporary file, because they are many.
    in_file = False

    @property
    @abstractmethod
    def kind(self) -> Kind:
        """What the rows are shown as."""

    @property
    def features(self) -> Array | None:
        """What a function of the rows gave, where that is compared instead of the rows."""
        return None

    @property
    def names(self) -> tuple[str, ...]:
        """What the user calls the columns, by position where they have no names; empty for images."""
        return ()

    @property
    def tabular(self) -> bool:
        """Whether the numbers are columns of a table, which have scales of their own."""
        return False

    @property
    def numeric(self) -> bool:
        """Whether rows are plain numbers, or columns that all hold numbers."""
        return False

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def take(self, rows: Array) -> Content:
        """Some of the rows, by position."""

    @abstractmethod
    def row(self, i: int) -> list[str] | Array:
        """Row ``i``, to be shown."""

    @abstractmethod
    def describe(self) -> str:
        """What it is, for messages."""

    # --- Columns

    @property
    def read_columns(self) -> tuple[TableColumn, ...]:
        """The columns of the table that was read, also where features of it are compared."""
        return self.columns

    def split_columns(self) -> tuple[TableColumn, ...]:
        """One column for each of ``names``; those of plain rows hold numbers."""
        return self.columns

    def column(self, name: str) -> TableColumn | None:
        """The values of a column as they came; None where there is no such column to be compared."""
        return None

    def select(self, columns: tuple[str, ...] | None, drop: tuple[str, ...] | None, label: str) -> Content:
        """The columns that are wanted. Formats of tables have selected them already."""
        return self

    def without(self, names: Sequence[str]) -> Content:
        """The content without some of its columns."""
        return self

    # --- Images

    @property
    def image_shape(self) -> tuple[int, ...] | None:
        """The shape of one image, (h, w) or (h, w, 3); None where rows are not images."""
        return None

    def pixel_array(self, label: str) -> Array:
        """An array of which images of a given shape are to be made."""
        return self.require_matrix(label, "image_shape")

    def resized(self, size: tuple[int, int], label: str, max_memory: int | None) -> Content:
        """Images at another size."""
        raise InputError(
            "not-images",
            f"{label} is a {self.describe()}, and not of images.",
            "Leave out {image_size}, or give {image_shape} too.",
            image_size=...,
            image_shape=...,
        )

    def planes(self, rows: slice) -> Array:
        """Some images as floats between 0 and 1 of shape (n, channels, h, w), as networks take them."""
        raise InputError("not-images", f"Images are needed, but there is a {self.describe()}.")

    # --- Checks

    def notes(self, image_options: bool) -> tuple[str, ...]:
        """What should be reported about how it was read; ``image_options`` says whether images were asked for."""
        return ()

    @abstractmethod
    def validate(self, label: str, missing: Missing) -> Array | None:
        """Raise `InputError` for values that cannot be compared. Return which rows are to be dropped, if any may be."""

    # --- Numbers

    def to_matrix(self) -> Array | None:
        """One array with a row for each point; None where columns do not hold numbers, and for images."""
        return None

    def require_matrix(self, label: str, argument: str) -> Array:
        """The same; raise `InputError` that names the argument that needs numbers."""
        values = self.to_matrix()
        if values is None:
            advice = f"{{{argument}}} needs numbers or images."
            if argument == "features":
                advice = f"{advice} Choose one column of text with {{columns}}, or columns of numbers."
            raise InputError(
                "not-numbers", f"{label} has columns of text or dates.", advice, columns=..., **{argument: ...}
            )
        return values

    def text_column(self) -> TableColumn | None:
        """The only column, if it holds texts (or was written as such) of which features can be computed."""
        return None

    @abstractmethod
    def apply(self, function: Callable[..., Any], label: str, missing: Missing, batch_size: int) -> Content:
        """The features that a function gives of each row."""

    def needs_encoding(self, missing: Missing) -> bool:
        """Whether there are texts, dates, or missing values that are to be compared."""
        return False

    @abstractmethod
    def as_given(self, like: Content) -> Given:
        """The numbers as they came, with axes in one order with those of another content."""

    @abstractmethod
    def fit_encoding(self, other: Content, rows: tuple[Array, Array], standardise: Standardise) -> Encoding:
        """How the rows of this and of another content, aligned with it, become numbers, decided on some rows."""

    @abstractmethod
    def numbers(self, encoding: Encoding | None, label: str) -> Array:
        """What holds the numbers, one row of whatever shape for each point; images as an encoding takes them."""

    def concatenate(self, others: Sequence[Content]) -> Content:
        """The rows of aligned contents below each other, for an encoding to be fitted on; images as they are."""
        return self

    @abstractmethod
    def most_numbers(self, indicators: bool) -> int:
        """How many numbers a row becomes at most, whatever its values are."""

    @property
    def variable_kinds(self) -> dict[str, str]:
        """What columns hold, by their names; those that are not listed hold numbers."""
        return {column.name: column.kind for column in self.columns}

    @property
    def single(self) -> tuple[bool, ...]:
        """For each column whether float32 holds its values exactly; empty for images."""
        return ()

    def to_single(self, which: Sequence[bool]) -> Content:
        """Columns of numbers rounded to single precision, where ``which`` says so."""
        return self

    @abstractmethod
    def hash_rows(self) -> Array:
        """A number of 64 bits for each row, which equal rows share."""
