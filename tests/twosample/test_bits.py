"""P-values and null distributions are what they were, to the last bit (see `bits.py`)."""

from __future__ import annotations

import json

import bits
import pytest

KEPT = json.loads(bits.FILE.read_text())
CASES = bits.cases()
#: Eigenvalues come from LAPACK, which rounds differently with every number of threads.
SAME_MAKER = KEPT["made by"] == bits.maker()


def numbers(value):
    """All numbers of a case in order, those written in hexadecimal too."""
    if isinstance(value, dict):
        return [number for item in value.values() for number in numbers(item)]
    if isinstance(value, list):
        return [number for item in value for number in numbers(item)]
    if isinstance(value, str):
        return [float.fromhex(value)] if "0x" in value else []
    return [value]


def test_the_cases_are_those_of_the_file():
    assert set(CASES) == set(KEPT["cases"])


@pytest.mark.parametrize("name", CASES)
def test_same_bits(name):
    found, kept = CASES[name](), KEPT["cases"][name]
    if SAME_MAKER and "spectral" not in name:
        assert found == kept
    else:
        assert numbers(found) == pytest.approx(numbers(kept), rel=1e-5, abs=1e-9)
