"""No output of a command is one of its inputs, a part of one, or another output."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tellapart._util.errors import InputError
from tellapart.cli import paths
from tellapart.cli.paths import check_distinct, is_same


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.csv").write_text("a\n1\n")
    Path("sub").mkdir()


@pytest.mark.parametrize(
    "path", ["a.csv", "./a.csv", "sub/../a.csv", "sub/../sub/../a.csv", "link", "hard", "up/a.csv"]
)
def test_one_file_by_many_names(path: str) -> None:
    os.symlink("a.csv", "link")
    os.link("a.csv", "hard")
    os.symlink(".", "up")
    with pytest.raises(InputError, match="--json would overwrite A"):
        check_distinct({"A": "a.csv"}, {"--json": path})


@pytest.mark.parametrize("path", ["b.csv", "sub/a.csv", "-", None, "/dev/null", "A.CSV.json"])
def test_other_files_are_fine(path: str | None) -> None:
    check_distinct({"A": "a.csv", "B": "mnist"}, {"--json": path, "--report": "r.html"})


def test_files_that_do_not_exist_yet() -> None:
    os.symlink("new.json", "dangling")
    assert is_same(Path("new.json"), Path("sub/../new.json"))
    assert is_same(Path("new.json"), Path("dangling"))
    assert not is_same(Path("new.json"), Path("sub/new.json"))
    with pytest.raises(InputError, match=r"--report and --json are the same file: 'new\.json'"):
        check_distinct({}, {"--report": "./new.json", "--json": "new.json"})


def test_devices_are_written_to_twice() -> None:
    check_distinct({}, {"--report": "/dev/null", "--json": "/dev/null"})


def test_names_that_the_file_system_takes_for_one(monkeypatch: pytest.MonkeyPatch) -> None:
    assert is_same(Path("r.json"), Path("R.JSON")) == Path("A.CSV").exists()
    monkeypatch.setattr(paths, "_considers_equal", lambda *_: True)
    assert is_same(Path("r.json"), Path("R.JSON"))
    assert is_same(Path("é.json"), Path("e\u0301.json"))
    assert not is_same(Path("r.json"), Path("q.json"))
    assert not list(Path().glob(".tellapart-*"))


@pytest.mark.parametrize(("path", "refused"), [("imgs/x.png", True), ("imgs/in/x.JPG", True), ("imgs/r.html", False)])
def test_folders_whose_files_are_read(path: str, refused: bool) -> None:
    Path("imgs/in").mkdir(parents=True)
    if not refused:
        check_distinct({"A": "imgs"}, {"--report": path})
        return
    with pytest.raises(InputError, match="into the input folder 'imgs'"):
        check_distinct({"A": "imgs"}, {"--report": path})


@pytest.mark.parametrize("path", ["\0", "~nobody-of-that-name/x", "x" * 5000, "loop", "loop/x"])
def test_paths_that_are_none_are_left_to_others(path: str) -> None:
    os.symlink("loop", "loop")
    check_distinct({"A": path, "B": "a.csv"}, {"--json": "r.json"})
    check_distinct({"A": "a.csv"}, {"--json": path})
