"""`tellapart compare` and `tellapart demo`, tried as a new user would."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from PIL import Image

from tellapart import criticism
from tellapart.cli import main
from tellapart.experiments import demo


@pytest.fixture(autouse=True)
def _quick(monkeypatch, tmp_path):
    """One thread, few steps and a folder of one's own: what is learned is not the question here."""
    before, compare = torch.get_num_threads(), criticism.compare
    torch.set_num_threads(1)
    quick = {"stability": 0, "learning": {"steps": 20}}

    def faster(x, y, test, *args, **options):
        return compare(x, y, test, *args, **options | ({} if test == "auto" else quick))

    monkeypatch.setattr(criticism, "compare", faster)
    monkeypatch.chdir(tmp_path)
    yield
    torch.set_num_threads(before)


def run(*arguments, **environment):
    return subprocess.run(
        [sys.executable, "-m", "tellapart", *map(str, arguments)],
        capture_output=True,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1", **environment},
    )


def write_people(path, n, shift, seed):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": np.rint(rng.normal(40 + shift, 10, n)),
            "town": rng.choice(["Ulm", "Bonn", "Köln"], n),
            "since": (pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 500, n), unit="D")).strftime(
                "%Y-%m-%d"
            ),
        }
    )
    frame.loc[rng.random(n) < 0.1, "age"] = np.nan
    frame.to_csv(path, index=False)


@pytest.fixture
def numbers(tmp_path):
    rng = np.random.default_rng(0)
    np.save("a.npy", rng.normal(size=(60, 3)))
    np.save("b.npy", rng.normal(size=(50, 3)) + 2)
    np.save("same.npy", rng.normal(size=(60, 3)))


def fails(capsys, *arguments, says, verdict=False):
    assert main(["compare", *map(str, arguments)]) == 2
    out, error = capsys.readouterr()
    assert out.startswith("The samples differ") if verdict else out == ""
    assert error.startswith("tellapart: ")
    assert error.count("\n") == 1
    assert says in error, error


def test_tables_with_text_dates_and_gaps(capsys, tmp_path):
    write_people("last & first.csv", 80, 0, 1)
    write_people('it\'s "this".csv', 70, 15, 2)
    files = ["last & first.csv", 'it\'s "this".csv']
    fails(capsys, *files, says="missing values in 'age' (")
    fails(capsys, *files, says="Read it with --missing indicator to compare what is missing too")
    assert main(["compare", *files, "--missing", "indicator", "--report", "r.html"]) == 0
    out, error = capsys.readouterr()
    assert out.startswith("The samples differ (p ≤ 0.001")
    assert 'age: larger in it\'s "this".csv, +' in out
    assert out.rstrip().endswith("Report: r.html")
    assert error == ""
    html = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "last &amp; first.csv" in html
    # The command in the report is the one that was given, quoted for a shell.
    assert "tellapart compare &#39;last &amp; first.csv&#39;" in html
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted([*files, "r.html"])
    assert main(["compare", *files, "--drop", "age", "--quiet"]) == 0
    assert capsys.readouterr() == ("", "")
    assert (
        main(["compare", *files, "--columns", "town,since", "--test", "rbf", "--cross-fit", "--train-size", "0.4"]) == 0
    )


def test_a_column_with_a_script_in_its_name(tmp_path):
    rng = np.random.default_rng(0)
    name = "<script>alert(1)</script>"
    for k in range(2):
        pd.DataFrame({name: rng.normal(size=40) + k, "a, b": rng.normal(size=40)}).to_csv(f"{k}.csv", index=False)
    assert main(["compare", "0.csv", "1.csv", "--report", "r.html", "--drop", '"a, b"']) == 0
    html = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert name not in html
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in html


def test_folders_of_images_of_different_sizes(capsys, tmp_path):
    rng = np.random.default_rng(0)
    for k, folder in enumerate(("real", "made")):
        (tmp_path / folder).mkdir()
        for i in range(24):
            pixels = rng.integers(100 * k, 156 + 100 * k, (8 + i % 2, 8, 3), dtype=np.uint8)
            Image.fromarray(pixels).save(tmp_path / folder / f"{i} 'x' & \"y\".jpg")
    fails(capsys, "real", "made", says="--image-size 8x8")
    assert main(["compare", "real/", "made/", "--image-size", "8x8", "--report", "r.html"]) == 0
    assert capsys.readouterr().out.startswith("The samples differ")
    assert "&#39;x&#39; &amp; &#34;y&#34;.jpg" in (tmp_path / "r.html").read_text(encoding="utf-8")


def test_a_file_with_one_column(capsys):
    for k in range(2):
        np.savetxt(f"{k}.csv", np.random.default_rng(k).normal(size=40) + 3 * k)
    assert main(["compare", "0.csv", "1.csv"]) == 0
    assert "0: larger in 1.csv, +" in capsys.readouterr().out


def test_rows_that_are_images(capsys):
    rng = np.random.default_rng(0)
    for name in "ab":
        np.save(f"{name}.npy", rng.random((40, 48)))
    assert main(["compare", "a.npy", "b.npy", "--image-shape", "6x8", "--max-rows", "30"]) == 0
    assert "30 of a.npy and 30 of b.npy" in capsys.readouterr().out
    fails(
        capsys,
        "a.npy",
        "b.npy",
        "--image-shape",
        "7x8",
        says="The rows of X (a.npy) have 48 numbers, but images of 7 × 8 have 56 pixels. Correct --image-shape.",
    )


def test_bad_input_is_named(capsys, tmp_path, numbers):
    (tmp_path / "empty").mkdir()
    (tmp_path / "garbage.csv").write_bytes(np.random.default_rng(0).bytes(5000))
    (tmp_path / "zeros.csv").write_bytes(bytes(5000))
    (tmp_path / "garbage.parquet").write_bytes(np.random.default_rng(0).bytes(5000))
    (tmp_path / "nothing.csv").touch()
    pd.DataFrame({"a": [1.0] * 20, "b": 2.0}).to_csv("ab.csv", index=False)
    pd.DataFrame({"a": [1.0] * 20, "c": 2.0}).to_csv("ac.csv", index=False)
    fails(capsys, "none.npy", "a.npy", says="X (none.npy) does not exist")
    fails(capsys, "a.npy", "empty", says="Y (empty) is an empty folder")
    fails(capsys, "garbage.csv", "ab.csv", says="X (garbage.csv) is not a text file")
    fails(capsys, "zeros.csv", "ab.csv", says="X (zeros.csv)")
    fails(capsys, "garbage.parquet", "ab.csv", says="(garbage.parquet) is damaged, or not in the format")
    fails(capsys, "nothing.csv", "ab.csv", says="is an empty file")
    fails(capsys, "ab.csv", "ac.csv", says="X (ab.csv) lacks 'c' and Y (ac.csv) lacks 'b'")
    fails(capsys, "ab.csv", "ac.csv", says="leave some out with --columns or --drop")
    fails(capsys, "ab.csv", "ab.csv", "--columns", "z", says="X (ab.csv) has no column 'z'. It has 'a', 'b'.")
    pd.DataFrame({"alcohol": [1.0] * 20, "target": 2.0}).to_csv("wine.csv", index=False)
    fails(capsys, "wine.csv", "wine.csv", "--columns", "alcohl", says="'alcohl'. Did you mean 'alcohol'? It has 'alc")
    fails(capsys, "--by", "tragte", "wine.csv", says="has no column 'tragte'. Did you mean 'target'?")
    fails(capsys, "a.npy", "b.npy", "--alpha", "2", says="2.0")
    fails(capsys, "a.npy", "b.npy", "--test", "ard", "--train-size", "1.5", says="between 0 and 1, but is 1.5")
    fails(
        capsys,
        "a.npy",
        "b.npy",
        "--cross-fit",
        says="--cross-fit is an option of a learned test. Name one with --test ard.",
    )
    fails(capsys, "a.npy", "b.npy", "--alpha", "0", says="0.0")
    fails(capsys, "a.npy", "b.npy", "--max-memory", "lots", says="is not a size")


def test_wrong_calls_show_the_usage(capsys):
    two = ["compare", "a", "b"]
    for arguments in (
        ["compare", "a", "b", "c"],
        [*two, "--test", "x"],
        [*two, "--image-size", "8"],
        [*two, "--alpha"],
    ):
        with pytest.raises(SystemExit, match="2"):
            main(arguments)
        assert "usage: tellapart compare" in capsys.readouterr().err
    with pytest.raises(SystemExit, match="2"):
        main([*two, "--permutations", "0"])
    assert "'0' is not a positive integer" in capsys.readouterr().err


def test_what_was_meant_is_suggested(capsys):
    for arguments, says in (
        (["--tset", "ard"], "did you mean --test?"),
        (["--test", "adr"], "did you mean ard?"),
    ):
        with pytest.raises(SystemExit, match="2"):
            main(["compare", "a", "b", *arguments])
        assert says in capsys.readouterr().err


def test_scripts_may_ask_for_differences_that_matter(capsys):
    rng = np.random.default_rng(0)
    for k, name in enumerate("ab"):
        frame = pd.DataFrame({"id": np.arange(300) + 300 * k, "age": rng.normal(40 + 4 * k, 10, 300).round(2)})
        frame.assign(town=rng.choice(["Ulm", "Bonn"], 300), name=[f"{name}{i}" for i in range(300)]).to_csv(
            f"{name}.csv", index=False
        )
    call = ["compare", "a.csv", "b.csv", "--names", "May,June", "--items", "name", "--permutations", "199"]
    assert main([*call, "--json", "out.json"]) == 0
    out = capsys.readouterr().out
    assert "age: larger in June, +0." in out
    assert "'id' numbers the rows (0 to 599). It is left out." in out
    assert "Give --keep-columns id." in out
    stored = json.loads(Path("out.json").read_text())
    assert stored["rows"]["x"] == list(range(300))
    assert stored["exemplars"][0]["item"] == f"a{stored['exemplars'][0]['row']}"
    assert main([*call, "--fail-on-difference", "--quiet"]) == 1
    assert main([*call, "--fail-auc", "0.9", "--quiet"]) == 0
    assert main([*call, "--fail-auc", "0.51", "--quiet"]) == 1
    # A limit that nothing can reach is a mistake, not a promise that all is well.
    for flag, value, what in (("--fail-auc", "60", "an AUC between 0"), ("--fail-effect", "-1", "a non-neg")):
        with pytest.raises(SystemExit):
            main([*call, flag, value])
        assert f"'{value}' is not {what}" in capsys.readouterr().err
    assert main([*call, "--fail-effect", "2", "--quiet"]) == 0
    assert main([*call, "--fail-effect", "0.2", "--quiet"]) == 1
    fails(capsys, "a.csv", "b.csv", "--names", "May", says="There are two samples, but 1 name. Give two with --names.")
    fails(capsys, "a.csv", "b.csv", "--cost", says="Name a learned test with --test ard.")
    fails(
        capsys,
        "a.csv",
        "b.csv",
        "--drop",
        "name",
        "--groups",
        "town",
        says="A group ('town') must lie in one sample, but '",
    )
    fails(capsys, "a.csv", "b.csv", "--drop", "name", "--paired", "--strata", "town", says="--paired takes neither")


def test_help_has_examples(capsys):
    assert main([]) == 2
    assert "tellapart compare last-month.csv this-month.csv" in capsys.readouterr().err
    with pytest.raises(SystemExit, match="0"):
        main(["compare", "--help"])
    told = capsys.readouterr().out
    assert "--fail-on-difference" in told
    # Both commands read the same files.
    with pytest.raises(SystemExit, match="0"):
        main(["test", "--help"])
    formats = [
        re.search(r"A and B are files.*?or digits\.", text, re.DOTALL) for text in (told, capsys.readouterr().out)
    ]
    assert formats[0] is not None
    assert formats[1] is not None
    assert formats[0][0] == formats[1][0]


def test_exit_codes_and_json_of_real_processes(numbers, tmp_path):
    differ = run("compare", "a.npy", "b.npy", "--test", "witness", "--json", "-", "--fail-on-difference")
    assert differ.returncode == 1
    found = json.loads(differ.stdout)
    assert found["differ"]
    assert found["pvalue"] == 0.001
    assert differ.stderr == ""
    bad = run("compare", "a.npy", "none.npy", "--report", "r.html")
    assert bad.returncode == 2
    assert bad.stderr.startswith("tellapart: Y (none.npy) does not exist.")
    assert not (tmp_path / "r.html").exists()
    shown = run("compare", "a.npy", "none.npy", TELLAPART_DEBUG="1")
    assert "Traceback" in shown.stderr
    usage = run("compare")
    assert usage.returncode == 2
    assert "usage: tellapart compare" in usage.stderr
    assert "Traceback" not in usage.stderr


def test_the_code_is_0_where_no_difference_is_seen(numbers, capsys, tmp_path):
    assert main(["compare", "a.npy", "same.npy", "--fail-on-difference", "--json", "out.json"]) == 0
    assert capsys.readouterr().out.startswith("No difference is seen at level 0.05 (p = ")
    assert not json.loads((tmp_path / "out.json").read_text())["differ"]
    assert main(["compare", "a.npy", "b.npy"]) == 0
    assert main(["compare", "a.npy", "b.npy", "--fail-on-difference", "--json", "/dev/null"]) == 1


def test_what_cannot_be_written_is_said_before_the_work(numbers, capsys, tmp_path, monkeypatch):
    def no_work(*_, **__):
        raise AssertionError("the work began")

    monkeypatch.setattr(criticism, "compare", no_work)
    (tmp_path / "folder").mkdir()
    for option in ("--report", "--json"):
        fails(capsys, "a.npy", "b.npy", option, "none/r.html", says="the folder none does not exist")
        fails(capsys, "a.npy", "b.npy", option, "folder", says="folder is a folder. Give the name of a file")
    with monkeypatch.context() as patch:

        def refuse(**_):
            raise PermissionError(13, "Permission denied")

        patch.setattr("tellapart._util.files.tempfile.TemporaryFile", refuse)
        fails(capsys, "a.npy", "b.npy", "--report", "folder/r.html", says="does not take new files (Permission denied)")
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "jinja2", None)
        fails(capsys, "a.npy", "b.npy", "--report", "r.html", says="pip install 'tellapart[report]'")
    assert list((tmp_path / "folder").iterdir()) == []


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (MemoryError(), "Out of memory. Pass --max-rows or --max-memory."),
        (RuntimeError("two\nlines"), "RuntimeError: two lines. Set TELLAPART_DEBUG=1 for the traceback."),
        (UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte"), "invalid start byte"),
        (pd.errors.ParserError("bad line"), "bad line"),
    ],
)
def test_what_goes_wrong_in_the_middle_is_one_line(numbers, capsys, tmp_path, monkeypatch, error, says):
    def fail(*_):
        raise error

    (tmp_path / "r.html").write_text("before")
    monkeypatch.setattr("tellapart.report.comparison._size", fail)
    fails(capsys, "a.npy", "b.npy", "--test", "rbf", "--report", "r.html", says=says, verdict=True)
    assert (tmp_path / "r.html").read_text() == "before"
    assert not list(tmp_path.glob(".tellapart*"))


def test_an_interruption_ends_with_130(numbers, capsys, monkeypatch):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(criticism, "compare", interrupt)
    assert main(["compare", "a.npy", "b.npy"]) == 130
    assert capsys.readouterr().err == "tellapart: interrupted\n"


def test_the_demo_writes_a_report(capsys, tmp_path, monkeypatch):
    compare = demo.compare
    quick = {"permutations": 199}
    monkeypatch.setattr(demo, "compare", lambda *args, **options: compare(*args, **options, **quick))
    monkeypatch.setattr(demo, "SETTINGS", demo.SETTINGS | {"steps": 100, "hidden": [64, 64]})
    assert main(["demo", "--out", "d.html", "--seed", "1"]) == 0
    out = capsys.readouterr().out
    assert "The samples differ (p ≤ 0.005, 199 permutations)." in out
    assert "Open the report in a browser: d.html" in out
    assert "tellapart demo --out d.html --seed 1" in (tmp_path / "d.html").read_text(encoding="utf-8")


def test_digits_are_known_by_name(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("fake.npy", np.random.default_rng(0).random((300, 8, 8)))
    assert main(["compare", "digits", "fake.npy", "--test", "witness", "--seed", "0", "--max-rows", "300"]) == 0
    out = capsys.readouterr().out
    assert "The samples differ" in out
    assert "(digits, fake.npy)" in out
    np.save("digits", np.zeros((3, 2)))  # a file of that name comes first
    Path("digits.npy").rename("digits")
    assert main(["compare", "digits", "fake.npy"]) == 2


def test_groups_and_strata_of_learned_tests_are_columns_too(capsys):
    rng = np.random.default_rng(0)
    for name, first in (("a.csv", 0), ("b.csv", 12)):
        patient = first + np.repeat(np.arange(12), 3)
        site = np.where(patient % 2, "north", "south")
        table = {"u": rng.normal(size=36) + first, "patient": [f"p{k}" for k in patient], "site": site}
        pd.DataFrame(table).to_csv(name, index=False)
    call = ["compare", "a.csv", "b.csv", "--test", "witness", "--groups", "patient", "--strata", "site"]
    assert main([*call, "--json", "-"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["test"]["pvalue"] < 0.05
    assert found["weights"]["names"] == ["u"]
    # What is estimated is what would be done: without the columns of groups and strata.
    assert main(["compare", "a.csv", "b.csv", "--test", "ard", *call[5:], "--cost"]) == 0
    assert "rows of 1 numbers" in capsys.readouterr().out
