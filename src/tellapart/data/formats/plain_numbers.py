"""Small files of plain numbers, read without pandas: importing it takes longer than reading and testing such a file.

Whatever a file has beside plain decimal numerals, one in each cell of a regular table, is left to pandas: texts,
quotes, blanks, empty cells, zeros before other digits, whole numbers of more than 15 digits, lines of another length.
So the same numbers come of either.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

import numpy as np

from ..arrays import Array

#: A cell that holds a whole number, or any number, with nothing in front that would be lost.
_WHOLE = re.compile(r"[+-]?(?:0|[1-9][0-9]{0,14})", re.ASCII)
_NUMBER = re.compile(r"[+-]?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?", re.ASCII)


def read_plain_numbers(text: str, separator: str, columns: int, keep: Sequence[int]) -> list[Array] | None:
    """Some columns of a table of plain numbers as arrays of int64 and float64; None for any other table.

    ``text`` has the rows, without the names of the columns.

    >>> read_plain_numbers("1,0.5\\n2,3\\n", ",", 2, [0, 1])
    [array([1, 2]), array([0.5, 3. ])]
    >>> read_plain_numbers("1,a\\n2,3\\n", ",", 2, [0, 1])
    """
    lines = text.removesuffix("\n").split("\n")
    if any(line.count(separator) != columns - 1 for line in lines):
        return None
    cells = separator.join(line.removesuffix("\r") for line in lines).split(separator)
    found = [_read_column(cells[k::columns]) for k in range(columns)]
    read = [column for column in found if column is not None]
    return [read[k] for k in keep] if len(read) == columns else None


def _read_column(cells: list[str]) -> Array | None:
    """The numbers of a column; None if there is anything else."""
    if all(map(_WHOLE.fullmatch, cells)):
        return np.array(list(map(int, cells)), np.int64)
    if not all(map(_NUMBER.fullmatch, cells)):
        return None
    values = list(map(float, cells))
    # Whole numbers that are too long have digits that floats do not hold.
    exact = all(map(math.isfinite, values)) and max(map(abs, values)) < 2**53
    return np.array(values) if exact else None
