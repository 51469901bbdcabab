"""P-values and null distributions are what they were, to the last bit (see `bits.py`)."""

from __future__ import annotations

import json

import bits
import pytest

FILES = [json.loads(path.read_text()) for path in sorted(bits.FOLDER.glob("bits-*.json"))]
CASES = bits.cases()
#: The file of this kind of processor and this torch, if there is one; else another, to compare with roughly.
SAME_MAKER = [file for file in FILES if file["made by"] == bits.maker()]
KEPT = (SAME_MAKER or FILES)[0]


def numbers(value):
    """All numbers of a case in order, those written in hexadecimal too."""
    if isinstance(value, dict):
        return [number for item in value.values() for number in numbers(item)]
    if isinstance(value, list):
        return [number for item in value for number in numbers(item)]
    if isinstance(value, str):
        return [float.fromhex(value)] if "0x" in value else []
    return [value]


def test_the_cases_are_those_of_the_files():
    assert len(FILES) == 2
    for file in FILES:
        assert set(CASES) == set(file["cases"])


@pytest.mark.parametrize("name", CASES)
def test_same_bits(name):
    found, kept = CASES[name](), KEPT["cases"][name]
    if not SAME_MAKER:
        assert numbers(found) == pytest.approx(numbers(kept), rel=1e-2, abs=1e-6)
    elif "spectral" in name:  # eigenvalues come from LAPACK, which rounds differently with every number of threads
        assert numbers(found) == pytest.approx(numbers(kept), rel=1e-5, abs=1e-9)
    else:
        assert found == kept
