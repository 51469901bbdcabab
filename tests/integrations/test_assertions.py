"""`tellapart.testing` and the pytest plugin, in pytest itself."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas
import polars
import pyarrow.parquet
import pytest

import tellapart as ta
from tellapart.integrations import assertions

pytest_plugins = ["pytester"]


def draw(seed, rows=150, shift=0.0):
    return np.random.default_rng(seed).normal(size=(rows, 3)) + np.array([0, shift, 0])


def test_what_differs_is_named_and_can_be_repeated():
    X, Y = draw(0), draw(1, shift=1)
    with pytest.raises(AssertionError, match="Columns that differ") as caught:
        ta.testing.assert_same_distribution(X, Y, 0.001, rng=5, report=False)
    message = str(caught.value)
    assert "\n  1: " in message
    assert "with probability at most 0.001" in message
    assert "ta.two_sample_test(X, Y, 999, rng=5)" in message
    assert caught.value.result.pvalue == ta.two_sample_test(X, Y, 999, rng=5).pvalue == 0.001
    assert caught.value.report is None


def test_a_few_relabellings_are_enough_where_nothing_differs(monkeypatch):
    from tellapart import twosample

    asked = []
    test = twosample.two_sample_test
    monkeypatch.setattr(twosample, "two_sample_test", lambda X, Y, B, **o: asked.append(B) or test(X, Y, B, **o))
    ta.testing.assert_same_distribution(draw(0), draw(1))
    assert asked == [199]
    with pytest.raises(AssertionError):
        ta.testing.assert_same_distribution(draw(0), draw(1, shift=1), alpha=0.001, report=False)
    assert asked == [199, 199, 999]


def test_options_are_those_of_the_test():
    X, Y = draw(0), draw(1, shift=1)
    ta.testing.assert_same_distribution(X, Y, columns=[0, 2])
    groups = np.r_[np.zeros(75), np.ones(75), np.full(75, 2), np.full(75, 3)]
    with (
        pytest.raises(ValueError, match=r"cannot reject at level 0\.0001.*alpha="),
        pytest.warns(UserWarning, match="smallest attainable p-value"),
    ):
        ta.testing.assert_same_distribution(X, Y, groups=groups)
    with pytest.raises(ValueError, match="must be between"):
        ta.testing.assert_same_distribution(X, Y, alpha=0)


def test_assert_different():
    ta.testing.assert_different(draw(0), draw(1, shift=1))
    with pytest.raises(ta.testing.DistributionError, match=r"Expected the samples to differ at level 0\.01"):
        ta.testing.assert_different(draw(0), draw(1))


def test_a_report_is_written_where_it_is_asked_for(tmp_path):
    with pytest.raises(ta.testing.DistributionError) as caught:
        ta.testing.assert_same_distribution(draw(0), draw(1, shift=1), alpha=0.01, report=tmp_path / "a" / "r.html")
    assert caught.value.report.read_text(encoding="utf-8").lower().startswith("<!doctype html>")


def test_a_report_that_cannot_be_made_does_not_hide_the_failure(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(ta.testing.DistributionError, match="No report was written") as caught:
        ta.testing.assert_same_distribution(draw(0), draw(1, shift=1), alpha=0.01, report=tmp_path / "file" / "r.html")
    assert caught.value.report is None


def level(alpha, runs, rows=12):
    """How often samples of one distribution fail; a coarse one, with ties."""
    failed = 0
    for seed in range(runs):
        rng = np.random.default_rng(10_000 + seed)
        X, Y = rng.integers(0, 3, size=(rows, 2)), rng.integers(0, 3, size=(rows, 2))
        try:
            ta.testing.assert_same_distribution(X, Y, alpha, rng=seed)
        except ta.testing.DistributionError:
            failed += 1
    return failed


def test_how_often_a_true_null_fails(one_thread):
    """At most Binomial(150, 0.05): more than 15 would have probability 0.004."""
    assert level(0.05, 150) <= 15


@pytest.mark.full
@pytest.mark.parametrize(("alpha", "runs", "most"), [(0.05, 3000, 185), (0.01, 3000, 45)])
def test_how_often_a_true_null_fails_in_many_runs(alpha, runs, most, one_thread):
    """The bounds have probability below 0.003 to be exceeded at these levels."""
    assert level(alpha, runs) <= most


# --- The plugin. Tests of tests run in this process, which has these already: they cannot be imported twice.
assert polars
assert pyarrow.parquet

SAMPLES = """
import numpy as np
import tellapart as ta

def draw(shift=0.0, rows=100):
    return np.random.default_rng(rows).normal(size=(rows, 2)) + [0, shift]
"""


@pytest.fixture
def run(pytester, monkeypatch):
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # others would be imported anew for each run

    def run(code, *options):
        pytester.makepyfile(test_it=SAMPLES + code)
        return pytester.runpytest_inprocess("-p", "tellapart.integrations.pytest_plugin", *options)

    return run


FAILING = """
def test_sampler():
    ta.testing.assert_same_distribution(draw(), draw(1, 80), alpha=0.01)
"""


def test_a_failure_has_its_report(run, pytester):
    result = run(FAILING, "--tellapart-reports", "reports", "--junit-xml", "junit.xml")
    result.assert_outcomes(failed=1)
    (report,) = pytester.path.glob("reports/*.html")
    assert report.name.startswith("test_sampler-")
    result.stdout.fnmatch_lines(["*DistributionError: The samples differ*", f"*Report: {report}"])
    assert "two_sample_test" not in [line.strip() for line in result.outlines]  # our own frames are hidden
    assert str(report) in (pytester.path / "junit.xml").read_text()


def test_reports_are_in_the_cache_unless_said_otherwise(run, pytester):
    run(FAILING).assert_outcomes(failed=1)
    assert len(list(pytester.path.glob(".pytest_cache/d/tellapart/*.html"))) == 1
    assert assertions.running is None or "test_sampler" not in assertions.running.name


def test_seeds_depend_on_the_name_of_the_test(run):
    code = """
import pytest
from tellapart.integrations import assertions
@pytest.mark.parametrize("k", [0, 1])
def test_it(k, tellapart_rng):
    print("drawn", tellapart_rng.integers(10**9), assertions._seed(None))
"""
    first, again = ([line for line in run(code, "-s").outlines if "drawn" in line] for _ in range(2))
    assert first == again
    assert len(set(first)) == 2


SNAPSHOT = """
import os, polars
def test_it(distribution_snapshot):
    shift = float(os.environ.get("SHIFT", 0))
    rows = int(os.environ.get("ROWS", 100))
    distribution_snapshot(draw(rows=rows), alpha=0.01)
    distribution_snapshot(polars.DataFrame(draw(shift, rows), schema=["a", "b"]), alpha=0.01, report=False)
"""


def test_snapshots(run, pytester, monkeypatch):
    monkeypatch.setenv("CI", "true")
    run(SNAPSHOT).stdout.fnmatch_lines(["*Snapshot not found*commit the file*"])
    monkeypatch.delenv("CI")
    run(SNAPSHOT).assert_outcomes(passed=1)
    stored = sorted(pytester.path.glob("__distributions__/test_it/*"))
    assert [path.suffix for path in stored] == [".npy", ".parquet"]
    before = [path.read_bytes() for path in stored]
    monkeypatch.setenv("ROWS", "90")
    run(SNAPSHOT).assert_outcomes(passed=1)
    monkeypatch.setenv("SHIFT", "1")
    result = run(SNAPSHOT)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*  b: larger in *"])
    assert [path.read_bytes() for path in stored] == before
    run(SNAPSHOT, "--tellapart-update").assert_outcomes(passed=1)
    assert [path.read_bytes() for path in stored] != before


def test_the_file_to_begin_with_of_the_page(run, pytester):
    page = (Path(__file__).parents[2] / "docs" / "how-to" / "drift-in-ci.md").read_text(encoding="utf-8")
    code = re.search(r"in `test_drift\.py`:\n\n```python\n(.*?)```", page, re.DOTALL)[1]
    for seed, name in enumerate(("reference", "today")):
        pandas.DataFrame(draw(seed), columns=["a", "b", "c"]).to_csv(pytester.path / f"{name}.csv", index=False)
    run(code).assert_outcomes(passed=3)
    assert len(list(pytester.path.glob("__distributions__/test_it/*.parquet"))) == 1


def test_the_plugin_imports_nothing_heavy():
    code = "import sys, tellapart.integrations.pytest_plugin, tellapart.testing; print(*sys.modules)"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert not {"torch", "numpy", "pandas"} & set(shown.split())


def test_pytest_finds_the_plugin():
    root = Path(__file__).parents[2]
    assert 'tellapart = "tellapart.integrations.pytest_plugin"' in (root / "pyproject.toml").read_text()
