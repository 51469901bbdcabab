"""Numbers of 64 bits for rows, which equal rows share: the same in every process and for every container."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from typing import Any

import numpy as np

from .arrays import Array, as_array
from .columns import TableColumn
from .lazy import Points, TensorPoints

#: Numbers that are looked at together.
_BLOCK = 2**20


def hash_blocks(values: Points | TensorPoints) -> Array:
    """A number for each row of numbers, of whatever shape.

    >>> hash_blocks(np.array([[0.0, 1.0], [-0.0, 1.0], [1.0, 0.0]])).argsort(kind="stable").shape
    (3,)
    """
    rows, width = len(values), int(np.prod(values.shape[1:]))
    found = np.empty(rows, np.uint64)
    salts = _salts(width)
    step = max(1, _BLOCK // max(1, width))
    for start in range(0, rows, step):
        block = as_array(values[start : start + step], "")
        found[start : start + step] = _mix(block.reshape(len(block), -1), salts).sum(axis=1, dtype=np.uint64)
    return found


def hash_columns(columns: Sequence[TableColumn]) -> Array:
    """A number for each row of a table."""
    found = np.zeros(len(columns[0]), np.uint64)
    for salt, column in zip(_salts(len(columns)), columns, strict=True):
        values = column.values
        if column.kind == "text":
            values = np.array([*map(_hash_text, column.levels), 0], np.uint64)[values].view(np.float64)
        found += _mix(values[:, None], salt[None])[:, 0]
    return found


def _hash_text(text: Any) -> int:
    """A number that is the same in every process, unlike Python's own hash of a text."""
    return int.from_bytes(blake2b(str(text).encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")


def _mix(values: Array, salts: Array) -> Array:
    """The bits of numbers, each well mixed with the salt of its column."""
    bits = (values.astype(np.float64) + 0.0).view(np.uint64)  # 0 and -0 are equal
    bits = (bits ^ (bits >> np.uint64(32))) * np.uint64(0x9E3779B97F4A7C15)
    bits = (bits ^ (bits >> np.uint64(29))) * salts
    mixed: Array = bits ^ (bits >> np.uint64(32))
    return mixed


def _salts(count: int) -> Array:
    drawn: Array = np.random.default_rng(0).integers(2**62, size=count, dtype=np.uint64)
    odd: Array = drawn * np.uint64(2) + np.uint64(1)
    return odd
