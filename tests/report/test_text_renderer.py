"""Summaries: the answer first, and only what was found."""

from __future__ import annotations

import numpy as np
import pytest

import tellapart as ta
from tellapart._util.errors import Note
from tellapart._util.view import (
    Block,
    BlockColumn,
    Detail,
    Facts,
    Headline,
    Matrix,
    MatrixCell,
    Notes,
    Row,
    TableBlock,
    View,
)
from tellapart.report.text import render_text


def test_blocks_are_written_in_their_order():
    view = View.of(
        Headline(text="The samples differ", evidence="p = 0.01"),
        None,
        Facts(items=(("AUC", "0.7"),)),
        Facts(items=(("seed", "0"),), detail=Detail.PAGE),
        Notes(items=("one", "two"), prefix="Note: "),
    )
    assert render_text(view) == "The samples differ (p = 0.01).\nAUC: 0.7\nNote: one\nNote: two"


def table(rows, **others):
    columns = (
        BlockColumn("column", "name"),
        BlockColumn("what"),
        BlockColumn("effect", "number", Detail.CARD),
        BlockColumn("p", "p"),
    )
    return TableBlock(title="Columns", columns=columns, rows=tuple(rows), total=len(rows), **others)


def test_tables_show_strong_rows_alone_if_they_have_a_title():
    rows = [Row.of("a", "larger", "+1", "≤ 0.01", strong=True), Row.of("b", "smaller", "-1", "0.6")]
    assert render_text(View.of(table(rows))) == "Columns:\n  a: larger (p ≤ 0.01)\n  b: smaller (p = 0.6)"
    strong = table(rows, strong_title="Columns that differ", strong_total=1)
    assert render_text(View.of(strong)) == "Columns that differ: 1 of 2\n  a: larger (p ≤ 0.01)"
    assert render_text(View.of(table(rows, instead="None is named."))) == ""


def test_a_row_may_have_an_empty_name_or_nothing_but_a_name():
    assert render_text(View.of(table([Row.of("", "larger", "", "0.01")]))) == "Columns:\n  '': larger (p = 0.01)"
    assert render_text(View.of(table([Row.of("a", "", "", "")]))) == "Columns:\n  a"


def test_long_tables_are_cut():
    text = render_text(View.of(table([Row.of(str(k), "x", "", "1") for k in range(12)])))
    assert text.endswith("  9: x (p = 1)\n  … and 2 more")


def test_each_pair_of_a_matrix_is_written_once():
    cell = MatrixCell("0.5", 0.1, hint="a and b: p = 0.5")
    matrix = Matrix(title="Two at a time", names=("a", "b"), columns=("a", "b"), cells=((None, cell), (cell, None)))
    assert render_text(View.of(matrix)) == "Two at a time:\n  a and b: p = 0.5"


def test_notes_are_spelled_for_their_reader():
    note = Note("column-left-out", "'id' is left out.", "Give {keep_columns}.", keep_columns="id")
    view = View.of(Notes(items=(note,)))
    assert render_text(view) == "'id' is left out. Give keep_columns='id'."
    assert render_text(view, lambda name, value: f"--{name} {value}") == "'id' is left out. Give --keep_columns id."


def test_a_block_of_another_kind_is_an_error():
    with pytest.raises(TypeError, match="no text for Block"):
        render_text(View.of(Block()))


def test_the_answer_comes_first_in_every_summary():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(60, 2)), rng.normal(size=(60, 2)) + 1
    for result in (
        ta.two_sample_test(X, Y, 99, rng=0),
        ta.k_sample_test([X, Y, X + 2], permutations=99, rng=0),
        ta.mmd_test(X, Y, permutations=99, rng=0),
        ta.learned_test(X, Y, "rbf", permutations=99, rng=0),
        ta.compare(X, Y, permutations=99, rng=0),
    ):
        assert result.summary().startswith("The samples differ (p ≤ 0.01, 99 permutations).\n"), result
        assert result.reject()
    same = ta.two_sample_test(X[:30], X[30:], 99, rng=0)
    assert same.summary(0.01).startswith("No difference is seen at level 0.01 (p = ")
    assert "that differ" not in same.summary()
    assert ta.equivalence_test(X, Y, margin=0.1, rng=0).summary().startswith("The samples are not shown to differ by")
    plan = ta.plan(X, Y, repetitions=4, permutations=39, rng=0)
    assert plan.summary().startswith("For a power of 90 % a study needs")
    ranked = ta.rank(X, {"a": X + 0.1, "b": Y}, rng=0)
    assert ranked.summary().startswith("a is closer to the reference than b.\n")
