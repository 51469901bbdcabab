"""What a comparison found: whether two samples differ, how sure that is, and where."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from os import PathLike
from typing import Any

from ..data import Encoding, Sample, Source, read
from ..kernels import Kernel, Witness
from ..learning import History
from ..learning.splits import Split
from ..twosample.learned import LearnedTest
from . import views
from .views import Array, Exemplar, Weights

#: What an AUC below a limit is called.
_SEPARABLE = ((0.55, "hardly"), (0.65, "weakly"), (0.8, "fairly"), (0.9, "well"), (math.inf, "almost fully"))


@dataclass(frozen=True, eq=False)
class Comparison:
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
    settings: dict[str, Any]
    seconds: float
    _learned_from: tuple[Sample, Sample] = field(repr=False)
    _encoding: Encoding = field(repr=False)

    @property
    def pvalue(self) -> float:
        """The p-value."""
        return self.test.pvalue

    @property
    def statistic(self) -> float:
        """MMD² on the tested rows; with a witness, the difference of its means."""
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
        """How it was learned."""
        return self.test.history

    @property
    def split(self) -> Split:
        """Which rows were learned from and which were tested."""
        return self.test.split

    @property
    def mmd(self) -> float:
        """The distance of the two samples under the learned kernel: √MMD², 0 where the estimate is negative."""
        # The kernel h(x) h(y) has the difference of the means of h for its MMD, and that is the statistic itself.
        return max(self.statistic, 0.0) if isinstance(self.kernel, Witness) else math.sqrt(max(self.statistic, 0.0))

    @property
    def auc(self) -> float:
        """How separable the samples are by the witness function: 0.5 not at all, 1 entirely."""
        return views.separability(self.witness_x, self.witness_y)

    @property
    def separable(self) -> str:
        """The AUC in a word."""
        return next(word for limit, word in _SEPARABLE if self.auc < limit)

    def reject(self, alpha: float | None = None) -> bool:
        """Whether the test rejects at level ``alpha``, by default that of the comparison."""
        return self.test.reject(self.alpha if alpha is None else alpha)

    def witness(self, Z: Any) -> Array:
        """The witness function at other rows, given as X and Y were: positive where X has more than Y."""
        shown = self.x.shown
        source = shown.like(Z, "Z") if isinstance(shown, Source) else read(Z, "Z")
        sample = self._encoding.encode(source)
        return views.witness(self.kernel, *self._learned_from, at=sample)

    def exemplars(self, count: int = 8) -> list[Exemplar]:
        """The tested rows of each sample where X has more, where Y has more, and where there is no difference."""
        return views.exemplars(self.x, self.y, self.witness_x, self.witness_y, count)

    def verdict(self) -> str:
        """One sentence."""
        draws = self.test.leading.test.permutations
        floor = self.test.leading.test.pvalue_floor * len(self.test.halves)
        p = f"p ≤ {floor:.3g}" if self.pvalue <= floor * (1 + 1e-9) else f"p = {self.pvalue:.3g}"
        word = "The samples differ" if self.reject() else f"No difference is seen at level {self.alpha:g}"
        return f"{word} ({p}, {draws} permutations)."

    def summary(self) -> str:
        """A few lines for people."""
        lines = [self.verdict()]
        lines.append(
            f"Separability (AUC of the witness): {self.auc:.3f}, {self.separable} separable. MMD {self.mmd:.3g}."
        )
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
                f"Each half was learned from once and tested once: p = {one:.3g} and {two:.3g}. The rest is of one."
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
            "statistic": self.statistic,
            "alpha": self.alpha,
            "differ": self.reject(),
            "verdict": self.verdict(),
            "mmd": self.mmd,
            "auc": self.auc,
            "names": list(self.names),
            "weights": weights | {"meaning": self.weights.meaning},
            "exemplars": [vars(exemplar) for exemplar in self.exemplars()],
            "notes": list(self.notes),
            "settings": self.settings,
            "seconds": self.seconds,
            "test": self.test.to_dict(),
        }

    def to_json(self) -> str:
        """The same as JSON."""
        return json.dumps(self.to_dict())

    def to_html(self, path: str | PathLike[str], command: str | None = None) -> None:
        """Write a report: one HTML file that needs nothing else."""
        from ..report import write  # the report is made of results, not the other way round

        write(self, path, command)

    def __repr__(self) -> str:
        return f"Comparison({self.verdict()} AUC = {self.auc:.3f})"
