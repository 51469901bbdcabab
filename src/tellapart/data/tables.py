"""Tables: named columns of numbers, yes or no, dates and text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

import numpy as np

from .._util.errors import InputError, InputTypeError
from .._util.text import printable
from .arrays import LARGEST, Array
from .columns import Column, ColumnValues
from .vectors import vector_lengths

#: Texts from which a column may hold names or identifiers.
MANY_TEXTS = 50


@dataclass(frozen=True, eq=False)
class Table:
    """Columns of one length, with names that differ."""

    columns: tuple[Column, ...]

    def __len__(self) -> int:
        return len(self.columns[0])

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(column.name for column in self.columns)

    @property
    def missing(self) -> Array:
        """Which rows miss a value."""
        found: Array = np.logical_or.reduce([column.missing for column in self.columns])
        return found

    @property
    def numeric(self) -> bool:
        """Whether every column holds numbers, or yes and no."""
        return all(column.kind in ("number", "boolean") for column in self.columns)

    @property
    def precision(self) -> Array:
        """Significant bits of the type that each column was stored in."""
        return np.array([column.precision for column in self.columns])

    def take(self, rows: Array) -> Table:
        """Some of the rows."""
        return Table(tuple(column.take(rows) for column in self.columns))

    def row(self, i: int) -> list[str]:
        """The cells of row ``i`` as text."""
        return [column.cell(i) for column in self.columns]

    def values_of(self, k: int) -> ColumnValues:
        """The values of column ``k``."""
        return self.columns[k].shown_values()

    def to_matrix(self) -> Array | None:
        """One array, where every column holds numbers; float32 where that holds them exactly."""
        if not self.numeric:
            return None
        single = all(column.single for column in self.columns)
        out = np.empty((len(self), len(self.columns)), np.float32 if single else np.float64)
        for k, column in enumerate(self.columns):
            out[:, k] = column.values
        return out


def as_names(names: Any, argument: str) -> tuple[str, ...]:
    """Names of columns, as the user gave them: one, or several."""
    if isinstance(names, (str, int)):
        return (str(names),)
    if not isinstance(names, Iterable):
        raise InputTypeError("wrong-type", f"{argument} must be a list of names, but is {names!r}.")
    return tuple(str(name) for name in names)


def select_columns(
    names: tuple[str, ...], label: str, columns: tuple[str, ...] | None = None, drop: tuple[str, ...] | None = None
) -> list[int]:
    """Positions of the columns that are wanted: those in ``columns`` (or all), without those in ``drop``."""
    # By the names that are shown: what cannot be seen cannot be typed.
    names = tuple(map(printable, names))
    wanted, unwanted = (tuple(map(printable, given)) for given in (names if columns is None else columns, drop or ()))
    known = set(names)
    for given in (wanted, unwanted):
        strange = [name for name in given if name not in known]
        if strange:
            raise unknown_columns(label, strange, names)
    chosen = set(wanted) - set(unwanted)
    keep = [k for k, name in enumerate(names) if name in chosen]
    if not keep:
        raise InputError("no-columns-left", f"{label} has no columns left to compare, of {len(names)}.")
    return keep


def unknown_columns(label: str, strange: Sequence[str], names: Sequence[str]) -> InputError:
    """What to say of columns that are not among those of a table.

    >>> print(unknown_columns("X", ["alcohl"], ["alcohol", "colour"]))
    X has no column 'alcohl'. Did you mean 'alcohol'? It has 'alcohol', 'colour'.
    """
    there = f" It has {quote_names(names)}." if names else ""
    return InputError(
        "unknown-column", f"{label} has no column {quote_names(strange)}.{did_you_mean(strange[0], names)}{there}"
    )


def did_you_mean(name: str, names: Sequence[str]) -> str:
    """A question about the name that is most like one that is not there; nothing if none is.

    >>> did_you_mean("alcohl", ["alcohol", "colour"]), did_you_mean("id", ["colour"])
    (" Did you mean 'alcohol'?", '')
    """
    close = get_close_matches(name, names, 1)
    return f" Did you mean {close[0]!r}?" if close else ""


def check_table(table: Table, label: str, missing: str) -> None:
    """Raise `InputError` if values are infinite or too large, or missing where none may be."""
    infinite = [c.name for c in table.columns if c.kind == "number" and np.isinf(c.values).any()]
    if infinite:
        raise InputError(
            "infinite-values", f"{label} has infinite values in {quote_names(infinite)}. Remove or replace them."
        )
    large = [c.name for c in table.columns if c.kind == "number" and np.nanmax(np.abs(c.values), initial=0) > LARGEST]
    if large:
        raise InputError(
            "values-too-large",
            f"{label} has values beyond {LARGEST:g} in {quote_names(large)}. Divide them by a large number.",
        )
    if missing == "error":
        _check_missing(table, label)


def unique_names(names: Iterable[str]) -> tuple[str, ...]:
    """Names that differ: the second 'a' becomes 'a (2)'.

    >>> unique_names(["a", "b", "a"])
    ('a', 'b', 'a (2)')
    """
    taken: set[str] = set()
    counts: dict[str, int] = {}
    found = []
    for name in names:
        new = name
        while new in taken:
            # Counting goes on where it ended: many columns of one name take linear time.
            counts[name] = counts.get(name, 1) + 1
            new = f"{name} ({counts[name]})"
        taken.add(new)
        found.append(new)
    return tuple(found)


def quote_names(names: Iterable[str], most: int = 8) -> str:
    """Names for a message, quoted, and not too many of them."""
    shown = [repr(name) for name in names]
    return ", ".join(shown[:most]) + (f" and {len(shown) - most} more" if len(shown) > most else "")


def is_row_number(values: Array) -> bool:
    """Whether a column holds increasing whole numbers, as the index of a table does."""
    if values.dtype.kind != "f" or not np.isfinite(values).all():
        return False
    return bool((values == np.rint(values)).all() and (np.diff(values) > 0).all())


def _check_missing(table: Table, label: str) -> None:
    missing = {column.name: column.missing for column in table.columns}
    absent = _absent_vectors(missing)
    found = (
        f"{absent[name]!r} (no vector in {int(gap.sum())} of {len(table)} rows)"
        if name in absent
        else f"{name!r} ({int(gap.sum())} of {len(table)})"
        for name, gap in missing.items()
        if gap.any()
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


def _absent_vectors(missing: dict[str, Array]) -> dict[str, str]:
    """The vector of each number, for vectors that are missing as a whole or not at all."""
    found: dict[str, str] = {}
    for vector, length in vector_lengths(missing).items():
        names = [f"{vector}[{k}]" for k in range(length)]
        if length > 1 and all(np.array_equal(missing[names[0]], missing[name]) for name in names):
            found |= dict.fromkeys(names, vector)
    return found


def is_identifier(column: Column) -> bool:
    """Whether a column holds free text or identifiers: more than 50 texts, which occur at most twice on average."""
    levels = len(column.used_levels()) if column.kind == "text" else 0
    return levels > MANY_TEXTS and 2 * levels >= int(np.count_nonzero(~column.missing))
