"""Labels of rows that lie in columns: which rows belong together, which may be exchanged, what to call them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from .._util.errors import InputError, Note
from .arrays import Array
from .columns import TableColumn, count_missing
from .names import unknown_columns
from .source import Source
from .vectors import vector_lengths

#: What a column is to say of rows, by the argument that names it.
_LABELS = {
    "groups": "which rows belong together",
    "strata": "which rows may be exchanged",
    "labels": "which sample each row belongs to",
    "items": "what to call each row",
}
#: Whole numbers that a float holds exactly.
_EXACT = 2**53


def take_labels(source: Source, columns: Mapping[str, str]) -> Source:
    """The source without the columns that are labels of its rows, which become its ``labels``.

    Parameters
    ----------
    source
        What was read, with these columns.
    columns
        The column of each kind of labels.

    Notes
    -----
    With ``missing="drop"``, rows without a label are dropped.
    """
    if not columns:
        return source
    found = {kind: _find_column(source, name, kind) for kind, name in columns.items()}
    if source.options.missing != "drop":
        for kind, column in found.items():
            _check_complete(source.label, column, kind)
    content = source.content.without([column.name for column in found.values()])
    if not content.names:
        raise InputError("no-columns-left", f"{source.label} has no columns left to compare, of {len(source.columns)}.")
    gone = {column.note for column in found.values()}
    notes = tuple(note for note in source.notes if note not in gone)
    labels = {kind: _values(column) for kind, column in found.items()}
    source = replace(source, content=content, labels=labels, notes=notes)
    complete = np.ones(len(source), bool)
    for name, column in ((columns[kind], column) for kind, column in found.items()):
        gaps = column.missing & complete
        complete &= ~gaps
        if not complete.any():
            raise InputError(
                "no-rows-left",
                f"{source.label} has no value in {name!r}.",
                "{missing} would leave nothing.",
                missing="drop",
            )
        if gaps.any():
            rows = int(gaps.sum() + complete.sum())
            text = f"{int(gaps.sum())} of {rows} rows had no value in {name!r} and were dropped."
            source = replace(source, notes=(*source.notes, Note("rows-dropped", text)))
    return source if complete.all() else source.take(complete)


def _find_column(source: Source, name: str, kind: str) -> TableColumn:
    """The column of this name, which holds one label for each row."""
    length = vector_lengths(source.columns).get(name, 0) if name not in source.columns else 0
    if length > 1:
        raise InputError(
            "unusable-labels", f"{source.label} has vectors in {name!r}, which cannot say {_LABELS[kind]}."
        )
    column = source.column(f"{name}[0]" if length else name)
    if column is None:
        raise unknown_columns(source.label, [name], source.columns)
    return column


def check_labels(labels: Any, kind: str) -> None:
    """Raise `InputError` for missing labels; ``kind`` is the argument that they were given as."""
    gaps = count_missing(labels)
    if gaps:
        raise InputError(
            "missing-labels",
            f"{kind} has {gaps:,} missing values, but is to say {_LABELS[kind]}.",
            f"{{{kind}}} needs a value for every row: fill these in, or remove the rows.",
            **{kind: ...},
        )


def _check_complete(label: str, column: TableColumn, kind: str) -> None:
    """Raise `InputError` for a column of labels with missing values."""
    if column.missing.any():
        raise InputError(
            "missing-labels",
            f"{label} has {int(column.missing.sum())} missing values in {column.name!r}, which is to say "
            f"{_LABELS[kind]}.",
            f"{{{kind}}} needs a value in every row: fill these in, or drop rows with gaps by {{missing}}.",
            missing="drop",
            **{kind: column.name},
        )


def _values(column: TableColumn) -> Array:
    if column.kind == "text":
        return np.array([*column.levels, ""], object)[column.values]
    # What is missing was complained of, or is dropped.
    return as_whole(np.where(column.missing, 0, column.values))


def as_whole(values: Array) -> Array:
    """Labels that are whole numbers as such, so that they are called 2 and not 2.0.

    >>> as_whole(np.array([0.0, 2.0])).tolist(), as_whole(np.array([0.0, 0.5])).tolist()
    ([0, 2], [0.0, 0.5])
    """
    whole = values.dtype.kind == "f" and bool(((values == np.rint(values)) & (np.abs(values) < _EXACT)).all())
    return values.astype(np.int64) if whole else values
