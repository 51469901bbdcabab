"""Tables: columns of numbers, yes or no, dates and text, from whichever library the user has them in."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from .arrays import Array
from .columns import Column, column_of, text_column


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

    def take(self, rows: Array) -> Table:
        """Some of the rows."""
        return Table(tuple(column.take(rows) for column in self.columns))

    def row(self, i: int) -> list[str]:
        """The cells of row ``i`` as text."""
        return [column.cell(i) for column in self.columns]

    def matrix(self) -> Array | None:
        """One array, where every column holds numbers."""
        if any(column.kind not in ("number", "boolean") for column in self.columns):
            return None
        return np.stack([column.values for column in self.columns], axis=1)


def is_table(data: Any) -> bool:
    """Whether this is a DataFrame, or a column or a batch of one, of pandas, polars or pyarrow."""
    return type(data).__module__.split(".")[0] in ("pandas", "polars", "pyarrow") and hasattr(data, "__len__")


def table_of(data: Any, label: str, columns: Any = None, drop: Any = None) -> Table:
    """Read the columns that are wanted from a table of pandas, polars or pyarrow."""
    library = type(data).__module__.split(".")[0]
    if not hasattr(data, "columns"):  # a single column
        data = _as_frame(data, library)
    if library == "pyarrow":
        names, get = data.schema.names, data.column
    elif library == "polars":
        names, get = data.columns, data.to_series
    else:
        names, get = list(data.columns), lambda k: data.iloc[:, k]
    names = distinct(str(name) for name in names)
    read = {"pandas": _from_pandas, "polars": _from_polars, "pyarrow": _from_arrow}[library]
    keep = selected(names, label, columns, drop)
    return Table(tuple(read(names[k], get(k), label) for k in keep))


def selected(names: tuple[str, ...], label: str, columns: Any = None, drop: Any = None) -> list[int]:
    """Positions of the columns that are wanted: those in ``columns`` (or all), without those in ``drop``."""
    wanted = names if columns is None else _name_list(columns, "columns")
    unwanted = () if drop is None else _name_list(drop, "drop")
    for argument, given in (("columns", wanted), ("drop", unwanted)):
        strange = [name for name in given if name not in names]
        if strange:
            raise ValueError(
                f"{argument}= names {listed(strange)}, but {label} has no such column. It has {listed(names)}."
            )
    chosen = {name for name in wanted if name not in unwanted}
    keep = [k for k, name in enumerate(names) if name in chosen]
    if not keep:
        raise ValueError(f"{label} has no columns left to compare, of {len(names)}.")
    return keep


def check_table(table: Table, label: str, missing: str) -> None:
    """Complain about columns that cannot be encoded."""
    if len(table) == 0:
        raise ValueError(f"{label} is empty: it has no rows.")
    infinite = [c.name for c in table.columns if c.kind == "number" and np.isinf(c.values).any()]
    if infinite:
        raise ValueError(f"{label} has infinite values in {listed(infinite)}. Remove or replace them.")
    if missing == "error":
        counts = [(column.name, int(column.missing.sum())) for column in table.columns]
        gaps = [f"{name!r} ({count} of {len(table)})" for name, count in counts if count]
        if gaps:
            raise ValueError(
                f"{label} has missing values in {', '.join(gaps[:5])}{', …' if len(gaps) > 5 else ''}. "
                "Open it with missing='indicator' to compare what is missing too, or with missing='drop' to leave "
                "these rows out."
            )
    unique = []
    for column in table.columns:
        levels = len(column.used_levels()) if column.kind == "text" else 0
        if levels > 50 and 2 * levels > np.count_nonzero(~column.missing):
            unique.append(column.name)
    if unique:
        raise ValueError(
            f"{label} has text that is nearly always different (free text or identifiers) in {listed(unique)}. "
            f"Leave it out with drop={unique[:5]!r}, or encode it as numbers yourself."
        )


def distinct(names: Iterable[str]) -> tuple[str, ...]:
    """Names that differ: the second 'a' becomes 'a (2)'.

    >>> distinct(["a", "b", "a"])
    ('a', 'b', 'a (2)')
    """
    taken: set[str] = set()
    found = []
    for name in names:
        new, count = name, 1
        while new in taken:
            count += 1
            new = f"{name} ({count})"
        taken.add(new)
        found.append(new)
    return tuple(found)


def listed(names: Iterable[str], most: int = 8) -> str:
    """Names for a message, quoted, and not too many of them."""
    shown = [repr(name) for name in names]
    return ", ".join(shown[:most]) + (f" and {len(shown) - most} more" if len(shown) > most else "")


def _name_list(names: Any, argument: str) -> tuple[str, ...]:
    if isinstance(names, (str, int)):
        return (str(names),)
    if not isinstance(names, Iterable):
        raise TypeError(f"{argument} must be a list of names, but is {names!r}.")
    return tuple(str(name) for name in names)


def _as_frame(column: Any, library: str) -> Any:
    if library == "pyarrow":
        return import_module(library).table([column], names=["0"])
    return column.to_frame()


def _from_pandas(name: str, series: Any, label: str) -> Column:
    kind = getattr(series.dtype, "kind", "O")
    if hasattr(series, "cat"):
        levels = tuple(str(level) for level in series.cat.categories)
        return text_column(name, series.cat.codes.to_numpy(), levels, categorical=True)
    if str(series.dtype).startswith(("str", "string", "large_string")):
        codes, texts = series.factorize()
        return text_column(name, codes, tuple(texts), categorical=False)
    if kind in "iufb":
        values = series.to_numpy(dtype=np.float64, na_value=np.nan)
        return Column(name, "boolean" if kind == "b" else "number", values.copy())
    if kind in "mM":
        return column_of(name, series.to_numpy(dtype=f"{kind}8[us]"), label)
    return column_of(name, series.to_numpy(dtype=object), label)


def _from_polars(name: str, series: Any, label: str) -> Column:
    categorical = type(series.dtype).__name__ in ("Categorical", "Enum")
    return column_of(name, series.to_numpy(), label, categorical=categorical)


def _from_arrow(name: str, chunks: Any, label: str) -> Column:
    # Text is numbered before it becomes Python's, which takes far more memory.
    categorical = hasattr(chunks.type, "index_type")
    if categorical or str(chunks.type) in ("string", "large_string"):
        numbered = chunks.unify_dictionaries() if categorical else chunks.dictionary_encode()
        pieces = [piece.indices.fill_null(-1).to_numpy(zero_copy_only=False) for piece in numbered.chunks]
        levels = numbered.chunk(0).dictionary.to_pylist() if numbered.num_chunks else []
        codes = np.concatenate([np.arange(0), *pieces])
        return text_column(name, codes, tuple(str(level) for level in levels), categorical=categorical)
    return column_of(name, chunks.to_numpy(zero_copy_only=False), label)


def counts_rows(values: Array) -> bool:
    """Whether a column holds increasing whole numbers, as the index of a table does."""
    if values.dtype.kind != "f" or not np.isfinite(values).all():
        return False
    return bool((values == np.rint(values)).all() and (np.diff(values) > 0).all())
