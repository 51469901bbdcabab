"""Blocks that the views of several results have in common: answers, tables of findings, matrices of p-values."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from .._util.numbers import is_smallest, number, p_sentence, p_text, percent, signed
from .._util.view import (
    BlockColumn,
    Cell,
    Detail,
    EffectBar,
    Headline,
    Matrix,
    MatrixCell,
    Row,
    TableBlock,
    Tile,
)
from ..omnibus import FAMILIES as FAMILY_CLASSES
from ..stats.pvalues import rejects

if TYPE_CHECKING:
    from .auto_result import FamilyResult
    from .findings import Finding

#: Descriptions of the families of statistics.
FAMILIES = {family.name: family.description for family in FAMILY_CLASSES}
#: For each kind of finding, the unit of the effect as it is written, and what its value measures.
MEASURES = {
    "location": ("SD", "difference of means, SD"),
    "shape": ("SD", "difference of means, SD"),
    "scale": ("times the SD", "log ratio of SDs"),
    "share": ("points", "difference of shares"),
    "dependence": ("correlation", "difference of correlations"),
}
#: Columns or pairs that a page lists.
MOST_FINDINGS = 500
_APPROXIMATE = (
    "Approximate, and for each column by itself. Where a sample has few rows and skewed values it is too short: of "
    "lognormal values with 200 rows against 15, 90 % of the intervals cover the effect."
)


def verdict(differ: bool, alpha: float, subject: str = "samples") -> str:
    """Whether samples differ, as a sentence without its full stop.

    >>> verdict(True, 0.05), verdict(False, 0.05, "groups")
    ('The samples differ', 'No difference is seen between the groups at level 0.05')
    """
    between = "" if subject == "samples" else f" between the {subject}"
    return f"The {subject} differ" if differ else f"No difference is seen{between} at level {alpha:g}"


def distinct_names(names: Sequence[str]) -> tuple[str, str]:
    """The names of two samples; X and Y tell samples with the same name apart.

    >>> distinct_names(("a", "b")), distinct_names(("a", "a"))
    (('a', 'b'), ('a (X)', 'a (Y)'))
    """
    first, second = names
    return (first, second) if first != second else (f"{first} (X)", f"{second} (Y)")


class Tested(Protocol):
    """A result with a p-value from a null distribution."""

    @property
    def pvalue(self) -> float:
        """The p-value."""

    @property
    def min_pvalue(self) -> float:
        """The smallest attainable p-value."""

    @property
    def permutations(self) -> int:
        """Number of draws in the null distribution."""

    def reject(self, alpha: float = 0.05) -> bool:
        """Whether the test rejects at level ``alpha``."""


def headline(result: Tested, alpha: float, *, draws: str = "permutations", **others: Any) -> Headline:
    """The answer of a test; ``draws`` says what its null distribution consists of."""
    differ = result.reject(alpha)
    return Headline(
        text=verdict(differ, alpha),
        evidence=f"{p_sentence(result.pvalue, result.min_pvalue)}, {result.permutations:,} {draws}",
        positive=differ,
        **others,
    )


def explain_pvalue(result: Tested, unit: str, alpha: float) -> str:
    """What the p-value of a permutation test means."""
    reach = round(result.pvalue * (result.permutations + 1)) - 1
    look = "none looks" if not reach else "1 looks" if reach == 1 else f"{reach:,} look"
    return (
        f"{p_sentence(result.pvalue, result.min_pvalue)}: of {result.permutations:,} random permutations of the "
        f"{unit}, {look} as different as the samples do. {interpret(result.reject(alpha), alpha)}"
    )


def interpret(differ: bool, alpha: float, exact: bool = True) -> str:
    """What rejecting, or not rejecting, means; tests that are not exact have their level in large samples only."""
    if differ:
        often = f"in at most {percent(alpha)} of cases" if exact else f"in about {percent(alpha)} of cases"
        return f"If both came from one source, this answer would be given {often}."
    return "That is no evidence of a difference; nor does it prove that there is none."


def pvalue_tile(result: Tested) -> Tile:
    """The p-value as a key number of a page."""
    smallest = is_smallest(result.pvalue, result.min_pvalue)
    remark = "the smallest attainable" if smallest else f"{result.permutations:,} permutations"
    return Tile("p-value", p_text(result.pvalue, result.min_pvalue), remark)


def families_table(families: Mapping[str, FamilyResult], smallest: float) -> TableBlock | None:
    """The families of statistics, each with its own p-value; None if there are none."""
    if not families:
        return None
    return TableBlock(
        title="Each view by itself",
        columns=(BlockColumn("view", "name"), BlockColumn("p by itself", "p"), BlockColumn("strongest statistic")),
        rows=tuple(
            Row.of(FAMILIES.get(name, name), p_text(one.pvalue, smallest), one.strongest_statistic)
            for name, one in families.items()
        ),
        total=len(families),
        lead="The answer combines these views; each p-value here is that of one view by itself.",
    )


def findings_table(
    findings: Sequence[Finding],
    *,
    alpha: float,
    reject: bool,
    smallest: float = 0.0,
    what: str = "Columns",
    one: str = "column",
    **others: Any,
) -> TableBlock | None:
    """Columns or pairs of columns, those that differ strong; None if there are none.

    Parameters
    ----------
    findings : sequence of Finding
        Columns or pairs, sorted by their p-values.
    alpha : float
        The largest adjusted p-value that counts as different.
    reject : bool
        Whether the whole test rejects. No column may be named unless it does.
    smallest : float
        The smallest p-value that the test can give.
    what, one : str
        What the findings are, and one of them.
    **others
        Further fields of the table.
    """
    if not findings:
        return None
    shown = findings[:MOST_FINDINGS]
    reach: dict[str, float] = {}
    for finding in shown:
        ends = [abs(end) for end in (finding.effect, *interval_of(finding)) if math.isfinite(end)]
        unit = _measure(finding)[0]
        reach[unit] = max([reach.get(unit, 0.0), *ends])
    strong = sum(rejects(finding.pvalue, alpha) for finding in findings) if reject else 0
    looked = f"{what}: {len(findings):,} were examined; none is named, since the test does not reject."
    return TableBlock(
        **{
            "title": what,
            "strong_title": f"{what} that differ (adjusted p ≤ {alpha:g})",
            "instead": "" if reject else looked,
            "columns": (
                BlockColumn(one, "name"),
                BlockColumn("what differs"),
                BlockColumn("effect", "number", Detail.CARD, _APPROXIMATE),
                BlockColumn("adjusted p", "p"),
            ),
            "rows": tuple(_row(finding, alpha, reject, smallest, reach) for finding in shown),
            "total": len(findings),
            "strong_total": strong,
            **others,
        }
    )


def _row(finding: Finding, alpha: float, reject: bool, smallest: float, reach: Mapping[str, float]) -> Row:
    low, high = interval_of(finding)
    known = math.isfinite(low) and math.isfinite(high)
    unit, measure = _measure(finding)
    bar = None
    if math.isfinite(finding.effect):
        ends = (low, high) if known else (finding.effect, finding.effect)
        bar = EffectBar(finding.kind, measure, finding.effect, *ends, reach[unit])
    interval = f"{effect_text(finding.kind, low)} to {effect_text(finding.kind, high)}" if known else ""
    return Row.of(
        Cell(finding.name, finding.name),
        finding.description,
        Cell(
            effect_text(finding.kind, finding.effect),
            f"95 % interval: {interval} {unit}" if interval else "",
            abs(finding.effect) if math.isfinite(finding.effect) else -1.0,
            unit,
            bar,
        ),
        Cell(p_text(finding.pvalue, smallest), f"unadjusted p = {number(finding.pvalue_unadjusted)}", finding.pvalue),
        strong=reject and rejects(finding.pvalue, alpha),
    )


def _measure(finding: Finding) -> tuple[str, str]:
    return MEASURES.get(finding.kind, ("", "effect"))


def effect_text(kind: str, effect: float) -> str:
    """An effect in the unit of its kind: ratios for spreads, percentage points for shares.

    >>> effect_text("scale", -0.36), effect_text("share", 0.085), effect_text("location", 0.25)
    ('0.70', '+8.5', '+0.25')
    """
    if kind == "scale" and math.isfinite(effect):
        ratio = math.exp(min(effect, 700.0))
        return f"{ratio:.2f}" if 0.1 <= ratio < 10 else number(ratio)
    return signed(100 * effect if kind == "share" else effect)


def interval_of(finding: Finding) -> tuple[float, float]:
    """The interval of an effect, NaN if there is none."""
    interval = finding.interval
    return (math.nan, math.nan) if interval is None else (float(interval[0]), float(interval[1]))


def evidence_share(pvalue: float) -> float:
    """How strongly a cell is colored, from 0 to 1, by its p-value.

    >>> evidence_share(1.0), round(evidence_share(0.05), 2), evidence_share(1e-9)
    (0.0, 0.33, 1.0)
    """
    return min(1.0, abs(math.log10(max(pvalue, 1e-300))) / 4)


def pvalue_cell(pvalue: float, alpha: float, hint: str) -> MatrixCell:
    """A p-value in a matrix."""
    return MatrixCell(p_text(pvalue), evidence_share(pvalue), rejects(pvalue, alpha), hint)


def pairwise_matrix(
    names: Sequence[str], columns: Sequence[str], pvalues: Mapping[tuple[str, str], float], alpha: float, **others: Any
) -> Matrix:
    """Adjusted p-values of each two samples."""
    known = {frozenset(pair): (" and ".join(pair), p) for pair, p in pvalues.items()}

    def cell(a: str, b: str) -> MatrixCell | None:
        pair, p = known.get(frozenset((a, b)), ("", 1.0))
        return pvalue_cell(p, alpha, f"{pair}: {p_sentence(p)}") if pair and a != b else None

    return Matrix(
        names=tuple(names),
        columns=tuple(columns),
        cells=tuple(tuple(cell(a, b) for b in names) for a in names),
        **others,
    )
