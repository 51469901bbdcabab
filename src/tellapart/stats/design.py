"""Which rows may be exchanged: groups, strata and pairs, checked once for every test."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np

from .._util.errors import InputError, InputTypeError
from ..data.labels import check_labels

Array: TypeAlias = "np.ndarray[Any, Any]"


@dataclass(frozen=True, eq=False)
class Design:
    """Which rows may be exchanged under the null hypothesis.

    Attributes
    ----------
    groups, strata : ndarray of int, optional
        The group and the stratum of each row of all samples, one sample after the other. Whole groups are exchanged,
        within strata.
    paired : bool
        Row i of the first and row i of the second sample are exchanged with each other only; ``strata`` are the pairs.
    equal_groups : bool
        Exchange only groups with the same number of rows.
    """

    groups: Array | None = None
    strata: Array | None = None
    paired: bool = False
    equal_groups: bool = False

    @classmethod
    def check(
        cls,
        sizes: Sequence[int],
        groups: Any = None,
        strata: Any = None,
        paired: Any = False,
        equal_groups: Any = False,
        called: Mapping[str, Any] = MappingProxyType({}),
    ) -> Design:
        """Raise `InputError` unless groups, strata and pairs fit samples of these sizes; see also `effective`.

        Parameters
        ----------
        sizes : sequence of int
            The number of rows of each sample.
        groups, strata : array_like or tuple of array_like, optional
            One label for each row: in one array, or in one for each sample.
        paired, equal_groups : bool
            See `Design`.
        called : mapping, optional
            The names of the columns that groups and strata came from, for messages.
        """
        paired, equal_groups = check_paired(paired), check_equal_groups(equal_groups, groups is not None)
        if paired and (groups is not None or strata is not None):
            raise InputError(
                "conflicting-arguments",
                "The rows of pairs are exchanged.",
                "{paired} takes neither {groups} nor {strata}.",
                paired=True,
                groups=...,
                strata=...,
            )
        group_codes, stratum_codes = _as_codes(groups, sizes, "groups"), _as_codes(strata, sizes, "strata")
        if group_codes is not None:
            samples = np.repeat(np.arange(len(sizes)), sizes)
            _check_groups(groups, group_codes, sizes, {"sample": samples, "stratum": stratum_codes}, called)
        if paired:
            if sizes[0] != sizes[1]:
                raise InputError(
                    "unequal-pairs",
                    f"X has {sizes[0]} rows and Y has {sizes[1]}, so their rows are not pairs.",
                    "Leave out {paired}, or give both the same rows.",
                    paired=True,
                )
            stratum_codes = np.tile(np.arange(sizes[0]), 2)
        return cls(group_codes, stratum_codes, paired, equal_groups).effective

    @property
    def permuted_unit(self) -> str:
        """What is permuted: "rows", "groups", "pairs", "rows within strata", …"""
        if self.paired:
            return "pairs"
        what = "rows" if self.groups is None else "groups of equal size" if self.equal_groups else "groups"
        return what if self.strata is None else f"{what} within strata"

    @property
    def units(self) -> Array | None:
        """The group, or pair, of each row, within which rows are not independent; None if all rows are."""
        return self.strata if self.paired else self.groups

    @property
    def effective(self) -> Design:
        """The same without groups of one row each, and without a stratum of all rows, which restrict nothing.

        >>> Design(np.arange(4), np.zeros(4)).effective
        Design(groups=None, strata=None, paired=False, equal_groups=False)
        """
        groups, strata = self.groups, self.strata
        idle_groups = groups is None or len(np.unique(groups)) == len(groups)
        idle_strata = strata is None or (strata == strata[0]).all()
        equal_groups = self.equal_groups and not idle_groups
        return Design(None if idle_groups else groups, None if idle_strata else strata, self.paired, equal_groups)

    def take(self, rows: Array) -> Design:
        """The design of some rows, or of all rows in another order."""
        groups, strata = (None if codes is None else codes[rows] for codes in (self.groups, self.strata))
        return Design(groups, strata, self.paired, self.equal_groups)


def check_paired(paired: Any) -> bool:
    """Raise `InputTypeError` unless ``paired`` is True or False."""
    if not isinstance(paired, (bool, np.bool_)):
        raise InputTypeError(
            "wrong-type",
            f"paired must be True (row i of X and row i of Y belong together) or False, but is {paired!r:.60}.",
            "For a column that says which rows belong together, give {groups} or {strata}.",
            groups=...,
            strata=...,
        )
    return bool(paired)


def check_equal_groups(equal_groups: Any, grouped: bool) -> bool:
    """Raise `InputError` unless ``equal_groups`` is True or False, and False where there are no groups."""
    if not isinstance(equal_groups, (bool, np.bool_)):
        raise InputTypeError("wrong-type", f"equal_groups must be True or False, but is {equal_groups!r:.60}.")
    if equal_groups and not grouped:
        raise InputError(
            "conflicting-arguments",
            "Only groups have sizes.",
            "{equal_groups} has no effect without {groups}.",
            equal_groups=True,
            groups=...,
        )
    return bool(equal_groups)


def _as_codes(given: Any, sizes: Sequence[int], name: str) -> Array | None:
    """Labels as numbers from 0 up, in the order of their values."""
    if given is None:
        return None
    if isinstance(given, str):
        raise InputTypeError(
            "wrong-type",
            f"groups and strata are labels, one for each row of X and then of Y, but {given!r} is a text. "
            "two_sample_test also takes the name of a column.",
        )
    values = _join(given, sizes)
    if values.shape != (sum(sizes),):
        raise InputError(
            "wrong-number-of-labels",
            f"{name} must have one label for each of the {sum(sizes)} rows, but has shape {values.shape}.",
        )
    check_labels(_parts(given, sizes), name)
    if values.dtype == object:
        values = values.astype(str)
    codes: Array = np.unique(values, return_inverse=True)[1].reshape(-1)
    return codes


def _check_groups(
    given: Any, codes: Array, sizes: Sequence[int], within: Mapping[str, Array | None], called: Mapping[str, Any]
) -> None:
    """Raise `InputError` if a group has rows in two samples or strata, with the names that the user gave them."""
    first = np.unique(codes, return_index=True)[1]
    for what, values in within.items():
        odd = np.empty(0) if values is None else np.flatnonzero(values[first][codes] != values)
        if len(odd):
            name = _join(given, sizes)[odd[0]]
            name = name.item() if isinstance(name, np.generic) else name
            name = int(name) if isinstance(name, float) and name.is_integer() else name
            columns = [called.get("groups"), called.get("strata") if what == "stratum" else None]
            group, other = (f" ({column!r})" if isinstance(column, str) else "" for column in columns)
            raise InputError(
                "group-in-two-parts", f"A group{group} must lie in one {what}{other}, but {name!r} has rows in two."
            )


def _join(given: Any, sizes: Sequence[int]) -> Array:
    """Labels of all rows in one array."""
    return np.concatenate([np.asarray(part) for part in _parts(given, sizes)])


def _parts(given: Any, sizes: Sequence[int]) -> Sequence[Any]:
    return given if isinstance(given, tuple) and len(given) == len(sizes) and np.ndim(given[0]) else [given]


def number_combinations(*codes: Array) -> Array:
    """Number the combinations of integers from 0 up, in lexicographic order.

    As ``np.unique(np.stack(codes), axis=1, return_inverse=True)[1]``, which compares structured arrays: Ctrl-C can
    become a TypeError there.

    >>> number_combinations(np.array([1, 0, 1, 1]), np.array([5, 9, 2, 5]))
    array([2, 0, 1, 2])
    """
    found: Array = np.unique(codes[0], return_inverse=True)[1].reshape(-1)
    for other in codes[1:]:
        place = np.unique(other, return_inverse=True)[1].reshape(-1)
        found = np.unique(found * (int(place.max(initial=0)) + 1) + place, return_inverse=True)[1].reshape(-1)
    return found
