"""The level of `Reference.test` and of a monitor's bets, where nothing has changed, on tables of every kind.

Whatever is decided by looking at values must be decided on rows that are never compared with a batch. Each setting
draws a new reference and new batches in every repetition.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import tellapart as ta
from tellapart.twosample.bets import Bets

ALPHA = 0.05
#: With 19 permutations a p-value of 0.05 is attained exactly.
PERMUTATIONS = 19


def categories(count, zipf=False):
    shares = 1 / np.arange(1, count + 1) if zipf else np.ones(count)
    return lambda rng, n: pd.DataFrame({"town": _towns(rng, n, shares)})


def _towns(rng, n, shares):
    return [f"t{k}" for k in rng.choice(len(shares), p=shares / shares.sum(), size=n)]


def mixed(count):
    """Numbers with ties and zeros, categories, a rare value, and missing values in all of them."""

    def draw(rng, n):
        zeros = np.where(rng.random(n) < 0.6, 0.0, rng.exponential(size=n))
        table = pd.DataFrame(
            {
                "town": _towns(rng, n, np.ones(count)),
                "income": rng.lognormal(size=n),
                "amount": zeros,
                "rare": (rng.random(n) < 0.01) * 1.0,
            }
        )
        return table.mask(rng.random(table.shape) < 0.1)

    return draw


def wide(rng, n):
    """Several columns of categories, whose levels would be chosen one by one."""
    return pd.DataFrame({f"c{k}": _towns(rng, n, np.ones(60)) for k in range(4)})


MISSING = {"missing": "indicator"}
#: A distribution, rows of the reference, sizes of batches that are tested, options.
SETTINGS = {
    "5 categories": (categories(5), 200, (5, 60, 300), {}),
    "100 categories": (categories(100), 400, (5, 100, 400), {}),
    "100 categories, Zipf": (categories(100, zipf=True), 400, (5, 100, 400), {}),
    "400 categories": (categories(400), 900, (5, 100, 1000), {}),
    "1000 categories": (categories(1000), 1800, (5, 200, 1000), {}),
    "mixed": (mixed(100), 400, (5, 100, 400), MISSING),
    "four columns of 60 categories": (wide, 400, (5, 300), {}),
}


def reference_errors(k, name, batches=30):
    """Of one reference: whether tests reject, for each size of a batch, and whether evidence ever reaches 1/ALPHA."""
    draw, rows, sizes, options = SETTINGS[name]
    rng = np.random.default_rng([k, 1])
    reference = ta.Reference.fit(draw(rng, rows), rng=k, **options)
    rejected = [reference.test(draw(rng, n), PERMUTATIONS, rng=k).pvalue <= ALPHA + 1e-12 for n in sizes]
    # One opening for all batches of a stream takes less time than one for each.
    cuts = np.cumsum(rng.integers(5, 300, batches))
    stream = reference.open(draw(rng, int(cuts[-1])))
    bets, largest = Bets(reference), 0.0
    for part in np.split(stream.rows, cuts[:-1]):
        bets.add(replace(stream, rows=part), rng)
        largest = max(largest, bets.evidence)
    return [*rejected, largest >= 1 / ALPHA]


def simulate(name, references):
    """How often that happens."""
    return np.mean([reference_errors(k, name) for k in range(references)], axis=0)


def bound(repetitions):
    errors = 4 if repetitions < 100 else 2
    return ALPHA + errors * math.sqrt(ALPHA * (1 - ALPHA) / repetitions)


@pytest.mark.usefixtures("one_thread")
@pytest.mark.parametrize(
    ("name", "references"),
    [
        ("100 categories", 12),
        ("mixed", 8),
        *(pytest.param(name, 500, marks=pytest.mark.full) for name in SETTINGS),
    ],
)
def test_level_and_false_alarms(name, references):
    rates = simulate(name, references)
    print(name, SETTINGS[name][2], "and bets:", rates, "of", references)
    assert (rates <= bound(references)).all()


def small_batches_alarm(k, count, values=30, decay=0.81, rows=2):
    """Whether a monitor raises an alarm over equal small batches of one law, with a name each or with none."""
    shares = decay ** np.arange(values)
    rng = np.random.default_rng([2, k])

    def draw(n):
        return rng.choice(values, p=shares / shares.sum(), size=(n, 1)) * 1.0

    reference = ta.Reference.fit(draw(400), rng=k)
    monitor = reference.monitor(ALPHA, permutations=9, rng=k)
    for day in range(count):
        monitor.add(draw(rows), f"day {day}" if k % 2 else None)
    assert len(monitor.records) == count
    return monitor.alarmed


@pytest.mark.usefixtures("one_thread")
@pytest.mark.parametrize("streams", [4, pytest.param(300, marks=pytest.mark.full)])
def test_equal_small_batches_are_all_counted(streams):
    """Batches of 2 rows of 30 values, of which many equal an earlier one; with one name each, and with none."""
    count = 20 if streams < 100 else 200
    wrong = sum(small_batches_alarm(k, count) for k in range(streams))
    print(f"{wrong} alarms of {streams}")
    assert wrong / streams <= bound(streams)
