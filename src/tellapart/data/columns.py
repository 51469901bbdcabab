"""One column of a table: numbers, yes or no, dates or text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from decimal import Decimal
from numbers import Real
from typing import Any, Literal, Protocol, TypeAlias, cast

import numpy as np

from .._util.errors import InputTypeError, Note
from .._util.text import printable, shorten
from .arrays import Array, check_exact, check_whole, fits_single
from .dates import days_from_array, days_of_duration, days_since_epoch, format_date
from .precision import DOUBLE, precision_of, round_array

ColumnKind: TypeAlias = Literal["number", "boolean", "date", "text"]

#: What is removed around a text.
_BLANKS = " \t\u00a0"
#: Characters of a cell that are shown.
_LONGEST_CELL = 500
_NESTED = (list, tuple, dict, set, frozenset, bytes, bytearray, complex, np.complexfloating, np.ndarray)


@dataclass(frozen=True, eq=False)
class ColumnValues:
    """The values of one column as the user knows them.

    Attributes
    ----------
    numbers : array
        Numbers, NaN where one is missing; for categories their codes, -1 where one is missing.
    levels : tuple of str or None
        The categories.
    is_date : bool
        Whether the numbers are days since 1970.
    """

    numbers: Array
    levels: tuple[str, ...] | None = None
    is_date: bool = False


class FileValues(Protocol):
    """The values of a column in a file."""

    def read(self) -> Array:
        """The values: mapped into memory, which ends with the array."""

    def beside(self, values: Array) -> FileValues:
        """Other values, written to the same file."""


class _Mapped(np.ndarray[Any, Any]):
    """An array in a file that knows where it came from, so that a column that is made with it has it there too."""

    origin: FileValues | None = None


class _Values:
    """The attribute `TableColumn.values`.

    Values in a file are mapped each time that they are asked for: then what was looked at does not stay in memory.
    """

    def __get__(self, column: TableColumn | None, owner: type | None = None) -> Array:
        if column is None:
            raise AttributeError("values have no default")
        held: Array | FileValues = vars(column)["values"]
        if isinstance(held, np.ndarray):
            return held
        mapped = held.read().view(_Mapped)
        mapped.origin = held
        return mapped

    def __set__(self, column: TableColumn, values: Any) -> None:
        vars(column)["values"] = getattr(values, "origin", None) or values  # what is mapped, as it is in the file


@dataclass(frozen=True, eq=False)
class TableColumn:
    """A column of one kind.

    Attributes
    ----------
    name
        What the user calls it.
    kind
        Numbers, yes or no, dates, or text (which also holds categories).
    values
        float64 with NaN for what is missing (dates: days since 1970-01-01 in UTC); for text the number of its level,
        and -1 for what is missing.
    levels
        The different texts.
    categorical
        Whether the user declared these to be categories, so that numbers among them are not a mistake.
    single
        Whether float32 holds every value exactly.
    precision
        Significant bits of the type that numbers were stored in.
    remark, problem
        How its texts were read, where that is worth reporting, or why they are numbers or dates that cannot be read.
    how, texts
        Of numbers or dates that were written as text: how they are written (see `Written`), and the column as text. Of
        texts of a file: how that file writes numbers, where that is known.
    """

    name: str
    kind: ColumnKind
    values: Array = _Values()  # type: ignore[assignment]
    levels: tuple[str, ...] = ()
    categorical: bool = False
    single: bool = False
    precision: int = DOUBLE
    remark: str = ""
    problem: str = ""
    how: str = ""
    texts: TableColumn | None = None

    def __len__(self) -> int:
        return len(self.values)

    @property
    def in_file(self) -> bool:
        """Whether the values are in a file."""
        return not isinstance(vars(self)["values"], np.ndarray)

    @property
    def missing(self) -> Array:
        """Which values are missing."""
        return self.values < 0 if self.kind == "text" else np.isnan(self.values)

    @property
    def note(self) -> Note:
        """How it was read, as a sentence."""
        return Note("column-reading", f"{self.name!r} is {self.remark}.")

    def with_values(self, values: Array | FileValues, levels: tuple[str, ...] = ()) -> TableColumn:
        """The same column with other values and texts."""
        return replace(self, values=cast("Array", values), levels=levels or self.levels, texts=None)

    def take(self, rows: Array) -> TableColumn:
        """Some of the rows."""
        texts = None if self.texts is None else self.texts.take(rows)
        return replace(self, values=self.keep(self.values[rows]), texts=texts)

    def keep(self, values: Array) -> Array:
        """Values that are computed from those of this column, in a file if these are."""
        return cast("Array", vars(self)["values"].beside(values)) if self.in_file else values

    def rounded(self, precision: int) -> TableColumn:
        """The same column with numbers in the precision of another; see `round_array`."""
        if self.kind != "number" or precision >= self.precision:
            return self
        return replace(self, values=self.keep(round_array(self.values, precision)), precision=precision)

    def shown_values(self) -> ColumnValues:
        """The values as the user knows them."""
        if self.kind in ("number", "date"):
            return ColumnValues(self.values, is_date=self.kind == "date")
        if self.kind == "boolean":
            return ColumnValues(np.where(np.isnan(self.values), -1, self.values).astype(int), ("no", "yes"))
        return ColumnValues(np.asarray(self.values, int), tuple(self.levels))

    def cell(self, i: int) -> str:
        """The value of row ``i`` as text; what is missing is empty.

        >>> TableColumn("age", "number", np.array([4.0, 1 / 3, np.nan])).cell(1)
        '0.333333'
        """
        value = self.values[i]
        if value < 0 if self.kind == "text" else np.isnan(value):
            return ""
        if self.kind == "text":
            return shorten(self.levels[int(value)], _LONGEST_CELL)
        if self.kind == "boolean":
            return str(bool(value))
        if self.kind == "date":
            return format_date(float(value))
        return str(int(value)) if value == int(value) and abs(value) < 1e15 else f"{value:.6g}"

    def used_levels(self, rows: Array | None = None) -> dict[str, int]:
        """How often each text occurs, for those that do."""
        codes = self.values if rows is None else self.values[rows]
        counts = np.bincount(codes[codes >= 0], minlength=len(self.levels))
        return {level: int(count) for level, count in zip(self.levels, counts, strict=True) if count}

    def as_kind(self, kind: ColumnKind) -> TableColumn:
        """The same column as another kind, for a column with no value at all, or with yes and no as 1 and 0."""
        if kind == "text":
            return replace(self, kind=kind, values=self.keep(np.full(len(self), -1, np.int32)), texts=None)
        values = self.keep(np.full(len(self), np.nan)) if self.kind == "text" else self.values
        return replace(self, kind=kind, values=values, levels=())


def column_from_array(name: str, array: Array, label: str, *, categorical: bool = False) -> TableColumn:
    """A column from an array of any type. Numbers mixed with text are text, and so are declared categories.

    >>> column_from_array("day", np.array(["2024-01-01", "2024-01-03T12:00"], "datetime64[m]"), "X").values
    array([19723. , 19725.5])
    """
    kind = array.dtype.kind
    if kind == "O" or kind == "U" or categorical:
        return _from_objects(name, array.astype(object), label, categorical)
    if kind == "b":
        return TableColumn(name, "boolean", array.astype(np.float64), single=True)
    if kind in "iuf":
        check_exact(array, f"{label}: column {name!r}")
        bits = precision_of(array.dtype)
        return TableColumn(name, "number", array.astype(np.float64), single=fits_single(array.dtype), precision=bits)
    if kind in "mM" and (kind == "M" or np.datetime_data(array.dtype)[0] not in ("Y", "M")):
        return TableColumn(name, "date" if kind == "M" else "number", days_from_array(array))
    raise _unreadable(name, label, str(array.dtype))


def column_from_codes(
    name: str, codes: Array, levels: tuple[str, ...], *, categorical: bool = False, how: str = ""
) -> TableColumn:
    """A column of texts that are already numbered (-1: missing); `texts.read_texts` finds out what they say.

    Blanks around a text do not count, and a text of blanks is missing: a CSV file cannot say otherwise.
    """
    # Two levels may have one text: the categories 1 and "1".
    place: dict[str, int] = {"": -1}
    merged = [place.setdefault(printable(level.strip(_BLANKS)), len(place) - 1) for level in levels]
    del place[""]
    return TableColumn(name, "text", np.array([*merged, -1], np.int32)[codes], tuple(place), categorical, how=how)


def as_codes(column: TableColumn, width: int | None) -> TableColumn | None:
    """Whole numbers as text, of so many digits if another file has such codes; None where they are no whole numbers.

    >>> as_codes(TableColumn("zip", "number", np.array([80331.0, 1234.0])), 5).levels
    ('01234', '80331')
    """
    there = column.values[~column.missing] if column.kind == "number" else np.empty(0)
    if not len(there) or not ((there == np.rint(there)) & np.isfinite(there)).all():
        return None
    if width is not None and not ((there >= 0) & (there < 10.0**width)).all():
        return None
    used, places = np.unique(there, return_inverse=True)
    codes = np.full(len(column), -1, np.int32)
    codes[~column.missing] = places.reshape(-1)
    return TableColumn(column.name, "text", codes, tuple(f"{int(value):0{width or 0}d}" for value in used))


def concatenate_columns(parts: Sequence[TableColumn]) -> TableColumn:
    """Columns of one kind below each other."""
    if len(parts) == 1:
        return parts[0]
    if parts[0].kind != "text":
        return parts[0].with_values(parts[0].keep(np.concatenate([part.values for part in parts])))
    levels = tuple(dict.fromkeys(level for part in parts for level in part.levels))
    place = {level: k for k, level in enumerate(levels)}
    codes = [np.array([*(place[level] for level in part.levels), -1], np.int32)[part.values] for part in parts]
    return replace(parts[0], values=parts[0].keep(np.concatenate(codes)), levels=levels)


def _unreadable(name: str, label: str, what: str) -> InputTypeError:
    return InputTypeError(
        "unreadable-column",
        f"{label} has a column {name!r} that holds values of type {what}.",
        "Leave it out with {drop}, or make numbers or text of it.",
        drop=[name],
    )


def is_missing(value: Any) -> bool:
    """None, NaN, NaT and pandas' NA."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, (float, np.floating, np.datetime64, np.timedelta64, Decimal)) and bool(value != value)


def count_missing(values: Any) -> int:
    """How many of some values, one for each row, are missing.

    >>> count_missing(["a", None, float("nan")]), count_missing(np.array([1.0, np.nan])), count_missing([1, 2])
    (2, 1, 0)
    """
    array = np.asarray(values)
    if array.dtype.kind in "fmM":
        return int((array != array).sum())
    if array.dtype.kind in "biu" or (isinstance(values, np.ndarray) and array.dtype.kind != "O"):
        return 0
    # A list of texts and NaN would become texts, "nan" among them.
    return sum(map(is_missing, np.asarray(values, object).reshape(-1).tolist()))


def _from_objects(name: str, array: Array, label: str, categorical: bool) -> TableColumn:
    there = np.fromiter((not is_missing(value) for value in array), bool, len(array))
    present = array[there]
    types = {type(value) for value in present}
    nested = next((kind for kind in types if issubclass(kind, _NESTED)), None)
    if nested is not None:
        raise _unreadable(name, label, nested.__name__)

    def column_of(kind: ColumnKind, values: list[float]) -> TableColumn:
        column = np.full(len(array), np.nan)
        column[there] = values
        return TableColumn(name, kind, column, single=kind == "boolean")

    def all_are(*kinds: type) -> bool:
        return not categorical and all(issubclass(kind, kinds) for kind in types)

    if all_are(bool, np.bool_) and types:
        return column_of("boolean", [float(value) for value in present])
    if all_are(Real, Decimal, np.bool_):
        check_whole((int(value) for value in present if _is_integer(value)), f"{label}: column {name!r}")
        return column_of("number", [_float(value) for value in present])
    if all_are(date, np.datetime64):
        return column_of("date", [days_since_epoch(value) for value in present])
    if all_are(timedelta, np.timedelta64):
        return column_of("number", [days_of_duration(value) for value in present])
    place: dict[str, int] = {}
    codes = np.full(len(array), -1, np.int32)
    codes[there] = [place.setdefault(str(value), len(place)) for value in present]
    return column_from_codes(name, codes, tuple(place), categorical=categorical)


def _is_integer(value: Any) -> bool:
    if isinstance(value, Decimal):
        return value.is_finite() and value == value.to_integral_value()
    return isinstance(value, (int, np.integer))


def _float(value: Any) -> float:
    try:
        return float(value)
    except OverflowError:  # a whole number beyond the largest float
        return float("inf")
