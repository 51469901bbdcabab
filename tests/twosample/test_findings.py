"""Findings are found by position and by name."""

from __future__ import annotations

import pytest

from tellapart.twosample.findings import Finding, Findings


def finding(name, pvalue):
    return Finding(name, (name,), "location", 1.0, "differs", pvalue, pvalue)


def test_a_name_is_an_index():
    found = Findings([finding("income", 0.4), finding("age", 0.01), finding("price (2)", 0.2)])
    assert found["age"] is found[0]
    assert found["price (2)"].pvalue == 0.2
    assert "age" in found
    assert "height" not in found
    assert found[1] in found
    assert found[-1].name == "income"
    with pytest.raises(KeyError, match="'height'; the first names are 'age', 'price"):
        found["height"]
    with pytest.raises(IndexError):
        found[3]


def test_a_slice_is_findings():
    found = Findings([finding("a", 0.4), finding("b", 0.01)])
    assert found[:1].names == ("b",)
    assert found.below(0.05).names == ("b",)
    with pytest.raises(KeyError, match="the first names are none"):
        Findings()["a"]
