"""Values that can be computed with: finite numbers, whose squares are finite too.

A column with other values is named with what is wrong; a row, where the place is known.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from .._util.errors import InputError
from .._util.tensors import is_tensor
from .arrays import Array, as_array, check_rows, iterate_blocks
from .names import quote_names

if TYPE_CHECKING:
    from torch import Tensor

#: The largest value that can be computed with: distances are squared.
LARGEST = 1e150

_REMOVE = "Remove or impute them."
_DIVIDE = "by a large number."


def are_usable(values: Array | Tensor) -> bool:
    """Whether all values are finite, and so are their squares (in double precision)."""
    # As Python's numbers: in single precision the limit itself would be infinite.
    plain = values.detach() if is_tensor(values) else values
    low, high = float(plain.min()), float(plain.max())
    return low >= -LARGEST and high <= LARGEST  # also false for NaN


def check_values(values: Array | Tensor, name: str, rows: Array | None = None) -> None:
    """Raise `InputError` if there are no values, and for values that cannot be computed with.

    ``rows`` are the places in the user's data where only some rows are looked at.
    """
    check_rows(tuple(values.shape), name)
    # One look finds out whether anything is wrong; only then is it worth looking for what and where.
    if are_usable(values):
        return
    array = as_array(values, name)
    if rows is not None:
        order = np.argsort(rows, kind="stable")
        rows, array = rows[order], array[order]
        for row, column in _find(array, ~np.isfinite(array)):
            where = f"one at row {rows[row]}, column {column}"
            raise InputError("non-finite-values", f"{name} has NaN or infinite values, {where}. {_REMOVE}")
    check_finite(array, name)
    for row, column in _find(array, np.abs(array) > LARGEST):
        where = f"the first at row {row if rows is None else rows[row]}, column {column}"
        raise InputError(
            "values-too-large", f"{name} has values beyond {LARGEST:g}, {where}. Divide the data {_DIVIDE}"
        )


def check_finite(array: Array, name: str, *, allow_nan: bool = False, advice: str = _REMOVE, **options: Any) -> None:
    """Raise `InputError` that counts the values that are not finite numbers; ``advice`` is for NaN."""
    if array.dtype.kind != "f":
        return
    for id, what, test in (("missing-values", "NaN", np.isnan), ("infinite-values", "infinite", np.isinf)):
        if what == "NaN" and allow_nan:
            continue
        count, first = 0, (0, 0)
        for rows, block in iterate_blocks(array):
            bad = test(block)
            if bad.any():
                row, column = next(_find(block, bad))
                first = first if count else (rows.start + row, column)
                count += int(bad.sum())
        if count:
            where = f"the first at row {first[0]}, column {first[1]}"
            given = (advice, options) if what == "NaN" else (_REMOVE, {})
            raise InputError(
                id, f"{name} has {count} {what} among its {array.size} values, {where}.", given[0], **given[1]
            )


def check_columns(columns: Iterable[tuple[str, Array]], label: str) -> None:
    """Raise `InputError` that names the columns with infinite or too large values; others may be missing."""
    largest = {name: float(np.nanmax(np.abs(values), initial=0.0)) for name, values in columns}
    infinite = [name for name, value in largest.items() if value == np.inf]
    large = [name for name, value in largest.items() if value > LARGEST]
    if infinite:
        text = f"{label} has infinite values in {quote_names(infinite)}. Remove or replace them."
        raise InputError("infinite-values", text)
    if large:
        text = f"{label} has values beyond {LARGEST:g} in {quote_names(large)}. Divide them {_DIVIDE}"
        raise InputError("values-too-large", text)


def _find(array: Array, bad: Array) -> Iterator[list[int]]:
    """The row and the place in it of the first bad value, if there is one."""
    yield from np.argwhere(bad.reshape(len(array), -1))[:1].tolist()
