"""The result of `k_sample_test`, with the tests of each two of the samples."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .._util.numbers import p_sentence
from .._util.view import Block, BlockColumn, Detail, Headline, Row, TableBlock, Tile, View
from ..stats.pvalues import rejects
from .auto_result import AutoResult
from .result import Displayed
from .two_sample_result import TwoSampleResult
from .views import pairwise_matrix

#: Columns that a page lists for two of several samples, and pairs of samples.
_LISTED, _PAIRS_LISTED = 3, 100


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

    @property
    def _title(self) -> str:
        return f"{len(self.names)} samples" if self.by is None else f"{len(self.names)} groups by {self.by}"

    def _tiles(self, alpha: float) -> tuple[Tile, ...]:
        rows = " to ".join(f"{size:,}" for size in sorted({min(self.sizes), max(self.sizes)}))
        tiles = [Tile("Samples", f"{len(self.names):,}", f"{rows} rows each")]
        if self.pairwise:
            differing = sum(rejects(pair.pvalue, alpha) for pair in self.pairwise)
            count = f"{differing} of {len(self.pairwise)}"
            tiles.append(Tile("Pairs of samples", count, f"differ at level {alpha:g}"))
        pairs = f"and {len(self.differing_pairs(alpha))} of {len(self.pairs)} pairs of columns" if self.pairs else ""
        columns = f"{len(self.differing_columns(alpha))} of {len(self.columns)}"
        return (*tiles, Tile("Columns that differ", columns, pairs))

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
        columns = (BlockColumn("samples", "name"), BlockColumn("columns that differ"))
        table = TableBlock(
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


def _describe(test: TwoSampleResult, alpha: float) -> str:
    """The first columns and pairs in which two of several samples differ."""
    found = [*test.differing_columns(alpha), *test.differing_pairs(alpha)]
    text = "; ".join(f"{one.name}: {one.description}" for one in found[:_LISTED])
    more = f"; and {len(found) - _LISTED} more" if len(found) > _LISTED else ""
    return f"{text}{more}" if found else "no single column or pair is shown to differ"
