"""The rates in ``docs/promises.json`` are of the settings of `benchmarks/promises.py`, and hold."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
import promises

RECORD = json.loads((Path(__file__).parents[2] / "docs" / "promises.json").read_text(encoding="utf-8"))

#: Intervals that cover less, as `Finding.interval` and docs/benchmarks.md say.
DOCUMENTED = {
    "effects, lognormal, 200 and 15: columns": 0.90,
    "effects, 8 pairs: pairs": 0.93,
    "effects, 8 pairs, shifted and 1.5 times as wide: pairs": 0.93,
}


def test_each_rate_is_within_two_standard_errors_of_what_is_promised():
    for key, entry in RECORD.items():
        setting = promises.SETTINGS[key]
        for rate in entry["rates"]:
            assert rate["bound"] == setting.bound
            assert rate["repetitions"] + rate["refused"] >= 300
            bound = DOCUMENTED.get(rate["setting"], rate["bound"])
            beyond = (rate["rate"] - bound) * (-1 if bound > 0.5 else 1)
            assert beyond <= 2 * rate["error"] + 1e-12, (key, rate)


def test_rates_are_counted_over_repetitions_that_were_not_refused():
    setting = promises.Setting("p", "s", lambda r: {"": None})
    rate = promises.count(setting, "", [True, None, False, False, True, None])
    assert (rate.rate, rate.repetitions, rate.refused) == (0.5, 4, 2)
    assert rate.error == pytest.approx(math.sqrt(0.05 * 0.95 / 4))
    intervals = promises.count(promises.Setting("p", "s", setting.run, 0.95), "", [[True] * 4, [False] * 4, [True] * 2])
    # As far as intervals of one repetition agree, they count once.
    assert intervals.rate == pytest.approx(0.6)
    assert intervals.error == pytest.approx(math.sqrt(1.6**2 + 2.4**2 + 0.8**2) / 10)
    assert promises.count(setting, "", [None]).rate == 0


@pytest.mark.usefixtures("one_thread")
def test_a_setting_is_simulated_and_shown():
    key = "equal models told apart (about 0.06 with few rows); t with 3 degrees, models of 10 and 10"
    (rate,), seconds = promises.simulate(key, 5)
    assert rate.repetitions == 5
    assert 0 <= rate.rate <= 1
    assert seconds > 0
    assert "10 and 10" in promises.show(rate)
