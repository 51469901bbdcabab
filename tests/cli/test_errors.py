"""Errors in one line: arguments are spelled by what the error knows, and never by searching its words."""

from __future__ import annotations

import os
import pickle
from argparse import ArgumentParser, ArgumentTypeError
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import tellapart as ta
from tellapart._util.errors import InputError, Note, note_after
from tellapart._util.spelling import spell_note
from tellapart.cli import compare, main
from tellapart.cli.errors import explain, speller
from tellapart.cli.options import names
from tellapart.data.stores import naming_file

ODD = [
    "image_size",
    "max_rows",
    "max_memory=1",
    "drop='a'",
    "price (2)",
    "pixel 3,4",
    "a[0]",
    "{keep_columns}",
    "--json",
]


@pytest.fixture
def parser() -> ArgumentParser:
    compare.add_arguments(made := ArgumentParser())
    return made


@pytest.mark.parametrize("name", ODD)
def test_names_of_columns_are_never_rewritten(name: str, parser: ArgumentParser) -> None:
    said = explain(
        InputError("unknown-column", f"X has no column {name!r}.", "Correct {columns}.", columns=...), parser
    )
    assert said == f"X has no column {name!r}. Correct --columns."
    note = Note(
        "column-left-out", f"{name!r} counts the rows.", "To compare it, give {keep_columns}.", keep_columns=name
    )
    assert str(note) == f"{name!r} counts the rows. To compare it, give keep_columns={name!r}."
    assert spell_note(note, speller(parser)).startswith(
        f"{name!r} counts the rows. To compare it, give --keep-columns "
    )


def test_commands_print_odd_names_as_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for k, file in enumerate("ab"):
        values = np.random.default_rng(k).normal(size=(60, len(ODD))) + k
        pd.DataFrame(values, columns=ODD).to_csv(f"{file}.csv", index=False)
    for command in ("test", "compare"):
        assert main([command, "a.csv", "b.csv", "--permutations", "99"]) == 0
        out = capsys.readouterr().out
        assert command == "compare" or all(name in out for name in ODD)  # which shows the first ones only
        assert not any(
            flag in out for flag in ("--image-size", "--max-rows", "--max-memory", "--drop", "--keep-columns")
        )
        assert main([command, "a.csv", "b.csv", "--columns", "image_sizes"]) == 2
        assert "Did you mean 'image_size'?" in capsys.readouterr().err


def test_a_note_is_text_that_knows_its_arguments(parser: ArgumentParser) -> None:
    note = Note(
        "column-left-out", "It is left out.", "Give {keep_columns} or {max_rows}.", keep_columns="id", max_rows=...
    )
    for one in (note, pickle.loads(pickle.dumps(note))):
        assert one == "It is left out. Give keep_columns='id' or max_rows=."
        assert one.message(lambda name, _: name) == "It is left out. Give keep_columns or max_rows."
        assert spell_note(one, speller(parser)) == "It is left out. Give --keep-columns id or --max-rows."
    assert spell_note(note_after("X: ", note), speller(parser)).startswith("X: It is left out. Give --")
    assert spell_note("text", speller(parser)) == "text"
    assert note_after("X: ", "text") == "X: text"


@pytest.mark.parametrize("error", [AttributeError("x"), TypeError("x"), KeyError("x"), IndexError("x"), NameError("x")])
def test_a_bug_is_not_called_a_damaged_file(error: Exception, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """An error of our own code goes through as it is."""
    from tellapart.data.formats import delimited

    pd.DataFrame({"a": range(20)}).to_csv(tmp_path / "a.csv", index=False)
    code = compile("def broken(*_, **__):\n    raise error", "delimited.py", "exec")
    scope = {"__name__": delimited.__name__, "error": error}
    exec(code, scope)
    monkeypatch.setattr(delimited.Delimited, "open", scope["broken"])
    with pytest.raises(type(error), match="x") as raised:
        ta.two_sample_test(tmp_path / "a.csv", tmp_path / "a.csv")
    assert raised.value is error


@pytest.mark.parametrize("error", [ValueError("x"), EOFError("x"), UnicodeDecodeError("utf-8", b"x", 0, 1, "x")])
def test_what_libraries_say_of_data_names_the_file(error: Exception) -> None:
    with pytest.raises(InputError, match=r"a\.csv is damaged, or not in the format"), naming_file("a.csv"):
        raise error


def test_what_a_library_stumbles_over_names_the_file() -> None:
    import ast

    with pytest.raises(InputError, match=r"a\.csv is damaged"), naming_file("a.csv"):
        ast.literal_eval({}.get("x"))  # type: ignore[arg-type]


def test_the_smallest_p_value_of_many_tests_is_at_most_1() -> None:
    samples = [np.random.default_rng(k).normal(size=(6, 2)) for k in range(8)]
    with pytest.warns(UserWarning, match="p cannot be below|smallest attainable"):
        result = ta.k_sample_test(samples, permutations=9, rng=0)
    note = result.notes[-1]
    assert "is 1, so none of them can reject at level 0.05. Where samples have enough rows, permutations=559" in note


@pytest.mark.parametrize("text", ['"a', "a\nb", '"a" b'])
def test_lists_of_names_that_are_none(text: str) -> None:
    with pytest.raises(ArgumentTypeError, match="is not a list of names"):
        names(text)


def test_a_working_directory_that_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("gone").mkdir()
    os.chdir("gone")
    os.rmdir(tmp_path / "gone")
    assert main(["test", "a.csv", "b.csv"]) == 2
    assert (
        capsys.readouterr().err == "tellapart: The working directory no longer exists. Change to another directory.\n"
    )


def test_constants_get_one_answer() -> None:
    X, Y = np.ones((20, 2)), np.ones((30, 2))
    test, comparison = ta.two_sample_test(X, Y, rng=0), ta.compare(X, Y, rng=0)
    assert test.pvalue == comparison.pvalue == 1
    assert (comparison.auc, comparison.distance) == (0.5, 0)
    for notes in (test.notes, comparison.notes):
        assert any("all columns are constant: there is nothing to compare." in note for note in notes)
    comparison.to_json()
