"""What the results of `two_sample_test` and `k_sample_test` have in common."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch

from .._util.view import Block, Detail, Facts, Figure, Headline, TableBlock, View, notes
from ..omnibus import tie_adjusted_threshold
from ..stats.pvalues import critical_value, rejects
from .findings import Findings
from .result import Result
from .views import families_table, findings_table, null_figure


@dataclass(frozen=True)
class FamilyResult:
    """A family of statistics: its exact p-value by itself, and its strongest statistic."""

    pvalue: float
    strongest_statistic: str


@dataclass(frozen=True, eq=False)
class AutoResult(Result):
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

    def __iter__(self) -> Iterator[float]:
        return iter((self.statistic, self.pvalue))

    @property
    def permutations(self) -> int:
        """How many labellings the observed one was compared with."""
        return len(self.null_distribution)

    @property
    def strongest_statistic(self) -> str:
        """What carried the difference, by the family that says most: a bandwidth and a ridge, a column, a pair, …"""
        return next((f"{name}: {family.strongest_statistic}" for name, family in self.families.items()), "")

    def threshold(self, alpha: float = 0.05) -> float:
        """What the statistic must exceed for the test to reject at level ``alpha``; infinite with too few draws."""
        return tie_adjusted_threshold(float(critical_value(torch.from_numpy(self.null_distribution), alpha)))

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

    def _json_fields(self) -> dict[str, Any]:
        return {
            **super()._json_fields(),
            "permutations": self.permutations,
            "strongest_statistic": self.strongest_statistic,
            "columns": self.columns.to_list(),
            "pairs": self.pairs.to_list(),
        }

    def view(self, alpha: float | None = None) -> View:
        """The result as blocks of plain data, which summaries, cards, pages and plots are rendered from."""
        alpha = 0.05 if alpha is None else alpha
        return View.of(
            self._headline(alpha),
            notes(self.notes, prefix="Note: "),
            *self._between(alpha),
            families_table(self.families, self.min_pvalue),
            self._columns_table(alpha),
            self._pairs_table(alpha),
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
        raise NotImplementedError

    @property
    def _samples(self) -> str:
        """One sentence: the samples with their sizes."""
        rows = ", ".join(f"{name} ({size:,} rows)" for name, size in zip(self.names, self.sizes, strict=True))
        unit = "" if self.permuted_unit == "rows" else f", permutations of {self.permuted_unit}"
        return f"{rows}; exact test{unit}."

    def _between(self, alpha: float) -> tuple[Block, ...]:
        """Blocks about two samples at a time."""
        return ()

    def _columns_table(self, alpha: float) -> TableBlock | None:
        level = self.column_alpha(alpha)
        return findings_table(
            self.columns,
            alpha=level,
            reject=self.reject(alpha),
            smallest=self.min_pvalue,
            section="Which columns differ?",
            link="Columns",
            lead=self._columns_lead(alpha),
            anchor="columns",
        )

    def _columns_lead(self, alpha: float) -> str:
        if not self.reject(alpha):
            return "Since the test as a whole does not reject, no column is named. What the table shows may be chance."
        return (
            "Adjusted p-values hold for all columns together: the probability that any column is named that does not "
            f"differ is at most {alpha:g}, pairs included. Columns are named up to p = {self.column_alpha(alpha):.3g}."
        )

    def _pairs_table(self, alpha: float) -> TableBlock | None:
        found = self.differing_pairs(alpha)
        return findings_table(
            self.pairs if found else [],
            alpha=alpha / 2,
            reject=True,
            smallest=self.min_pvalue,
            what="Pairs of columns",
            one="pair",
            section="Which pairs of columns differ?",
            link="Pairs",
            lead="Two columns may each have the same distribution in all samples and still depend on each other "
            "differently. The p-values hold for all pairs together.",
            anchor="pairs",
        )

    def _method(self, alpha: float) -> tuple[Figure, Facts]:
        figure = replace(
            self.null_figure(alpha),
            section="How was it computed?",
            link="Method",
            lead="An exact permutation test of every row: all columns jointly (kernels at several bandwidths), one by "
            "one, in pairs and, if there are many, by principal components. The p-value is the proportion of "
            "permutations that look at least as different as the samples do.",
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
