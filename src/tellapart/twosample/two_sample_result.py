"""The result of `two_sample_test`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .._util.view import Tile
from .auto_result import AutoResult


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
    kinds
        Kinds of rows whose share differs as `Kinds`: with shares, a ratio, typical rows and a rule.
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

    def _tiles(self, alpha: float) -> tuple[Tile, ...]:
        columns, pairs = len(self.differing_columns(alpha)), len(self.differing_pairs(alpha))
        count = f"{columns:,} of {len(self.columns):,}"
        tiles = [Tile("Columns that differ", count, f"at level {alpha:g} together")]
        if self.pairs:
            tiles.append(Tile("Pairs that differ", f"{pairs:,} of {len(self.pairs):,}"))
        return (*tiles, Tile("Rows", f"{self.m:,} + {self.n:,}", "all of them tested"))

    def __repr__(self) -> str:
        at_floor = " (the smallest possible)" if self.pvalue <= self.min_pvalue * (1 + 1e-9) else ""
        count = len(self.differing_columns())
        named = f", {count} column{'s' * (count > 1)} named" if count else ""
        return (
            f"TwoSampleResult(p = {self.pvalue:.4g}{at_floor}; exact, {self.permutations} permutations, m = {self.m}, "
            f"n = {self.n}{', strongest ' + self.strongest_statistic if self.strongest_statistic else ''}{named})"
        )
