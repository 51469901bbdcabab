"""Splits of rows into those to learn from and those to test."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from .._util.errors import InputError, InputTypeError
from .._util.rng import RNG, seed_of
from ..data.shared import connect_labels
from ..stats.design import number_combinations

Indices: TypeAlias = "np.ndarray[Any, np.dtype[np.int64]]"


#: Rows of each sample that are learned from and tested at least; and how often a split is drawn to get them.
_LEARNED, _TESTED, _DRAWS = 8, 2, 100


@dataclass(frozen=True, eq=False)
class Split:
    """Disjoint row numbers of the two samples: rows to learn from and rows to test."""

    train_x: Indices
    train_y: Indices
    test_x: Indices
    test_y: Indices

    def swapped(self) -> Split:
        """Exchange the rows to learn from and the rows to test."""
        return Split(self.test_x, self.test_y, self.train_x, self.train_y)

    def to_dict(self) -> dict[str, list[int]]:
        """Row numbers as lists."""
        return {name: rows.tolist() for name, rows in vars(self).items()}

    def __repr__(self) -> str:
        train, test = len(self.train_x) + len(self.train_y), len(self.test_x) + len(self.test_y)
        return f"Split(learn from {train} rows, test {test})"


def split_rows(
    m: int,
    n: int,
    train: float | tuple[Sequence[int], Sequence[int]] | Split = 0.5,
    *,
    groups: np.ndarray[Any, Any] | None = None,
    strata: np.ndarray[Any, Any] | None = None,
    equal: np.ndarray[Any, Any] | None = None,
    equal_groups: bool = False,
    rng: RNG = None,
) -> Split:
    """Split two samples of m and n rows.

    Parameters
    ----------
    m, n : int
        Numbers of rows.
    train : float, pair of sequences of int, or Split
        Share of each sample to learn from; or the row numbers in X and in Y to learn from, so that all others are
        tested; or a `Split`, which is validated.
    groups : array, optional
        A label for each row of X and then of Y. Groups are not divided.
    strata : array, optional
        A label for each row of X and then of Y. The share is taken within every stratum. If strata have few rows, the
        same strata are learned from in both samples.
    equal : array, optional
        A number for each row of X and then of Y, if rows occur in both samples. Rows with the same number are not
        divided. This split does not depend on the sample of a row, so it takes the share of each sample approximately.
    equal_groups : bool
        Take the share among the groups of each size, for tests that exchange groups of equal size only: otherwise a
        random difference in sizes would affect both parts.
    rng : int, torch.Generator, numpy.random.Generator or None
        Random numbers, if ``train`` is a share.

    Examples
    --------
    >>> split_rows(20, 16, 0.5, rng=0)
    Split(learn from 18 rows, test 18)
    >>> split_rows(20, 20, (range(10), range(10, 20))).test_y
    array([0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
    """
    if isinstance(train, Split):
        parts = train
    elif isinstance(train, tuple):
        chosen = [_rows(rows, size, name) for rows, size, name in zip(train, (m, n), "XY", strict=True)]
        rest = [np.setdiff1d(np.arange(size), rows) for rows, size in zip(chosen, (m, n), strict=True)]
        parts = Split(chosen[0], chosen[1], rest[0], rest[1])
    elif equal is not None:
        units = equal if groups is None else connect_labels(equal, groups)
        parts = _draw_together(m, train, units, strata, np.random.default_rng(seed_of(rng)))
    else:
        parts = _draw_split(m, n, train, groups, strata, equal_groups, np.random.default_rng(seed_of(rng)))
    _check_split(parts, m, n, groups)
    return parts


def _draw_split(
    m: int,
    n: int,
    share: float,
    groups: np.ndarray[Any, Any] | None,
    strata: np.ndarray[Any, Any] | None,
    equal_groups: bool,
    rng: np.random.Generator,
) -> Split:
    _check_share(share)
    learned = []
    seed = None if strata is None else int(rng.integers(2**62))
    for part in (slice(0, m), slice(m, m + n)):
        rows = np.arange(m + n)[part] if groups is None else groups[part]
        _, first, group, sizes = np.unique(rows, return_index=True, return_inverse=True, return_counts=True)
        take = np.zeros(len(sizes), dtype=bool)
        group_sizes = sizes if equal_groups else np.ones_like(sizes)
        classes = _classes(group_sizes, None if strata is None else strata[part][first])
        # Where strata are small, what rounding takes from one is given to the next, in the same order for both samples.
        order = range(len(classes)) if seed is None else np.random.default_rng(seed).permutation(len(classes))
        owed = 0.0
        for k in order:
            members = rng.permutation(classes[k])
            wanted = share * len(members) + owed
            count = round(wanted) if strata is None else int(np.floor(wanted + 0.5))
            owed = 0.0 if strata is None else wanted - count
            take[members[:count]] = True
        learned.append(take[group])
    x, y = learned
    return Split(np.flatnonzero(x), np.flatnonzero(y), np.flatnonzero(~x), np.flatnonzero(~y))


def _draw_together(
    m: int, share: float, units: Indices, strata: np.ndarray[Any, Any] | None, rng: np.random.Generator
) -> Split:
    """Split units, each of which consists of rows of one or both samples."""
    _check_share(share)
    _, first, unit, sizes = np.unique(units, return_index=True, return_inverse=True, return_counts=True)
    classes = _classes(sizes, None if strata is None else strata[first])
    x = y = np.empty(0, bool)
    # Few rows may fall so that too few are left on one side.
    for _ in range(_DRAWS):
        take = np.zeros(len(sizes), dtype=bool)
        owed = 0.0
        for members in classes:
            wanted = share * len(members) + owed
            count = int(np.floor(wanted + rng.random())) if strata is None else int(np.floor(wanted + 0.5))
            owed = wanted - count
            take[rng.permutation(members)[: max(count, 0)]] = True
        x, y = take[unit][:m], take[unit][m:]
        if all(side.sum() >= _LEARNED and (~side).sum() >= _TESTED for side in (x, y)):
            break
    return Split(np.flatnonzero(x), np.flatnonzero(y), np.flatnonzero(~x), np.flatnonzero(~y))


def _classes(sizes: Indices, strata: np.ndarray[Any, Any] | None) -> list[Indices]:
    """The positions of groups of one size in one stratum."""
    kind = number_combinations(np.zeros(len(sizes), int) if strata is None else strata, sizes)
    order = np.argsort(kind, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(kind[order])) + 1)


def _check_share(share: Any) -> None:
    if not isinstance(share, (int, float)) or not 0 < share < 1:
        raise InputError("out-of-range", f"The share to learn from must be between 0 and 1, but is {share!r}.")


def _rows(rows: Sequence[int] | Indices, size: int, name: str) -> Indices:
    found = np.asarray(rows)
    if found.dtype == bool and found.shape == (size,):
        found = np.flatnonzero(found)
    if found.ndim != 1 or found.dtype.kind not in "iu":
        raise InputTypeError("wrong-type", f"The rows of {name} to learn from must be a list of whole numbers.")
    found = found.astype(np.int64)
    if len(np.unique(found)) < len(found) or (len(found) and not 0 <= found.min() <= found.max() < size):
        raise InputError(
            "invalid-row-numbers", f"The rows of {name} to learn from must be distinct integers from 0 to {size - 1}."
        )
    return found


def _check_split(split: Split, m: int, n: int, groups: np.ndarray[Any, Any] | None) -> None:
    for name, size, train, test in (("X", m, split.train_x, split.test_x), ("Y", n, split.train_y, split.test_y)):
        _rows(np.concatenate([train, test]), size, name)
        if len(train) < _LEARNED or len(test) < _TESTED:
            raise InputError(
                "too-few-rows",
                f"The split leaves {len(train)} rows of {name} to learn from and {len(test)} to test, but {_LEARNED} "
                f"and {_TESTED} are needed. Use more rows, or mmd_test with a fixed kernel, which needs no split.",
            )
    if groups is not None:
        train = groups[np.concatenate([split.train_x, m + split.train_y])]
        shared = np.intersect1d(train, groups[np.concatenate([split.test_x, m + split.test_y])])
        if len(shared):
            raise InputError(
                "group-in-two-parts",
                f"Group {shared[0].item()!r} has rows to learn from and rows to test. A group must lie in one part.",
            )
