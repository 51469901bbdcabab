"""Whatever becomes of the screen, the disk or the pipe: the verdict is not lost, and nothing is half-written."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tellapart._util.errors import OutputError
from tellapart._util.files import atomic_path, atomic_write_text
from tellapart.cli import main

WORDS = ["test", "a.csv", "b.csv", "--permutations", "99"]


@pytest.fixture(autouse=True)
def _two_tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for k, name in enumerate("ab"):
        values = np.random.default_rng(k).normal(size=(60, 3)) + 2 * k
        pd.DataFrame(values, columns=["x", "y", "z"]).to_csv(f"{name}.csv", index=False)


def shell(command: str, **environment: str) -> subprocess.CompletedProcess[bytes]:
    python = f"{sys.executable} -m tellapart"
    return subprocess.run(
        ["bash", "-c", f"set -o pipefail; {command.replace('tellapart', python)}"],
        capture_output=True,
        env={**os.environ, "OMP_NUM_THREADS": "1", **environment},
    )


# --- The screen


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "latin-1", "utf-8"])
def test_an_encoding_that_lacks_a_character(encoding: str) -> None:
    done = shell("tellapart compare a.csv b.csv --test rbf", PYTHONIOENCODING=encoding, PYTHONUTF8="0")
    assert done.returncode == 0, done.stderr
    text = done.stdout.decode(encoding)
    assert text.startswith(f"The samples differ (p {'≤' if encoding == 'utf-8' else '<='} 0.001")


def test_streams_that_are_closed() -> None:
    without = shell("tellapart test a.csv b.csv --permutations 99 --json r.json 2>&-")
    assert without.returncode == 0
    assert b"differ" in without.stdout
    assert json.loads(Path("r.json").read_text())["differ"]  # and not what libraries say to standard error
    for closed in (">&-", ">&- 2>&-", "<&- >&- 2>&-"):
        assert shell(f"tellapart test a.csv b.csv --permutations 99 --json r.json {closed}").returncode == 0
    assert shell("tellapart test a.csv none.csv 2>&-").returncode == 2


def test_a_reader_that_goes_away() -> None:
    done = shell("tellapart test a.csv b.csv --permutations 99 --json r.json --fail-on-difference | head -c 1")
    assert done.returncode == 1  # that of the command: the samples differ
    assert done.stderr == b""
    assert json.loads(Path("r.json").read_text())["differ"]


def test_a_full_screen() -> None:
    done = shell("tellapart test a.csv b.csv --permutations 99 > /dev/full")
    assert done.returncode == 2
    assert done.stderr == b"tellapart: Cannot write to standard output: No space left on device.\n"


# --- Names


def test_names_that_are_not_utf_8(capsys: pytest.CaptureFixture[str]) -> None:
    odd = os.fsdecode(b"a\xff\x1b[2J.csv")
    os.rename("a.csv", odd)
    assert main(["compare", odd, "b.csv", "--test", "rbf", "--report", "r.html", "--json", "r.json"]) == 0
    out = capsys.readouterr().out
    assert r"a\udcff\x1b[2J.csv" in out
    assert "\x1b" not in out
    assert r"a\udcff\x1b[2J.csv" in Path("r.html").read_text(encoding="utf-8")
    json.loads(Path("r.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("command", ["test", "compare"])
def test_names_of_columns_and_texts_do_not_act(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    name = "x\x1b[2J\rNo difference is seen\u202e"
    for k, file in enumerate("ab"):
        values = np.random.default_rng(k).normal(size=60) + 2 * k
        texts = np.random.default_rng(k).choice(["u\x1b[1A", "v\n"], 60)
        pd.DataFrame({name: values, "town": texts}).to_csv(f"{file}.csv", index=False, quoting=csv.QUOTE_ALL)
    assert main([command, "a.csv", "b.csv"]) == 0
    out = capsys.readouterr().out
    assert not set("\x1b\r\u202e") & set(out)
    assert r"x\x1b[2J\rNo difference is seen\u202e" in out
    # It can be left out by the name that is shown.
    assert main([command, "a.csv", "b.csv", "--drop", r"x\x1b[2J\rNo difference is seen\u202e"]) == 0


def test_a_cell_of_ten_megabytes(tmp_path: Path) -> None:
    for k, file in enumerate("ab"):
        cells = ["y" * 10**7, *np.random.default_rng(k).choice(["u", "v"], 59)]
        pd.DataFrame({"x": np.random.default_rng(k).normal(size=60), "t": cells}).to_csv(f"{file}.csv", index=False)
    assert main(["compare", "a.csv", "b.csv", "--test", "rbf", "--report", "r.html", "--json", "r.json"]) == 0
    assert Path("r.html").stat().st_size < 2e6
    assert Path("r.json").stat().st_size < 2e6


# --- Files


def test_the_verdict_comes_before_a_file_that_fails(capsys: pytest.CaptureFixture[str], monkeypatch: Any) -> None:
    def full(*_: Any, **__: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    for command, flag, name in (
        ("test", "--json", "r.json"),
        ("compare", "--json", "r.json"),
        ("compare", "--report", "r.html"),
    ):
        Path(name).write_text("before")
        assert main([command, "a.csv", "b.csv", flag, name]) == 2
        out, error = capsys.readouterr()
        assert "differ" in out
        assert error == f"tellapart: {name} cannot be written: No space left on device.\n"
        assert Path(name).read_text() == "before"
    assert not list(Path().glob(".tellapart-*"))


def test_a_link_in_place_of_an_unfinished_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "precious").write_text("mine")
    monkeypatch.setattr("tellapart._util.files.secrets.token_hex", lambda _: "guessed")
    (tmp_path / ".tellapart-guessed.unfinished").symlink_to(tmp_path / "precious")
    with pytest.raises(OutputError, match=r"r\.txt cannot be written: File exists"):
        atomic_write_text(tmp_path / "r.txt", "text")
    assert (tmp_path / "precious").read_text() == "mine"


def test_what_killed_processes_left_is_removed(tmp_path: Path) -> None:
    stale, fresh, locked = (tmp_path / f".tellapart-{name}.unfinished" for name in ("stale", "fresh", "locked"))
    for file in (stale, fresh):
        file.write_text("half")
    os.utime(stale, (time.time() - 1000,) * 2)
    with atomic_path(tmp_path / "other.txt") as unfinished:
        unfinished.rename(locked)
        locked.write_text("half")
        os.utime(locked, (time.time() - 1000,) * 2)
        code = "import sys; from tellapart._util.files import atomic_write_text as w; w(sys.argv[1], 'text')"
        subprocess.run([sys.executable, "-c", code, str(tmp_path / "r.txt")], check=True)
        assert not stale.exists()
        assert fresh.exists()
        assert locked.exists()  # somebody is writing it
        locked.rename(unfinished)


def test_a_long_name(tmp_path: Path) -> None:
    name = "x" * 250
    atomic_write_text(tmp_path / name, "text")
    assert (tmp_path / name).read_text() == "text"
