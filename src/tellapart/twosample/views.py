"""Blocks that the views of several results have in common."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from .._util.bins import bin_edges, range_of_null, shared_edges, shares_in
from .._util.numbers import is_smallest, number, p_sentence, p_text, percent, signed
from .._util.view import (
    Axis,
    BlockColumn,
    Cell,
    Detail,
    EffectBar,
    Figure,
    Headline,
    Matrix,
    MatrixCell,
    Row,
    Series,
    TableBlock,
)
from ..omnibus import FAMILIES as FAMILY_CLASSES
from ..stats.pvalues import rejects

if TYPE_CHECKING:
    from .auto_result import FamilyResult
    from .findings import Finding

Array: TypeAlias = "np.ndarray[Any, Any]"

#: Descriptions of the families of statistics.
FAMILIES = {family.name: family.description for family in FAMILY_CLASSES}
#: What an effect is measured in, and what differs, by the kind of a finding.
UNITS = {"location": "SD", "shape": "SD", "scale": "times the SD", "share": "points", "dependence": "correlation"}
#: Columns or pairs that a page lists.
MOST_FINDINGS = 500
#: Maximum number of points of a ROC curve.
_CUTS = 2_000
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


def headline(
    pvalue: float,
    smallest: float,
    permutations: int,
    differ: bool,
    alpha: float,
    *,
    draws: str = "permutations",
    **others: Any,
) -> Headline:
    """The answer of a test; ``draws`` says what its null distribution consists of."""
    return Headline(
        text=verdict(differ, alpha),
        evidence=f"{p_sentence(pvalue, smallest)}, {permutations:,} {draws}",
        positive=differ,
        **others,
    )


def explain_pvalue(pvalue: float, smallest: float, permutations: int, unit: str, differ: bool, alpha: float) -> str:
    """What the p-value of a permutation test means."""
    reach = round(pvalue * (permutations + 1)) - 1
    look = "none looks" if not reach else "1 looks" if reach == 1 else f"{reach:,} look"
    text = (
        f"{p_sentence(pvalue, smallest)}: of {permutations:,} random permutations of the {unit}, {look} as different "
        "as the samples do."
    )
    return f"{text} {interpret(differ, alpha)}"


def interpret(differ: bool, alpha: float, exact: bool = True) -> str:
    """What rejecting, or not rejecting, means; tests that are not exact have their level in large samples only."""
    if differ:
        often = f"in at most {percent(alpha)} of cases" if exact else f"in about {percent(alpha)} of cases"
        return f"If both came from one source, this answer would be given {often}."
    return "That is no evidence of a difference; nor does it prove that there is none."


def smallest_remark(pvalue: float, smallest: float, permutations: int) -> str:
    """The remark below a p-value on a page."""
    return "the smallest attainable" if is_smallest(pvalue, smallest) else f"{permutations:,} permutations"


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
        unit = UNITS.get(finding.kind, "")
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
    unit = UNITS.get(finding.kind, "")
    bar = None
    if math.isfinite(finding.effect) and reach[unit] > 0:
        ends = (finding.effect, low if known else finding.effect, high if known else finding.effect)
        bar = EffectBar(*(50 + 48 * value / reach[unit] for value in ends))
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


def null_figure(
    draws: Array,
    statistic: float,
    threshold: float,
    pvalue: float,
    *,
    name: str,
    alpha: float,
    unit: str | None,
    bins: int | None = None,
    remark: str = "",
) -> Figure:
    """The statistic and its null distribution.

    Parameters
    ----------
    draws : array
        The null distribution.
    statistic, threshold, pvalue : float
        The observed statistic, what it must exceed to be significant at level `alpha`, and its p-value.
    name : str
        What the statistic is called.
    alpha : float
        The level of the threshold.
    unit : str or None
        What was permuted: rows, pairs, groups, …; None for draws that are not permutations.
    bins : int, optional
        The number of bins. By default it depends on the number of draws.
    remark : str
        What the caption ends with.
    """
    draws = np.asarray(draws, float)
    low, high, beyond = range_of_null(draws, threshold, statistic)
    counts, edges = np.histogram(draws, bins=bin_edges(draws) if bins is None else bins)
    reach = round(pvalue * (len(draws) + 1)) - 1
    observed = f"observed {number(statistic)}{', far beyond' if beyond else ''}"
    what = "draws" if unit is None else "permutations"
    hints = (
        f"{number(a)} to {number(b)}: {count} {what}" for a, b, count in zip(edges[:-1], edges[1:], counts, strict=True)
    )
    series = [Series("steps", "null", what, tuple(edges.tolist()), tuple(counts.tolist()), tuple(hints))]
    if math.isfinite(threshold):
        series.append(Series("rule", "limit", f"threshold at level {alpha:g}", (float(threshold),)))
    series.append(Series("rule", "estimate", observed, (float(statistic),)))
    gray = (
        f"{len(draws):,} draws of the {name} from its approximate distribution if the samples do not differ."
        if unit is None
        else f"the {name} of {len(draws):,} random permutations of the {unit}, that is, if it did not matter which "
        "sample a row belongs to."
    )
    caption = f"Gray: {gray} {f'{reach:,}' if reach else 'None'} of them reached the observed value."
    if beyond:
        caption += " It is so large that the axis ends before it." if statistic > high else " The axis begins after it."
    return Figure(
        title="Could it be chance?",
        x=Axis(f"{name}, which has no unit" if name == "score" else name, low, high),
        y=Axis(what, 0.0, float(counts.max()) * 1.05),
        series=tuple(series),
        caption=f"{caption} {remark}".rstrip(),
        description=f"Null distribution; observed {number(statistic)}",
    )


def witness_figure(of_x: Array, of_y: Array, names: Sequence[str], bins: int | None = None, **others: Any) -> Figure:
    """Histograms of the witness function in two samples.

    Parameters
    ----------
    of_x, of_y : array
        The values of the function.
    names : sequence of str
        The names of the samples.
    bins : int, optional
        The number of bins. By default it depends on the number of values.
    **others
        Further fields of the figure.
    """
    of_x, of_y = np.asarray(of_x, float), np.asarray(of_y, float)
    edges = shared_edges(of_x, of_y, bins)
    shares = [100 * shares_in(values, edges) for values in (of_x, of_y)]
    hints = tuple(
        f"{number(a)} to {number(b)}\n{names[0]}: {p:.1f} %\n{names[1]}: {q:.1f} %"
        for a, b, p, q in zip(edges[:-1], edges[1:], *shares, strict=True)
    )
    means = float(of_x.mean()), float(of_y.mean())
    return Figure(
        x=Axis("witness function", float(edges[0]), float(edges[-1])),
        y=Axis("rows", 0.0, 1.05 * float(max(share.max() for share in shares)), percent=True),
        series=(
            Series("steps", "x", names[0], tuple(edges.tolist()), tuple(shares[0].tolist()), hints),
            Series("steps", "y", names[1], tuple(edges.tolist()), tuple(shares[1].tolist())),
            Series("rule", "x", "", (means[0],)),
            Series("rule", "y", "", (means[1],)),
        ),
        description=f"Witness function: mean {number(means[0])} in {names[0]} and {number(means[1])} in {names[1]}",
        **others,
    )


def roc_figure(of_x: Array, of_y: Array, names: Sequence[str], area: str) -> Figure:
    """The ROC curve of the witness function.

    Parameters
    ----------
    of_x, of_y : array
        The values of the function.
    names : sequence of str
        The names of the samples.
    area : str
        The area under the curve, for the legend.
    """
    of_x, of_y = np.asarray(of_x, float), np.asarray(of_y, float)
    cuts = np.unique(np.concatenate([of_x, of_y]))[::-1]
    if len(cuts) > _CUTS:
        cuts = cuts[np.linspace(0, len(cuts) - 1, _CUTS).astype(int)]
    hits, alarms = (1 - np.searchsorted(np.sort(values), cuts, "left") / len(values) for values in (of_x, of_y))
    return Figure(
        x=Axis(f"share of {names[1]} above the cut", 0.0, 1.0),
        y=Axis(f"share of {names[0]} above the cut", 0.0, 1.0),
        series=(
            Series("line", "limit", "", (0.0, 1.0), (0.0, 1.0)),
            Series("line", "estimate", area, (0.0, *alarms.tolist(), 1.0), (0.0, *hits.tolist(), 1.0)),
        ),
        description=f"ROC curve of the witness function: {area}",
    )
