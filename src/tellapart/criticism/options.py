"""What was asked for: two samples, and the options that every test of them has."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from ..data.arrays import Array
from ..data.encoding import Standardise
from ..data.notices import Keep
from ..data.open import OpenedSamples, open_samples
from ..data.options import ReadOptions
from ..data.samples import Samples
from ..engine import Compute
from ..learning.history import Criterion
from .settings import ComparisonSettings, design_of


@dataclass(frozen=True, eq=False)
class ComparisonOptions:
    """Two samples to compare, and the options that every test of them has: see `compare`.

    Attributes
    ----------
    reading, keep
        How they are read, and columns to compare whatever they look like; checked.
    start
        When the call began.
    """

    X: Any
    Y: Any
    permutations: int
    groups: Any
    strata: Any
    reading: ReadOptions
    compute: Compute
    alpha: float = 0.05
    names: tuple[str, str] | None = None
    items: Any = None
    start: float = 0.0
    equal_groups: bool = False
    keep: Keep = ()

    @property
    def seed(self) -> int:
        """That of everything random."""
        return self.reading.seed

    def open(
        self, reading: ReadOptions, *, paired: bool = False, standardise: Standardise | None = None
    ) -> OpenedSamples:
        """The two samples, read and matched, without the columns that are labels of rows or are left out."""
        return open_samples(
            [self.X, self.Y],
            ("X", "Y"),
            reading,
            labels={"groups": self.groups, "strata": self.strata, "items": self.items},
            keep_columns=self.keep,
            paired=paired,
            min_rows=2 if standardise is None else 1,
            standardise=standardise,
            shown=True,
            called=self.names,
        )

    def items_of(self, samples: Samples) -> tuple[Array, Array] | None:
        """What to call each row of both samples."""
        items = samples.labels["items"]
        return None if items is None else (items[0].astype(object), items[1].astype(object))

    @property
    def seconds(self) -> float:
        """How long it has taken so far."""
        return time.perf_counter() - self.start

    def settings(self, samples: Samples, *, paired: bool = False, **own: Any) -> ComparisonSettings:
        """What repeats the comparison; ``paired`` and ``own`` are what only its test has."""
        return ComparisonSettings(
            permutations=self.permutations,
            seed=self.seed,
            origins=(samples.sources[0].origin or None, samples.sources[1].origin or None),
            rows=(samples.sizes[0], samples.sizes[1]),
            kind=samples.sources[0].kind,
            design=design_of(groups=self.groups, strata=self.strata, paired=paired, equal_groups=self.equal_groups),
            keep_columns=self.keep if isinstance(self.keep, tuple) else (),
            reading=self.reading,
            **own,
        )


@dataclass(frozen=True, eq=False)
class LearnedOptions:
    """The options that only learned tests have: see `compare`."""

    criterion: Criterion = "t"
    train_size: Any = 0.5
    cross_fit: bool = False
    null: Literal["auto", "permutation", "binned"] = "auto"
    standardise: Standardise = "auto"
    stability: int = 4
    learning: Mapping[str, Any] | None = None
