"""Samples, and the labels of their rows: columns that say so, or arrays; or one table, in samples by a label."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from .._util.errors import InputError, InputTypeError
from ..data.labels import as_whole, check_labels, take_label_columns
from ..data.lazy import take_rows
from ..data.mixed import Mixed, open_mixed
from ..data.notices import Keep
from ..data.options import ReadOptions
from ..data.shared import note_shared

Array: TypeAlias = "np.ndarray[Any, Any]"


@dataclass(frozen=True, eq=False)
class Opened:
    """Samples, and labels of their rows that lay in columns or were given."""

    mixed: Mixed
    labels: dict[str, Any]


def open_with_labels(
    data: Sequence[Any],
    names: Sequence[str],
    options: ReadOptions,
    labels: Mapping[str, Any],
    *,
    shared: bool = False,
    keep: Keep = (),
) -> Opened:
    """The samples without those columns that are labels of rows, and these labels; a note on rows that are shared.

    ``keep`` is that of `open_mixed`.
    """
    parts, options, found = take_label_columns(data, names, options, labels)
    own = found["labels"][0] if "labels" in found else labels.get("labels")
    mixed = open_mixed(parts, names, options, keep=keep, labels=None if own is None else np.asarray(own).astype(str))
    taken = {
        kind: np.concatenate([_take(part, rows) for part, rows in zip(values, mixed.numbers, strict=True)])
        for kind, values in found.items()
    }
    if shared:
        mixed = replace(mixed, notes=(*mixed.notes, *note_shared(data, mixed.points, mixed.names)))
    return Opened(mixed, {**labels, **taken})


def split_names(samples: Any) -> tuple[tuple[str, ...], list[Any]]:
    """What several samples are called, and the samples."""
    found = name_samples(samples, "sample")
    if found is None:
        raise InputError(
            "wrong-type", "samples must be a list or a dict of samples.", "Or give {labels} with one.", labels=...
        )
    if not 2 <= len(found[1]) <= 255:
        raise InputError(
            "wrong-number-of-samples", f"k_sample_test compares 2 to 255 samples, but got {len(found[1])}."
        )
    return found


def name_samples(given: Any, word: str) -> tuple[tuple[str, ...], list[Any]] | None:
    """Names and samples of a dict, or of a list by number; None of anything else.

    >>> name_samples(["A", "B"], "model"), name_samples(3, "model")
    ((('model 0', 'model 1'), ['A', 'B']), None)
    """
    if isinstance(given, Mapping):
        names = tuple(map(str, given))
        if len(set(names)) < len(names):
            raise InputError(
                "invalid-names", f"Two of the names {', '.join(map(repr, given))} are the same when written."
            )
        return names, list(given.values())
    if isinstance(given, (list, tuple)):
        return tuple(f"{word} {k}" for k in range(len(given))), list(given)
    return None


def split_by_labels(data: Any, labels: Any, options: ReadOptions, named: Mapping[str, Any], keep: Keep) -> Opened:
    """One sample for each label; ``keep`` is that of `open_mixed`."""
    _check_form(labels)
    opened = open_with_labels([data], ("samples",), options, {"labels": labels, **named}, keep=keep)
    mixed, found, rows = opened.mixed, opened.labels, len(opened.mixed.points[0])
    values = np.asarray(found["labels"])
    if values.shape != (rows,):
        raise InputError(
            "wrong-number-of-labels", f"labels must have one for each of the {rows} rows, but has shape {values.shape}."
        )
    check_labels(found["labels"], "labels")
    kinds, codes = np.unique(values.astype(str) if values.dtype == object else as_whole(values), return_inverse=True)
    counts = np.bincount(codes)
    if not 2 <= len(kinds) <= 255:
        if isinstance(labels, str):
            raise InputError(
                "wrong-number-of-samples",
                f"The column {labels!r} has {_counted(len(kinds))}, but 2 to 255 samples can be compared.",
                "Give another column for {labels}.",
                labels=...,
            )
        raise InputError("wrong-number-of-samples", f"labels must name 2 to 255 samples, but there are {len(kinds)}.")
    if counts.min() < 2:
        raise InputError(
            "too-few-rows", f"Each sample needs at least 2 rows, but {str(kinds[counts.argmin()])!r:.60} has 1."
        )
    order = np.argsort(codes, kind="stable")
    parts = np.split(order, np.cumsum(counts)[:-1])
    points = tuple(take_rows(mixed.points[0], part) for part in parts)
    mixed = replace(mixed, points=points, names=tuple(map(str, kinds.tolist())), numbers=(None,) * len(points))
    return Opened(mixed, {k: None if found[k] is None else np.asarray(found[k])[order] for k in ("groups", "strata")})


def _check_form(labels: Any) -> None:
    """Complain of what stands in the place of labels, and is something else: a second sample, or a number."""
    if isinstance(labels, str):
        return
    try:
        shape = np.shape(labels)
    except ValueError:  # rows of different lengths
        shape = (len(labels), -1)
    if not shape:
        raise InputTypeError(
            "wrong-type",
            f"labels must be a label for each row, or the name of a column, but is {labels!r:.60}.",
            "Give the samples as one list, and options by name: k_sample_test([X, Y, Z], {permutations}).",
            permutations=labels if isinstance(labels, int) and not isinstance(labels, bool) else ...,
        )
    if len(shape) > 1:
        raise InputTypeError(
            "wrong-type",
            f"labels must be a label for each row, but has {'rows' if -1 in shape else f'shape {shape}'}.",
            "Give the samples as one list: k_sample_test([X, Y]).",
        )


def _counted(values: int) -> str:
    return "one value only" if values == 1 else f"{values:,} different values"


def _take(labels: Array, rows: Array | None) -> Array:
    return labels if rows is None else labels[rows]
