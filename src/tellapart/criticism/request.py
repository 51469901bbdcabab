"""What was asked for: two samples, and the options that every test of them has."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from ..data import Source
from ..data.notices import Keep
from ..data.options import ReadOptions
from ..engine import Compute
from .settings import Settings, design_of


@dataclass(frozen=True, eq=False)
class Request:
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

    @property
    def labels(self) -> dict[str, Any]:
        """What was given for rows: columns by their names, or values."""
        return {"groups": self.groups, "strata": self.strata, "items": self.items}

    @property
    def seconds(self) -> float:
        """How long it has taken so far."""
        return time.perf_counter() - self.start

    def settings(
        self, sources: tuple[Source, Source], rows: tuple[int, int], design: dict[str, Any] | None = None, **own: Any
    ) -> Settings:
        """What repeats the comparison; ``design`` and ``own`` are what only its test has."""
        return Settings(
            permutations=self.permutations,
            seed=self.seed,
            origins=(sources[0].origin or None, sources[1].origin or None),
            rows=rows,
            kind=sources[0].kind,
            design=design_of(groups=self.groups, strata=self.strata, **(design or {}), equal_groups=self.equal_groups),
            keep_columns=self.keep if isinstance(self.keep, tuple) else (),
            reading=self.reading,
            **own,
        )
