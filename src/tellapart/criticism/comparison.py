"""The result of `compare`: whether two samples differ, how sure that is, how much, and where."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from .._util.errors import Note
from .._util.numbers import is_smallest, number, p_text, percent
from .._util.text import shorten
from .._util.view import (
    BlockColumn,
    Cell,
    Facts,
    Figure,
    Headline,
    PixelMap,
    Row,
    ShareBar,
    TableBlock,
    View,
    facts,
    notes,
)
from ..data import Encoding, Sample, Source
from ..data.arrays import Array
from ..data.names import quote_names
from ..data.notices import Notice, NoticeKind
from ..engine import Compute, MemoryLike, computing
from ..stats.pvalues import check_level, rejects
from ..twosample import Findings, LearnedTest, TwoSampleResult
from ..twosample.auto_result import FamilyResult
from ..twosample.figures import null_figure, roc_figure, witness_figure
from ..twosample.kinds import Kinds
from ..twosample.result import Result
from ..twosample.views import distinct_names, families_table, headline
from .exemplars import Exemplar, exemplars, row_numbers, where
from .separability import separability_grade
from .settings import ComparisonSettings
from .slices import Slice
from .texts import NamedText, name_texts
from .weights import Weights

if TYPE_CHECKING:
    from ..kernels import Kernel

Interval = tuple[float, float]

#: Members of a slice in the JSON form; rows of a cluster that are named, and characters of their names.
_SHOWN, _LIKE, _ITEM = 8, 3, 60
#: What is to be known before the answer.
_FIRST = ("same data", "shared rows")


@dataclass(frozen=True, eq=False)
class Comparison(Result):
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

    json_name = "comparison"

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
    settings: ComparisonSettings
    seconds: float
    _witness: Callable[[Any, Compute], Array] = field(repr=False)
    _encoding: Encoding = field(repr=False)
    _source: Source = field(repr=False)
    _unit: str = field(default="rows", repr=False)

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
        return self._unit

    def column_alpha(self, alpha: float | None = None) -> float:
        """The level of adjusted p-values of columns and of pairs: half of α where there are both."""
        level = self.alpha if alpha is None else alpha
        return level if isinstance(self.test, LearnedTest) else self.test.column_alpha(level)

    @property
    def kinds(self) -> Kinds:
        """The kinds of rows of the test; none for learned tests."""
        return Kinds() if isinstance(self.test, LearnedTest) else self.test.kinds

    def differing_kinds(self, alpha: float | None = None) -> Kinds:
        """The kinds of rows whose share differs, at a level for all kinds together; none unless the test rejects."""
        level = self.alpha if alpha is None else alpha
        return Kinds() if isinstance(self.test, LearnedTest) else self.test.differing_kinds(level)

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
    def drawn(self) -> bool:
        """Whether only some rows were read, because there were more than ``max_rows``."""
        limit, shown = self.settings.reading.max_rows, (self.x.shown, self.y.shown)
        return limit is not None and any(isinstance(one, Source) and (one.total or 0) > limit for one in shown)

    @property
    def seed(self) -> int:  # type: ignore[override]
        """Pass it as ``rng`` to reproduce the comparison."""
        return self.settings.seed

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
        return is_smallest(self.pvalue, self.min_pvalue)

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
        if not self.permuted_unit.endswith("strata"):
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

    def texts(self) -> tuple[NamedText, ...]:
        """Of texts compared by `tellapart.features.words`: what differs, with whole texts, and items that differ."""
        witness = self.witness_x, self.witness_y
        return name_texts(self.differing_columns(), (self.x, self.y), witness, self.items)

    def verdict(self) -> str:
        """One sentence: whether the samples differ, with the p-value."""
        return str(self._headline(self.alpha))

    def at_level(self, alpha: float | None) -> Comparison:
        """The comparison with another significance level, at which columns, pairs and slices are decided."""
        return self if alpha in (None, self.alpha) else replace(self, alpha=check_level(alpha))

    def view(self, alpha: float | None = None) -> View:
        """The result as blocks of plain data, which summaries, cards, pages and plots are rendered from."""
        if alpha not in (None, self.alpha):
            return self.at_level(alpha).view()
        alpha = self.alpha
        first = [one.text for one in self.noticed if one.kind in _FIRST]
        others = [one.text for one in self.noticed if one.kind not in _FIRST]
        return View.of(
            notes(first, prefix="First: "),
            self._headline(alpha),
            self._size(),
            families_table(self.families, self.min_pvalue),
            self.columns_table(alpha),
            self.pairs_table(alpha) if self.differing_pairs(alpha) else None,
            self.kinds_table(alpha) if self.differing_kinds(alpha) else None,
            self.slices_table(),
            self.weights.table(anchor="weights") if self.learned and self.weights and self.reject(alpha) else None,
            notes([self._how(), *others, *self.advice(), *self.notes]),
        )

    def _headline(self, alpha: float) -> Headline:
        return headline(self, alpha, samples=distinct_names(self.names))

    def columns_table(self, alpha: float | None = None) -> TableBlock | None:
        """All columns, those that differ strong; None for learned tests."""
        level = self.alpha if alpha is None else alpha
        return None if isinstance(self.test, LearnedTest) else self.test.columns_table(level)

    def pairs_table(self, alpha: float | None = None) -> TableBlock | None:
        """All pairs of columns, those that differ strong; None if there are none."""
        level = self.alpha if alpha is None else alpha
        return None if isinstance(self.test, LearnedTest) else self.test.pairs_table(level)

    def kinds_table(self, alpha: float | None = None) -> TableBlock | None:
        """The kinds of rows whose share differs; None if there are none."""
        level = self.alpha if alpha is None else alpha
        return None if isinstance(self.test, LearnedTest) else self.test.kinds_table(level)

    def pixel_map(self, alpha: float | None = None) -> PixelMap | None:
        """The effects of pixels as an image; None if the columns are not pixels."""
        level = self.alpha if alpha is None else alpha
        return None if isinstance(self.test, LearnedTest) else self.test.pixel_map(level)

    def _size(self) -> Facts:
        """How well the samples can be told apart, and how far apart they are."""
        low, high = self.auc_interval
        name = f"{self.distance_name[0].upper()}{self.distance_name[1:]}"
        interval = "" if self.distance_interval is None else " [{}, {}]".format(*map(number, self.distance_interval))
        return facts(
            (
                "Separability (AUC of the witness)",
                f"{self.auc:.3f} [{low:.3f}, {high:.3f}], {self.separability_grade} separable",
            ),
            (name, f"{number(self.distance)}{interval}"),
            ("Strata", self.over_strata) if self.over_strata else None,
        )

    def slices_table(self) -> TableBlock | None:
        """The kinds of rows, those that differ in number strong; None if there are none."""
        if not self.slices:
            return None
        found = self.differing_slices
        return TableBlock(
            title="Kinds of rows",
            strong_title="Kinds of rows that differ in number (found on one half of the rows, counted on the other)",
            columns=(BlockColumn("kinds of rows", "name"), BlockColumn("shares"), BlockColumn("adjusted p", "p")),
            rows=tuple(
                Row.of(
                    f"{one.text}{'' if one.conditions else f' ({self._like(one)})'}",
                    Cell(self._shares(one), shares=(ShareBar(one.share_x), ShareBar(one.share_y))),
                    p_text(one.pvalue, self.min_pvalue),
                    strong=one in found,
                )
                for one in self.slices
            ),
            total=len(self.slices),
            strong_total=len(found),
            instead="" if self.reject() else f"Kinds of rows: {len(self.slices):,} were counted; none is named.",
            anchor="slices",
        )

    def _shares(self, one: Slice) -> str:
        times = f", ×{one.ratio:.2g}" if math.isfinite(one.ratio) else ""
        return f"{percent(one.share_x)} of {self.names[0]}, {percent(one.share_y)} of {self.names[1]}{times}"

    def null_figure(self, alpha: float | None = None, bins: int | None = None) -> Figure:
        """The statistic and its null distribution; with swapped halves, those of the half with the smaller p-value."""
        alpha = self.alpha if alpha is None else alpha
        halves = 1 if self.learned is None else len(self.learned.halves)
        test = self.test.leading.test if isinstance(self.test, LearnedTest) else self.test
        return null_figure(
            test.null_distribution,
            test.statistic,
            test.threshold(alpha / halves),
            test.pvalue,
            name=test.statistic_name,
            alpha=alpha / halves,
            unit=self.permuted_unit if self.learned is None else f"tested {self.permuted_unit}",
            bins=bins,
            remark="The half with the smaller p-value is shown; the level is halved, since two are tested."
            if halves > 1
            else "",
        )

    def witness_figure(self, bins: int | None = None) -> Figure:
        """The witness function in both samples."""
        names = distinct_names(self.names)
        return witness_figure(
            self.witness_x,
            self.witness_y,
            names,
            bins,
            title="How far apart are they?",
            caption=f"The witness function assigns a number to each row: high where {names[0]} has more such rows, low "
            f"where {names[1]} has. It was learned from other rows than those it is shown for. Dashed: the means. The "
            "less the two overlap, the better the samples can be told apart.",
        )

    def roc_figure(self) -> Figure:
        """The ROC curve of the witness function: its area is the AUC."""
        low, high = self.auc_interval
        area = f"AUC {self.auc:.3f} [{low:.3f}, {high:.3f}]"
        return roc_figure(self.witness_x, self.witness_y, self.names, area)

    def advice(self) -> list[Note]:
        """What can be done about columns that were left out."""
        advice = []
        counted, texts = self._left_out("identifier", "date"), self._left_out("free text")
        if counted:
            names = quote_names(counted)
            text = f"{names} can be compared nevertheless."
            advice.append(Note("column-left-out", text, "Give {keep_columns}.", keep_columns=counted))
        if texts and self.items is None:
            shown = f"{texts[0]!r} can be shown next to the examples."
            advice.append(Note("free-text-left-out", shown, "Give {items}.", items=texts[0]))
        return advice

    def _left_out(self, *kinds: NoticeKind) -> list[str]:
        return [name for one in self.noticed if one.left_out and one.kind in kinds for name in one.columns]

    def _like(self, one: Slice) -> str:
        """The most typical rows of a cluster, by what the user calls them."""
        k = int(one.share_y > one.share_x)
        sample, members = (self.x, self.y)[k], (one.members_x, one.members_y)[k][:_LIKE].tolist()
        called = [where(sample, i) if self.items is None else shorten(str(self.items[k][i]), _ITEM) for i in members]
        return f"like {', '.join(called)} of {self.names[k]}"

    def _how(self) -> str:
        first, second = self.names
        end = f"seed {self.settings.seed}, {self.seconds:.1f} s."
        if self.learned is None:
            exchanged = "" if self.permuted_unit == "rows" else f"Labels of {self.permuted_unit} were exchanged. "
            reading = self.settings.reading
            whole = "Rows without gaps were used" if reading.missing == "drop" else "Every row was used"
            used = "Rows that were drawn" if self.drawn else whole
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

    def _json_fields(self) -> dict[str, Any]:
        settings = self.settings.to_dict()
        return {
            "pvalue": self.pvalue,
            "min_pvalue": self.min_pvalue,
            "permutations": self.permutations,
            "statistic": self.statistic,
            "statistic_name": self.statistic_name,
            "alpha": self.alpha,
            "differ": self.reject(),
            "verdict": self.verdict(),
            "names": self.names,
            "auc": self.auc,
            "auc_interval": self.auc_interval,
            "distance": self.distance,
            "distance_name": self.distance_name,
            "distance_interval": self.distance_interval,
            "families": self.families,
            "columns": self.columns.to_list(),
            "pairs": self.pairs.to_list(),
            "kinds": self.kinds.to_list(),
            "named": {
                "columns": [one.name for one in self.differing_columns()],
                "pairs": [one.name for one in self.differing_pairs()],
                "slices": [one.text for one in self.differing_slices],
            },
            "slices": [one.to_dict() | self._members(one) for one in self.slices],
            "noticed": self.noticed,
            "weights": self.weights,
            "exemplars": self.exemplars(),
            "texts": self.texts(),
            "rows": {"x": self.rows_x, "y": self.rows_y},
            "witness": {"x": self.witness_x, "y": self.witness_y},
            "notes": self.notes,
            "settings": settings if self.kernel is None else settings | {"learned_kernel": repr(self.kernel)},
            "seconds": self.seconds,
            "test": self.test,
        }

    def _members(self, one: Slice) -> dict[str, Any]:
        """Original row numbers of a few members."""
        return {
            "exemplars_x": self.rows_x[one.members_x[:_SHOWN]].tolist(),
            "exemplars_y": self.rows_y[one.members_y[:_SHOWN]].tolist(),
        }

    def __repr__(self) -> str:
        return f"Comparison({self.verdict()} AUC = {self.auc:.3f})"
