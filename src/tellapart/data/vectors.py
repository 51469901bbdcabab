"""Columns of vectors, such as embeddings: lists of numbers of one length, as that many columns."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from typing import Any

import numpy as np

from .._util.errors import InputError, InputTypeError
from .._util.extras import extra
from .arrays import Array, check_exact, fits_single
from .columns import TableColumn, is_missing
from .precision import DOUBLE, precision_of

#: Rows among which a first vector is looked for, to see how long vectors are.
_FIRST = 100
_PLACE = re.compile(r"\[\d+\]$")


def whole_column(name: str) -> str:
    """The column that a number of a vector came from.

    >>> whole_column("embedding[12]"), whole_column("age")
    ('embedding', 'age')
    """
    return _PLACE.sub("", name)


def vector_lengths(names: Iterable[str]) -> dict[str, int]:
    """How many numbers the vectors of each column have, by the names of the numbers.

    >>> vector_lengths(["age", "embedding[0]", "embedding[1]", "list[7]"])
    {'embedding': 2}
    """
    known = set(names)
    counts = Counter(whole_column(name) for name in known if _PLACE.search(name))
    # Names that only look like it have places left out.
    return {name: count for name, count in counts.items() if all(f"{name}[{k}]" in known for k in range(count))}


def holds_vectors(narwhals: Any, series: Any) -> bool:
    """Whether a column of narwhals has lists; in pandas these are objects like any others."""
    if series.dtype in (narwhals.List, narwhals.Array):
        return True
    return series.dtype == narwhals.Object and isinstance(_first(series), (list, tuple, np.ndarray))


def count_numbers(narwhals: Any, frame: Any) -> int:
    """How many numbers a row of a frame has, where vectors count by their length."""
    return sum(_length(frame[name]) if holds_vectors(narwhals, frame[name]) else 1 for name in frame.columns)


def split_vectors(name: str, series: Any, label: str) -> list[TableColumn]:
    """A column for each place in the vectors: ``name[0]``, ``name[1]``, …; a row without a vector misses all of them.

    The numbers are taken from Arrow's flat memory of them, not row by row.
    """
    if not len(series):
        return [TableColumn(name, "number", np.empty(0))]
    chunks = _as_chunks(name, series, label)
    lengths = {int(size) for chunk in chunks for size in np.unique(_lengths(chunk))}
    if len(lengths) > 1:
        raise InputError(
            "vector-lengths-differ",
            f"{label} has a column {name!r} of lists of different lengths ({min(lengths)} to {max(lengths)}).",
            "Give all rows vectors of one length, or leave it out with {drop}.",
            drop=[name],
        )
    if not lengths or lengths == {0}:
        raise InputError(
            "empty-vectors", f"{label} has a column {name!r} of empty lists.", "Leave it out with {drop}.", drop=[name]
        )
    width, start = lengths.pop(), 0
    # TableColumn by column in memory, as columns of tables are.
    found = np.full((width, sum(map(len, chunks))), np.nan)
    single, precision = True, DOUBLE
    for chunk in chunks:
        flat = chunk.flatten()
        check_exact(flat.drop_null().to_numpy(zero_copy_only=False), f"{label}: column {name!r}")
        values = flat.to_numpy(zero_copy_only=False)
        single, precision = single and fits_single(values.dtype), min(precision, precision_of(values.dtype))
        there = start + np.flatnonzero(chunk.is_valid().to_numpy(zero_copy_only=False))
        found[:, there] = values.reshape(-1, width).T
        start += len(chunk)
    return [TableColumn(f"{name}[{k}]", "number", found[k], single=single, precision=precision) for k in range(width)]


def _as_chunks(name: str, series: Any, label: str) -> list[Any]:
    """The lists as arrays of Arrow, whose values are numbers."""
    arrow = extra("pyarrow", group="tables", what="Reading columns of vectors")
    native = series.to_native()
    try:
        chunks = native.chunks if isinstance(native, arrow.ChunkedArray) else [series.to_arrow()]
        kind = chunks[0].type.value_type
    except (arrow.ArrowException, AttributeError):  # rows of different types, or lists here and numbers there
        raise _no_vectors(name, label, "values of several types") from None
    if arrow.types.is_boolean(kind):
        return [chunk.cast(arrow.list_(arrow.uint8())) for chunk in chunks]
    if not (arrow.types.is_integer(kind) or arrow.types.is_floating(kind)):
        text = arrow.types.is_string(kind) or arrow.types.is_large_string(kind) or str(kind) == "string_view"
        inner = "text" if text else "lists" if kind.num_fields else "nothing" if arrow.types.is_null(kind) else kind
        raise _no_vectors(name, label, f"lists of {inner}")
    return list(chunks)


def _no_vectors(name: str, label: str, what: str) -> InputTypeError:
    return InputTypeError(
        "unreadable-column",
        f"{label} has a column {name!r} of {what}, but vectors are lists of numbers.",
        "Leave it out with {drop}, or make numbers or one text of it.",
        drop=[name],
    )


def _lengths(chunk: Any) -> Array:
    compute = extra("pyarrow.compute", group="tables", what="Reading columns of vectors")
    found: Array = compute.list_value_length(chunk.drop_null()).to_numpy(zero_copy_only=False)
    return found


def _first(series: Any) -> Any:
    return next((value for value in series.head(_FIRST).to_list() if not is_missing(value)), None)


def _length(series: Any) -> int:
    first = _first(series)
    return 1 if first is None else max(1, len(first))
