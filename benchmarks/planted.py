"""Changes planted in real tables: does `compare` name what was planted, and nothing else?

    python benchmarks/planted.py [--seeds 100] [--start 1000] [--changes shift,scale,…] [--tables wine,…] [--tune]

Two disjoint samples are drawn from a table (with replacement and a little noise where it is small), and one of them is
changed: a column shifted or rescaled, one category made rarer, two columns decoupled, missing values made more
frequent, the rows of one segment tripled. One size of each change serves all tables; ``ROWS`` has the rows at which the
test then has a power of about 0.9 on the made table, which ``--tune`` found; look at the power beside each figure.
Seeds below 1000 are for development and for that, those from 1000 up for figures.

    power   how often the test rejects
    named   how often something of this kind (a column, a pair, a slice) is named
    right   among these, how often the first named is what was planted
    false   how often anything is named that was not changed; - where the change reaches every column
    kind    of segments: how often a kind of rows is named, and how often the first one has the planted rows
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import NormalDist

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine

import tellapart as ta

#: Rows of each sample at which the test finds the change in about 9 of 10 cases (`--tune`, on other seeds).
ROWS = {
    ("wine", "shift"): 150,
    ("wine", "scale"): 110,
    ("wine", "decoupled"): 90,
    ("wine", "segment"): 260,
    ("breast cancer", "shift"): 90,
    ("breast cancer", "scale"): 200,
    ("breast cancer", "decoupled"): 90,
    ("breast cancer", "segment"): 540,
    ("diabetes", "shift"): 210,
    ("diabetes", "scale"): 140,
    ("diabetes", "decoupled"): 90,
    ("diabetes", "segment"): 290,
    ("made", "shift"): 270,
    ("made", "scale"): 170,
    ("made", "rarer"): 370,
    ("made", "decoupled"): 130,
    ("made", "missing"): 390,
    ("made", "segment"): 670,
}
#: How the distance from the null grows with the rows, about; runs of each step of tuning, and the power aimed at.
EXPONENT, STEPS, AIM = 0.8, (16, 24), 0.92


@dataclass(frozen=True)
class Planted:
    """Two samples, and what was changed: columns, pairs and slices that may be named, and rows of Y in the segment."""

    X: pd.DataFrame
    Y: pd.DataFrame
    kind: str
    column: str
    other: str = ""
    untouched: frozenset[str] = frozenset()
    inside: np.ndarray | None = None


def real(loader):
    """Rows drawn with replacement and jittered by a tenth of a deviation: samples can be larger than the table."""

    def draw(rng, n):
        frame = loader(as_frame=True).data
        rows = frame.iloc[rng.integers(len(frame), size=n)].reset_index(drop=True)
        return rows + 0.1 * frame.std().to_numpy() * rng.normal(size=rows.shape)

    return draw


def made(rng, n):
    """Text, dates, missing values, and columns that depend on each other."""
    age = rng.normal(45, 12, n).round()
    income = np.exp(rng.normal(3 + 0.01 * age, 0.4))
    return pd.DataFrame(
        {
            "age": age,
            "income": np.where(rng.random(n) < 0.05, np.nan, income),
            "debt": 0.3 * income + rng.normal(0, 4, n),
            "hours": rng.normal(38, 6, n).round(),
            "country": rng.choice(["DE", "FR", "IT", "US"], n, p=[0.3, 0.3, 0.2, 0.2]),
            "since": pd.Timestamp("2015-01-01") + pd.to_timedelta(rng.integers(0, 3000, n), unit="D"),
            "member": rng.random(n) < 0.4,
        }
    )


TABLES = {
    "wine": (real(load_wine), "alcohol", "flavanoids"),
    "breast cancer": (real(load_breast_cancer), "mean texture", "mean smoothness"),
    "diabetes": (real(load_diabetes), "bmi", "s5"),
    "made": (made, "hours", "debt"),
}
#: Columns of the made table that depend on neither of those two.
UNTOUCHED = frozenset({"country", "since", "member"})
#: The size of each change, the same for all tables.
SIZES = {"shift": 0.45, "scale": 1.6, "rarer": 0.35, "decoupled": 1.0, "missing": 0.12, "segment": 3.0}


def plant(table, change, seed, rows=None):
    """A problem."""
    rng = np.random.default_rng(seed)
    draw, column, other = TABLES[table]
    rows = rows or ROWS[table, change]
    X, Y = draw(rng, rows), draw(rng, 4 * rows)
    size = SIZES[change]
    if change == "segment":
        inside = (Y[column] > Y[column].quantile(0.6)) & (Y[other] > Y[other].quantile(0.6))
        weights = np.where(inside, size, 1.0)
        drawn = rng.choice(len(Y), rows, replace=False, p=weights / weights.sum())
        Y, untouched = Y.iloc[drawn].reset_index(drop=True), UNTOUCHED if table == "made" else frozenset()
        return Planted(X, Y, "slice", column, other, untouched, inside.to_numpy()[drawn])
    if change == "rarer":
        out = (Y["country"] == "DE") & (rng.random(len(Y)) > size)
        return Planted(X, Y[~out][:rows].reset_index(drop=True), "column", "country")
    Y = Y[:rows].reset_index(drop=True)
    if change == "shift":
        Y[column] += size * X[column].std()
    elif change == "scale":
        Y[column] = Y[column].mean() + size * (Y[column] - Y[column].mean())
    elif change == "decoupled":
        Y[other] = rng.permutation(Y[other].to_numpy())
        return Planted(X, Y, "pair", other)
    elif change == "missing":
        column = "income"
        Y.loc[rng.random(rows) < size, column] = np.nan
    return Planted(X, Y, "column", column)


def judge(problem, found):
    """Whether the first thing named is what was planted, and whether anything else is named; None where nothing is."""
    own = {problem.column, f"{problem.column} is missing"}
    columns = [one.columns[0] for one in found.differing_columns()]
    pairs = [set(one.columns) for one in found.differing_pairs()]
    slices = [{c.column for c in one.conditions} for one in found.differing_slices]
    if problem.kind == "slice":
        wanted = {problem.column, problem.other}
        right = bool(slices[0] & wanted) if slices else None
        named = [*({column} for column in columns), *pairs, *slices]
        return right, any(one <= problem.untouched for one in named) if problem.untouched else None
    if problem.kind == "pair":
        right = problem.column in pairs[0] if pairs else None
        return right, bool(columns) or any(problem.column not in pair for pair in pairs)
    right = columns[0] in own if columns else None
    return right, any(name not in own for name in columns) or any(not pair & own for pair in pairs)


def points_there(problem, found, kinds):
    """Whether the rows of the first slice, or kind, that is named are the planted ones, whatever columns its rule has.

    Columns go together, and other rules describe the same rows: the segment is at least twice as frequent among them as
    elsewhere, or half as frequent where the slice is rarer in Y. None where nothing is named.
    """
    named = found.differing_kinds() if kinds else found.differing_slices
    if problem.inside is None or not named:
        return None
    chosen = np.isin(np.arange(len(problem.Y)), named[0].members[1] if kinds else named[0].members_y)
    if not 0 < chosen.sum() < len(chosen):
        return False
    within, elsewhere = problem.inside[chosen].mean(), problem.inside[~chosen].mean()
    return bool(within >= 2 * elsewhere if named[0].ratio > 1 else elsewhere >= 2 * within)


def run(table, change, seeds, permutations):
    """The figures of one table and change."""
    rejected, right, false, there, of_kinds, seconds = 0, [], [], [], [], 0.0
    for seed in seeds:
        problem = plant(table, change, seed)
        start = time.perf_counter()
        found = ta.compare(problem.X, problem.Y, permutations=permutations, missing="indicator", rng=seed)
        seconds += time.perf_counter() - start
        rejected += found.reject()
        one, other = judge(problem, found)
        right += [] if one is None else [one]
        false += [] if other is None else [other]
        for known, kinds in ((there, False), (of_kinds, True)):
            pointing = points_there(problem, found, kinds)
            known += [] if pointing is None else [pointing]
    return {
        "rows": len(problem.X),
        "power": rejected / len(seeds),
        "named": len(right) / len(seeds),
        "right": float(np.mean(right)) if right else None,
        "false": float(np.mean(false)) if false else None,
        "rows of the segment": float(np.mean(there)) if there else None,
        "kind named": len(of_kinds) / len(seeds),
        "rows of the kind": float(np.mean(of_kinds)) if of_kinds else None,
        "seconds": seconds / len(seeds),
    }


def tune(table, change, permutations):
    """Rows at which the test has the power aimed at, by Φ⁻¹(power) - Φ⁻¹(α) that grows with a power of the rows."""
    normal, rows, seed = NormalDist(), 150, 0
    for runs in STEPS:
        found = 0
        for _ in range(runs):
            problem = plant(table, change, seed, rows)
            found += ta.two_sample_test(problem.X, problem.Y, permutations, missing="indicator", rng=seed).reject()
            seed += 1
        apart, wanted = (normal.inv_cdf(p) - normal.inv_cdf(0.05) for p in ((found + 0.5) / (runs + 1), AIM))
        rows = 10 * round(rows * min(max(wanted / max(apart, 0.1), 0.4), 2.5) ** (1 / EXPONENT) / 10)
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument("--start", type=int, default=1000)
    parser.add_argument("--permutations", type=int, default=199)
    parser.add_argument("--tables", default=",".join(TABLES))
    parser.add_argument("--changes", default=",".join(SIZES))
    parser.add_argument("--tune", action="store_true", help="find the rows at which the test has the power aimed at")
    parser.add_argument("--out", type=Path, help="a JSON file for the figures, which goes on from what it has")
    options = parser.parse_args()
    seeds = range(options.start, options.start + options.seeds)
    results = json.loads(options.out.read_text()) if options.out is not None and options.out.exists() else {}
    for table in options.tables.split(","):
        for change in options.changes.split(","):
            key = f"{table}, {change}"
            if (change in ("rarer", "missing") and table != "made") or key in results:
                continue
            if options.tune:
                print(f"    {(table, change)!r}: {tune(table, change, options.permutations)},", flush=True)
                continue
            found = results[key] = run(table, change, seeds, options.permutations)
            right, false = ("-" if found[k] is None else f"{found[k]:.2f}" for k in ("right", "false"))
            print(
                f"{table:14} {change:10} {found['rows']:4} rows  power {found['power']:.2f}  "
                f"named {found['named']:.2f}  right {right}  false {false}  {found['seconds']:.1f} s"
                + ("" if found["rows of the segment"] is None else f"  its rows {found['rows of the segment']:.2f}")
                + ("" if found["rows of the kind"] is None else f"  kind named {found['kind named']:.2f}")
                + ("" if found["rows of the kind"] is None else f"  its rows {found['rows of the kind']:.2f}"),
                flush=True,
            )
            if options.out is not None:
                options.out.write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
