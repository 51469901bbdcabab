"""The league table of `benchmarks/power.py`: what is known stays known when trials are added on another machine."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))
import power
from league import page
from league.methods import Settings
from league.problems import PROBLEMS
from league.results import Cell, Journal, decisions_of, encode, rate

SETTINGS = Settings()
EFFORT = power.effort_of(SETTINGS)


def cell(problem="real_wine", method="auto"):
    return Cell(problem, 20, 20, method, EFFORT)


def add(journal, where, power="", level="", first=0, seconds=1.0):
    """Trials with these decisions, from a first seed on."""
    for kind, decisions in (("power", power), ("level", level)):
        for seed, reject in enumerate(decisions, first):
            journal.add(where, kind, seed, reject=reject == "1", pvalue=None, seconds=seconds)


def merged(known, journal, changed=()):
    """As `--page` does, with the way into the file and back."""
    return json.loads(page.compact_json(power.added_to(known, journal, SETTINGS, list(changed))))


def row(result, where):
    (found,) = [row for row in result["cells"] if row["problem"] == where.problem and row["method"] == where.method]
    return found


def without_decisions(result):
    """As files were before decisions were kept."""
    for found in result["cells"]:
        for kind in ("power", "level"):
            (found[kind] or {}).pop("decisions", None)
    return result


@pytest.fixture
def journals(tmp_path):
    """Those of several machines."""
    return [Journal(tmp_path / f"{name}.jsonl") for name in "abc"]


def test_decisions_are_kept_by_seed():
    decisions = {7: True, 0: True, 1: False, 10_000: False, 2: True}
    assert encode(decisions) == {"0": "101", "7": "1", "10000": "0"}
    assert decisions_of(rate(decisions)) == decisions
    assert decisions_of(None) == decisions_of({"rate": 0.5, "repetitions": 20}) == {}


def test_cells_of_another_machine_are_kept_and_joined_by_seed(journals):
    first, second, empty = journals
    add(first, cell(), "1100", "0000", seconds=3.0)
    add(first, cell("real_cancer"), "10")
    known = merged({}, first)
    add(second, cell(), "01", "1", first=3)
    add(second, cell("shift_all"), "1")
    found = merged(known, second)
    assert [row["problem"] for row in found["cells"]] == ["shift_all", "real_wine", "real_cancer"]
    assert row(found, cell("real_cancer")) == row(known, cell("real_cancer"))
    joined = row(found, cell())
    assert joined["power"] == rate({0: True, 1: True, 2: False, 3: False, 4: True})
    assert joined["level"]["decisions"] == {"0": "0001"}
    assert joined["seconds"] == 3.0
    assert found["sum_real"] == {"problems": 2, "trials": 7, "rejections": {"auto": 4}}
    assert merged(found, second) == merged(found, empty) == found
    assert "Wine: cultivar 2" in page.text(found)


def test_rates_without_decisions_stay_until_there_are_as_many(journals):
    first, second, third = journals
    for method in ("auto", "median"):
        add(first, cell(method=method), "1111", "00", seconds=3.0)
    known = without_decisions(merged({}, first))
    assert known["sum_real"]["trials"] == 4
    for method in ("auto", "median"):
        add(second, cell(method=method), "000", "11")
    found = merged(known, second)
    assert row(found, cell())["power"] == row(known, cell())["power"]
    assert row(found, cell())["level"]["rejections"] == 2
    assert found["sum_real"] == known["sum_real"]
    add(third, cell(), "0011")
    found = merged(known, third)
    assert row(found, cell())["power"] == rate({0: False, 1: False, 2: True, 3: True})
    assert found["sum_real"] == known["sum_real"]  # nothing by seed of the other method
    add(third, cell(method="median"), "0000")
    assert merged(known, third)["sum_real"]["rejections"] == {"auto": 2, "median": 0}


def test_what_a_changed_method_decided_before_is_replaced(journals, capsys):
    first, second, _ = journals
    add(first, cell(), "1111")
    add(first, cell("real_cancer"), "11")
    known = merged({}, first)
    add(second, cell(), "10")
    capsys.readouterr()
    assert row(merged(known, second), cell())["power"]["decisions"] == {"0": "1011"}
    assert "auto: 1 of 2 decisions differ" in capsys.readouterr().out
    found = merged(known, second, ["auto"])
    assert row(found, cell())["power"]["decisions"] == {"0": "10"}
    assert row(found, cell("real_cancer")) == row(known, cell("real_cancer"))
    assert not capsys.readouterr().out


def test_an_error_takes_the_place_of_nothing_but_an_error(journals):
    first, second, empty = journals
    add(first, cell(), "11")
    second.add(cell(), "power", 0, error="OSError: no")
    second.add(cell("real_cancer"), "power", 0, error="OSError: no")
    found = merged(merged({}, first), second)
    assert row(found, cell())["power"]["rejections"] == 2
    assert row(found, cell("real_cancer"))["error"] == "OSError: no"
    add(empty, cell("real_cancer"), "1")
    assert row(merged(found, empty), cell("real_cancer"))["power"]["rejections"] == 1


def test_trials_with_other_settings_are_not_added(journals):
    add(journals[0], cell(), "1")
    known = merged({}, journals[0])
    with pytest.raises(SystemExit, match="cannot be added"):
        power.added_to(known, journals[0], Settings.quick(), [])


def test_the_page_as_it_is_loses_nothing(journals):
    docs = Path(__file__).parents[1] / "docs"
    known = json.loads((docs / "power.json").read_text(encoding="utf-8"))
    found = merged(known, journals[0])
    assert found["cells"] == known["cells"]
    assert found["sum_real"] == known["sum_real"]
    assert found["machine"] == known["machine"]


def test_sentence_embeddings_need_their_model(monkeypatch):
    from league import problem

    monkeypatch.setattr(problem, "MINILM", ("no_such_package",))
    assert PROBLEMS["real_minilm_numpy"].missing() == "needs no_such_package"
    assert PROBLEMS["real_docs_numpy"].missing() is None
