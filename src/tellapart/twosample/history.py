"""The view of a monitor: p-values, evidence and columns, batch by batch."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING, Literal

from .._util.numbers import number, p_sentence, p_text
from .._util.text import count_noun
from .._util.view import (
    Axis,
    BlockColumn,
    Cell,
    Detail,
    Figure,
    Headline,
    Matrix,
    MatrixCell,
    Notes,
    Row,
    Series,
    TableBlock,
    Tile,
    View,
    notes,
)
from .batches import BatchRecord, columns_table
from .views import evidence_share

if TYPE_CHECKING:
    from .monitor import Monitor

#: Batches that are drawn one by one, listed, and shown with their columns; and columns.
_DRAWN, _LISTED, _SHOWN, _COLUMNS = 1_000, 200, 60, 40
#: Characters of the name of a batch above a matrix, and batches whose notes a page collects.
_NAME, _NOTED = 18, 10


def view_history(monitor: Monitor) -> View:
    """The history of a monitor as blocks."""
    records, last = monitor.records, monitor.records[-1] if monitor.records else None
    figures = (evidence_figure(monitor), pvalue_figure(monitor)) if records else ()
    collected = dict.fromkeys(note for one in records[-_NOTED:-1] for note in one.notes)
    return View.of(
        _headline(monitor),
        None if last is None else columns_table(last),
        notes(() if last is None else last.notes, prefix="Note: "),
        *figures,
        _drift_matrix(monitor),
        _batches_table(monitor) if records else None,
        Notes(
            section="How it was computed",
            link="Method",
            items=(
                f"Each batch is compared with rows of the reference ({len(monitor.reference):,} rows; "
                f"{len(monitor.reference.contents.rows):,} kept) by an exact permutation test of features that were "
                "fixed on other rows of it.",
                "The evidence is the capital of bets, which begins at 1. It is staked on telling rows of the batch "
                "from rows of the reference not used before, by what earlier rows showed.",
                *collected,
            ),
            detail=Detail.PAGE,
        ),
    )


def _headline(monitor: Monitor) -> Headline:
    records, alarms = monitor.records, monitor.alarms
    last = records[-1] if records else None
    if last is None:
        text = "No batches yet"
    elif not alarms:
        text = "No alarm so far"
    elif monitor.control == "anytime":
        text = f"Alarm, first raised by {alarms[0].name}"
    else:
        text = f"{count_noun(len(alarms), 'batch')} {'is' if len(alarms) == 1 else 'are'} flagged"
    detail = f"Control: {monitor.control}, α = {monitor.alpha:g}."
    if last is not None and monitor.is_pending(last):
        detail += (
            f" {last.name} by itself differs from the reference ({p_sentence(last.pvalue)}): an alarm needs the next "
            "batches to confirm it."
        )
    betting = f"an alarm from {1 / monitor.alpha:g} on" if monitor.control == "anytime" else "an e-value"
    return Headline(
        title="Batches against a reference",
        text=text,
        evidence=f"{count_noun(len(records), 'batch')}, {len(alarms)} with alarm" if records else "",
        positive=bool(alarms),
        sentences=() if last is None else (monitor.describe(last),),
        explanation=detail,
        tiles=(
            Tile("batches", f"{len(records):,}", f"{len(alarms)} with an alarm"),
            Tile("last p-value", p_text(last.pvalue), f"{last.name}, {last.rows:,} rows")
            if last
            else Tile("last p-value", "–"),
            Tile("evidence", number(monitor.bets.evidence), betting),
            Tile("fresh rows left", f"{monitor.bets.left:,}", f"of {monitor.bets.total:,} to bet on"),
        ),
    )


def evidence_figure(monitor: Monitor) -> Figure:
    """The evidence after each batch, and the limit at which it is an alarm."""
    records, limit = monitor.records, 1 / monitor.alpha
    values = [one.evidence for one in records]
    lowest = max(min([0.5, *values]) / 2, 1e-6)
    drawn, loud = _drawn(monitor)
    places = tuple(float(one.number) for one in drawn)
    axis = _batch_axis(records)
    return Figure(
        title="Evidence so far",
        section="Batch by batch",
        lead=monitor.guarantee,
        x=axis,
        y=Axis("evidence", lowest, max([limit, *values]) * 2, log=True),
        series=(
            Series("line", "estimate", "evidence", places, tuple(max(one.evidence, lowest) for one in drawn)),
            Series("line", "limit", f"limit 1/α = {limit:g}", (axis.low, axis.high), (limit, limit)),
            *(
                _dots(
                    some,
                    [max(one.evidence, lowest) for one in some],
                    [f"{one.name}: evidence {number(one.evidence)}" for one in some],
                    role,
                )
                for role, some in _by_alarm(drawn, loud, "estimate")
                if len(records) <= _DRAWN // 4 or role == "alarm"
            ),
        ),
        caption="It is valid at any time: without a difference it ever reaches the limit with probability at most α.",
        description="evidence by batch",
    )


def pvalue_figure(monitor: Monitor) -> Figure:
    """The p-value of each batch, and the level that it is compared with."""
    records, alpha = monitor.records, monitor.alpha
    drawn, loud = _drawn(monitor)
    levels = tuple(alpha if one.level is None else one.level for one in drawn)
    least = min([alpha, *levels, *(one.pvalue for one in records)]) / 2
    named = "level" if monitor.control == "fwer" else f"α = {alpha:g}"
    return Figure(
        title="P-values of single batches",
        x=_batch_axis(records),
        y=Axis("p-value", least, 1.3, log=True),
        series=(
            Series("line", "limit", named, tuple(float(one.number) for one in drawn), levels),
            *(
                _dots(
                    some,
                    [one.pvalue for one in some],
                    [f"{one.name}: {p_sentence(one.pvalue)}" for one in some],
                    role,
                )
                for role, some in _by_alarm(drawn, loud, "quiet")
            ),
        ),
        caption="Each by itself is exact. Many batches will have a small one by chance: what counts is the alarm.",
        description="p-values by batch",
    )


def _drawn(monitor: Monitor) -> tuple[list[BatchRecord], set[int]]:
    """The batches that are drawn, and the numbers of those with an alarm."""
    records, loud = monitor.records, {one.number for one in monitor.alarms}
    step = max(1, len(records) // _DRAWN)
    return [one for one in records if one.number % step == 0 or one.number in loud or one is records[-1]], loud


def _batch_axis(records: Sequence[BatchRecord]) -> Axis:
    names = short_names([one.name for one in records])
    return Axis("batch", -0.5, max(len(records) - 0.5, 1.5), names=tuple(names))


def _by_alarm(
    drawn: list[BatchRecord], loud: set[int], quiet: Literal["estimate", "quiet"]
) -> list[tuple[Literal["estimate", "quiet", "alarm"], list[BatchRecord]]]:
    return [(quiet, [o for o in drawn if o.number not in loud]), ("alarm", [o for o in drawn if o.number in loud])]


def _dots(
    some: list[BatchRecord], values: list[float], hints: list[str], role: Literal["estimate", "quiet", "alarm"]
) -> Series:
    names = {"estimate": "", "quiet": "p-value", "alarm": "alarm"}
    places = tuple(float(one.number) for one in some)
    return Series("dots", role, names[role], places, tuple(values), tuple(hints))


def _drift_matrix(monitor: Monitor) -> Matrix | None:
    """A row for each column that differed in a batch, a cell for each batch; None if there are none."""
    records = monitor.records[-_SHOWN:]
    weight: dict[str, float] = {}
    for one in records:
        for column in one.columns:
            weight[column["name"]] = weight.get(column["name"], 0.0) + evidence_share(column["pvalue"])
    names = sorted(weight, key=lambda name: -weight[name])
    if not names:
        return None

    def cell(one: BatchRecord, name: str) -> MatrixCell | None:
        column = next((c for c in one.columns if c["name"] == name), None)
        if column is None:
            return None
        hint = f"{one.name}: {column['description']}, {p_sentence(column['pvalue'])}"
        return MatrixCell("", max(0.25, evidence_share(column["pvalue"])), hint=hint)

    more = max(0, len(names) - _COLUMNS)
    left_out = f" {more} more {'column is' if more == 1 else 'columns are'} not shown." if more else ""
    called = [one.name for one in records]
    return Matrix(
        title="Columns by batch",
        section="Which columns drifted when",
        link="Columns",
        lead=f"Columns that differ in a batch, at level {monitor.alpha:g} for all columns of a batch together; the "
        f"stronger the color, the smaller the p-value.{left_out}",
        corner="column",
        names=tuple(names[:_COLUMNS]),
        columns=tuple(short_names(called, _NAME)),
        hints=tuple(called),
        cells=tuple(tuple(cell(one, name) for one in records) for name in names[:_COLUMNS]),
        narrow=True,
        detail=Detail.PAGE,
    )


def _batches_table(monitor: Monitor) -> TableBlock:
    loud = {one.number for one in monitor.alarms}
    shown = monitor.records[-_LISTED:][::-1]
    hidden = len(monitor.records) - len(shown)
    earlier = "1 earlier batch is" if hidden == 1 else f"{hidden:,} earlier batches are"
    return TableBlock(
        title="Batches",
        section="All batches",
        columns=(
            BlockColumn("batch", "name"),
            BlockColumn("alarm"),
            BlockColumn("rows", "number"),
            BlockColumn("p", "p"),
            BlockColumn("evidence", "number"),
            BlockColumn("columns that differ", detail=Detail.PAGE),
            BlockColumn("notes", detail=Detail.PAGE),
        ),
        rows=tuple(_row(one, one.number in loud) for one in shown),
        total=len(monitor.records),
        after=f"{earlier} not listed; the state file has {'it' if hidden == 1 else 'them'}." if hidden else "",
        detail=Detail.CARD,
    )


def _row(one: BatchRecord, alarm: bool) -> Row:
    return Row.of(
        one.name,
        "alarm" if alarm else "",
        f"{one.rows:,}",
        p_text(one.pvalue, one.min_pvalue),
        number(one.evidence),
        Cell(
            ", ".join(c["name"] for c in one.columns),
            "; ".join(f"{c['name']}: {c['description']}" for c in one.columns),
        ),
        # The row begins with the name already.
        " ".join(note.removeprefix(f"{one.name}: ") for note in one.notes),
        strong=alarm,
    )


def short_names(names: Sequence[str], length: int = 14) -> list[str]:
    """Names for an axis, without a suffix that all of them have; long ones lose their beginning.

    >>> short_names(["2024-02-01.csv", "2024-02-02.csv"]), short_names(["orders of 2024-02-01", "b"])
    (['2024-02-01', '2024-02-02'], ['…of 2024-02-01', 'b'])
    """
    endings = {PurePath(name).suffix for name in names}
    cut = len(endings.pop()) if len(endings) == 1 else 0
    stems = [name[: len(name) - cut] for name in names]
    return [stem if len(stem) <= length else "…" + stem[1 - length :] for stem in stems]
