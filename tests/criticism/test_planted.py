"""A few of the changes of `benchmarks/planted.py`: what is named is what was planted."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import tellapart as ta

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
import planted


@pytest.mark.usefixtures("one_thread")
@pytest.mark.parametrize(
    ("table", "change"),
    [("made", "shift"), ("made", "rarer"), ("made", "missing"), ("made", "decoupled"), ("breast cancer", "scale")],
)
def test_what_was_planted_is_named(table, change):
    named, false = [], 0
    for seed in (2001, 2002):
        problem = planted.plant(table, change, seed)
        found = ta.compare(problem.X, problem.Y, permutations=199, missing="indicator", rng=seed)
        right, other = planted.judge(problem, found)
        named += [] if right is None else [right]
        false += other
    assert named
    assert all(named)
    assert false < 2


@pytest.mark.full
@pytest.mark.usefixtures("one_thread")
@pytest.mark.parametrize("change", planted.SIZES)
@pytest.mark.parametrize("table", planted.TABLES)
def test_what_was_planted_is_named_in_95_of_100(table, change):
    if change in ("rarer", "missing") and table != "made":
        pytest.skip("no such column")
    found = planted.run(table, change, range(3000, 3100), 199)
    print(table, change, found)
    assert found["right"] >= 0.95
    # None where the change reaches every column: nothing that is named would be wrong.
    assert (found["false"] or 0.0) <= 0.05 + 3 * (0.05 * 0.95 / 100) ** 0.5
