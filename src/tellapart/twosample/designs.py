"""Which rows belong to which sample, and which may be exchanged: samples, groups and strata as the user gave them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np

from .._util.errors import InputError, InputTypeError
from ..data.lazy import take_rows
from ..data.mixed import Mixed, open_mixed, take_labels
from ..data.options import ReadOptions
from ..data.shared import note_shared

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
        mixed: Mixed,
        groups: Any,
        strata: Any,
        paired: bool,
        equal_groups: bool,
        called: Mapping[str, Any] = MappingProxyType({}),
    ) -> Design:
        """What the user said, or a complaint about it; ``called`` may name the columns that groups and strata were."""
        if not isinstance(paired, (bool, np.bool_)):
            raise InputTypeError(
                f"paired must be True (row i of X and row i of Y belong together) or False, but is {paired!r:.60}.",
                "For a column that says which rows belong together, give {groups} or {strata}.",
                groups=...,
                strata=...,
            )
        sizes = [len(part) for part in mixed.points]
        codes = [_as_codes(given, sizes, name) for given, name in ((groups, "groups"), (strata, "strata"))]
        if codes[0] is not None:
            samples = np.repeat(np.arange(len(sizes)), sizes)
            _check_groups(groups, codes[0], sizes, {"sample": samples, "stratum": codes[1]}, called)
        if paired:
            if groups is not None or strata is not None:
                raise InputError("paired=True exchanges the rows of pairs: it takes neither groups nor strata.")
            if sizes[0] != sizes[1]:
                raise InputError(
                    f"paired=True is for pairs (X_i, Y_i), but X has {sizes[0]} rows and Y has {sizes[1]}."
                )
            codes[1] = np.tile(np.arange(sizes[0]), 2)
        return cls(codes[0], codes[1], equal_groups, paired)

    @property
    def relabelled(self) -> str:
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


@dataclass(frozen=True, eq=False)
class Opened:
    """Samples, and labels of their rows that lay in columns or were given."""

    mixed: Mixed
    labels: dict[str, Any]


def open_with_labels(
    data: Sequence[Any], names: Sequence[str], options: ReadOptions, labels: Mapping[str, Any], *, shared: bool = False
) -> Opened:
    """The samples without those columns that are labels of rows, and these labels; a note on rows that are shared."""
    columns = {kind: given for kind, given in labels.items() if isinstance(given, str)}
    parts, found = list(data), {kind: [] for kind in columns}  # type: ignore[var-annotated]
    together = options
    for k, name in enumerate(names):
        own = options
        for kind, column in columns.items():
            parts[k], own, values = take_labels(parts[k], name, column, own, kind)
            found[kind].append(values)
        together = own if own is not options else together
    mixed = open_mixed(parts, names, together)
    taken = {
        kind: np.concatenate([_take(part, rows) for part, rows in zip(values, mixed.numbers, strict=True)])
        for kind, values in found.items()
    }
    if shared:
        mixed = replace(mixed, notes=(*mixed.notes, *note_shared(data, mixed.points, mixed.names)))
    return Opened(mixed, {**labels, **taken})


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
            raise InputError(f"A group{group} must lie in one {what}{other}, but {name!r} has rows in two.")


def _join(given: Any, sizes: Sequence[int]) -> Array:
    """Labels of all rows, which may have come one sample after the other."""
    parts = given if isinstance(given, tuple) and len(given) == len(sizes) and np.ndim(given[0]) else [given]
    return np.concatenate([np.asarray(part) for part in parts])


def _as_codes(given: Any, sizes: Sequence[int], name: str) -> Array | None:
    if given is None:
        return None
    values = _join(given, sizes)
    if values.shape != (sum(sizes),):
        raise InputError(f"{name} must have one label for each of the {sum(sizes)} rows, but has shape {values.shape}.")
    if values.dtype == object:
        values = values.astype(str)
    codes: Array = np.unique(values, return_inverse=True)[1].reshape(-1)
    return codes


def _take(labels: Array, rows: Array | None) -> Array:
    return labels if rows is None else labels[rows]


def split_names(samples: Any) -> tuple[tuple[str, ...], list[Any]]:
    """What several samples are called, and the samples."""
    if isinstance(samples, Mapping):
        names, data = tuple(map(str, samples)), list(samples.values())
    elif isinstance(samples, (list, tuple)):
        data = list(samples)
        names = tuple(f"sample {k}" for k in range(len(data)))
    else:
        raise InputError("samples must be a list or a dict of samples.", "Or give {labels} with one.", labels=...)
    if not 2 <= len(data) <= 255:
        raise InputError(f"k_sample_test compares 2 to 255 samples, but got {len(data)}.")
    return names, data


def split_by_labels(data: Any, labels: Any, options: ReadOptions, named: Mapping[str, Any]) -> Opened:
    """One sample for each label."""
    _check_labels(labels)
    opened = open_with_labels([data, data], ("samples", "samples"), options, {"labels": labels, **named})
    mixed, rows = opened.mixed, len(opened.mixed.points[0])
    found = {k: _half(v, rows) for k, v in opened.labels.items()}
    values = np.asarray(found["labels"])
    if values.shape != (rows,):
        raise InputError(f"labels must have one for each of the {rows} rows, but has shape {values.shape}.")
    kinds, codes = np.unique(values.astype(str) if values.dtype == object else values, return_inverse=True)
    counts = np.bincount(codes)
    if not 2 <= len(kinds) <= 255:
        if isinstance(labels, str):
            raise InputError(
                f"The column {labels!r} has {_counted(len(kinds))}, but 2 to 255 samples can be compared.",
                "Give another column for {labels}.",
                labels=...,
            )
        raise InputError(f"labels must name 2 to 255 samples, but there are {len(kinds)}.")
    if counts.min() < 2:
        raise InputError(f"Each sample needs at least 2 rows, but {str(kinds[counts.argmin()])!r:.60} has 1.")
    order = np.argsort(codes, kind="stable")
    parts = np.split(order, np.cumsum(counts)[:-1])
    points = tuple(take_rows(mixed.points[0], part) for part in parts)
    mixed = replace(mixed, points=points, names=tuple(map(str, kinds.tolist())), numbers=(None,) * len(points))
    return Opened(mixed, {k: None if found[k] is None else np.asarray(found[k])[order] for k in ("groups", "strata")})


def _check_labels(labels: Any) -> None:
    """Complain of what stands in the place of labels, and is something else: a second sample, or a number."""
    if isinstance(labels, str):
        return
    try:
        shape = np.shape(labels)
    except ValueError:  # rows of different lengths
        shape = (len(labels), -1)
    if not shape:
        raise InputTypeError(
            f"labels must be a label for each row, or the name of a column, but is {labels!r:.60}.",
            "Give the samples as one list, and options by name: k_sample_test([X, Y, Z], {permutations}).",
            permutations=labels if isinstance(labels, int) and not isinstance(labels, bool) else ...,
        )
    if len(shape) > 1:
        raise InputTypeError(
            f"labels must be a label for each row, but has {'rows' if -1 in shape else f'shape {shape}'}.",
            "Give the samples as one list: k_sample_test([X, Y]).",
        )


def _counted(values: int) -> str:
    return "one value only" if values == 1 else f"{values:,} different values"


def _half(values: Any, rows: int) -> Any:
    """Labels of the rows once, where they were read twice."""
    return values[:rows] if isinstance(values, np.ndarray) and len(values) == 2 * rows else values
