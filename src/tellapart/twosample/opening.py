"""The samples of tests with a kernel: read, checked and standardized."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from .._util.errors import InputTypeError
from ..data.encoding import Standardise
from ..data.notices import check_keep
from ..data.open import open_samples
from ..data.options import check_reading
from ..data.samples import Samples
from ..engine import MemoryLike
from ..stats.nulls import Null, Paired, Permutation

#: Options that belong to a null distribution.
_OF_NULLS = {
    "groups": "Permutation(groups=…)",
    "strata": "Permutation(strata=…)",
    "bins": "Binned(bins=…)",
    "lag": "Wild(lag=…)",
}


@dataclass(frozen=True)
class KernelInput:
    """The two samples of a test with a kernel, as the user gave them, and how to read them.

    Attributes
    ----------
    X, Y : object
        The samples.
    kernel : object
        The kernel, or the name of one.
    seed : int
        Decides which rows are drawn with ``max_rows``.
    standardise : "auto" or bool
        Whether columns get mean 0 and standard deviation 1. With ``"auto"``, those of tables do if ``kernel`` is a
        name. A kernel that the user gave has a bandwidth, which is meant for the numbers as they are.
    keep_columns : object
        Columns to compare even if they look like ids.
    max_memory : int, str or None
        Memory limit.
    reading : mapping
        Options of reading.
    null : Null, optional
        The null distribution. Its groups and strata are those of the user's rows; see `place_labels`. If it is one of
        pairs, row i of X and row i of Y belong together.
    """

    X: Any
    Y: Any
    kernel: Any
    seed: int
    standardise: Standardise = False
    keep_columns: Any = None
    max_memory: MemoryLike = None
    reading: Mapping[str, Any] = field(default_factory=dict)
    null: Null | None = None

    def open(self, *, shared: str | None = None) -> Samples:
        """Read and check the samples. For ``shared`` see `OpenedSamples.encode`."""
        standardise = self.standardise
        if standardise not in ("auto", True, False):
            raise InputTypeError("unknown-choice", f"standardise must be 'auto', True or False, got {standardise!r}.")
        if standardise == "auto" and not isinstance(self.kernel, str):
            standardise = False
        for name, advised in _OF_NULLS.items():
            if name in self.reading:
                raise InputTypeError(
                    "misplaced-option", f"{name} is an option of a null distribution: give null=ta.nulls.{advised}."
                )
        reading = dict(self.reading)
        if reading.get("max_rows") is not None:
            reading["rng"] = self.seed
        if self.max_memory is not None:
            reading["max_memory"] = self.max_memory
        opened = open_samples(
            (self.X, self.Y),
            ("X", "Y"),
            check_reading(reading),
            labels=_labels(self.null),
            keep_columns=check_keep(self.keep_columns),
            paired=isinstance(self.null, Paired),
            min_rows=2,
            standardise=standardise,
            tensors=True,
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
