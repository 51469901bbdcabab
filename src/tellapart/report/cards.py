"""Results in a notebook: small tables, self-contained, that follow its light or dark theme."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import fields, is_dataclass
from functools import singledispatch
from typing import Any

import numpy as np

from ..criticism import Comparison, Weights
from ..stats.pvalues import rejects
from ..twosample.batches import BatchRecord
from ..twosample.equivalence import EquivalenceResult
from ..twosample.findings import FAMILIES, AutoResult, Finding, Findings, KSampleResult, PairwiseTest
from ..twosample.monitor import Monitor
from ..twosample.planning import Plan
from ..twosample.ranked import RankResult
from ..twosample.results import LearnedTest, SplitResult, TestResult
from .svg import Markup, tag
from .words import clip, number, p_sentence, p_text, percent, signed

#: Findings, notes and characters of a cell that are shown.
_ROWS, _NOTES, _CELL = 8, 5, 90
#: The level at which results that have none of their own are judged.
_ALPHA = 0.05

# Colours are those of the notebook, lighter and fainter; the others can be read on white and on black.
_STYLE = """
.tellapart{font:13px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif;max-width:780px;
border:1px solid rgb(128 128 128/.35);border-radius:10px;padding:12px 16px;margin:4px 0}
.tellapart p{margin:0 0 6px}.tellapart .ta-head{font-size:15px;font-weight:600}
.tellapart .ta-yes{color:#7a68e0}.tellapart .ta-no{color:#2f8f71}.tellapart .ta-soft{opacity:.75}
.tellapart table{border-collapse:collapse;margin:8px 0 0;font-size:12.5px;font-variant-numeric:tabular-nums}
.tellapart table.ta-wide{width:100%}
.tellapart th,.tellapart td{text-align:left!important;padding:3px 14px 3px 0;border:0;vertical-align:top;
overflow-wrap:anywhere;background:none}
.tellapart tr+tr td,.tellapart thead+tbody td{border-top:1px solid rgb(128 128 128/.2)}
.tellapart th{font-weight:600;opacity:.75}.tellapart td.ta-num{white-space:nowrap}
.tellapart .ta-named{font-weight:600}
"""


def card(result: Any) -> str:
    """A result as HTML."""
    return str(tag("div", tag("style", Markup(_STYLE)), *contents(result), class_="tellapart"))


@singledispatch
def contents(result: Any) -> list[Markup]:
    """The parts of a card; by default a table of all fields."""
    shown = {f.name: getattr(result, f.name) for f in fields(result)} if is_dataclass(result) else {"": result}
    known = {name: _value(value) for name, value in shown.items() if not name.startswith("_")}
    return [_head(type(result).__name__), _facts(known)]


@contents.register
def _(result: TestResult) -> list[Markup]:
    parts = _verdict(result.pvalue, result.min_pvalue, result.reject(_ALPHA))
    return [*parts, _facts(_facts_of_test(result)), *_notes(result.notes)]


@contents.register
def _(result: LearnedTest) -> list[Markup]:
    one = result.leading
    facts = _facts_of_test(one.test)
    facts["learned from"] = f"{len(one.split.train_x):,} + {len(one.split.train_y):,} other rows"
    if len(result.halves) > 1:
        pvalues = " and ".join(p_text(half.test.pvalue) for half in result.halves)
        facts["swapped halves"] = f"p = {pvalues}, combined by {result.combination}"
    parts = _verdict(result.pvalue, result.min_pvalue, result.reject(_ALPHA))
    return [*parts, _facts(facts), *_notes(result.notes)]


@contents.register
def _(result: SplitResult) -> list[Markup]:
    return contents(result.test)


@contents.register
def _(result: PairwiseTest) -> list[Markup]:
    return [_head(" and ".join(result.names)), _line(f"p = {p_text(result.pvalue)}, adjusted for all such tests.")]


@contents.register
def _(result: AutoResult) -> list[Markup]:
    reject = result.reject(_ALPHA)
    parts = _verdict(result.pvalue, result.min_pvalue, reject)
    sizes = ", ".join(f"{name} ({size:,} rows)" for name, size in zip(result.names, result.sizes, strict=True))
    parts.append(_line(f"{sizes}. Exact, {result.permutations:,} relabellings, seed {result.seed}."))
    if isinstance(result, KSampleResult) and result.pairwise:
        parts.append(_pairwise(result))
    parts.append(_families(result.families, result.min_pvalue))
    parts += _found("Columns", result.columns, result.column_alpha(_ALPHA), reject, result.min_pvalue)
    if pairs := result.differing_pairs(_ALPHA):
        parts += _found("Pairs of columns", pairs, result.column_alpha(_ALPHA), reject, result.min_pvalue)
    return parts + _notes(result.notes)


@contents.register
def _(result: Findings) -> list[Markup]:
    return _found("Findings", result, _ALPHA, True) if result else [_line("No findings.")]


@contents.register
def _(result: Finding) -> list[Markup]:
    return _found("Finding", [result], _ALPHA, True)


@contents.register
def _(result: Weights) -> list[Markup]:
    rows = [[name, f"{value:.3f}"] for name, value in result.leading(_ROWS)]
    return [_head("Weights"), _table(["column", "weight"], rows), *_more(len(result.values) - len(rows))]


@contents.register
def _(result: Comparison) -> list[Markup]:
    reject = result.reject()
    parts = _verdict(result.pvalue, result.min_pvalue, reject, result.alpha)
    low, high = result.auc_interval
    sizes = " and ".join(
        f"{name} ({len(x):,} rows)" for name, x in zip(result.names, (result.x, result.y), strict=True)
    )
    parts.append(
        _line(f"{sizes}: {result.separability_grade} separable, AUC {result.auc:.3f} [{low:.3f}, {high:.3f}].")
    )
    parts += [_line(clip(notice.text, 300)) for notice in result.noticed[:_NOTES]]
    parts.append(_families(result.families, result.min_pvalue))
    parts += _found("Columns", result.columns, result.column_alpha(), reject, result.min_pvalue)
    if result.differing_pairs():
        parts += _found("Pairs of columns", result.differing_pairs(), result.column_alpha(), reject, result.min_pvalue)
    if result.differing_slices:
        parts.append(_slices(result))
    if result.learned is not None and result.weights is not None:
        parts += contents(result.weights)
    return parts + _notes(result.notes)


@contents.register
def _(result: EquivalenceResult) -> list[Markup]:
    known = result.equivalent(_ALPHA)
    text = "The samples differ by less than the margin." if known else "It is not shown that they differ by less."
    low, high = (number(end) for end in result.interval)
    facts = {
        "samples": " and ".join(f"{n} ({size:,} rows)" for n, size in zip(result.names, result.sizes, strict=True)),
        "MMD": f"{number(result.distance)} [{low}, {high}]",
        "margin": number(result.margin),
        "p, for less than the margin": p_text(result.pvalue),
        "seed": str(result.seed),
    }
    return [_head(text), _facts(facts)]


@contents.register
def _(result: Plan) -> list[Markup]:
    rates = [[f"{size:,}", percent(rate)] for size, rate in zip(result.sizes, result.rates, strict=True)]
    return [_head("Plan"), _line(result.summary()), _table(["rows drawn from the pilot", "power"], rates)]


@contents.register
def _(result: RankResult) -> list[Markup]:
    rows = []
    for model in result.models:
        auc = "" if model.auc is None else f"{model.auc:.3f} ± {model.auc_error:.3f}"
        beaten = ", ".join(result.beats[model.name])
        rows.append(
            [clip(model.name, _CELL), f"{number(model.mmd2)} ± {number(model.error)}", auc, clip(beaten, _CELL)]
        )
    head = ["model", "MMD² from the reference", "AUC", "closer than, for sure"]
    return [_head(clip(result.description, 300)), _table(head, rows), *_notes(result.notes)]


@contents.register
def _(result: Monitor) -> list[Markup]:
    alarms = {one.number for one in result.alarms}
    last = result.records[-_ROWS:]
    rows = [
        [one.name, f"{one.rows:,}", p_text(one.pvalue, one.min_pvalue), number(one.evidence), _alarm(one, alarms)]
        for one in last
    ]
    text = f"{len(result.records):,} batches, {len(alarms):,} with alarm."
    table = _table(["batch", "rows", "p", "evidence", ""], rows, [one.number in alarms for one in last])
    return [_head(text, bool(alarms)), _line(result.guarantee), *([table] if rows else [])]


@contents.register
def _(result: BatchRecord) -> list[Markup]:
    rows = [[str(one["name"]), str(one["description"]), p_text(float(one["pvalue"]))] for one in result.columns[:_ROWS]]
    text = f"{result.rows:,} rows, {p_sentence(result.pvalue, result.min_pvalue)}, evidence {number(result.evidence)}."
    parts = [_head(f"{result.name}: {'alarm' if result.alarm else 'no alarm'}", result.alarm), _line(text)]
    return [*parts, *([_table(["columns", "what differs", "adjusted p"], rows)] if rows else []), *_notes(result.notes)]


def _alarm(one: BatchRecord, alarms: set[int]) -> str:
    return "alarm" if one.number in alarms else ""


def _verdict(pvalue: float, floor: float, reject: bool, alpha: float = _ALPHA) -> list[Markup]:
    text = "The samples differ." if reject else f"No difference is seen at level {alpha:g}."
    least = ", the smallest that so many relabellings can give" if pvalue <= floor * (1 + 1e-9) else ""
    return [_head(text, reject), _line(f"{p_sentence(pvalue, floor)}{least}.")]


def _facts_of_test(result: TestResult) -> dict[str, str]:
    kind = "exact at every sample size" if result.exact else "valid for large samples"
    return {
        result.statistic_name: number(result.statistic),
        "rows": f"{result.m:,} + {result.n:,}",
        "null distribution": f"{result.null}, {result.permutations:,} draws, {kind}",
        "kernel": clip(" ".join(repr(result.kernel).split()), _CELL),
        "seed": str(result.seed),
        "time": f"{result.seconds:.2g} s",
    }


def _families(families: dict[str, Any], floor: float) -> Markup:
    rows = [
        [FAMILIES.get(name, name), p_text(one.pvalue, floor), one.strongest_statistic] for name, one in families.items()
    ]
    return _table(["by itself", "p", "carried by"], rows) if rows else Markup("")


def _found(title: str, found: Sequence[Finding], alpha: float, reject: bool, floor: float = 0.0) -> list[Markup]:
    """Columns or pairs, those that are named in bold; without a verdict, only how many were looked at."""
    if not found:
        return []
    if not reject:
        return [_line(f"{title}: {len(found):,} were looked at; none is named, since the test does not reject.")]
    rows, bold = [], []
    for one in found[:_ROWS]:
        rows.append([clip(one.name, _CELL), one.description, _effect(one), p_text(one.pvalue, floor)])
        bold.append(rejects(one.pvalue, alpha))
    table = _table([title.lower(), "what differs", "effect", "adjusted p"], rows, bold)
    return [table, *_more(len(found) - len(rows))]


def _effect(one: Finding) -> str:
    interval = one.interval
    if interval is None or not all(map(math.isfinite, interval)):
        return signed(one.effect)
    return f"{signed(one.effect)} [{signed(interval[0])}, {signed(interval[1])}]"


def _slices(result: Comparison) -> Markup:
    rows = [
        [one.text, percent(one.share_x), percent(one.share_y), p_text(one.pvalue, result.min_pvalue)]
        for one in result.differing_slices[:_ROWS]
    ]
    return _table(["kinds of rows", *result.names, "adjusted p"], rows)


def _pairwise(result: KSampleResult) -> Markup:
    known = {one.names: one.pvalue for one in result.pairwise}
    rows = []
    for a in result.names:
        cells = [known.get((a, b), known.get((b, a))) for b in result.names]
        rows.append([a, *("" if p is None else p_text(p) for p in cells)])
    return _table(["p, adjusted", *result.names], rows)


def _head(text: str, differ: bool | None = None) -> Markup:
    style = "" if differ is None else " ta-yes" if differ else " ta-no"
    return tag("p", text, class_=f"ta-head{style}")


def _line(text: str) -> Markup:
    return tag("p", text, class_="ta-soft")


def _more(count: int) -> list[Markup]:
    return [_line(f"… and {count:,} more.")] if count > 0 else []


def _notes(notes: Sequence[str]) -> list[Markup]:
    return [_line(clip(f"Note: {note}", 300)) for note in notes[:_NOTES]]


def _facts(facts: dict[str, str]) -> Markup:
    rows = (tag("tr", tag("th", name, scope="row"), tag("td", value)) for name, value in facts.items())
    return tag("table", tag("tbody", *rows))


def _table(head: Iterable[str], rows: Sequence[Sequence[str]], bold: Sequence[bool] | None = None) -> Markup:
    first = tag("tr", *(tag("th", text, scope="col") for text in head))
    lines = [
        tag("tr", *(tag("td", text) for text in row), class_="ta-named" if bold and bold[k] else "")
        for k, row in enumerate(rows)
    ]
    return tag("table", tag("thead", first), tag("tbody", *lines), class_="ta-wide")


def _value(value: Any) -> str:
    """A field of whatever type, in a line."""
    if isinstance(value, float):
        return number(value)
    if isinstance(value, np.ndarray):
        return f"array of {' × '.join(map(str, value.shape))}"
    return clip(" ".join(repr(value).split()), _CELL)
