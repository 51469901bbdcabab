"""A stream of batches: levels, bets, and a state that nothing can spoil."""

from __future__ import annotations

import itertools
import json
import math
import os
import re
import signal
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest
import torch
from scipy.special import ndtr

import tellapart as ta
from tellapart.stats.betting import BLOCK, DOUBT, MOST, RATIO, Betting, Groups, log_payoff
from tellapart.twosample.control import flag_history, spend_levels, spent_level


def rows(n, seed=0, shift=0.0):
    return np.random.default_rng(seed).normal(size=(n, 3)) + shift


@pytest.fixture(scope="module")
def reference():
    return ta.Reference.fit(rows(3000), rng=0)


def test_levels_sum_to_alpha():
    total = sum(spent_level(k, 0.05, 3) for k in range(3 * (2**12 - 1)))
    assert total == pytest.approx(0.05 * (1 - 2**-12))
    # The level of an alarm is handed on: never more is at stake than alpha.
    levels = spend_levels([1e-9] * 3, 0.05, 3)
    assert levels == pytest.approx([0.05 / 6, 2 * 0.05 / 6, 3 * 0.05 / 6])


def test_spending_keeps_the_family_wise_error():
    rng = np.random.default_rng(0)
    wrong = 0
    for _ in range(2000):
        # One reference for all: p-values that depend on each other, each of them uniform.
        pvalues = ndtr(np.sqrt(0.5) * (rng.normal(size=100) + rng.normal()))
        wrong += any(p <= level for p, level in zip(pvalues, spend_levels(pvalues.tolist(), 0.1, 20), strict=True))
    assert wrong / 2000 <= 0.1 + 3 * np.sqrt(0.09 / 2000)


def test_flags_are_those_of_benjamini_and_hochberg():
    assert flag_history([], 0.1) == []
    assert flag_history([0.02, 0.03, 0.04], 0.05) == [True] * 3
    assert flag_history([0.04, 0.5, 0.6], 0.05) == [False] * 3


@pytest.mark.parametrize("control", ["fwer", "fdr", "anytime"])
def test_a_drift_is_found(reference, control):
    monitor = reference.monitor(0.05, control, rng=0, permutations=199, refine_permutations=999, horizon=20)
    for k in range(12):
        monitor.add(rows(60, 100 + k, 1.0 if k >= 6 else 0.0))
    assert monitor.alarmed
    assert all(one.number >= 6 for one in monitor.alarms)
    assert {column["name"] for column in monitor.records[-1].columns} == {"0", "1", "2"}
    assert monitor.records[-1].level is None or control == "fwer"
    assert "0.05" in monitor.guarantee
    assert "alarm" in monitor.summary()
    assert "tellapart_batches_total 12" in monitor.to_prometheus()
    assert json.loads(monitor.to_json())["alarms"] == [one.name for one in monitor.alarms]


def test_small_pvalues_are_looked_at_again(reference):
    monitor = reference.monitor(0.05, "fwer", rng=0, permutations=99, refine_permutations=999)
    assert monitor.add(rows(60, 1)).permutations == 99
    far = monitor.add(rows(60, 1, 2.0))
    assert far.permutations == 999
    assert far.pvalue == 0.001


def test_metrics(reference):
    """As Prometheus' text format wants them, with labels that keep two streams apart."""
    monitor = reference.monitor(0.05, "fwer", rng=0, permutations=99)
    assert 'tellapart_pvalue{stream="a \\"b\\""} NaN' in monitor.to_prometheus(stream='a "b"')
    monitor.add(rows(60, 1, 2.0))
    assert 'tellapart_rows{shard="7"} 60' in monitor.to_prometheus(shard=7)
    lines = monitor.to_prometheus(stream="orders").splitlines()
    assert 'tellapart_alarm{stream="orders"} 1' in lines
    assert 'tellapart_batches_total{stream="orders"} 1' in lines
    assert all(re.fullmatch(r'# (HELP|TYPE) \w+ .+|\w+\{stream="orders"\} [\d.e+-]+', line) for line in lines)


def test_the_state_goes_on(reference, tmp_path):
    path = tmp_path / "state.json"
    options = {"rng": 3, "permutations": 99}
    whole = reference.monitor(state=tmp_path / "whole.json", **options)
    for k in range(5):
        whole.add(rows(40, 50 + k), f"day {k}")
        # A new process each day, which may give the same batch twice.
        for _ in range(2):
            reference.monitor(state=path, **options).add(rows(40, 50 + k), f"day {k}")
    assert path.read_bytes() == (tmp_path / "whole.json").read_bytes()
    assert len(json.loads(path.read_text())["batches"]) == 5


def test_every_row_of_the_reference_is_bet_on_once(reference):
    monitor = reference.monitor(rng=0, permutations=19)
    used = []
    for k in range(4):
        before = monitor.bets.used
        record = monitor.add(rows(30, k))
        used += range(before, before + record.fresh)
    assert len(set(used)) == len(used) == monitor.bets.used
    assert max(used) < monitor.bets.total < len(reference.contents.rows)


def test_the_capital_of_a_stream_that_differs_altogether_stays_a_number(tmp_path):
    reference = ta.Reference.fit(rows(20_000), rng=0)
    options = {"rng": 0, "permutations": 19, "state": tmp_path / "state.json"}
    monitor = reference.monitor(**options)
    alarms = [monitor.add(rows(2_000, k, 5.0), f"day {k}").alarm for k in range(6)]
    assert alarms[-3:] == [True, True, True]
    assert monitor.bets.evidence == pytest.approx(MOST, rel=1e-6)
    assert len(reference.monitor(**options).alarms) == sum(alarms)


def test_a_reference_that_is_used_up_says_so():
    monitor = ta.Reference.fit(rows(40), rng=0).monitor(rng=0, permutations=19)
    notes = [monitor.add(rows(30, k)).notes for k in range(60)]
    assert not any("bet on" in note for note in notes[0])
    assert any("bet on" in note for note in notes[-1])
    assert np.isfinite(monitor.bets.evidence)


def test_a_name_is_counted_once(reference, tmp_path):
    """Whatever is in the batch: a stream without those that equal an earlier one would be another stream."""
    monitor = reference.monitor(state=tmp_path / "state.json", rng=0, permutations=19)
    first = monitor.add(rows(20, 0), "monday")
    assert monitor.add(rows(20, 0), "monday") is first
    before = (tmp_path / "state.json").read_bytes()
    with pytest.raises(ValueError, match="counted before, with other rows"):
        monitor.add(rows(20, 1), "monday")
    assert len(monitor.records) == 1
    assert (tmp_path / "state.json").read_bytes() == before
    assert monitor.add(rows(20, 0), "tuesday").number == 1
    again = reference.monitor(state=tmp_path / "state.json", rng=0, permutations=19)
    assert again.add(rows(20, 0), "tuesday").number == 1
    assert again.to_dict() == monitor.to_dict()


def test_batches_without_a_name_are_all_counted(reference):
    monitor = reference.monitor(rng=0, permutations=19)
    for _ in range(3):
        monitor.add(rows(20, 0))
    assert [one.name for one in monitor.records] == ["0", "1", "2"]
    assert [one.key for one in monitor.records] == [None] * 3


def test_keys_identify_batches_and_names_are_shown(reference):
    monitor = reference.monitor(rng=0, permutations=19)
    for k in range(3):
        monitor.add(rows(20, k % 2), "latest.csv", key=f"latest.csv {k}")
    assert [one.name for one in monitor.records] == ["latest.csv", "latest.csv (2)", "latest.csv (3)"]
    assert monitor.add(rows(20, 1), "another name", key="latest.csv 1").number == 1
    # What is shown identifies nothing.
    assert monitor.add(rows(20, 1), "latest.csv (2)").number == 3


def test_names_that_look_like_those_of_other_batches(reference):
    """A batch "x" with the rows of one that was added as "x (2)" is another batch."""
    monitor = reference.monitor(rng=0, permutations=19)
    for number, name in enumerate(["x (2)", "x", "x (2) (2)", "4"]):
        assert monitor.add(rows(20, 0), name).number == number
    assert [monitor.add(rows(20, 0)).name, monitor.add(rows(20, 0), "4 (2)").name] == ["4 (2)", "4 (2) (2)"]
    assert len({one.name for one in monitor.records}) == 6


def test_batches_that_are_sorted():
    """Of a large batch only some rows are bet on, and what those before showed: they must not be its smallest ones."""
    for k in range(2):
        rng = np.random.default_rng(k)
        monitor = ta.Reference.fit((rng.random((8000, 1)) < 0.28) * 1.0, rng=k).monitor(0.05, rng=k, permutations=9)
        for _ in range(12):
            monitor.add(np.sort((rng.random((5000, 1)) < 0.28) * 1.0, axis=0))
        assert not monitor.alarmed


def test_a_reference_without_any_variation():
    monitor = ta.Reference.fit(np.ones((400, 2)), rng=0).monitor(0.1, rng=0, permutations=19)
    assert [monitor.add(np.ones((20, 2))).pvalue for _ in range(3)] == [1.0] * 3
    assert monitor.bets.evidence == pytest.approx(1, rel=1e-9)
    assert monitor.add(np.zeros((20, 2))).columns
    monitor.add(np.zeros((20, 2)))
    assert monitor.alarmed


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("not json", "no JSON"),
        ("[]", "not a monitor state file"),
        ({"format": "x"}, "another version"),
        ({"reference": "x"}, "reference"),
        ({"alpha": 0.5}, "alpha"),
        ({"used": 10**9}, "damaged"),
        ({"used": "x"}, "damaged"),
        ({"batches": [{}]}, "damaged"),
        ({"batches": []}, "damaged"),
        ({"betting": {}}, "damaged"),
        ({"seed": "x"}, "has seed 'x'"),
        ({"betting": {"batches": 10**400}}, "damaged"),
    ],
)
def test_states_that_do_not_fit(reference, tmp_path, change, message):
    path = tmp_path / "state.json"
    reference.monitor(state=path, rng=0, permutations=19).add(rows(20, 1), "a")
    state = change if isinstance(change, str) else json.dumps(json.loads(path.read_text()) | change)
    path.write_text(state)
    with pytest.raises(ValueError, match=message):
        reference.monitor(state=path, rng=0, permutations=19)
    assert path.read_text() == state


@pytest.mark.parametrize(
    "change",
    [
        {"pvalue": 0},
        {"pvalue": "0.5"},
        {"evidence": float("nan")},
        {"level": 0},
        {"rows": -1},
        {"rows": 1.5},
        {"name": None},
        {"notes": [1]},
        {"columns": [{}]},
        {"columns": [{"name": "a", "kind": "number", "effect": 1, "description": "larger", "pvalue": 2}]},
        {"deviations": [{"kind": "type", "column": "a", "count": "1"}]},
    ],
)
def test_records_that_are_none(reference, tmp_path, change):
    path = tmp_path / "state.json"
    reference.monitor(state=path, rng=0, permutations=19).add(rows(20, 1), "a")
    state = json.loads(path.read_text())
    state["batches"][0] |= change
    path.write_text(json.dumps(state))
    with pytest.raises(ValueError, match="batch 0 is not what it should be"):
        reference.monitor(state=path, rng=0, permutations=19)


def test_bad_options(reference):
    with pytest.raises(ValueError, match="control"):
        reference.monitor(control="sometimes")
    with pytest.raises(ValueError, match="alpha"):
        reference.monitor(2)
    with pytest.raises(ValueError, match="horizon"):
        reference.monitor(horizon=0)


def bets(seed, batches, size, shift=0.0, start=0, d=8):
    """The largest evidence there was, and the batch at which it reached 20."""
    rng = np.random.default_rng(seed)
    betting = Betting(Groups.fit(rng.normal(size=(500, d)), [d - 3, 3]))
    largest, alarm = 1.0, None
    for k in range(batches):
        batch = rng.normal(size=(size, d))
        batch[:, 0] += shift if k >= start else 0.0
        largest = max(largest, betting.bet(batch, rng.normal(size=(size, d))))
        alarm = k if alarm is None and largest >= 20 else alarm
    return largest, alarm, betting


@pytest.mark.parametrize(("streams", "batches"), [(60, 150), pytest.param(200, 10_000, marks=pytest.mark.full)])
def test_false_alarms_over_the_whole_stream(streams, batches):
    largest = np.array([bets(k, batches, 10)[0] for k in range(streams)])
    assert (largest >= 20).mean() <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / streams)


def test_bets_win_where_there_is_a_difference():
    found = [bets(k, 60, 50, shift=0.7, start=20)[1] for k in range(5)]
    assert all(k is not None and 20 <= k <= 35 for k in found)


def test_capital_beyond_doubt_stays_a_number():
    """A drift that nobody looks at for years must not end in a state that cannot be read."""
    _, _, betting = bets(0, 40, 600, shift=9.0)
    assert betting.capital == pytest.approx(MOST, rel=1e-6)
    again = Betting(betting.groups)
    again.restore(json.loads(json.dumps(betting.to_dict())))
    assert again.capital == betting.capital


@pytest.mark.parametrize(("batch", "fresh"), [(3, 2), (2, 4), (5, 3), (4, 4), (1, 6), (6, 1)])
def test_a_bet_pays_the_likelihood_over_its_mean_over_all_labels(batch, fresh):
    """By enumeration: the payoff of every way to label the rows. Its mean is 1, which is what makes bets fair."""
    ratios = np.random.default_rng(batch).normal(size=(batch + fresh, 3)) * [0.1, 1, 5]
    labels = list(itertools.combinations(range(batch + fresh), fresh))
    likelihoods = np.array([np.exp(-ratios[list(chosen)].sum(0)) for chosen in labels])
    paid = np.exp([log_payoff(np.delete(ratios, chosen, 0), ratios[list(chosen)]) for chosen in labels])
    np.testing.assert_allclose(paid, likelihoods / likelihoods.mean(0), rtol=1e-10)
    np.testing.assert_allclose(paid.mean(0), 1, rtol=1e-10)


@pytest.mark.parametrize(("batch", "fresh"), [(RATIO * BLOCK, BLOCK), (BLOCK, BLOCK), (2, BLOCK), (1, 1)])
def test_a_block_that_is_told_apart_altogether_pays_the_number_of_ways(batch, fresh):
    far = np.full((batch, 1), DOUBT), np.full((fresh, 1), -DOUBT)
    assert log_payoff(*far)[0] == pytest.approx(math.log(math.comb(batch + fresh, fresh)), abs=0.01)
    # The reverse is lost, in numbers that there are.
    assert -2 * DOUBT * fresh * batch < log_payoff(*far[::-1])[0] < 0


def test_bets_are_fair():
    """The mean of the evidence over many streams stays 1."""
    ends = np.array([bets(k, 12, 10)[2].capital for k in range(300)])
    assert ends.mean() == pytest.approx(1, abs=4 * ends.std() / np.sqrt(300))


WATCH = """
import sys
import tellapart.cli as cli
sys.exit(cli.main(["watch", "reference.tellapart", *sys.argv[2:], "--state", sys.argv[1], "--permutations", "19",
                   "--threads", "1", "--quiet"]))
"""


@pytest.mark.serial
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs signals")
@pytest.mark.parametrize("kills", [6, pytest.param(50, marks=pytest.mark.full)])
def test_killed_at_any_moment_it_goes_on(reference, tmp_path, kills):
    """kill -9 again and again: the final state is that of a run that nobody interrupted."""
    reference.save(tmp_path / "reference.tellapart")
    batches = [f"{k}.npy" for k in range(8)]
    for k, name in enumerate(batches):
        np.save(tmp_path / name, rows(40, 200 + k))

    def start(state):
        return subprocess.Popen([sys.executable, "-c", WATCH, state, *batches], cwd=tmp_path)

    began = time.monotonic()
    assert start("whole.json").wait() == 0
    spent = time.monotonic() - began
    rng = np.random.default_rng(0)
    for _ in range(kills):
        process = start("state.json")
        time.sleep(rng.uniform(0.2, 1.0) * spent)
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert start("state.json").wait() == 0
    assert (tmp_path / "state.json").read_bytes() == (tmp_path / "whole.json").read_bytes()
    assert start("state.json").wait() == 0
    assert (tmp_path / "state.json").read_bytes() == (tmp_path / "whole.json").read_bytes()


def test_a_category_that_the_reference_never_had_is_an_alarm_on_the_second_day():
    rng = np.random.default_rng(0)

    def day(size, new=0.0):
        channel = np.where(rng.random(size) < new, "new", rng.choice(["web", "store"], size))
        return pd.DataFrame({"amount": rng.lognormal(size=size), "channel": channel})

    monitor = ta.Reference.fit(day(3000), rng=0).monitor(0.01, rng=0, permutations=19, schema="lenient")
    assert not any(monitor.add(day(200)).alarm for _ in range(5))
    assert [monitor.add(day(200, new=0.08)).alarm for _ in range(3)][1:] == [True, True]


def test_noise_below_the_factors_of_embeddings_is_an_alarm():
    fixed, rng = np.random.default_rng(7), np.random.default_rng(0)
    factors = fixed.normal(size=(10, 80))

    def embeddings(n, noise):
        return (rng.normal(size=(n, 10)) @ factors + noise * rng.normal(size=(n, 80))).astype("f4")

    monitor = ta.Reference.fit(embeddings(1500, 0.2), rng=0).monitor(alpha=0.05)
    for noise, alarmed in ((0.2, False), (0.24, True)):
        for _ in range(8):
            monitor.add(embeddings(40, noise))
        assert monitor.alarmed == alarmed


def test_a_value_beyond_all_measure_leaves_the_capital_a_number(tmp_path):
    state = tmp_path / "state.json"
    reference = ta.Reference.fit(rows(500), rng=0)
    monitor = reference.monitor(state=state)
    batch = rows(40, 1)
    batch[3, 1] = 1e100
    for k in range(3):
        record = monitor.add(batch + k)
        assert math.isfinite(record.evidence)
    assert "NaN" not in state.read_text()
    assert len(reference.monitor(state=state).records) == 3
    assert "kernel" in reference.test(batch, rng=0).families


def test_what_is_interrupted_changes_nothing(reference, tmp_path, monkeypatch):
    state = tmp_path / "state.json"
    monitor = reference.monitor(state=state)
    monitor.add(rows(40, 1))
    before = state.read_bytes()

    def interrupt(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Betting, "_learn", interrupt)
        with pytest.raises(KeyboardInterrupt):
            monitor.add(rows(40, 2))
    assert state.read_bytes() == before
    with monkeypatch.context() as patch:
        patch.setattr("tellapart.twosample.monitor.write_json", interrupt)
        with pytest.raises(KeyboardInterrupt):
            monitor.add(rows(40, 2))
    monitor.add(rows(40, 2))
    again = reference.monitor(state=state)
    assert again.to_dict() == monitor.to_dict()
    straight = reference.monitor(rng=monitor.seed)
    for seed in (1, 2):
        straight.add(rows(40, seed))
    assert [one.evidence for one in straight.records] == [one.evidence for one in again.records]


def test_two_monitors_of_one_state(reference, tmp_path):
    state = tmp_path / "state.json"
    first, second = (reference.monitor(state=state, rng=0) for _ in range(2))
    first.add(rows(40, 1))
    with pytest.raises(ValueError, match="written by another monitor"):
        second.add(rows(40, 2))
    assert len(reference.monitor(state=state).records) == 1


def test_a_constant_is_the_same_in_another_precision():
    values = np.c_[rows(400), np.full(400, 0.1)]
    reference = ta.Reference.fit(values.astype("f4"), rng=0)
    batch = np.c_[rows(60, 5), np.full(60, 0.1)]
    found = [reference.test(batch.astype(kind), rng=0) for kind in ("f4", "f8")]
    assert not any("3" in one.differing_columns(0.5).names for one in found)


def test_the_capital_has_the_same_bits_on_any_number_of_threads():
    before, capitals = torch.get_num_threads(), set()
    try:
        for threads in (1, 2):
            torch.set_num_threads(threads)
            draws = np.random.default_rng(0)
            monitor = ta.Reference.fit(draws.normal(size=(3000, 8)), rng=0).monitor(
                rng=0, permutations=99, refine_permutations=99
            )
            for _ in range(3):
                monitor.add(draws.normal(size=(60, 8)) + 0.2)
            capitals.add(monitor.records[-1].evidence)
    finally:
        torch.set_num_threads(before)
    assert len(capitals) == 1
