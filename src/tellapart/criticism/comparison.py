"""What a comparison found: whether two samples differ, how sure that is, how much, and where."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from os import PathLike
from typing import Any

from .._util.errors import spell_keyword
from .._util.numbers import percent
from .._util.schema import stamp
from .._util.shown import Shown
from .._util.text import shorten
from ..data import Encoding, Sample, Source
from ..data.arrays import Array
from ..data.names import quote_names
from ..data.notices import Notice, NoticeKind
from ..engine import Compute, MemoryLike, computing
from ..kernels import Kernel
from ..stats.pvalues import rejects
from ..twosample import Finding, Findings, LearnedTest, TwoSampleResult
from ..twosample.findings import FAMILIES, FamilyResult
from .exemplars import Exemplar, exemplars, row_numbers, where
from .separability import separability_grade
from .settings import Settings
from .slices import Slice
from .weights import Weights

Interval = tuple[float, float]

_HALVES = " (found on one half of the rows, counted on the other)"
#: Findings and slices that a summary shows; rows that it names of a cluster, and how much of what they are called.
_SHOWN, _LIKE, _ITEM = 8, 3, 60


@dataclass(frozen=True, eq=False)
class Comparison(Shown):
    """The outcome of `compare`: whether two samples differ, how sure that is, how much, and where.

    Attributes
    ----------
    test
        The test: a `TwoSampleResult`, or the `LearnedTest` of a kernel.
    alpha
        The level of the verdict.
    x, y
        The rows criticised, as numbers; ``x.shown`` shows them as they came. All rows; of a learned test, those tested.
    names
        What the samples are called.
    witness_x, witness_y
        The witness function at these rows, positive where X has more. It was learned from other rows: from those of
        other folds, or from the half that was learned from.
    auc, auc_interval
        How separable the samples are by the witness function (0.5: not at all, 1: entirely), with 95 % confidence: of
        the mean AUC on new rows of the functions that were learned. By groups, where there are any; asymptotic.
    distance, distance_interval, distance_name
        How far apart the samples are, with 95 % confidence where that is known, and which distance it is.
    slices
        Kinds of rows that are more frequent in one sample, found on one half of the rows and counted on the other.
    weights
        How much each coordinate carries of the difference, where a kernel was learned: by a learned test, and beside
        the map of pixels where images differ. They carry no guarantee. Else None.
    noticed
        What a person would notice first, and which columns were left out because of it.
    items
        What was given with ``items=``, for the rows of ``x`` and ``y``; or None.
    notes
        What was done to the data on the way.
    settings
        What repeats the comparison: arguments, seed, sizes, versions.
    seconds
        How long it took.
    """

    test: TwoSampleResult | LearnedTest
    alpha: float
    x: Sample
    y: Sample
    names: tuple[str, str]
    witness_x: Array
    witness_y: Array
    auc: float
    auc_interval: Interval
    distance: float
    distance_interval: Interval | None
    distance_name: str
    slices: tuple[Slice, ...]
    weights: Weights | None
    noticed: tuple[Notice, ...]
    items: tuple[Array, Array] | None
    notes: tuple[str, ...]
    settings: Settings
    seconds: float
    _witness: Callable[[Any, Compute], Array] = field(repr=False)
    _encoding: Encoding = field(repr=False)
    _source: Source = field(repr=False)

    @property
    def learned(self) -> LearnedTest | None:
        """The test, where it is that of a learned kernel."""
        return self.test if isinstance(self.test, LearnedTest) else None

    @property
    def families(self) -> dict[str, FamilyResult]:
        """The families of forms with their own p-values, the one that says most first; empty for learned tests."""
        return {} if isinstance(self.test, LearnedTest) else self.test.families

    @property
    def columns(self) -> Findings:
        """Every column with its effect and an adjusted p-value; empty for learned tests."""
        return Findings() if isinstance(self.test, LearnedTest) else self.test.columns

    @property
    def pairs(self) -> Findings:
        """Pairs of columns likewise."""
        return Findings() if isinstance(self.test, LearnedTest) else self.test.pairs

    def differing_columns(self, alpha: float | None = None) -> Findings:
        """The columns that differ: the test rejects, and the column's adjusted p-value is at most `column_alpha`.

        Parameters
        ----------
        alpha : float, optional
            The level for all columns and pairs together. By default that of the comparison.
        """
        level = self.alpha if alpha is None else alpha
        return Findings() if isinstance(self.test, LearnedTest) else self.test.differing_columns(level)

    def differing_pairs(self, alpha: float | None = None) -> Findings:
        """The pairs of columns that differ, as in `differing_columns`."""
        level = self.alpha if alpha is None else alpha
        return Findings() if isinstance(self.test, LearnedTest) else self.test.differing_pairs(level)

    @property
    def permuted_unit(self) -> str:
        """What labels were exchanged of: rows, pairs, groups, rows within strata, …"""
        if not isinstance(self.test, LearnedTest):
            return self.test.permuted_unit
        what = "groups" if "groups" in self.settings.design else "rows"
        return f"{what} within strata" if "strata" in self.settings.design else what

    def column_alpha(self, alpha: float | None = None) -> float:
        """The level of adjusted p-values of columns and of pairs: half of α where there are both."""
        level = self.alpha if alpha is None else alpha
        return level if isinstance(self.test, LearnedTest) else self.test.column_alpha(level)

    @property
    def differing_slices(self) -> tuple[Slice, ...]:
        """The slices that are said to differ in frequency."""
        return tuple(one for one in self.slices if rejects(one.pvalue, self.alpha)) if self.reject() else ()

    @property
    def rows_x(self) -> Array:
        """For each row of ``x`` its number in the user's data, counted from 0."""
        return row_numbers(self.x)

    @property
    def rows_y(self) -> Array:
        """For each row of ``y`` its number in the user's data, counted from 0."""
        return row_numbers(self.y)

    @property
    def pvalue(self) -> float:
        """The p-value of the test; with swapped halves, that of both together."""
        return self.test.pvalue

    @property
    def min_pvalue(self) -> float:
        """The smallest p-value that this test can give."""
        return self.test.min_pvalue

    @property
    def at_floor(self) -> bool:
        """Whether the p-value is as small as it can be."""
        return self.pvalue <= self.min_pvalue * (1 + 1e-9)

    @property
    def permutations(self) -> int:
        """How many draws the null distribution has."""
        return len(self.null_distribution)

    @property
    def statistic(self) -> float:
        """The statistic of the test, which `statistic_name` names."""
        return self.test.statistic

    @property
    def statistic_name(self) -> str:
        """What the statistic is called."""
        return self.test.statistic_name

    @property
    def null_distribution(self) -> Array:
        """The null distribution of the statistic."""
        return self.test.null_distribution

    @property
    def kernel(self) -> Kernel | None:
        """The learned kernel, if there is one."""
        return None if self.learned is None else self.learned.kernel

    @property
    def separability_grade(self) -> str:
        """How separable the samples are in a word, such as ``"fairly"``; ``"not shown to be"`` where none may be."""
        return separability_grade(self.auc) if self.reject() else "not shown to be"

    @property
    def over_strata(self) -> str:
        """What AUC and MMD are of where there are strata; empty where there are none."""
        if "strata" not in self.settings.design:
            return ""
        return "AUC and MMD are over all rows: what lies between strata is part of them, and no part of the test."

    @property
    def largest_effect(self) -> float:
        """The largest effect, in size, of the columns and pairs that are said to differ; 0 where there are none."""
        return max((abs(one.effect) for one in (*self.differing_columns(), *self.differing_pairs())), default=0.0)

    def reject(self, alpha: float | None = None) -> bool:
        """Whether the test rejects at level ``alpha``, by default that of the comparison."""
        return self.test.reject(self.alpha if alpha is None else alpha)

    def witness(self, Z: Any, *, max_memory: MemoryLike = None) -> Array:
        """The witness function at other rows: positive where X has more than Y.

        ``Z`` is given as X and Y were, and read as they were: with their ``columns``, ``missing``, ``features`` and so
        on. There is a value for each row of it; with ``missing="drop"``, for each row without missing values.
        """
        at = self._encoding.encode(self._source.like(Z, "Z")).values
        with computing(max_memory) as compute:
            return self._witness(at, compute)

    def exemplars(self, count: int = 8) -> list[Exemplar]:
        """The rows of each sample where X has more, where Y has more, and where there is no difference."""
        return exemplars(self.x, self.y, self.witness_x, self.witness_y, count, self.items)

    def verdict(self) -> str:
        """A sentence: whether the samples differ, with the p-value."""
        word = "The samples differ" if self.reject() else f"No difference is seen at level {self.alpha:g}"
        return f"{word} ({self.pvalue_text()}, {self.permutations} permutations)."

    def pvalue_text(self, pvalue: float | None = None) -> str:
        """A p-value for people (by default that of the test), such as ``"p ≤ 0.001"`` where it cannot be smaller."""
        p = self.pvalue if pvalue is None else pvalue
        return f"p ≤ {self.min_pvalue:.3g}" if p <= self.min_pvalue * (1 + 1e-9) else f"p = {p:.3g}"

    def summary(self, spell: Callable[[str, Any], str] = spell_keyword) -> str:
        """The verdict, what is noticed first, how large the difference is and where, in a few lines of text.

        ``spell`` writes arguments, for those who do not call this from Python.
        """
        low, high = self.auc_interval
        lines = [
            *(f"First: {notice.text}" for notice in self.noticed if notice.kind in ("same data", "shared rows")),
            self.verdict(),
            f"Separability (AUC of the witness): {self.auc:.3f} [{low:.3f}, {high:.3f}], {self.separability_grade} "
            f"separable. {self._distance_text()}",
        ]
        if self.over_strata:
            lines.append(self.over_strata)
        if self.families:
            views = (f"{FAMILIES[name]} {self.pvalue_text(one.pvalue)}" for name, one in self.families.items())
            lines.append(f"Each view by itself: {'; '.join(views)}.")
        single = "Pixels" if self.settings.kind == "images" else "Columns"
        for what, found in ((single, self.differing_columns()), ("Pairs of columns", self.differing_pairs())):
            lines += _listed(f"{what} that differ", [self.describe(one) for one in found])
        lines += _listed(
            f"Kinds of rows that differ in number{_HALVES}", [self.describe(one) for one in self.differing_slices]
        )
        if self.reject() and self.learned is not None and self.weights is not None:
            leading = ", ".join(f"{name} {weight:.3f}" for name, weight in self.weights.leading())
            lines.append(f"Largest weights: {leading}.")
        lines.append(self._how())
        others = (notice.text for notice in self.noticed if notice.kind not in ("same data", "shared rows"))
        return "\n".join([*lines, *others, *self.advice(spell), *self.notes])

    def advice(self, spell: Callable[[str, Any], str] = spell_keyword) -> list[str]:
        """What can be done about columns that were left out, in sentences."""
        said = []
        counted, texts = self._left_out("identifier", "date"), self._left_out("free text")
        if counted:
            said.append(f"To compare {quote_names(counted)} nevertheless, give {spell('keep_columns', counted)}.")
        if texts and self.items is None:
            said.append(f"To see {texts[0]!r} beside the examples, give {spell('items', texts[0])}.")
        return said

    def _left_out(self, *kinds: NoticeKind) -> list[str]:
        return [name for one in self.noticed if one.left_out and one.kind in kinds for name in one.columns]

    def describe(self, one: Finding | Slice) -> str:
        """A column, a pair or a slice in words, with its p-value."""
        if isinstance(one, Finding):
            return f"{one.name}: {one.description}, {self.pvalue_text(one.pvalue)}"
        times = f", ×{one.ratio:.2g}" if math.isfinite(one.ratio) else ""
        shares = f"{percent(one.share_x)} of {self.names[0]}, {percent(one.share_y)} of {self.names[1]}"
        like = "" if one.conditions else f" ({self._like(one)})"
        return f"{one.text}{like}: {shares}{times}, {self.pvalue_text(one.pvalue)}"

    def _like(self, one: Slice) -> str:
        """The most typical rows of a cluster, by what the user calls them."""
        k = int(one.share_y > one.share_x)
        sample, members = (self.x, self.y)[k], (one.members_x, one.members_y)[k][:_LIKE].tolist()
        called = [where(sample, i) if self.items is None else shorten(str(self.items[k][i]), _ITEM) for i in members]
        return f"like {', '.join(called)} of {self.names[k]}"

    def _distance_text(self) -> str:
        name = f"{self.distance_name[0].upper()}{self.distance_name[1:]}"
        interval = "" if self.distance_interval is None else " [{:.3g}, {:.3g}]".format(*self.distance_interval)
        return f"{name} {self.distance:.3g}{interval}."

    def _how(self) -> str:
        first, second = self.names
        end = f"seed {self.settings.seed}, {self.seconds:.1f} s."
        if self.learned is None:
            exchanged = "" if self.permuted_unit == "rows" else f"Labels of {self.permuted_unit} were exchanged. "
            reading = self.settings.reading
            whole = "Rows without gaps were used" if reading.missing == "drop" else "Every row was used"
            used = "Rows that were drawn" if reading.max_rows else whole
            return f"{exchanged}{used}: {len(self.x):,} of {first} and {len(self.y):,} of {second}, {end}"
        split = self.learned.split
        text = (
            f"Learned from {len(split.train_x)} + {len(split.train_y)} rows, tested on "
            f"{len(split.test_x)} + {len(split.test_y)} ({first}, {second}), {end}"
        )
        if len(self.learned.halves) == 2:
            one, two = (half.test.pvalue for half in self.learned.halves)
            text += (
                f"\nEach half was learned from once and tested once: p = {one:.3g} and {two:.3g}. All other numbers "
                "are those of the half with the smaller p."
            )
        return text

    def to_dict(self) -> dict[str, Any]:
        """Everything a program may want to know, as plain Python values."""
        settings = self.settings.to_dict()
        return stamp("comparison") | {
            "pvalue": self.pvalue,
            "min_pvalue": self.min_pvalue,
            "permutations": self.permutations,
            "statistic": self.statistic,
            "statistic_name": self.statistic_name,
            "alpha": self.alpha,
            "differ": self.reject(),
            "verdict": self.verdict(),
            "names": list(self.names),
            "auc": self.auc,
            "auc_interval": list(self.auc_interval),
            "distance": self.distance,
            "distance_name": self.distance_name,
            "distance_interval": None if self.distance_interval is None else list(self.distance_interval),
            "families": {name: vars(family) for name, family in self.families.items()},
            "columns": self.columns.to_list(),
            "pairs": self.pairs.to_list(),
            "named": {
                "columns": [one.name for one in self.differing_columns()],
                "pairs": [one.name for one in self.differing_pairs()],
                "slices": [one.text for one in self.differing_slices],
            },
            "slices": [one.to_dict() | self._members(one) for one in self.slices],
            "noticed": [notice.to_dict() for notice in self.noticed],
            "weights": None if self.weights is None else self.weights.to_dict(),
            "exemplars": [exemplar.to_dict() for exemplar in self.exemplars()],
            "rows": {"x": self.rows_x.tolist(), "y": self.rows_y.tolist()},
            "witness": {"x": self.witness_x.tolist(), "y": self.witness_y.tolist()},
            "notes": list(self.notes),
            "settings": settings if self.kernel is None else settings | {"learned_kernel": repr(self.kernel)},
            "seconds": self.seconds,
            "test": self.test.to_dict(),
        }

    def _members(self, one: Slice) -> dict[str, Any]:
        """Original row numbers of a few members."""
        return {
            "exemplars_x": self.rows_x[one.members_x[:_SHOWN]].tolist(),
            "exemplars_y": self.rows_y[one.members_y[:_SHOWN]].tolist(),
        }

    def to_json(self) -> str:
        """What `to_dict` returns, as JSON."""
        return json.dumps(self.to_dict(), allow_nan=False)

    def to_html(self, path: str | PathLike[str], command: str | None = None) -> None:
        """Write a report: one HTML file that needs nothing else."""
        from ..report import write  # the report is made of results, not the other way round

        write(self, path, command)

    def __repr__(self) -> str:
        return f"Comparison({self.verdict()} AUC = {self.auc:.3f})"


def _listed(title: str, found: list[str]) -> list[str]:
    if not found:
        return []
    more = [f"  … and {len(found) - _SHOWN} more"] if len(found) > _SHOWN else []
    return [f"{title}:", *(f"  {one}" for one in found[:_SHOWN]), *more]
