"""Results of `two_sample_test` and `k_sample_test`: one p-value, families of statistics, columns and pairs by name."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, overload

import numpy as np
import torch

from .._util.numbers import p_sentence, p_text
from .._util.view import Block, Column, Detail, Facts, Figure, Headline, Row, Table, Tile, View, notes
from ..omnibus import tie_adjusted_threshold
from ..stats.pvalues import critical_value, rejects
from .result import Displayed, Result, as_plain
from .views import (
    explain_pvalue,
    families_table,
    findings_table,
    headline,
    null_figure,
    pairwise_matrix,
    smallest_remark,
    verdict,
)

#: Findings that ``repr`` shows; columns that a page lists for two of several samples, and pairs of samples.
_SHOWN, _LISTED, _PAIRS_LISTED = 10, 3, 100


@dataclass(frozen=True)
class FamilyResult:
    """A family of statistics: its exact p-value by itself, and its strongest statistic."""

    pvalue: float
    strongest_statistic: str


@dataclass(frozen=True)
class Finding(Displayed):
    """A column or a pair of columns.

    Attributes
    ----------
    name, columns
        What to call it, and the columns that it is.
    kind
        What differs most: ``"location"``, ``"scale"``, ``"shape"``, ``"share"`` or ``"dependence"``.
    effect
        Location and shape: the difference of means in pooled standard deviations, Y less X. Scale: the logarithm of the
        ratio of standard deviations. Share: the difference of shares. Dependence: the difference of correlations.
    description
        The same in words.
    pvalue
        Adjusted for all columns (or all pairs). Columns: the larger of step-down maxT's and Holm's over exact
        single-column p-values. The probability of p ≤ α for any column whose observed values have the same distribution
        in all samples is at most α, for α up to 0.25, at every sample size and however columns depend on each other.
        Pairs: likewise for pairs with the same correlation, but only in large samples (with finite fourth moments).
    pvalue_unadjusted
        Of this one, had it alone been looked at.
    interval
        Of the effect, with 95 % confidence for this column or pair alone, not for all of them together. It is
        simultaneous over what could have been shown of it: location and scale, or all levels of a category. It is
        asymptotic, and was measured to cover 94 to 99 % where samples have 30 rows or more, or 8 groups; of lognormal
        columns with 200 and 15 rows 90 %. None of more than two samples, and where it is not known.
    values
        What the words say, as numbers of each sample: ``{"mean": (1.0, 1.2), "SD": (…)}``, the share of each category,
        ``{"correlation": (0.41, 0.05)}``.
    pixel
        Row and column of the pixel, where the column is a pixel of images; else None.
    """

    name: str
    columns: tuple[str, ...]
    kind: str
    effect: float
    description: str
    pvalue: float
    pvalue_unadjusted: float
    interval: tuple[float, float] | None = None
    values: dict[str, tuple[float, ...]] = field(default_factory=dict)
    pixel: tuple[int, int] | None = None

    @property
    def clarity(self) -> float:
        """The effect in half widths of its interval, 0 where there is none: what orders p-values that are equal."""
        if math.isinf(self.effect):
            return math.inf
        if self.interval is None or not all(map(math.isfinite, (self.effect, *self.interval))):
            return 0.0
        return abs(self.effect) / max((self.interval[1] - self.interval[0]) / 2, 1e-300)

    def view(self, alpha: float | None = None) -> View:
        """The finding as a table of one row."""
        return Findings([self]).view(alpha)

    def __str__(self) -> str:
        return f"{self.name}: {self.description} ({p_sentence(self.pvalue)})"


class Findings(Displayed, Sequence[Finding]):
    """Columns, or pairs of columns, by their adjusted p-values: what differs most comes first."""

    def __init__(self, found: Sequence[Finding] = ()) -> None:
        self._found = tuple(sorted(found, key=lambda one: (one.pvalue, one.pvalue_unadjusted, -one.clarity)))

    @overload
    def __getitem__(self, index: int) -> Finding: ...
    @overload
    def __getitem__(self, index: slice) -> Findings: ...
    def __getitem__(self, index: int | slice) -> Finding | Findings:
        return Findings(self._found[index]) if isinstance(index, slice) else self._found[index]

    def __len__(self) -> int:
        return len(self._found)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the findings, in the same order."""
        return tuple(one.name for one in self._found)

    def below(self, alpha: float = 0.05) -> Findings:
        """The findings with an adjusted p-value of at most ``alpha``."""
        return Findings([one for one in self._found if rejects(one.pvalue, alpha)])

    def to_list(self) -> list[dict[str, Any]]:
        """All of them as plain values."""
        return [as_plain(vars(one)) for one in self._found]

    def view(self, alpha: float | None = None) -> View:
        """The findings as a table."""
        table = findings_table(
            self, alpha=0.05 if alpha is None else alpha, reject=True, what="Findings", one="finding"
        )
        return View.of(table or Headline(text="No findings"))

    def __repr__(self) -> str:
        if not self._found:
            return "no findings"
        width = max(len(one.name) for one in self._found[:_SHOWN])
        lines = [f"{one.name:{width}}  p = {one.pvalue:<6.3g} {one.description}" for one in self._found[:_SHOWN]]
        more = len(self) - _SHOWN
        return "\n".join([*lines, *([f"… and {more} more"] if more > 0 else [])])


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

    def _columns_table(self, alpha: float) -> Table | None:
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

    def _pairs_table(self, alpha: float) -> Table | None:
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


@dataclass(frozen=True, eq=False)
class TwoSampleResult(AutoResult):
    """The outcome of `two_sample_test`. Unpacks as ``statistic, pvalue = result``.

    Attributes
    ----------
    statistic
        The combined score: about -log p of the families of forms, the larger the more different. It has no unit.
    pvalue
        Exact at every sample size: at least `min_pvalue`, never 0.
    null_distribution
        The statistic of the other labellings.
    min_pvalue
        The smallest p-value there can be, from the number of permutations and of labellings that differ.
    families
        Each family of forms with its own exact p-value and what carried it, the one that says most first.
    columns, pairs
        Columns and pairs of columns as `Findings`: by name, with an effect and an adjusted p-value.
    sizes, names
        The sizes of the samples, and what they are called.
    seed
        Give it as ``rng`` to have the same result again.
    seconds
        How long it took.
    notes
        What should be known beside it.
    permuted_unit
        What labels were exchanged of: rows, pairs, groups, rows within strata, …
    """

    @property
    def m(self) -> int:
        """The size of X."""
        return self.sizes[0]

    @property
    def n(self) -> int:
        """The size of Y."""
        return self.sizes[1]

    json_name = "two_sample_test"

    def _json_fields(self) -> dict[str, Any]:
        return {**super()._json_fields(), "m": self.m, "n": self.n}

    def _headline(self, alpha: float) -> Headline:
        differ, found = self.reject(alpha), len(self.differing_columns(alpha))
        return headline(
            self.pvalue,
            self.min_pvalue,
            self.permutations,
            differ,
            alpha,
            samples=distinct_names(self.names),
            sentences=(self._samples,),
            explanation=explain_pvalue(
                self.pvalue, self.min_pvalue, self.permutations, self.permuted_unit, differ, alpha
            ),
            tiles=(
                Tile(
                    "p-value",
                    p_text(self.pvalue, self.min_pvalue),
                    smallest_remark(self.pvalue, self.min_pvalue, self.permutations),
                ),
                Tile("Columns that differ", f"{found:,} of {len(self.columns):,}", f"at level {alpha:g} together"),
                *(
                    [Tile("Pairs that differ", f"{len(self.differing_pairs(alpha)):,} of {len(self.pairs):,}")]
                    if self.pairs
                    else []
                ),
                Tile("Rows", f"{self.m:,} + {self.n:,}", "all of them tested"),
            ),
        )

    def __repr__(self) -> str:
        at_floor = " (the smallest possible)" if self.pvalue <= self.min_pvalue * (1 + 1e-9) else ""
        count = len(self.differing_columns())
        named = f", {count} column{'s' * (count > 1)} named" if count else ""
        return (
            f"TwoSampleResult(p = {self.pvalue:.4g}{at_floor}; exact, {self.permutations} permutations, m = {self.m}, "
            f"n = {self.n}{', strongest ' + self.strongest_statistic if self.strongest_statistic else ''}{named})"
        )


@dataclass(frozen=True, eq=False)
class PairwiseTest(Displayed):
    """Two of several samples: their test, and its p-value adjusted for all such tests (Holm)."""

    names: tuple[str, str]
    test: TwoSampleResult
    pvalue: float

    def view(self, alpha: float | None = None) -> View:
        """The two samples with their p-value."""
        p = p_sentence(self.pvalue)
        return View.of(Headline(text=" and ".join(self.names), evidence=f"{p}, adjusted for all pairwise tests"))


@dataclass(frozen=True, eq=False)
class KSampleResult(AutoResult):
    """The outcome of `k_sample_test`. Unpacks as ``statistic, pvalue = result``.

    Attributes
    ----------
    pairwise
        Each two of the samples: their test and its p-value, adjusted for all of them.
    by
        The column that says which sample a row belongs to, where it is known.
    **others
        As in `TwoSampleResult`.
    """

    pairwise: tuple[PairwiseTest, ...] = ()
    by: str | None = None

    json_name = "k_sample_test"

    def _json_fields(self) -> dict[str, Any]:
        pairwise = [{"names": one.names, "pvalue": one.pvalue, "test": one.test} for one in self.pairwise]
        return {**super()._json_fields(), "pairwise": pairwise}

    def _headline(self, alpha: float) -> Headline:
        differ = self.reject(alpha)
        differing = [one for one in self.pairwise if rejects(one.pvalue, alpha)]
        rows = " to ".join(f"{size:,}" for size in sorted({min(self.sizes), max(self.sizes)}))
        pairs = f"and {len(self.differing_pairs(alpha))} of {len(self.pairs)} pairs of columns" if self.pairs else ""
        return Headline(
            title=f"{len(self.names)} samples" if self.by is None else f"{len(self.names)} groups by {self.by}",
            text=verdict(differ, alpha),
            evidence=f"{p_sentence(self.pvalue, self.min_pvalue)}, {self.permutations:,} permutations",
            positive=differ,
            sentences=(self._samples,),
            explanation=explain_pvalue(
                self.pvalue, self.min_pvalue, self.permutations, self.permuted_unit, differ, alpha
            ),
            tiles=(
                Tile(
                    "p-value",
                    p_text(self.pvalue, self.min_pvalue),
                    smallest_remark(self.pvalue, self.min_pvalue, self.permutations),
                ),
                Tile("Samples", f"{len(self.names):,}", f"{rows} rows each"),
                *(
                    [
                        Tile(
                            "Pairs of samples",
                            f"{len(differing)} of {len(self.pairwise)}",
                            f"differ at level {alpha:g}",
                        )
                    ]
                    if self.pairwise
                    else []
                ),
                Tile("Columns that differ", f"{len(self.differing_columns(alpha))} of {len(self.columns)}", pairs),
            ),
        )

    def _between(self, alpha: float) -> tuple[Block, ...]:
        if not self.pairwise:
            return ()
        pvalues = {one.names: one.pvalue for one in self.pairwise}
        sizes = [f"{name} ({size:,})" for name, size in zip(self.names, self.sizes, strict=True)]
        matrix = pairwise_matrix(
            self.names,
            sizes,
            pvalues,
            alpha,
            title="Two samples at a time (adjusted p-values)",
            section="Two at a time",
            lead="P-values of each two samples, adjusted for all of them; the stronger the color, the smaller. In "
            f"bold: they differ at level {alpha:g}.",
        )
        found = [one for one in self.pairwise if rejects(one.pvalue, alpha)][:_PAIRS_LISTED]
        if not found:
            return (matrix,)
        rows = tuple(Row.of(f"{' and '.join(one.names)}", _describe(one.test, alpha)) for one in found)
        columns = (Column("samples", "name"), Column("columns that differ"))
        table = Table(
            title="Which columns differ between two samples",
            columns=columns,
            rows=rows,
            total=len(rows),
            detail=Detail.PAGE,
        )
        return (matrix, table)

    def __repr__(self) -> str:
        return (
            f"KSampleResult(p = {self.pvalue:.4g}; exact, {self.permutations} permutations, sizes {self.sizes}"
            f"{', strongest ' + self.strongest_statistic if self.strongest_statistic else ''})"
        )


def distinct_names(names: Sequence[str]) -> tuple[str, str]:
    """The names of two samples; X and Y tell samples with the same name apart.

    >>> distinct_names(("a", "b")), distinct_names(("a", "a"))
    (('a', 'b'), ('a (X)', 'a (Y)'))
    """
    first, second = names
    return (first, second) if first != second else (f"{first} (X)", f"{second} (Y)")


def _describe(test: TwoSampleResult, alpha: float) -> str:
    """The first columns and pairs in which two of several samples differ."""
    found = [*test.differing_columns(alpha), *test.differing_pairs(alpha)]
    text = "; ".join(f"{one.name}: {one.description}" for one in found[:_LISTED])
    more = f"; and {len(found) - _LISTED} more" if len(found) > _LISTED else ""
    return f"{text}{more}" if found else "no single column or pair is shown to differ"
