"""The command line, as a user calls it."""

from __future__ import annotations

import subprocess
import sys
from argparse import ArgumentParser
from importlib import import_module
from pathlib import Path

import pytest

import tellapart
from tellapart._util.errors import InputError, InputMemoryError
from tellapart.cli import COMMANDS, compare, main, reproduce, train
from tellapart.cli.errors import explain


def run(*arguments):
    return subprocess.run([sys.executable, "-m", "tellapart", *arguments], capture_output=True, text=True)


def test_version_and_help():
    assert run("--version").stdout == f"tellapart {tellapart.__version__}\n"
    assert "reproduce" in run("--help").stdout


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["nonsense"],
        ["reproduce", "nonsense"],
        ["demo", "--seed", "x"],
        ["demo", "--seed", "-5"],
        ["demo", "--threads", "0"],
        ["compare", "--version"],
    ],
)
def test_wrong_calls_end_with_code_2_and_the_usage(arguments, capsys):
    try:
        code = main(arguments)
    except SystemExit as end:
        code = end.code
    assert code == 2
    assert "usage: tellapart" in capsys.readouterr().err


def test_a_command_is_a_module_with_a_line_of_help(capsys):
    folder = Path(compare.__file__).parent
    with pytest.raises(SystemExit):
        main(["--help"])
    overview = " ".join(capsys.readouterr().out.split())
    for name, what in COMMANDS.items():
        assert (folder / f"{name}.py").exists()
        assert f"{name} {what}" in overview
        command = import_module(f"tellapart.cli.{name}")
        command.add_arguments(parser := ArgumentParser())
        assert parser.description
        assert callable(command.run)


def test_names_that_the_command_line_knows_are_those_of_the_library():
    from tellapart import experiments, generative, learning

    assert set(compare.TESTS) == {"auto", *learning.NAMES}
    assert set(train.MODELS) == set(generative.MODELS)
    scripts = {path.stem for path in Path(experiments.__file__).parent.glob("*.py")}
    assert set(reproduce.EXPERIMENTS) == scripts - {
        "__init__",
        "criticism_figures",
        "demo",
        "figures",
        "parts",
        "training",
    }


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (
            InputError("missing-values", "X has gaps.", "Give {missing}.", missing="drop"),
            "X has gaps. Give --missing drop.",
        ),
        (
            InputError("file-too-large", "Too large.", "Give {max_rows}.", max_rows=1000),
            "Too large. Give --max-rows 1000.",
        ),
        (
            InputError("image-sizes-differ", "Sizes differ.", "{image_size} helps.", image_size=(8, 9)),
            "Sizes differ. --image-size 8x9 helps.",
        ),
        (
            InputError("columns-differ", "Lacks 'a b'.", "Give {drop}.", drop=["a b", "c"]),
            "Lacks 'a b'. Give --drop 'a b,c'.",
        ),
        (
            InputError("unknown-choice", "No.", "Use {columns} or {drop}.", columns=..., drop=...),
            "No. Use --columns or --drop.",
        ),
        (InputError("unknown-choice", "No.", "Give {rng}.", rng=3), "No. Give --seed 3."),
        # What this command has no flag for is said as in Python.
        (InputError("unknown-choice", "No.", "Give {null}.", null="wild"), "No. Give null='wild'."),
        (
            InputMemoryError("not-enough-memory", "8 GB.", "Give {max_memory}.", max_memory="9GB"),
            "8 GB. Give --max-memory 9GB.",
        ),
        (ValueError("two\nlines"), "two lines"),
        (ValueError(), "ValueError"),
        (KeyError("x"), "KeyError: 'x'. Set TELLAPART_DEBUG=1 for the traceback."),
    ],
)
def test_errors_are_said_in_the_words_of_the_command_line(error, said):
    compare.add_arguments(parser := ArgumentParser())
    assert explain(error, parser) == said


def test_options_of_the_computation_are_passed_on(monkeypatch, capsys):
    seen = {}

    def compare(*arguments, **options):
        seen.update(options)
        raise ValueError("enough")

    monkeypatch.setattr("tellapart.criticism.compare", compare)
    assert main(["compare", "a.npy", "b.npy", "--threads", "3", "--max-memory", "1GB", "--max-rows", "7"]) == 2
    assert (seen["threads"], seen["max_memory"], seen["max_rows"]) == (3, "1GB", 7)


def test_an_option_that_an_experiment_lacks(capsys):
    assert main(["reproduce", "speed", "--steps", "3"]) == 2
    assert capsys.readouterr().err == "tellapart: speed does not accept --steps.\n"
