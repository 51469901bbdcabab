"""The command line, as a user calls it."""

from __future__ import annotations

import subprocess
import sys

import pytest

import tellapart


def run(*arguments):
    return subprocess.run([sys.executable, "-m", "tellapart", *arguments], capture_output=True, text=True)


def test_version_and_help():
    assert run("--version").stdout == f"tellapart {tellapart.__version__}\n"
    assert "reproduce" in run("--help").stdout


@pytest.mark.parametrize("arguments", [[], ["nonsense"], ["reproduce", "nonsense"], ["demo", "--seed", "x"]])
def test_wrong_calls_end_with_code_2_and_no_traceback(arguments):
    result = run(*arguments)
    assert result.returncode == 2
    assert "Traceback" not in result.stderr
    assert "usage" in result.stderr


def test_bad_values_are_one_line():
    result = run("demo", "--seed", "-5")
    assert result.returncode == 2
    assert result.stderr.startswith("tellapart: seed must be a whole number")
    assert result.stderr.count("\n") == 1
