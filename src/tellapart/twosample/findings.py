"""What an automatic test found: one p-value, families of forms, columns and pairs by name."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, overload

import numpy as np
import torch

from .._util.schema import stamp
from .._util.shown import Shown
from ..omnibus import FAMILIES as FAMILY_CLASSES
from ..omnibus import tie_adjusted_threshold
from ..stats.pvalues import critical_value, rejects

#: What each family of statistics compares, by its key in results.
FAMILIES = {family.name: family.description for family in FAMILY_CLASSES}
_SHOWN = 10
#: Fields that are written after the others, each in its own way.
_LAST = ("families", "columns", "pairs", "null_distribution")


@dataclass(frozen=True)
class FamilyResult:
    """A family of statistics: its exact p-value by itself, and its strongest statistic."""

    pvalue: float
    strongest_statistic: str


@dataclass(frozen=True)
class Finding(Shown):
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

    @property
    def clarity(self) -> float:
        """The effect in half widths of its interval, 0 where there is none: what orders p-values that are equal."""
        if math.isinf(self.effect):
            return math.inf
        if self.interval is None or not all(map(math.isfinite, (self.effect, *self.interval))):
            return 0.0
        return abs(self.effect) / max((self.interval[1] - self.interval[0]) / 2, 1e-300)

    def __str__(self) -> str:
        return f"{self.name}: {self.description} (p = {self.pvalue:.3g})"


class Findings(Shown, Sequence[Finding]):
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
        return [_plain(vars(one)) for one in self._found]

    def __repr__(self) -> str:
        if not self._found:
            return "no findings"
        width = max(len(one.name) for one in self._found[:_SHOWN])
        lines = [f"{one.name:{width}}  p = {one.pvalue:<6.3g} {one.description}" for one in self._found[:_SHOWN]]
        more = len(self) - _SHOWN
        return "\n".join([*lines, *([f"… and {more} more"] if more > 0 else [])])


@dataclass(frozen=True, eq=False)
class AutoResult(Shown):
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

    def reject(self, alpha: float = 0.05) -> bool:
        """Whether the test rejects at level ``alpha``."""
        return rejects(self.pvalue, alpha)

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

    def to_dict(self) -> dict[str, Any]:
        """All fields as plain Python values."""
        return {
            **_plain({k: v for k, v in vars(self).items() if k not in _LAST}),
            "permutations": self.permutations,
            "strongest_statistic": self.strongest_statistic,
            "families": {name: vars(family) for name, family in self.families.items()},
            "columns": self.columns.to_list(),
            "pairs": self.pairs.to_list(),
            "null_distribution": self.null_distribution.tolist(),
        }

    def to_json(self) -> str:
        """All fields as JSON."""
        return json.dumps(self.to_dict(), allow_nan=False)

    def summary(self, alpha: float = 0.05) -> str:
        """What was found, in plain words."""
        return "\n".join(self._summary(alpha))

    def _summary(self, alpha: float) -> list[str]:
        listed = ", ".join(f"{name} ({rows:,} rows)" for name, rows in zip(self.names, self.sizes, strict=True))
        at_floor = ", the smallest possible" if self.pvalue <= self.min_pvalue * (1 + 1e-9) else ""
        verdict = "differ" if self.reject(alpha) else "are not shown to differ"
        of_what = "" if self.permuted_unit == "rows" else f" of {self.permuted_unit}"
        how = f"exact, {self.permutations:,} relabellings{of_what}"
        lines = [f"{listed} {verdict}: p = {self.pvalue:.4g}{at_floor} ({how})."]
        # What should be known first comes first: a column that only counts rows decides everything.
        lines += [f"Note: {note}" for note in self.notes]
        for name, family in self.families.items():
            lines.append(f"  {FAMILIES[name]}: p = {family.pvalue:.4g} ({family.strongest_statistic})")
        level = f"adjusted p ≤ {self.column_alpha(alpha):g}"
        for what, named, found in (
            ("Columns", self.differing_columns(alpha), self.columns),
            ("Pairs of columns", self.differing_pairs(alpha), self.pairs),
        ):
            if named:
                lines.append(f"{what} that differ ({level}): {len(named)} of {len(found)}")
                lines += [f"  {one}" for one in named[:_SHOWN]]
                lines += [f"  … and {len(named) - _SHOWN} more"] if len(named) > _SHOWN else []
        return lines


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

    def to_dict(self) -> dict[str, Any]:
        """All fields as plain Python values."""
        return stamp("two_sample_test") | super().to_dict() | {"m": self.m, "n": self.n}

    def __repr__(self) -> str:
        at_floor = " (the smallest possible)" if self.pvalue <= self.min_pvalue * (1 + 1e-9) else ""
        count = len(self.differing_columns())
        named = f", {count} column{'s' * (count > 1)} named" if count else ""
        return (
            f"TwoSampleResult(p = {self.pvalue:.4g}{at_floor}; exact, {self.permutations} relabellings, m = {self.m}, "
            f"n = {self.n}{', carried by ' + self.strongest_statistic if self.strongest_statistic else ''}{named})"
        )


@dataclass(frozen=True, eq=False)
class PairwiseTest(Shown):
    """Two of several samples: their test, and its p-value adjusted for all such tests (Holm)."""

    names: tuple[str, str]
    test: TwoSampleResult
    pvalue: float


@dataclass(frozen=True, eq=False)
class KSampleResult(AutoResult):
    """The outcome of `k_sample_test`. Unpacks as ``statistic, pvalue = result``.

    Attributes
    ----------
    pairwise
        Each two of the samples: their test and its p-value, adjusted for all of them.
    **others
        As in `TwoSampleResult`.
    """

    pairwise: tuple[PairwiseTest, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """All fields as plain Python values."""
        pairwise = [
            {"names": list(one.names), "pvalue": one.pvalue, "test": one.test.to_dict()} for one in self.pairwise
        ]
        return stamp("k_sample_test") | super().to_dict() | {"pairwise": pairwise}

    def _summary(self, alpha: float) -> list[str]:
        lines = super()._summary(alpha)
        if self.pairwise:
            lines.append("Two samples at a time (p adjusted for all such tests):")
        return lines + [f"  {' and '.join(one.names)}: p = {one.pvalue:.4g}" for one in self.pairwise]

    def __repr__(self) -> str:
        return (
            f"KSampleResult(p = {self.pvalue:.4g}; exact, {self.permutations} relabellings, sizes {self.sizes}"
            f"{', carried by ' + self.strongest_statistic if self.strongest_statistic else ''})"
        )


def holm(pvalues: Sequence[float]) -> list[float]:
    """Adjusted p-values (Holm 1979): valid however the tests depend on each other.

    >>> holm([0.01, 0.04, 0.02])
    [0.03, 0.04, 0.04]
    """
    order = np.argsort(pvalues, kind="stable")
    scaled = np.asarray(pvalues)[order] * np.arange(len(pvalues), 0, -1)
    found = np.empty(len(pvalues))
    found[order] = np.minimum(np.maximum.accumulate(scaled), 1.0)
    return [float(p) for p in found]


def _plain(values: dict[str, Any]) -> dict[str, Any]:
    """Arrays and tuples as lists, and NaN as None, for JSON."""
    found: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, float) and not math.isfinite(value):
            value = None
        elif isinstance(value, (np.ndarray, tuple)):
            value = list(value) if isinstance(value, tuple) else value.tolist()
        found[name] = value
    found.pop("pairwise", None)
    return found
