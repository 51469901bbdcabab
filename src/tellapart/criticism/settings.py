"""What repeats a comparison."""

from __future__ import annotations

import platform
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import Any, TypedDict, cast

import numpy as np

from .._util.tensors import loaded_torch
from ..data.options import ReadOptions


def _versions() -> dict[str, str]:
    torch = loaded_torch()
    return {
        "tellapart": version("tellapart"),
        **({} if torch is None else {"torch": torch.__version__}),
        "numpy": np.__version__,
        "python": platform.python_version(),
    }


class DesignArguments(TypedDict, total=False):
    """The arguments of a comparison that say which rows belong together, as plain values."""

    groups: str
    strata: str
    paired: bool
    equal_groups: bool


def design_of(**given: Any) -> DesignArguments:
    """The arguments that are neither None nor False, as plain values; an ellipsis stands for arrays of labels.

    >>> design_of(groups="patient", strata=np.zeros(3), paired=False)
    {'groups': 'patient', 'strata': '…'}
    """
    said = {name: value for name, value in given.items() if value is not None and value is not False}
    plain = {name: value if isinstance(value, (str, bool)) else "…" for name, value in said.items()}
    return cast(DesignArguments, plain)


@dataclass(frozen=True)
class ComparisonSettings:
    """What repeats a comparison: its arguments, the seed, where the samples came from and how large they are.

    Attributes
    ----------
    test
        ``"auto"``; or the name of what was learned, or the class of the kernel it started from.
    criterion, train_size, cross_fit
        How a kernel was learned: what was maximised, the share of rows to learn from (None where the rows were given),
        and whether both halves were.
    keep_columns
        Columns that were kept although they are better left out.
    design
        Which rows belong together: ``groups`` and ``strata`` by the name of their column, an ellipsis where labels
        were given; ``paired``, ``equal_groups``.
    origins, rows, kind
        The files or folders of the samples (None for what was in memory), their numbers of rows, and what rows are.
    """

    test: str
    null: str
    permutations: int
    seed: int
    origins: tuple[str | None, str | None]
    rows: tuple[int, int]
    kind: str
    criterion: str | None = None
    train_size: float | None = None
    cross_fit: bool = False
    keep_columns: tuple[str, ...] = ()
    design: DesignArguments = field(default_factory=DesignArguments)
    reading: ReadOptions = field(default_factory=ReadOptions)
    versions: dict[str, str] = field(default_factory=_versions)

    def to_dict(self) -> dict[str, Any]:
        """The settings as plain Python values, for JSON."""
        return {
            "x": self.origins[0],
            "y": self.origins[1],
            "rows": list(self.rows),
            "kind": self.kind,
            "test": self.test,
            **self._learning(),
            "null": self.null,
            "permutations": self.permutations,
            "seed": self.seed,
            "keep_columns": list(self.keep_columns),
            "design": self.design,
            "reading": self.reading.to_dict(),
            "versions": self.versions,
        }

    def _learning(self) -> dict[str, Any]:
        if self.criterion is None:
            return {}
        train_size = "given" if self.train_size is None else self.train_size
        return {"kernel": self.test, "criterion": self.criterion, "train_size": train_size, "cross_fit": self.cross_fit}
