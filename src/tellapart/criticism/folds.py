"""Which rows are judged by which: folds that keep together what belongs together."""

from __future__ import annotations

import numpy as np

from ..data.arrays import Array
from ..data.shared import connect_labels

#: Folds, at the most.
FOLDS = 6
#: Equal rows stay together where at least this share of all rows differ from each other: among few different rows,
#: equal ones are no copies, but draws of the same value.
_DIFFERENT = 0.2
#: Groups are joined by equal rows where at least this share of them is left.
_LINKED = 0.5


def find_units(hashes: Array, given: Array | None) -> Array:
    """Numbers of what must stay in one fold: groups or pairs, and rows that are equal.

    >>> find_units(np.array([5, 6, 7, 5, 8]), np.array([0, 0, 1, 2, 3]))
    array([0, 0, 1, 0, 2])
    """
    _, equal = np.unique(hashes, return_inverse=True)
    if equal.max() + 1 < _DIFFERENT * len(hashes):
        equal = np.arange(len(hashes))
    if given is None:
        return np.asarray(equal)
    joined = connect_labels(equal, given)
    # Equal rows of a few groups are copies. Where they link most groups to each other, they are draws of one value.
    groups = np.unique(given, return_inverse=True)[1]
    return joined if joined.max() + 1 >= _LINKED * (groups.max() + 1) else np.asarray(groups)


def draw_folds(units: Array, labels: Array, rng: np.random.Generator) -> tuple[Array, int]:
    """The fold of each row, whole units at a time, with about the same share of each sample in each; and how many."""
    count = int(units.max()) + 1
    of_y = np.bincount(units, weights=labels, minlength=count)
    size = np.bincount(units, minlength=count)
    kind = np.where(of_y == 0, 0, np.where(of_y == size, 2, 1))
    fewest = min(int(np.count_nonzero(kind != 2)), int(np.count_nonzero(kind != 0)))
    folds = max(2, min(FOLDS, fewest))
    # Units of one sample, and of one size, follow each other, in random order among themselves.
    order = np.lexsort((rng.random(count), size, kind))
    place = np.empty(count, int)
    place[order] = np.arange(count) % folds
    return place[units], folds
