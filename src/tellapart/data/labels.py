"""Labels of rows that lie in columns: which rows belong together, which may be exchanged, what to call them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from .._util.errors import InputError
from .arrays import Array
from .columns import Column, count_missing
from .options import ReadOptions, Unlabelled
from .read import open_source
from .source import Rows, Source
from .tables import Table, unknown_columns

#: What a column is to say of rows, by the argument that names it.
_LABELS = {
    "groups": "which rows belong together",
    "strata": "which rows may be exchanged",
    "labels": "which sample each row belongs to",
    "items": "what to call each row",
}
#: Whole numbers that a float holds exactly.
_EXACT = 2**53


def take_label_columns(
    data: Sequence[Any], names: Sequence[str], options: ReadOptions, labels: Mapping[str, Any]
) -> tuple[list[Any], ReadOptions, dict[str, list[Array]]]:
    """The samples without those columns that are labels of rows: ``labels`` are columns by their names, or values.

    Returns
    -------
    What to read instead of each sample, with which options, and by the kind of labels those of the rows of the user's
    data, one array for each sample.
    """
    columns = {kind: given for kind, given in labels.items() if isinstance(given, str)}
    parts, found = list(data), {kind: [] for kind in columns}  # type: ignore[var-annotated]
    together, unlabelled = options, options.unlabelled
    for k, name in enumerate(names):
        own = options
        for kind, column in columns.items():
            parts[k], own, values = take_labels(parts[k], name, column, own, kind)
            found[kind].append(values)
        together, unlabelled = (own, unlabelled + own.unlabelled) if own is not options else (together, unlabelled)
    return parts, replace(together, unlabelled=unlabelled), found


def take_labels(
    data: Any, name: str, column: str, options: ReadOptions, kind: str = "groups"
) -> tuple[Any, ReadOptions, Array]:
    """A column of labels, and the sample without it; ``kind`` is the argument that named the column.

    Returns
    -------
    What to read instead of ``data``, with which options, and the label of each row of the user's data. Rows without
    one are dropped by these options, if they are to drop what is missing.
    """
    if isinstance(data, Source):
        if column not in data.columns or not isinstance(data.content, (Table, Rows)):
            raise unknown_columns(data.label, [column], data.columns)
        keep = [k for k, known in enumerate(data.columns) if known != column]
        place = data.columns.index(column)
        if isinstance(data.content, Table):
            _check_complete(data.label, data.content.columns[place], kind)
            content: Table | Rows = Table(tuple(data.content.columns[k] for k in keep))
            values = _values(data.content.columns[place])
        else:
            kept = tuple(data.columns[k] for k in keep)
            content = Rows(data.content.values[:, keep], kept, data.content.from_table)
            values = as_whole(data.content.values[:, place])
        labels = np.zeros(int(data.numbers.max()) + 1, values.dtype)
        labels[data.numbers] = values
        return replace(data, content=content), options, labels
    wanted = replace(
        options, columns=(column,), drop=None, missing="indicator", features=None, max_rows=None, unlabelled=()
    )
    source = open_source(data, name, replace(wanted, image_shape=None, image_size=None))
    if isinstance(source.content, Table):
        if len(source.content.columns) > 1:
            raise InputError(
                "unusable-labels", f"{source.label} has vectors in {column!r}, which cannot say {_LABELS[kind]}."
            )
        found = source.content.columns[0]
        if options.missing != "drop":
            _check_complete(source.label, found, kind)
        elif found.missing.any():
            gaps = Unlabelled(name, column, np.flatnonzero(found.missing))
            options = replace(options, unlabelled=(*options.unlabelled, gaps))
        labels = _values(found)
    else:
        labels = as_whole(source.content.values[:, 0]) if isinstance(source.content, Rows) else np.empty(0)
    drop = (*(options.drop or ()), column)
    columns = None if options.columns is None else tuple(c for c in options.columns if c != column)
    # Columns that are not wanted need not be dropped too.
    return data, replace(options, columns=columns, drop=options.drop if columns is not None else drop), labels


def check_labels(labels: Any, kind: str) -> None:
    """Complain of labels that are missing; ``kind`` is the argument that they were given as."""
    gaps = count_missing(labels)
    if gaps:
        raise InputError(
            "missing-labels",
            f"{kind} has {gaps:,} missing values, but is to say {_LABELS[kind]}.",
            f"{{{kind}}} needs a value for every row: fill these in, or remove the rows.",
            **{kind: ...},
        )


def _check_complete(label: str, column: Column, kind: str) -> None:
    """Complain of a column of labels with gaps."""
    if column.missing.any():
        raise InputError(
            "missing-labels",
            f"{label} has {int(column.missing.sum())} missing values in {column.name!r}, which is to say "
            f"{_LABELS[kind]}.",
            f"{{{kind}}} needs a value in every row: fill these in, or drop rows with gaps by {{missing}}.",
            missing="drop",
            **{kind: column.name},
        )


def _values(column: Column) -> Array:
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
