"""How often statistical promises are broken: rates over simulations of the hardest problems that are known.

    python benchmarks/promises.py --out docs/promises.json                  # everything: more than an hour of CPU time
    python benchmarks/promises.py --only naming --repetitions 50            # the settings of a promise, or of a word

The problems are those of ``tests/promises``, which bound the same rates. A rate is compared with its bound by the
standard error that it would have at the bound; where a repetition counts several times (intervals of several columns),
by that of the means of repetitions. A file that ``--out`` names goes on from what it has.
"""

from __future__ import annotations

import argparse
import json
import math
import multiprocessing
import re
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

import tellapart as ta

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "promises"))

import test_equivalence_rank_plan as equivalence
import test_intervals as intervals
import test_naming as naming
import test_reference_level as reference
import test_text_numbers as written

#: What a repetition found, by what is counted: whether it happened, or for each of several things; None for refused.
Found = dict[str, Any]


@dataclass(frozen=True)
class Setting:
    """A promise in one setting.

    Attributes
    ----------
    promise, name
        What is promised, and of which problem.
    run
        One repetition.
    bound
        The rate that is promised: at most this, or at least where it is above one half.
    start
        The first seed.
    repetitions
        How many, unless another number is asked for.
    """

    promise: str
    name: str
    run: Callable[[int], Found]
    bound: float = 0.05
    start: int = 0
    repetitions: int = 300


@dataclass
class Rate:
    """One line of the table."""

    promise: str
    setting: str
    repetitions: int
    rate: float
    error: float
    bound: float
    refused: int = 0
    held: bool = field(init=False)

    def __post_init__(self) -> None:
        beyond = self.bound - self.rate if self.bound > 0.5 else self.rate - self.bound
        self.held = beyond <= 2 * self.error + 1e-12


def count(setting: Setting, label: str, found: list[Any]) -> Rate:
    """The rate of one thing that is counted, in repetitions that were not refused; 0 if all were."""
    kept = [np.atleast_1d(np.asarray(one, dtype=float)) for one in found if one is not None]
    hits, trials = (np.array([f(one) for one in kept], dtype=float) for f in (np.sum, len))
    rate = float(hits.sum() / max(trials.sum(), 1))
    if (trials == 1).all():
        error = math.sqrt(setting.bound * (1 - setting.bound) / max(len(kept), 1))
    else:
        error = float(np.sqrt(((hits - rate * trials) ** 2).sum()) / trials.sum())
    name = f"{setting.name}: {label}" if label else setting.name
    return Rate(setting.promise, name, len(kept), rate, error, setting.bound, len(found) - len(kept))


def simulate(key: str, repetitions: int | None) -> tuple[list[Rate], float]:
    """All rates of a setting, and the seconds that it took."""
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    start, setting = time.process_time(), SETTINGS[key]
    found = [setting.run(r) for r in range(setting.start, setting.start + (repetitions or setting.repetitions))]
    rates = [count(setting, label, [one[label] for one in found]) for label in found[0]]
    return rates, time.process_time() - start


# --- repetitions ------------------------------------------------------------------------------------------------------


def one(run: Callable[..., Any], r: int, *args: Any, **options: Any) -> Found:
    """Of a problem in which one thing is counted."""
    return {"": run(r, *args, **options)}


def text_rejected(r: int, **options: Any) -> Found:
    """Whether equal laws of numbers in text are told apart; refused counts as not."""
    pvalue = written.text_pvalue(r, **options)
    return {"": None if pvalue is None else pvalue <= 0.05}


def reference_errors(r: int, name: str) -> Found:
    """Tests of batches, and the evidence of bets."""
    *rejected, alarmed = reference.reference_errors(r, name)
    sizes = reference.SETTINGS[name][2]
    return {**{f"batch of {n:,}": one for n, one in zip(sizes, rejected, strict=True)}, "bets": alarmed}


def small_batches_alarm(r: int, count: int, values: int = 30, decay: float = 0.81, rows: int = 2) -> bool:
    """Whether the bets of a monitor ever reach an alarm over small batches, of which many are equal."""
    shares, rng = decay ** np.arange(values), np.random.default_rng([2, r])

    def draw(n: int) -> Any:
        return rng.choice(values, p=shares / shares.sum(), size=(n, 1)) * 1.0

    fitted = ta.Reference.fit(draw(1500), rng=r)
    bets, stream, largest = reference.Bets(fitted), fitted.open(draw(count * rows)), 0.0
    for part in np.array_split(stream.rows, count):
        bets.add(replace(stream, rows=part), rng)
        largest = max(largest, bets.evidence)
    return largest >= 1 / 0.05


def effects_covered(r: int, name: str, shift: float) -> Found:
    """Intervals of four columns and their six pairs."""
    draw, _ = intervals.DRAWS[name]
    columns, pairs = intervals.effects_covered(r, draw, 1.5 if shift else 1.0, shift)
    return {"columns": columns or None, "pairs": pairs or None}


def auc_of_compare(r: int) -> bool:
    """The interval of the AUC that `compare` shows, with 10 and 10 groups of 6."""
    g, groups = np.random.default_rng(r), np.repeat(np.arange(10), 6)
    X, Y = (np.repeat(g.normal(size=(10, 3)), 6, 0) + 0.2 * g.normal(size=(60, 3)) for _ in range(2))
    low, high = ta.compare(X, Y, permutations=19, groups=(groups, 100 + groups), rng=r).auc_interval
    return low <= 0.5 <= high


def share_of_compared(r: int, levels: int, sizes: tuple[int, int], zipf: bool = False) -> bool:
    """The interval of the share of a category beside a column of numbers."""
    g, shares = np.random.default_rng(r), (1 / np.arange(1, levels + 1) if zipf else np.ones(levels))

    def draw(n: int) -> pd.DataFrame:
        codes = g.choice(levels, size=n, p=shares / shares.sum())
        return pd.DataFrame({"c": [f"k{k}" for k in codes], "z": g.normal(size=n)})

    columns = ta.two_sample_test(*map(draw, sizes), 99, rng=r).columns
    low, high = next(column for column in columns if column.name == "c").interval
    return low <= 0 <= high


def told_apart(r: int, draw: Callable[[Any], tuple[Any, Any, Any]]) -> bool:
    """Whether `rank` tells models apart that are equally far from the reference."""
    X, a, b = draw(np.random.default_rng(r))
    return ta.rank(X, {"a": a, "b": b}, diagnostics=False, rng=r).pairs[0].pvalue <= 0.05


def rectangle(g: Any, n: int, shift: float) -> Any:
    """Uniform rows of two columns."""
    return np.sqrt(12) * (g.random((n, 2)) - 0.5) + shift


RANKED: dict[str, Callable[[Any], tuple[Any, Any, Any]]] = {
    "100 rows, models of 8 and 100": lambda g: tuple(
        g.normal(size=(n, 2)) + shift for n, shift in ((100, 0), (8, 1), (100, -1))
    ),
    "uniform, models of 12 and 60": lambda g: tuple(
        rectangle(g, n, shift) for n, shift in ((60, 0), (12, 0.8), (60, -0.8))
    ),
    "t with 3 degrees, models of 10 and 10": lambda g: tuple(
        g.standard_t(3, (n, 2)) + shift for n, shift in ((80, 0), (10, 1), (10, -1))
    ),
}


# --- settings ---------------------------------------------------------------------------------------------------------


def list_settings() -> Iterator[Setting]:
    """All settings; the first ones of a promise are those that were broken once."""
    for law in ("German thousands", "decimal comma, 10 rows", "decimal comma, 30 rows", "euros", "one X"):
        yield Setting("exact p, numbers in text", law, partial(text_rejected, law=law))
    for name, options in {
        "3 samples": {"draws": (1, 1, 1)},
        "100 and 1,000 rows": {"draws": (1, 10)},
        "strata": {"draws": (2, 2), "design": "strata"},
        "groups": {"draws": (1, 1), "design": "groups"},
    }.items():
        run = partial(text_rejected, law="German thousands", **options)
        yield Setting("exact p, numbers in text", f"German thousands, {name}", run)
    for name, (problem, options, _) in naming.PROBLEMS.items():
        yield Setting("naming by mistake", name, partial(one, partial(problem, **options)), start=1000)
    for name in reference.SETTINGS:
        run = partial(reference_errors, name=name)
        yield Setting("Reference.test and bets", name, run, repetitions=500)
    for name, options in {
        "400 batches of 2 rows of 30 values": {"count": 400},
        "200 batches of 3 rows of 6 values": {"count": 200, "values": 6, "decay": 0.7, "rows": 3},
        "200 batches of 1 row of 2 values": {"count": 200, "values": 2, "decay": 0.25, "rows": 1},
    }.items():
        run = partial(one, partial(small_batches_alarm, **options))
        yield Setting("false alarms by bets", name, run)
    for levels, sizes, zipf in (
        (20, (200, 200), False),
        (5, (200, 200), False),
        (20, (300, 40), False),
        (60, (150, 150), True),
    ):
        name = f"share, {levels} categories{', Zipf' * zipf}, {sizes[0]} and {sizes[1]} rows"
        run = partial(one, partial(share_of_compared, levels=levels, sizes=sizes, zipf=zipf))
        yield Setting("95 % intervals", name, run, 0.95)
    run = partial(one, partial(intervals.share_covered, grouped=True))
    yield Setting("95 % intervals", "share, 20 categories, 40 and 40 groups of 5", run, 0.95)
    yield Setting("95 % intervals", "AUC of compare, 10 and 10 groups of 6", partial(one, auc_of_compare), 0.95)
    for name, sizes in {
        "40 and 40 groups of 5": np.full(40, 5),
        "12 and 12 groups of 1 to 12": np.arange(1, 13),
    }.items():
        run = partial(one, partial(intervals.auc_covered, sizes=sizes))
        yield Setting("95 % intervals", f"AUC, {name}", run, 0.95)
    for name in intervals.DRAWS:
        for shift in (0.0, 0.5):
            told = f"effects, {name}{', shifted and 1.5 times as wide' if shift else ''}"
            yield Setting("95 % intervals", told, partial(effects_covered, name=name, shift=shift), 0.95)
    for m, n, share, groups in ((200, 20, 0.1, None), (200, 50, 0.04, None), (40, 30, 0.2, None), (200, 120, 0.1, 4)):
        run = partial(one, partial(rare_called_equivalent, m=m, n=n, share=share, groups=groups))
        name = f"{m} and {n} rows, {100 * share:.0f} % have another value{f', groups of {groups}' if groups else ''}"
        yield Setting("equivalence at the margin", name, run)
    for name, draw in RANKED.items():
        yield Setting(
            "equal models told apart (about 0.06 with few rows)",
            name,
            partial(one, partial(told_apart, draw=draw)),
            0.06,
        )
    for name in equivalence.RANKED:
        run = partial(one, partial(equivalence.told_apart, name=name))
        yield Setting("equal models told apart (about 0.06 with few rows)", f"{name}, given bandwidths", run, 0.06)
    yield Setting("plan from a pilot of noise is finite", "40 and 40 rows", partial(one, equivalence.finite_plan))
    for test in ("mmd_test", "witness", "rbf"):
        run = partial(one, partial(equivalence.groups_rejected, test=test))
        yield Setting("exact p, groups of 1 to 12 rows", test, run)


def rare_called_equivalent(r: int, **options: Any) -> bool:
    """Whether samples whose distance is the margin are called equivalent."""
    return equivalence.rare_pvalue(seed=r, **options) <= 0.05


SETTINGS = {f"{setting.promise}; {setting.name}": setting for setting in list_settings()}


# --- the table --------------------------------------------------------------------------------------------------------


def show(rate: Rate) -> str:
    """A line."""
    sign, mark = ("≥" if rate.bound > 0.5 else "≤"), "" if rate.held else "   beyond two standard errors"
    refused = f"   ({rate.refused} refused)" if rate.refused else ""
    return (
        f"{rate.promise[:26]:26} {rate.setting[:70]:70} {rate.repetitions:5} {rate.rate:.3f} ± {rate.error:.3f} "
        f"{sign} {rate.bound:.2f}{mark}{refused}"
    )


def main() -> None:
    """Run what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", default=[""], help="patterns of promises and settings, run in this order")
    parser.add_argument("--repetitions", type=int, help="by default 300, or 500 for references")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--out", type=Path, help="a JSON file, which goes on from what it has")
    options = parser.parse_args()
    done = json.loads(options.out.read_text()) if options.out is not None and options.out.exists() else {}
    matching = (key for part in options.only for key in SETTINGS if re.search(part, key) and key not in done)
    chosen = list(dict.fromkeys(matching))
    header = ("promise", "setting", "runs", "rate ± standard error, bound")
    print("{:26} {:70} {:>5} {}".format(*header))
    with ProcessPoolExecutor(options.processes, multiprocessing.get_context("spawn")) as pool:
        futures = {pool.submit(simulate, key, options.repetitions): key for key in chosen}
        for future in as_completed(futures):
            try:
                rates, seconds = future.result()
            except BaseException:
                pool.shutdown(cancel_futures=True)
                raise
            done[futures[future]] = {"seconds": round(seconds, 1), "rates": [asdict(rate) for rate in rates]}
            print(*map(show, rates), sep="\n", flush=True)
            if options.out is not None:
                options.out.write_text(json.dumps({key: done[key] for key in SETTINGS if key in done}, indent=1) + "\n")


if __name__ == "__main__":
    main()
