"""Samples as a test takes them: whatever the user gave, opened, checked and brought to one form."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from .._util.errors import InputTypeError
from ..data.encoding import Standardise
from ..data.notices import check_keep
from ..data.open import open_samples
from ..data.options import check_reading
from ..data.samples import Samples
from ..engine import MemoryLike
from ..stats.nulls import Null, Permutation

#: Options that belong to a null distribution.
_OF_NULLS = {
    "groups": "Permutation(groups=…)",
    "strata": "Permutation(strata=…)",
    "bins": "Binned(bins=…)",
    "lag": "Wild(lag=…)",
}


def open_for_kernel(
    X: Any,
    Y: Any,
    kernel: Any,
    *,
    at_least: int,
    standardise: Standardise,
    seed: int,
    max_memory: MemoryLike,
    reading: dict[str, Any],
    paired: bool = False,
    keep: Any = None,
    null: Null | None = None,
    shared: str | None = None,
) -> Samples:
    """The two samples of a test with a kernel; ``seed`` decides which rows are drawn.

    With ``standardise="auto"`` the columns of tables are brought to one scale where the kernel is chosen by the data,
    and left as they are where the user gave a kernel, whose bandwidth is meant for them. The groups and strata of
    ``null`` are those of the user's rows; see `place_labels`. For ``shared`` see `OpenedSamples.encode`.
    """
    if standardise not in ("auto", True, False):
        raise InputTypeError("unknown-choice", f"standardise must be 'auto', True or False, but is {standardise!r}.")
    if standardise == "auto" and not isinstance(kernel, str):
        standardise = False
    for name, advised in _OF_NULLS.items():
        if name in reading:
            raise InputTypeError(
                "misplaced-option", f"{name} is an option of a null distribution: give null=ta.nulls.{advised}."
            )
    if reading.get("max_rows") is not None:
        reading = reading | {"rng": seed}
    if max_memory is not None:
        reading = reading | {"max_memory": max_memory}
    options, keep_columns = check_reading(reading), check_keep(keep)
    opened = open_samples(
        (X, Y),
        ("X", "Y"),
        options,
        labels=_labels(null),
        keep_columns=keep_columns,
        paired=paired,
        min_rows=at_least,
        standardise=standardise,
    )
    return opened.encode(shared=shared)


def place_labels(null: Null, samples: Samples) -> Null:
    """The null distribution with the groups and strata of the rows that were kept."""
    return replace(null, **samples.labels) if isinstance(null, Permutation) and samples.labels else null


def _labels(null: Null | None) -> dict[str, Any]:
    """The groups and strata of a null distribution. What is not one label for each row is refused by it."""
    if not isinstance(null, Permutation):
        return {}
    given = {"groups": null.groups, "strata": null.strata}
    return {kind: labels for kind, labels in given.items() if labels is not None and not isinstance(labels, str)}
