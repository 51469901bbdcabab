"""What a comparison found: whether two samples differ, how sure that is, and where."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import cached_property
from os import PathLike
from typing import Any

from .._util.shown import Shown
from ..data import Encoding, Sample, Source
from ..data.arrays import Array
from ..engine import MemoryLike, computing
from ..kernels import Kernel
from ..learning import History
from ..learning.splits import Split
from ..twosample import LearnedTest
from .exemplars import Exemplar, exemplars
from .separability import separability, separability_grade
from .settings import Settings
from .weights import Weights
from .witness import witness_values


@dataclass(frozen=True, eq=False)
class Comparison(Shown):
    """The outcome of `compare`: whether two samples differ, how sure that is, and where.

    Attributes
    ----------
    test
        The `LearnedTest`: p-value, statistic, null distribution, kernel, history, split.
    alpha
        The level of the verdict.
    x, y
        The tested rows, encoded; ``x.shown`` shows them as they came.
    names
        What the samples are called.
    witness_x, witness_y
        The witness function at the tested rows, estimated from the rows that were learned from.
    weights
        How much each coordinate carries of the difference.
    notes
        What was done to the data on the way.
    settings
        What repeats the comparison: arguments, seed, sizes, versions.
    seconds
        How long it took.
    """

    test: LearnedTest
    alpha: float
    x: Sample
    y: Sample
    names: tuple[str, str]
    witness_x: Array
    witness_y: Array
    weights: Weights
    notes: tuple[str, ...]
    settings: Settings
    seconds: float
    _learned_from: tuple[Sample, Sample] = field(repr=False)
    _encoding: Encoding = field(repr=False)
    _source: Source = field(repr=False)

    @property
    def pvalue(self) -> float:
        """The p-value of the test; with swapped halves, that of both together."""
        return self.test.pvalue

    @property
    def pvalue_floor(self) -> float:
        """The smallest p-value that so many permutations can give."""
        return self.test.leading.test.pvalue_floor * len(self.test.halves)

    @property
    def at_floor(self) -> bool:
        """Whether the p-value is as small as it can be."""
        return self.pvalue <= self.pvalue_floor * (1 + 1e-9)

    @property
    def permutations(self) -> int:
        """How many draws the null distribution has."""
        return self.test.leading.test.permutations

    @property
    def statistic(self) -> float:
        """MMD² on the tested rows; for some kernels something else, which ``kernel.statistic_name`` names."""
        return self.test.statistic

    @property
    def null_distribution(self) -> Array:
        """The null distribution of the statistic."""
        return self.test.null_distribution

    @property
    def kernel(self) -> Kernel:
        """The learned kernel."""
        return self.test.kernel

    @property
    def history(self) -> History:
        """How the kernel was learned."""
        return self.test.history

    @property
    def split(self) -> Split:
        """Which rows were learned from and which were tested."""
        return self.test.split

    @property
    def distance(self) -> float:
        """The distance of the two samples under the learned kernel, 0 where the estimate is negative.

        √MMD², or what ``kernel.distance_name`` says.
        """
        return self.kernel.distance(self.statistic)

    @cached_property
    def auc(self) -> float:
        """How separable the samples are by the witness function: 0.5 not at all, 1 entirely."""
        return separability(self.witness_x, self.witness_y)

    @property
    def separability_grade(self) -> str:
        """The AUC in a word, such as ``"fairly"``."""
        return separability_grade(self.auc)

    def reject(self, alpha: float | None = None) -> bool:
        """Whether the test rejects at level ``alpha``, by default that of the comparison."""
        return self.test.reject(self.alpha if alpha is None else alpha)

    def witness(self, Z: Any, *, max_memory: MemoryLike = None) -> Array:
        """The witness function at other rows: positive where X has more than Y.

        ``Z`` is given as X and Y were, and read as they were: with their ``columns``, ``missing``, ``features`` and so
        on. There is a value for each row of it; with ``missing="drop"``, for each row without missing values.
        """
        at = self._encoding.encode(self._source.like(Z, "Z")).values
        x, y = (sample.values for sample in self._learned_from)
        with computing(max_memory) as compute:
            return witness_values(self.kernel, x, y, at, compute)

    def exemplars(self, count: int = 8) -> list[Exemplar]:
        """The tested rows of each sample where X has more, where Y has more, and where there is no difference."""
        return exemplars(self.x, self.y, self.witness_x, self.witness_y, count)

    def verdict(self) -> str:
        """A sentence: whether the samples differ, with the p-value."""
        word = "The samples differ" if self.reject() else f"No difference is seen at level {self.alpha:g}"
        return f"{word} ({self.pvalue_text()}, {self.permutations} permutations)."

    def pvalue_text(self) -> str:
        """The p-value for people, such as ``"p ≤ 0.001"`` where it is as small as it can be."""
        return f"p ≤ {self.pvalue_floor:.3g}" if self.at_floor else f"p = {self.pvalue:.3g}"

    def summary(self) -> str:
        """The verdict, the size of the difference, and what it was computed from, in a few lines of text."""
        distance = self.kernel.distance_name
        lines = [
            self.verdict(),
            f"Separability (AUC of the witness): {self.auc:.3f}, {self.separability_grade} separable. "
            f"{distance[0].upper()}{distance[1:]} {self.distance:.3g}.",
        ]
        if self.reject():
            leading = ", ".join(f"{name} {weight:.3f}" for name, weight in self.weights.leading())
            lines.append(f"Largest weights: {leading}.")
        first, second = self.names
        lines.append(
            f"Learned from {len(self.split.train_x)} + {len(self.split.train_y)} rows, tested on "
            f"{len(self.split.test_x)} + {len(self.split.test_y)} ({first}, {second}), seed {self.test.seed}, "
            f"{self.seconds:.1f} s."
        )
        if len(self.test.halves) == 2:
            one, two = (half.test.pvalue for half in self.test.halves)
            lines.append(
                f"Each half was learned from once and tested once: p = {one:.3g} and {two:.3g}. All other numbers are "
                "those of the half with the smaller p."
            )
        return "\n".join([*lines, *self.notes])

    def to_dict(self) -> dict[str, Any]:
        """Everything a program may want to know, as plain Python values."""
        weights = {"names": list(self.weights.names), "values": self.weights.values.tolist()}
        for bound in ("low", "high"):
            found = getattr(self.weights, bound)
            weights[bound] = None if found is None else found.tolist()
        return {
            "pvalue": self.pvalue,
            "pvalue_floor": self.pvalue_floor,
            "permutations": self.permutations,
            "statistic": self.statistic,
            "statistic_name": self.kernel.statistic_name,
            "alpha": self.alpha,
            "differ": self.reject(),
            "verdict": self.verdict(),
            "distance": self.distance,
            "distance_name": self.kernel.distance_name,
            "auc": self.auc,
            "names": list(self.names),
            "weights": weights | {"meaning": self.weights.meaning},
            "exemplars": [vars(exemplar) for exemplar in self.exemplars()],
            "notes": list(self.notes),
            "settings": self.settings.to_dict() | {"learned kernel": repr(self.kernel)},
            "seconds": self.seconds,
            "test": self.test.to_dict(),
        }

    def to_json(self) -> str:
        """What `to_dict` returns, as JSON."""
        return json.dumps(self.to_dict())

    def to_html(self, path: str | PathLike[str], command: str | None = None) -> None:
        """Write a report: one HTML file that needs nothing else."""
        from ..report import write  # the report is made of results, not the other way round

        write(self, path, command)

    def __repr__(self) -> str:
        return f"Comparison({self.verdict()} AUC = {self.auc:.3f})"
