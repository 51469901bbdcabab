"""Every test gives the values of `tests/golden/values.json`, on every kind of processor (see `bits.py`).

Processors round differently, so each number is compared within a tolerance, in standard deviations of the case's null
distribution. How large it must be was measured by rounding as another processor does
(``ATEN_CPU_CAPABILITY=default MKL_CBWR=COMPATIBLE``) and by changing the data in their eighth digit.
"""

from __future__ import annotations

import json

import bits
import numpy as np
import pytest

GOLDEN = json.loads(bits.GOLDEN.read_text())
CASES = bits.cases()

#: Sums of some hundred float64 terms that cancel to about a thousandth. Measured: up to 3e-13.
DOUBLE = 1e-10
#: Tiles of kernel matrices are float32, with an error of 6e-8 an entry, and a standard deviation of the null
#: distribution is 1e-4 to 1e-2 of an entry. Measured: up to 1.5e-4.
SINGLE = 1e-3
#: Features of the default test are float32 too, and whitening multiplies their error by up to 300 (a condition of 1e5).
#: Measured: up to 2e-3.
WHITENED = 1e-2
#: Rounding that decides between nearly equal steps of gradient ascent gives another kernel, of about the same power.
#: Measured: up to 0.09.
ASCENT = 0.5
#: An AUC counts pairs of rows whose scores may be nearly tied. Measured: up to 0.021.
AUC = 0.1


#: Cases in float64, and those that whiten or learn; all others are of float32 tiles.
TOLERANCES = {
    "learned_test deep": ASCENT,
    "compare ard": ASCENT,
    "reference": WHITENED,
    **{name: WHITENED for name in CASES if name.startswith("default")},
    **{name: DOUBLE for name in CASES if name.startswith(("mmd_test double", "estimate", "select"))},
}


def test_the_cases_are_those_of_the_file():
    assert list(CASES) == list(GOLDEN)


@pytest.mark.parametrize("name", CASES)
def test_golden_values(name):
    computed, golden, within = CASES[name](), dict(GOLDEN[name]), TOLERANCES.get(name, SINGLE)
    null, expected = computed.pop("null", None), golden.pop("null", None)
    if null is None:
        assert computed == pytest.approx(golden, rel=within)
        return
    unit = expected["sd"] or 1.0
    assert bits.deciles(null) == pytest.approx(expected["deciles"], abs=within * unit)
    assert null[:4].tolist() == pytest.approx(expected["first"], abs=within * unit)
    assert computed.pop("statistic") == pytest.approx(golden["statistic"], abs=within * unit)
    # A p-value counts draws. It can only change by those that rounding may carry past the statistic.
    near = np.count_nonzero(abs(null - golden.pop("statistic")) <= 2 * within * unit)
    assert computed.pop("pvalue") == pytest.approx(golden.pop("pvalue"), abs=near / (len(null) + 1) + 1e-12)
    if "auc" in golden:
        assert computed.pop("auc") == pytest.approx(golden.pop("auc"), abs=AUC)
    assert computed == pytest.approx(golden, rel=within, abs=within)
