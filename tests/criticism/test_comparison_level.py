"""The level of a comparison's view and page."""

from __future__ import annotations

import numpy as np

import tellapart as ta
from tellapart import report


def test_a_page_and_a_summary_take_another_level():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(60, 2)), rng.normal([1.0, 0], size=(60, 2))
    comparison = ta.compare(X, Y, permutations=199, rng=0)
    strict = comparison.pvalue / 2
    assert comparison.reject()
    assert not comparison.reject(strict)
    assert comparison.summary(strict).split("\n")[0] != comparison.summary().split("\n")[0]
    assert report.render(comparison, alpha=strict) == report.render(comparison.at_level(strict))
    assert report.render(comparison, alpha=strict) != report.render(comparison)
