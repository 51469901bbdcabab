"""What the results of `two_sample_test` and `k_sample_test` have in common."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from .._util.numbers import percent
from .._util.view import Block, Detail, Facts, Figure, Headline, PixelMap, TableBlock, Tile, View, notes
from ..omnibus import tie_adjusted_threshold
from ..omnibus.families.pairs import MAX_PAIRS
from ..stats.pvalues import rejects, threshold_of
from .figures import null_figure
from .findings import Findings
from .kinds import COMPOSITIONAL, Kinds, kinds_table
from .pixels import map_pixels
from .result import TestOutcome
from .views import distinct_names, explain_pvalue, families_table, findings_table, headline, pvalue_tile


@dataclass(frozen=True)
class FamilyResult:
    """A family of statistics: its exact p-value by itself, and its strongest statistic."""

    pvalue: float
    strongest_statistic: str


@dataclass(frozen=True, eq=False)
class AutoResult(TestOutcome):
    """What `two_sample_test` and `k_sample_test` have in common. Unpacks as ``statistic, pvalue = result``."""

    statistic: float
    pvalue: float
    null_distribution: np.ndarray[Any, Any] = field(repr=False)
    min_pvalue: float
    families: dict[str, FamilyResult] = field(repr=False)
    columns: Findings = field(repr=False)
    pairs: Findings = field(repr=False)
    sizes: tuple[int, ...]
    names: tuple[str, ...]
    seed: int
    seconds: float
    notes: tuple[str, ...] = ()
    exact: bool = True
    null: str = "permutation"
    statistic_name: str = "score"
    permuted_unit: str = "rows"
    image_shape: tuple[int, ...] | None = None
    kinds: Kinds = field(default_factory=Kinds, repr=False)

    @property
    def strongest_statistic(self) -> str:
        """What carried the difference, by the family that says most: a bandwidth and a ridge, a column, a pair, …"""
        return next((f"{name}: {family.strongest_statistic}" for name, family in self.families.items()), "")

    def threshold(self, alpha: float = 0.05) -> float:
        """What the statistic must exceed for the test to reject at level ``alpha``; infinite with too few draws."""
        return tie_adjusted_threshold(threshold_of(self.null_distribution, alpha))

    def column_alpha(self, alpha: float = 0.05) -> float:
        """Adjusted p-values up to this are named: half of ``alpha`` for columns and half for pairs, if there are any.

        So the probability that any column is named whose own distribution is the same in all samples, or any pair whose
        correlation is, is at most ``alpha``; exactly for columns, in large samples for pairs. Where so few permutations
        were drawn that no p-value reaches the half, columns have all of it.
        """
        return alpha / 2 if self._shares_level(alpha) else alpha

    def _shares_level(self, alpha: float) -> bool:
        return len(self.pairs) > 0 and rejects(self.min_pvalue, alpha / 2)

    def differing_columns(self, alpha: float = 0.05) -> Findings:
        """The columns that differ, at level ``alpha`` for all columns and pairs together; none unless the test rejects.

        A column belongs to them if its adjusted p-value is at most `column_alpha`.
        """
        return self.columns.below(self.column_alpha(alpha)) if self.reject(alpha) else Findings()

    def differing_pairs(self, alpha: float = 0.05) -> Findings:
        """The pairs of columns that differ; none unless the test rejects."""
        return self.pairs.below(alpha / 2) if self.reject(alpha) and self._shares_level(alpha) else Findings()

    def differing_kinds(self, alpha: float = 0.05) -> Kinds:
        """The kinds of rows that differ, at level ``alpha`` for all kinds together; none unless the test rejects.

        This level is that of kinds alone: it is not shared with columns and pairs.
        """
        return self.kinds.below(alpha) if self.reject(alpha) else Kinds()

    def _json_fields(self) -> dict[str, Any]:
        return {
            **super()._json_fields(),
            "permutations": self.permutations,
            "strongest_statistic": self.strongest_statistic,
            "columns": self.columns.to_list(),
            "pairs": self.pairs.to_list(),
            "kinds": self.kinds.to_list(),
        }

    def view(self, alpha: float | None = None) -> View:
        """The result as blocks of plain data, which summaries, cards, pages and plots are rendered from."""
        alpha = 0.05 if alpha is None else alpha
        return View.of(
            self._headline(alpha),
            notes(self.notes, prefix="Note: "),
            *self._between(alpha),
            families_table(self.families, self.min_pvalue),
            self.columns_table(alpha),
            self.pairs_table(alpha) if self.differing_pairs(alpha) else None,
            self.kinds_table(alpha) if self.differing_kinds(alpha) else None,
            *self._method(alpha),
        )

    def null_figure(self, alpha: float = 0.05, bins: int | None = None) -> Figure:
        """The statistic and its null distribution."""
        return null_figure(
            self.null_distribution,
            self.statistic,
            self.threshold(alpha),
            self.pvalue,
            name=self.statistic_name,
            alpha=alpha,
            unit=self.permuted_unit,
            bins=bins,
        )

    def _headline(self, alpha: float) -> Headline:
        rows = ", ".join(f"{name} ({size:,} rows)" for name, size in zip(self.names, self.sizes, strict=True))
        unit = "" if self.permuted_unit == "rows" else f", permutations of {self.permuted_unit}"
        return headline(
            self,
            alpha,
            title=self._title,
            samples=distinct_names(self.names) if len(self.names) == 2 else (),
            sentences=(f"{rows}; exact test{unit}.",),
            explanation=explain_pvalue(self, self.permuted_unit, alpha),
            tiles=(pvalue_tile(self), *self._tiles(alpha)),
        )

    @property
    def _title(self) -> str:
        """The title of a page, if that is not made of the names of two samples."""
        return ""

    def _tiles(self, alpha: float) -> tuple[Tile, ...]:
        """Key numbers of a page, after the p-value."""
        raise NotImplementedError

    def _between(self, alpha: float) -> tuple[Block, ...]:
        """Blocks about two samples at a time."""
        return ()

    def columns_table(self, alpha: float = 0.05) -> TableBlock | None:
        """All columns, those that differ strong; None if there are none."""
        return findings_table(
            self.columns,
            alpha=self.column_alpha(alpha),
            reject=self.reject(alpha),
            smallest=self.min_pvalue,
            what="Columns" if not self.columns or self.columns[0].pixel is None else "Pixels",
            section="Which columns differ?",
            link="Columns",
            lead=self._columns_lead(alpha),
            anchor="columns",
        )

    def _columns_lead(self, alpha: float) -> str:
        total, found, level = len(self.columns), len(self.differing_columns(alpha)), self.column_alpha(alpha)
        if not self.reject(alpha):
            return "Since the test as a whole does not reject, no column is named. What the table shows may be chance."
        if not found:
            return (
                f"No column is shown to differ by itself (adjusted p ≤ {level:.3g}): the samples may differ in the "
                "dependence between columns, or in several columns whose individual evidence is too weak."
            )
        verb = "differs by itself" if found == 1 else "differ by themselves"
        count = "The column differs." if total == found == 1 else f"{found:,} of {total:,} columns {verb}."
        text = (
            f"{count} The adjusted p-values hold for all columns together: the probability that any column is named "
            f"that does not differ is at most {percent(alpha)}, pairs included. Columns are named up to "
            f"p = {level:.3g}."
        )
        if len(self.names) > 2:
            return text
        first, second = distinct_names(self.names)
        return f"{text} Effects say how {second} differs from {first}."

    def pairs_table(self, alpha: float = 0.05) -> TableBlock | None:
        """All pairs of columns, those that differ strong; None if there are none."""
        return findings_table(
            self.pairs,
            alpha=alpha / 2,
            reject=len(self.differing_pairs(alpha)) > 0,
            smallest=self.min_pvalue,
            what="Pairs of columns",
            one="pair",
            instead="",
            section="Which pairs of columns depend on each other differently?",
            link="Pairs",
            lead=self._pairs_lead(alpha),
            anchor="pairs",
        )

    def _pairs_lead(self, alpha: float) -> str:
        count, found, total = len(self.pairs), len(self.differing_pairs(alpha)), self._count_all_pairs()
        examined = f"{count:,} pairs of columns were examined"
        if total > count >= MAX_PAIRS:
            examined = f"{count:,} of {total:,} pairs of columns were examined, those that depend most on each other"
        elif count == 1:
            examined = "One pair was examined"
        if not self.reject(alpha):
            return f"{examined}; since the test as a whole does not reject, none is named."
        if not found:
            return f"{examined}; none is shown to differ."
        samples = "both samples" if len(self.names) == 2 else "all samples"
        return (
            f"Two columns may each have the same distribution in {samples} and still depend on each other differently. "
            f"{examined}: {found:,} {'differs' if found == 1 else 'differ'}. The p-values hold for all pairs together; "
            f"pairs are named up to p = {alpha / 2:.3g}, as columns have the other half of the level."
        )

    def kinds_table(self, alpha: float = 0.05) -> TableBlock | None:
        """The kinds of rows whose share differs; None if there are none."""
        return kinds_table(
            self.kinds,
            alpha=alpha,
            reject=self.reject(alpha),
            smallest=self.min_pvalue,
            section="Which kinds of rows is there more of?",
            link="Kinds of rows",
            lead=f"Clusters of the rows of all samples, and neighborhoods in them, whose share differs. {COMPOSITIONAL}"
            " If the rows outside of the kinds that differ have the same distribution in all samples, the probability "
            f"that any other kind is named is at most {percent(alpha)}.",
        )

    def _count_all_pairs(self) -> int:
        """Number of pairs of numeric and boolean columns; categories and indicators of missing values form no pairs."""
        count = sum(
            column.kind != "share" or (len(column.values) == 1 and "missing" not in column.values)
            for column in self.columns
        )
        return count * (count - 1) // 2

    def pixel_map(self, alpha: float = 0.05) -> PixelMap | None:
        """The effects of pixels as an image; None if the columns are not pixels."""
        label = "effect" if len(self.names) > 2 else f"brighter in {distinct_names(self.names)[1]}, SD"
        level, reject = self.column_alpha(alpha), self.reject(alpha)
        return map_pixels(self.columns, level, reject=reject, image_shape=self.image_shape, label=label)

    def _method(self, alpha: float) -> tuple[Figure, Facts]:
        figure = replace(
            self.null_figure(alpha),
            section="How was it computed?",
            link="Method",
            lead="An exact permutation test of every row: all columns jointly (kernels at several bandwidths), one by "
            "one, in pairs, if there are many by principal components, and by kinds of rows. The p-value is the share "
            "of permutations that look at least as different as the samples do.",
        )
        settings = Facts(
            title="Settings",
            items=(
                *((name, f"{size:,} rows") for name, size in zip(self.names, self.sizes, strict=True)),
                ("Null distribution", f"{self.null} of {self.permuted_unit}, {self.permutations:,} permutations"),
                ("Level", f"{alpha:g}"),
                ("Seed", str(self.seed)),
                ("Time", f"{self.seconds:.1f} s"),
            ),
            detail=Detail.PAGE,
        )
        return figure, settings
