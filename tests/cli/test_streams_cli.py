"""reference, watch, rank and compare --by on the command line, with their pages."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tellapart.cli import main

HOSTILE = "<script>alert(1)</script>"


def table(n, seed, shift=0.0):
    rng = np.random.default_rng(seed)
    values = {"age": rng.normal(40 + shift, 10, n), HOSTILE: rng.normal(shift, 1, n)}
    return pd.DataFrame(values | {"town": rng.choice(["Ulm", "Bonn"], n)})


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table(400, 0).to_csv("reference.csv", index=False)
    for k in range(4):
        table(60, 10 + k, 6.0 if k > 1 else 0.0).to_csv(f"day{k}.csv", index=False)
    assert main(["reference", "reference.csv", "-o", "r.tellapart", "--quiet"]) == 0
    return tmp_path


def test_a_week(folder, capsys):
    common = [
        "--state",
        "state.json",
        "--control",
        "fdr",
        "--alpha",
        "0.05",
        "--permutations",
        "99",
        "--refine-permutations",
        "199",
    ]
    assert main(["watch", "r.tellapart", "day0.csv", "day1.csv", *common, "--fail-on-difference"]) == 0
    assert "2 batches" in capsys.readouterr().out
    more = ["--report", "h.html", "--prometheus", "m.prom", "--json", "all.json"]
    assert (
        main(["watch", "r.tellapart", "day1.csv", "day2.csv", "day3.csv", *common, *more, "--fail-on-difference"]) == 1
    )
    told = capsys.readouterr().out
    assert "4 batches" in told
    assert "day1.csv: already tested" in told
    assert "day2.csv (60 rows): ALARM" in told
    assert "age: larger in day3.csv" in told
    state, everything = (json.loads((folder / name).read_text()) for name in ("state.json", "all.json"))
    assert state["batches"] == everything["batches"]
    assert everything["alarms"] == ["day2.csv", "day3.csv"]
    assert 'tellapart_alarms{stream="m"} 2' in (folder / "m.prom").read_text()
    page = (folder / "h.html").read_text()
    assert "Which columns drifted when" in page
    assert "day3.csv" in page
    assert HOSTILE not in page


def test_a_known_file_is_told_as_it_was(folder, capsys):
    """Not the last batch: its own verdict, and its own exit code."""
    common = ["--state", "state.json", "--control", "fwer", "--permutations", "199", "--fail-on-difference"]
    assert main(["watch", "r.tellapart", "day0.csv", "day3.csv", *common]) == 1
    first = capsys.readouterr().out
    assert main(["watch", "r.tellapart", "day0.csv", *common]) == 0
    told = capsys.readouterr().out
    assert "day0.csv: already tested" in told
    assert first.splitlines()[0] in told
    assert "day0.csv (60 rows): no alarm" in told
    assert "day3.csv (60 rows)" not in told
    assert "age:" not in told
    assert main(["watch", "r.tellapart", "day3.csv", *common]) == 1
    told = capsys.readouterr().out
    assert "day3.csv (60 rows): ALARM" in told
    assert "age: larger in day3.csv" in told
    assert "2 batches, 1 with alarm: first day3.csv." in told
    assert len(json.loads((folder / "state.json").read_text())["batches"]) == 2


def test_the_same_file_twice_in_one_call(folder, capsys):
    assert main(["watch", "r.tellapart", "day0.csv", "day0.csv", "--permutations", "99"]) == 0
    told = capsys.readouterr().out
    assert told.count("day0.csv (60 rows): no alarm") == 2
    assert told.count("already tested") == 1
    assert "1 batch, 0 with alarm." in told


def count(folder):
    return [one["name"] for one in json.loads((folder / "s.json").read_text())["batches"]]


def test_a_file_that_is_overwritten(folder, capsys):
    """By its path alone the second day is an error; with its time each day is a batch, and the same day is not."""
    common = ["--state", "s.json", "--permutations", "19"]
    shutil.copy("day0.csv", "latest.csv")
    assert main(["watch", "r.tellapart", "latest.csv", *common]) == 0
    shutil.copy("day1.csv", "latest.csv")
    assert main(["watch", "r.tellapart", "latest.csv", *common]) == 2
    assert "counted before, with other rows" in (error := capsys.readouterr().err)
    assert "--overwritten" in error
    assert count(folder) == ["latest.csv"]
    for day, source in enumerate(["day1.csv", "day1.csv", "day0.csv"]):  # two of them with the same rows
        shutil.copy(source, "latest.csv")
        os.utime("latest.csv", (86_400 * day, 86_400 * day))
        for _ in range(2):
            assert main(["watch", "r.tellapart", "latest.csv", "--overwritten", *common]) == 0
    assert count(folder) == ["latest.csv", *(f"latest.csv (1970-01-0{day} 00:00:00 UTC)" for day in (1, 2, 3))]
    assert capsys.readouterr().out.count("already tested") == 3


def test_files_are_identified_by_their_paths(folder, monkeypatch):
    """Of one name in two folders they are two; by another spelling, from another folder or by a link they are one."""
    for day in ("mon", "tue"):
        (folder / day).mkdir()
        shutil.copy("day0.csv", folder / day / "orders.csv")
    common = ["--state", str(folder / "s.json"), "--permutations", "19"]
    assert main(["watch", "r.tellapart", "mon/orders.csv", "tue/orders.csv", *common]) == 0
    assert count(folder) == ["orders.csv", "orders.csv (2)"]
    (folder / "today.csv").symlink_to("tue/orders.csv")
    monkeypatch.chdir(folder / "mon")
    again = ["orders.csv", "../mon/./orders.csv", str(folder / "tue" / "orders.csv"), "../today.csv"]
    assert main(["watch", "../r.tellapart", *again, *common]) == 0
    assert count(folder) == ["orders.csv", "orders.csv (2)"]


def test_a_first_batch_that_differs_is_said_though_no_alarm(folder, capsys):
    """Bets have nothing to be learned from yet: the user must hear it, and how to be alarmed at once."""
    common = ["--fail-on-difference", "--permutations", "199"]
    assert main(["watch", "r.tellapart", "day3.csv", "--state", "s.json", *common]) == 0
    told = capsys.readouterr().out
    assert "day3.csv (60 rows): no alarm yet: this batch by itself differs (p = 0.005); that counts from the" in told
    assert "--control fwer or fdr" in told
    assert main(["watch", "r.tellapart", "day3.csv", "--state", "t.json", "--control", "fwer", *common]) == 1
    assert "--control" not in capsys.readouterr().out
    assert main(["watch", "r.tellapart", "day0.csv", "--state", "u.json", *common]) == 0
    assert "no alarm; p = " in capsys.readouterr().out


def test_a_bad_file_keeps_no_other_from_being_looked_at(folder, capsys):
    (folder / "bad.csv").write_text("x\n1\n")
    out = ["--permutations", "99", "--report", "h.html", "--prometheus", "m.prom"]
    assert main(["watch", "r.tellapart", "day3.csv", "bad.csv", "day0.csv", *out]) == 2
    told, error = capsys.readouterr()
    assert "day3.csv (60 rows)" in told
    assert "day0.csv (60 rows)" in told
    assert "2 batches, 1 with alarm" in told
    assert error.startswith("tellapart: bad.csv is not built like the reference")
    assert "day3.csv" in (folder / "h.html").read_text()
    assert 'tellapart_batches_total{stream="m"} 2' in (folder / "m.prom").read_text()


def test_without_a_state(folder, capsys):
    """There is no stream to bet on: one file alone may be for alarm."""
    arguments = ["watch", "r.tellapart", "--json", "-", "--fail-on-difference"]
    assert main([*arguments, "day0.csv"]) == 0
    capsys.readouterr()
    assert main([*arguments, "day3.csv"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert found["control"] == "fwer"
    assert found["batches"][0]["level"] == 0.005
    assert not (folder / "state.json").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["watch", "no.tellapart", "day0.csv"], "no.tellapart"),
        (["watch", "day0.csv", "day1.csv"], "Give a file that `tellapart reference` or Reference.save wrote"),
        (["watch", "r.tellapart", "no.csv"], "no.csv"),
        (["watch", "r.tellapart", "day0.csv", "--state", "no/state.json"], "state"),
        (["watch", "r.tellapart", "changed.csv"], "--schema lenient"),
        (["watch", "r.tellapart", "day0.csv", "--state", "reference.csv"], "--state"),
        (["reference", "day0.csv", "-o", "no/r.tellapart"], "folder"),
        (["rank", "reference.csv", "day0.csv"], "two or more"),
        (["rank", "reference.csv", "day0.csv"], "a test of two samples compares a single one"),
        (["rank", "reference.csv", "day0.csv", "day1.csv", "--names", "a"], "2 models, but 1 in --names. Give one for"),
        (["rank", "reference.csv", "day0.csv", "day1.csv", "--names", "a,a"], "Names must be unique and non-empty"),
        (["rank", "reference.csv", "day0.csv", "day1.csv", "--names", "a,"], "Names must be unique and non-empty"),
        (["rank", "reference.csv", "day0.csv", "day1.csv", "--names", "reference,a"], "none may be called 'reference'"),
        (["watch", "r.tellapart", "day0.csv", "--report", "h.json"], "HTML page"),
        (["compare", "--by", "age", "gaps.csv", "--drop", HOSTILE], "sample each row belongs to. --by age needs"),
        (["compare", "--by", "age", "reference.csv"], "'age' has 400 different values"),
        (["compare", "day0.csv"], "--by"),
        (["compare", "--by", "weather", "day0.csv"], "weather"),
        (["compare", "--by", "town", "day0.csv", "day1.csv"], "--by"),
        (["compare", "--by", "town", "day0.csv", "--paired"], "--paired"),
        (["test", "day0.csv", "day1.csv", "--alpha", "0.0001"], "Give at least --permutations 9999"),
        (["compare", "--by", "town", "day0.csv", "--fail-auc", "0.6"], "--fail-auc applies to two samples"),
        (["compare", "--by", "town", "day0.csv", "--fail-effect", "0.6"], "--fail-effect applies to two samples"),
    ],
)
def test_bad_calls(folder, capsys, arguments, message):
    table(20, 1).drop(columns="age").to_csv("changed.csv", index=False)
    table(20, 1).assign(age=[None, *range(19)]).to_csv("gaps.csv", index=False)
    assert main(arguments) == 2
    assert message in capsys.readouterr().err


def test_rank(folder, capsys):
    names = ["day0.csv", "day1.csv", "day3.csv"]
    assert main(["rank", "reference.csv", *names, "--report", "r.html", "--json", "r.json"]) == 0
    assert "beat day3" in capsys.readouterr().out
    found = json.loads((folder / "r.json").read_text())
    assert found["order"][2] == "day3"
    page = (folder / "r.html").read_text()
    assert "cannot be told apart" in page
    assert "What tells each model from the reference" in page


def test_ranked_models_have_the_names_given(folder, capsys):
    call = ["rank", "reference.csv", "day0.csv", "day3.csv", "--json", "r.json", "--names"]
    assert main([*call, 'good,"far, off"']) == 0
    assert "good is closer to the reference than far, off." in capsys.readouterr().out
    assert json.loads((folder / "r.json").read_text())["order"] == ["good", "far, off"]


def test_groups_of_one_table(folder, capsys):
    parts = [table(60, k).assign(site=f"{HOSTILE}{k}") for k in range(2)] + [table(60, 5, 8.0).assign(site="far")]
    pd.concat(parts).to_csv("sites.csv", index=False)
    arguments = ["compare", "--by", "site", "sites.csv", "--permutations", "199", "--report", "g.html"]
    assert main([*arguments, "--json", "g.json", "--fail-on-difference"]) == 1
    assert "Two samples at a time" in capsys.readouterr().out
    found = json.loads((folder / "g.json").read_text())
    assert len(found["pairwise"]) == 3
    assert (found["differ"], found["alpha"]) == (True, 0.05)
    page = (folder / "g.html").read_text()
    assert "3 groups by site" in page
    assert "2 of 3" in page
    assert HOSTILE not in page


def test_a_file_that_lacks_most_columns_is_told_in_a_line(folder, capsys):
    np.savetxt(
        "wide.csv",
        np.random.default_rng(0).normal(size=(60, 12)),
        delimiter=",",
        header=",".join("abcdefghijkl"),
        comments="",
    )
    assert main(["reference", "wide.csv", "-o", "wide.tellapart"]) == 0
    Path("narrow.csv").write_text("a\n1\n2\n")
    assert main(["watch", "wide.tellapart", "narrow.csv"]) == 2
    error = capsys.readouterr().err
    assert "the column 'd' is missing. And 8 more. Mend it" in error
    assert "'e'" not in error
