"""Which rows may be exchanged: groups, strata and pairs as the user gave them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np

from .._util.errors import InputError, InputTypeError
from ..data.labels import check_labels
from ..data.notices import note_reordered
from ..data.samples import Samples

Array: TypeAlias = "np.ndarray[Any, Any]"


@dataclass(frozen=True, eq=False)
class Design:
    """Which rows may be exchanged: groups and strata of all rows, as numbers."""

    groups: Array | None = None
    strata: Array | None = None
    equal_groups: bool = False
    paired: bool = False

    @classmethod
    def check(
        cls,
        mixed: Samples,
        groups: Any,
        strata: Any,
        paired: bool,
        equal_groups: bool,
        called: Mapping[str, Any] = MappingProxyType({}),
    ) -> Design:
        """What the user said, or a complaint about it; ``called`` may name the columns that groups and strata were."""
        paired = check_paired(paired)
        if paired and (groups is not None or strata is not None):
            raise InputError(
                "conflicting-arguments",
                "The rows of pairs are exchanged.",
                "{paired} takes neither {groups} nor {strata}.",
                paired=True,
                groups=...,
                strata=...,
            )
        sizes = [len(part) for part in mixed.points]
        codes = [_as_codes(given, sizes, name) for given, name in ((groups, "groups"), (strata, "strata"))]
        if codes[0] is not None:
            samples = np.repeat(np.arange(len(sizes)), sizes)
            _check_groups(groups, codes[0], sizes, {"sample": samples, "stratum": codes[1]}, called)
        if paired:
            if sizes[0] != sizes[1]:
                raise InputError(
                    "unequal-pairs",
                    f"X has {sizes[0]} rows and Y has {sizes[1]}, so their rows are not pairs.",
                    "Leave out {paired}, or give both the same rows.",
                    paired=True,
                )
            codes[1] = np.tile(np.arange(sizes[0]), 2)
        return cls(codes[0], codes[1], equal_groups, paired)

    def notes(self, mixed: Samples) -> tuple[str, ...]:
        """What makes one doubt that row i of X and row i of Y are a pair."""
        if not self.paired or mixed.kind != "table":
            return ()
        first, second = (part[:].cpu().numpy() for part in mixed.points)
        columns = ((unit.name, list(unit.coordinates)) for unit in mixed.variables)
        found = (note_reordered(name, first[:, places], second[:, places]) for name, places in columns)
        return tuple(chain.from_iterable(found))

    @property
    def permuted_unit(self) -> str:
        """What labels are exchanged of, in words."""
        if self.paired:
            return "pairs"
        what = "rows" if self.groups is None else "groups of equal size" if self.equal_groups else "groups"
        return what if self.strata is None else f"{what} within strata"

    @property
    def units(self) -> Array | None:
        """What belongs together, of each row: groups, or pairs; None where every row is by itself."""
        return self.strata if self.paired else self.groups

    def take(self, samples: Sequence[int], sizes: Sequence[int]) -> Design:
        """The same for some of the samples."""
        ends = np.cumsum([0, *sizes])
        rows = np.concatenate([np.arange(ends[k], ends[k + 1]) for k in samples])
        groups, strata = (None if codes is None else codes[rows] for codes in (self.groups, self.strata))
        return Design(groups, strata, self.equal_groups, self.paired)


def check_paired(paired: Any) -> bool:
    """Whether rows are pairs, or a complaint about what is neither yes nor no."""
    if not isinstance(paired, (bool, np.bool_)):
        raise InputTypeError(
            "wrong-type",
            f"paired must be True (row i of X and row i of Y belong together) or False, but is {paired!r:.60}.",
            "For a column that says which rows belong together, give {groups} or {strata}.",
            groups=...,
            strata=...,
        )
    return bool(paired)


def _check_groups(
    given: Any, codes: Array, sizes: Sequence[int], within: Mapping[str, Array | None], called: Mapping[str, Any]
) -> None:
    """Complain of a group that lies in two samples or strata, by the names that the user gave them."""
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
    """Labels of all rows, which may have come one sample after the other."""
    return np.concatenate([np.asarray(part) for part in _parts(given, sizes)])


def _parts(given: Any, sizes: Sequence[int]) -> Sequence[Any]:
    return given if isinstance(given, tuple) and len(given) == len(sizes) and np.ndim(given[0]) else [given]


def _as_codes(given: Any, sizes: Sequence[int], name: str) -> Array | None:
    if given is None:
        return None
    values = _join(given, sizes)
    if values.shape != (sum(sizes),):
        raise InputError(
            "wrong-number-of-labels",
            f"{name} must have one label for each of the {sum(sizes)} rows, but has shape {values.shape}.",
        )
    for part in _parts(given, sizes):
        check_labels(part, name)
    if values.dtype == object:
        values = values.astype(str)
    codes: Array = np.unique(values, return_inverse=True)[1].reshape(-1)
    return codes
