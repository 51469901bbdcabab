"""The memory that reading may take: what does not fit is refused before anything is made."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from .._util.errors import InputError, InputMemoryError
from .._util.memory import available_memory


def check_memory(need: float, label: str, limit: int | None, advice: str, **options: Any) -> None:
    """Raise if ``need`` bytes are more than ``limit`` (None: no limit) or more than are free."""
    free = available_memory()
    if limit is not None and limit < free and need > limit:
        raise InputMemoryError(
            "not-enough-memory",
            f"{label} would take about {format_bytes(need)} of memory, but {format_bytes(limit)} are allowed.",
            advice,
            **options,
        )
    if need > free:
        raise InputMemoryError(
            "not-enough-memory",
            f"{label} would take about {format_bytes(need)} of memory, but {format_bytes(free)} are free.",
            advice,
            **options,
        )


def count_as_float(shape: Sequence[int]) -> float:
    """The number of values of an array, for damaged files of any shape.

    >>> count_as_float((2, 3)), count_as_float((10**200, 10**200)) > 1e200
    (6.0, True)
    """
    return float(min(math.prod(shape), 2**900))


def format_bytes(count: float) -> str:
    """Bytes for a message.

    >>> format_bytes(2.5e9)
    '2.5 GB'
    """
    if count >= 1e18:  # of a damaged file
        return "a million TB or more"
    for unit, name in ((1e12, "TB"), (1e9, "GB"), (1e6, "MB")):
        if count >= unit:
            return f"{count / unit:.1f} {name}"
    return f"{int(count):,} bytes"


def check_count(value: Any, name: str) -> int | None:
    """A whole number from 1 up, or None."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
        raise InputError("out-of-range", f"{name} must be a whole number from 1 up, but is {value!r}.")
    return int(value)
