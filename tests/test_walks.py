"""The walks of docs/DESIGN.md: the calls come in that order, and no value is checked, split or converted twice."""

from __future__ import annotations

import os
import re
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

import tellapart as ta

PAGE = (Path(__file__).parents[1] / "docs" / "DESIGN.md").read_text(encoding="utf-8")
ROOT = os.path.dirname(ta.__file__)

#: What is done to a sample, which must be done once to each of two, and what is done once to both.
TO_EACH = {
    "data.sample.float_array",
    "data.finite.check_values",
    "data.locate.locate",
    "data.formats.__init__.find_format",
    "data.read.open_source",
    "data.read.validate",
    "data.content.table.TableContent.validate",
    "data.encoding.Encoding.encode",
}
TO_BOTH = {
    "data.options.check_options",
    "data.open.open_samples",
    "data.open.OpenedSamples.encode",
    "data.points.check_alike",
    "data.matching.check_schema",
    "data.matching.match_checked",
    "data.texts.read_texts",
    "data.profile.pool_columns",
    "data.profile.check_texts",
    "data.notices.find_notices",
    "data.encoding.Encoding.fit",
    "learning.splits.split_rows",
    "stats.nulls.__init__.as_null",
    "_util.memory.memory_budget",
    "twosample.fixed.choose_kernel",
    "data.shared.note_shared",
    "twosample.auto.run_omnibus",
    "omnibus.test.pool_rows",
    "omnibus.test.omnibus_test",
    "omnibus.combination.combine_families",
    "twosample.naming.adjust_columns",
    "twosample.moments.sum_moments",
    "twosample.variances.sum_variances",
}


def steps(title: str) -> list[str]:
    """The calls that the page lists for a walk."""
    found = re.search(rf"^\*\*{re.escape(title)}\*\*\n\n(.*?)\n\n", PAGE, re.DOTALL | re.MULTILINE)
    assert found is not None, title
    return re.findall(r"`([\w.]+)`", found[1])


def calls(function) -> list[str]:
    """The functions of the library that a call runs through, in order."""
    made = []

    def note(frame, event, _):
        if event == "call" and frame.f_code.co_filename.startswith(ROOT):
            module = os.path.relpath(frame.f_code.co_filename, ROOT)[:-3].replace(os.sep, ".")
            name = getattr(frame.f_code, "co_qualname", frame.f_code.co_name)
            made.append(f"{module}.{name}")

    sys.setprofile(note)
    try:
        function()
    finally:
        sys.setprofile(None)
    return made


@pytest.fixture
def files(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    monkeypatch.chdir(tmp_path)
    for name in ("a", "b"):
        numbers = pd.DataFrame(rng.normal(size=(40, 3)), columns=list("xyz"))
        numbers.to_csv(f"{name}.csv", index=False)
        np.save(f"{name}.npy", numbers.to_numpy())
        labels = {"patient": np.repeat([f"{name}{k}" for k in range(20)], 2), "site": np.repeat(["n", "s"], 20)}
        table = numbers.assign(town=rng.choice(["Ulm", "Bonn"], 40), count=rng.integers(0, 9, 40), **labels)
        table.assign(title=[f"{name} {k}" for k in range(40)]).to_csv(f"{name}-labels.csv", index=False)


QUICK = {"permutations": 39, "rng": 0}
LEARNED = QUICK | {"stability": 0, "learning": {"steps": 2}}


def of_cluster() -> None:
    from distributed import Client, LocalCluster

    here = {"n_workers": 1, "threads_per_worker": 1, "processes": False, "dashboard_address": ":0"}
    with LocalCluster(**here) as local, Client(local) as client:
        ta.mmd_test("a.npy", "b.npy", rng=0, cluster=client)


WALKS = {
    "two_sample_test(X, Y)": lambda: ta.two_sample_test(np.load("a.npy"), np.load("b.npy"), **QUICK),
    "mmd_test(X, Y)": lambda: ta.mmd_test(np.load("a.npy"), np.load("b.npy"), rng=0),
    'compare("a.csv", "b.csv").to_html(…)': lambda: ta.compare("a.csv", "b.csv", **QUICK).to_html("r.html"),
    'compare("a.csv", "b.csv", "ard")': lambda: ta.compare("a.csv", "b.csv", "ard", **LEARNED),
    "t_statistic(X, Y, kernel).backward()": lambda: ta.t_statistic(
        *(torch.from_numpy(np.load(f"{n}.npy")) for n in "ab"), ta.kernels.Gaussian(1.0)
    ).backward(),
    'mmd_test("a.npy", "b.npy", cluster=…)': of_cluster,
}


#: The calls of each walk, for the tests that look at them.
MADE: dict[str, list[str]] = {}


def follow(walk: str) -> list[str]:
    if walk not in MADE:
        MADE[walk] = calls(WALKS[walk])
    return MADE[walk]


pytestmark = [
    pytest.mark.skipif(sys.version_info < (3, 11), reason="names of methods are not known to older Pythons"),
    pytest.mark.xdist_group("dask"),
    pytest.mark.usefixtures("files", "one_thread"),
]


@pytest.mark.parametrize("walk", WALKS)
def test_the_calls_come_in_order_and_nothing_is_done_twice(walk):
    made = follow(walk)
    rest = iter(made)
    for step in steps(walk):
        assert step in rest, f"{step} does not come where the page has it"
    counts = Counter(made)
    if "cluster" in walk:
        for name in ("data.sample.float_array", "data.finite.check_values"):
            del counts[name]  # of rows in files: block by block, as they are read
    assert {name: counts[name] for name in TO_EACH if counts[name] > 2} == {}
    assert {name: counts[name] for name in TO_BOTH if counts[name] > 1} == {}


@pytest.mark.parametrize("walk", [walk for walk in WALKS if "backward" not in walk])
def test_a_design_is_checked_once(walk):
    """A learned test has two: that of all rows, which are split, and that of the rows that are tested."""
    assert Counter(follow(walk))["stats.design.Design.check"] == (2 if "ard" in walk else 1)


def test_every_walk_of_the_page_is_followed():
    assert set(re.findall(r"^\*\*(.+)\*\*\n\n`", PAGE, re.MULTILINE)) == set(WALKS)
    for walk in WALKS:
        made, names = set(follow(walk)), steps(walk)
        assert len(names) >= 5
        assert set(names) <= made, walk


def test_everything_that_is_counted_is_called():
    """A name that no walk comes by counts nothing: the function was renamed, or is not used any more."""
    made = {name for walk in WALKS for name in follow(walk)}
    assert (TO_EACH | TO_BOTH) - made == set()


# --- Files with columns that are labels of rows

FILES = "a-labels.csv", "b-labels.csv"
LABELS = {"groups": "patient", "strata": "site"}
#: What is done to a file: how often at most.
TO_A_FILE = {
    "data.locate._find_path": 1,
    "data.formats.__init__.find_format": 1,
    "data.formats.delimited.Delimited.open": 1,
    "data.formats.text.open_bytes": 2,
    "data.content.table.TableContent.validate": 1,
    "data.encoding.Encoding.encode": 1,
}


def of_reference() -> None:
    reference = ta.Reference.fit(pd.read_csv(FILES[0]), keep_columns=True, drop=["title"], rng=0)
    made = calls(lambda: reference.test(FILES[1], permutations=39, rng=0))
    MADE["Reference.test"] = made


#: Each call, and how many files it is given.
CALLS = {
    "two_sample_test": (lambda: ta.two_sample_test(*FILES, **LABELS, **QUICK), 2),
    "k_sample_test": (lambda: ta.k_sample_test(list(FILES), **LABELS, **QUICK), 2),
    "compare": (lambda: ta.compare(*FILES, **LABELS, items="title", **QUICK), 2),
    "mmd_test": (lambda: ta.mmd_test(*FILES, drop=["patient", "site"], **QUICK), 2),
    "Reference.test": (of_reference, 1),
}


@pytest.fixture
def parsed(monkeypatch):
    """The columns of each file that pandas has parsed."""
    found = []
    read_csv = pd.read_csv

    def counted(source, **options):
        found.append(options.get("usecols"))
        return read_csv(source, **options)

    monkeypatch.setattr(pd, "read_csv", counted)
    return found


@pytest.mark.parametrize("call", CALLS)
def test_a_file_is_located_and_parsed_once(call, parsed):
    function, files = CALLS[call]
    if call == "Reference.test":
        function()
        counts, files_parsed = Counter(MADE[call]), len(parsed) - 1  # the reference was a DataFrame
    else:
        counts, files_parsed = Counter(calls(function)), len(parsed)
    assert files_parsed == files
    assert {name: counts[name] for name, most in TO_A_FILE.items() if not 1 <= counts[name] <= most * files} == {}
