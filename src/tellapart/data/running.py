"""Columns that go on from batch to batch: running numbers, ids and dates, by which later rows differ in any case."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np

from .._util.errors import Note
from .columns import Column
from .tables import Table, describe_running, is_row_number

#: Names of columns that hold ids.
_ID = re.compile(r"(^|[_\W])(id|ids|uuid|guid|index|idx|key|nr|no|number|rownum)$|^(id|idx|index)", re.IGNORECASE)
#: Names of columns that hold years.
YEAR = re.compile(r"(^|[_\W])(year|yr|jahr|année|año|anno|ano)s?($|[_\W])", re.IGNORECASE)


def is_called_id(name: str) -> bool:
    """Whether a column has the name of an id; columns without names are called 0, 1, 2.

    >>> [is_called_id(name) for name in ("customer_id", "ID", "width", "0")]
    [True, True, False, False]
    """
    return bool(_ID.search(name)) and not name.isdigit()


def note_running(table: Table) -> tuple[str, ...]:
    """Notes on the columns of a reference by which later batches differ though nothing else has changed.

    >>> day = Column("day", "date", np.arange(20.0))
    >>> print(*note_running(Table((day, Column("age", "number", np.arange(20.0) % 7)))))
    'day' holds dates (1970-01-01 to 1970-01-20). Batches with later ones differ by it alone: leave it out ...
    """
    return tuple(note for column in table.columns if (note := _note(column)))


def _note(column: Column) -> str:
    there = column.values[~column.missing] if column.kind in ("date", "number") else np.empty(0)
    if len(there) < 2 or there.min() == there.max():
        return ""
    out = "leave it out with {drop}."
    if column.kind == "date":
        first, last = (replace(column, values=np.array([value])).cell(0) for value in (there.min(), there.max()))
        advice = f"Batches with later ones differ by it alone: {out}"
        return Note(f"{column.name!r} holds dates ({first} to {last}).", advice, drop=column.name)
    if len(there) == len(column) and is_row_number(column.values):
        advice = f"If it goes on, later batches differ by it alone: {out}"
        return Note(f"{column.name!r} {describe_running(column.values)}.", advice, drop=column.name)
    whole = bool((there == np.rint(there)).all())
    if whole and is_called_id(column.name) and len(np.unique(there)) == len(there):
        advice = f"If later rows have others, they differ by it alone: {out}"
        return Note(f"{column.name!r} is different in every row.", advice, drop=column.name)
    return ""
