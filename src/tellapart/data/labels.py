"""Labels of rows that lie in columns: which rows belong together, which may be exchanged, what to call them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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


def check_labels(parts: Sequence[Any], kind: str) -> None:
    """Raise `InputError` for missing labels; ``kind`` is the argument that they were given as."""
    gaps = sum(map(count_missing, parts))
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


def add_labels(sources: Sequence[Source], given: Sequence[Any], labels: Mapping[str, Any]) -> list[Source]:
    """Sources with labels of their rows that were given as values: those of the rows that were read.

    Parameters
    ----------
    sources
        The samples as they were read.
    given
        What the user gave for each sample. Labels of a `Source` may also be those of its rows alone, where it was made
        without some rows of the data.
    labels
        Labels of all rows of the data, by kind; see `split_labels`.
    """
    numberings = [[_numbers_in_data(source) for source in sources]]
    if any(isinstance(data, Source) for data in given):
        numberings.append([_numbers_in_source(*pair) for pair in zip(sources, given, strict=True)])
    added = list(sources)
    for kind, values in labels.items():
        for numbering in numberings:
            parts = split_labels(values, [count for count, _ in numbering], kind)
            if parts is not None:
                break
        else:
            raise _wrong_number(values, [count for count, _ in numberings[0]], kind)
        added = [
            replace(source, labels={**source.labels, kind: part[rows]})
            for source, part, (_, rows) in zip(added, parts, numbering, strict=True)
        ]
    return added


def check_split(labels: Any, counts: Sequence[int], kind: str) -> tuple[Array, ...]:
    """`split_labels`; raise `InputError` if there is not one for each row."""
    parts = split_labels(labels, counts, kind)
    if parts is None:
        raise _wrong_number(labels, counts, kind)
    return parts


def split_labels(labels: Any, counts: Sequence[int], kind: str) -> tuple[Array, ...] | None:
    """The labels of each sample; None if there is not one for each row.

    >>> split_labels([1, 2, 3], (2, 1), "groups")
    (array([1, 2]), array([3]))
    >>> split_labels(([1, 2], [3]), (2, 1), "groups"), split_labels([1, 2], (2, 1), "groups")
    ((array([1, 2]), array([3])), None)

    Parameters
    ----------
    labels
        One array for all samples, one after the other, or a tuple of one for each. Items are a pair of these.
    counts
        How many rows each sample has.
    kind
        The argument that they were given as.
    """
    if kind == "items" and not (isinstance(labels, (tuple, list)) and len(labels) == len(counts)):
        raise InputError(
            "invalid-items", "items must be a pair of lists, one for each sample, or the name of a column."
        )
    if kind == "items" or (isinstance(labels, tuple) and len(labels) == len(counts) and np.ndim(labels[0])):
        parts = tuple(_as_labels(part) for part in labels)
        return parts if [part.shape for part in parts] == [(count,) for count in counts] else None
    whole = _as_labels(labels)
    return tuple(np.split(whole, np.cumsum(counts)[:-1])) if whole.shape == (sum(counts),) else None


def _as_labels(values: Any) -> Array:
    """Labels as an array. Those that are missing in a list of texts stay what they are."""
    try:
        array = np.asarray(values)
    except ValueError:  # rows of different lengths
        return np.empty((len(values), 0))
    return array if isinstance(values, np.ndarray) or array.dtype.kind not in "US" else np.asarray(values, object)


def _numbers_in_data(source: Source) -> tuple[int, Array]:
    """How many rows the data have that a source was read from, and which of them it has."""
    return int(source.numbers.max(initial=-1)) + 1 if source.total is None else source.total, source.numbers


def _numbers_in_source(source: Source, given: Any) -> tuple[int, Array]:
    """The same for a source that was given and is read as it is."""
    if not isinstance(given, Source):
        return _numbers_in_data(source)
    order = np.argsort(given.numbers)
    return len(given), order[np.searchsorted(given.numbers[order], source.numbers)]


def _wrong_number(labels: Any, counts: Sequence[int], kind: str) -> InputError:
    parts = labels if isinstance(labels, tuple) and len(labels) == len(counts) else [labels]
    shapes = " and ".join(str(_as_labels(part).shape) for part in parts)
    what = "item" if kind == "items" else "label"
    problem = f"{kind} must have one {what} for each of the {sum(counts)} rows, but has shape {shapes}."
    if kind == "items":
        return InputError("wrong-number-of-items", problem)
    return InputError("wrong-number-of-labels", problem)
