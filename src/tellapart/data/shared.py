"""Rows that occur in both samples.

Where a file is compared with itself, or two extracts overlap, a row would be learned from as one of X and tested as one
of Y. Equal values of coarse data are something else: they coincide within a sample as often as across.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np

from .._util.errors import Note
from .._util.text import printable
from .arrays import Array
from .hashing import hash_blocks
from .lazy import Lazy, Points

#: Values that more than this share of all rows have are values, not rows (black images, empty baskets).
_COMMON = 1 / 20


@dataclass(frozen=True, eq=False)
class SharedRows:
    """Rows of two samples that are equal, more often than by coincidence.

    Attributes
    ----------
    codes
        One number for each row of X and then of Y; equal rows have the same.
    in_x, in_y
        How many rows of X occur in Y, and of Y in X.
    """

    codes: Array
    in_x: int
    in_y: int
    m: int

    def __str__(self) -> str:
        n = len(self.codes) - self.m
        return f"{self.in_x:,} of {self.m:,} rows of X also occur in Y, {self.in_y:,} of {n:,} rows of Y in X."


def find_shared_rows(x: Array, y: Array) -> SharedRows | None:
    """Which rows are the same, from their hashes; None where no more coincide across samples than within.

    >>> hashes = np.arange(40, dtype=np.uint64)
    >>> str(find_shared_rows(hashes, hashes[10:]))
    '30 of 40 rows of X also occur in Y, 30 of 30 rows of Y in X.'
    >>> find_shared_rows(hashes % 5, hashes % 5)
    """
    m, n = len(x), len(y)
    _, codes, counts = np.unique(np.concatenate([x, y]), return_inverse=True, return_counts=True)
    if len(counts) == m + n:
        return None
    of_x = np.bincount(codes[:m], minlength=len(counts)).astype(float)
    of_y = counts - of_x
    few = counts <= max(_COMMON * (m + n), 4)
    across = float((of_x * of_y)[few].sum())
    within = float((of_x * (of_x - 1) + of_y * (of_y - 1))[few].sum())
    expected = within * 2 * m * n / max(m * (m - 1) + n * (n - 1), 1)
    if across <= 1.25 * expected + 5 * expected**0.5 + 3:
        return None
    both = few & (of_x > 0) & (of_y > 0)
    # What is common stays apart, each row by itself.
    alone = ~few[codes]
    codes = codes.reshape(-1).copy()
    codes[alone] = len(counts) + np.arange(int(alone.sum()))
    return SharedRows(codes, int(of_x[both].sum()), int(of_y[both].sum()), m)


def connect_labels(first: Array, second: Array) -> Array:
    """One number for rows that share a label of either kind, or are linked by a chain of both.

    >>> connect_labels(np.array(["a", "a", "b", "c", "d"]), np.array([7, 8, 8, 9, 7]))
    array([0, 0, 0, 1, 0])
    """
    codes = [np.unique(labels, return_inverse=True)[1].reshape(-1) for labels in (first, second)]
    found = codes[1]
    while True:
        # The smallest number of whatever hangs together, until nothing changes.
        before = found
        for code in codes:
            least = np.full(int(code.max()) + 1, len(found))
            np.minimum.at(least, code, found)
            found = least[code]
        if np.array_equal(before, found):
            return np.asarray(np.unique(found, return_inverse=True)[1].reshape(-1))


#: What comes of rows that two samples share.
LESS_IS_SEEN = "the test then sees less than there is"
COPIES_WIN = "its distance is then too small, and a model that copies is ranked too well"
SEEMS_CLOSER = "their distance is then too small"


class Sharing(NamedTuple):
    """What two samples have in common, as a kind, a sentence and a number of rows of the first."""

    kind: Literal["same data", "shared rows"]
    text: str
    rows: int


def describe_shared(
    hashes: tuple[Array, Array] | None, origins: Sequence[str], names: Sequence[str], so: str = LESS_IS_SEEN
) -> Sharing | None:
    """What two samples have in common: a file, all rows, or more rows than by coincidence (`find_shared_rows`).

    Parameters
    ----------
    hashes
        A number for each row of either sample, equal for equal rows; None where rows are not to be read.
    origins
        The files they were read from; empty for what was in memory.
    names
        What to call them.
    so
        What comes of it.
    """
    x, y = hashes or (np.empty(0), np.empty(0))
    if all(origins) and Path(origins[0]).resolve() == Path(origins[1]).resolve():
        return Sharing("same data", f"The same file was given twice: {printable(origins[0])}.", len(x))
    if hashes is None:
        return None
    if len(x) == len(y) and np.array_equal(np.sort(x), np.sort(y)):
        more = "" if so == LESS_IS_SEEN else f": {so}"
        return Sharing("same data", f"{names[0]} and {names[1]} have the same rows{more}.", len(x))
    found = find_shared_rows(x, y)
    if found is None:
        return None
    text = (
        f"{found.in_x:,} of the {found.m:,} rows of {names[0]} are in {names[1]} too. Rows that both have were not "
        f"drawn independently: {so}."
    )
    return Sharing("shared rows", text, found.in_x)


def note_shared(
    origins: Sequence[str],
    points: Sequence[Points],
    names: Sequence[str],
    so: str = LESS_IS_SEEN,
    *,
    with_first: bool = False,
) -> tuple[str, ...]:
    """`describe_shared` as notes, one for each two samples. Each sample is hashed once.

    Parameters
    ----------
    origins, names, so
        As in `describe_shared`, for each sample.
    points
        The rows. Those that stay in their own files are not read.
    with_first
        Compare the first sample with each other one only.
    """
    hashes = [None if isinstance(part, Lazy) and part.travels else hash_blocks(part) for part in points]
    notes = []
    for i, j in combinations(range(len(points)), 2):
        if i and with_first:
            break
        x, y = hashes[i], hashes[j]
        both = None if x is None or y is None or points[i].shape[1:] != points[j].shape[1:] else (x, y)
        found = describe_shared(both, (origins[i], origins[j]), (names[i], names[j]), so)
        if found is not None:
            same = found.kind == "same data"
            notes.append(Note("same-data", found.text) if same else Note("shared-rows", found.text))
    return tuple(notes)
