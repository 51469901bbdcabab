"""Several samples: by name, in a list, or in one table that a label divides."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from .._util.errors import InputError, InputTypeError
from .labels import as_whole, check_labels
from .lazy import take_rows
from .notices import Keep
from .open import open_samples
from .options import ReadOptions
from .samples import Samples
from .shared import note_shared


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


def open_by_labels(data: Any, labels: Any, options: ReadOptions, given: Mapping[str, Any], keep: Keep) -> Samples:
    """One sample for each label of the rows of one sample.

    Parameters
    ----------
    data, options
        All rows, and how to read them.
    labels
        The label of each row, or the name of the column that has it.
    given
        Groups and strata, likewise.
    keep
        Columns to compare whatever they look like; see `open_samples`.
    """
    _check_form(labels)
    opened = open_samples([data], ("samples",), options, labels={"labels": labels, **given}, keep_columns=keep)
    samples = opened.encode()
    found = {kind: None if parts is None else parts[0] for kind, parts in samples.labels.items()}
    values = found["labels"]
    assert values is not None
    check_labels([values], "labels")
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
    points = tuple(take_rows(samples.points[0], part) for part in parts)
    taken = {kind: None if part is None else part[order] for kind, part in found.items()}
    names = tuple(map(str, kinds.tolist()))
    notes = (*samples.notes, *note_shared([""] * len(points), points, names))
    known = samples.numbers[0]
    return replace(
        samples,
        points=points,
        names=names,
        numbers=tuple(parts) if known is None else tuple(known[part] for part in parts),
        notes=notes,
        labels=taken,
        encoded=tuple(sample.take(part) for sample in samples.encoded for part in parts),
        # Those of numbers in memory are shown by the sources that these were made of.
        sources=() if samples.encoded else tuple(source.take(part) for source in samples.sources for part in parts),
    )


def _check_form(labels: Any) -> None:
    """Raise `InputError` for what cannot be labels: a second sample, or a number."""
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
