"""Changes planted in real tables: does `compare` name what was planted, and nothing else?

    python benchmarks/planted.py [--seeds 100] [--start 1000] [--changes shift,scale,…] [--tables wine,…]

Two disjoint samples are drawn from a table (with replacement and a little noise where it is small), and one of them is
changed: a column shifted or rescaled, one category made rarer, two columns decoupled, missing values made more
frequent, the rows of one segment tripled. The sizes of the changes were chosen on other seeds (from 0 up), so that the
global test has a power of about 0.9; the figures are of seeds from 1000 up.

    power   how often the test rejects
    right   among runs where something of this kind is named, how often the first named is what was planted
    false   how often anything is named that was not changed
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine

import tellapart as ta

#: Rows of each sample; a segment takes more to be found.
ROWS, ROWS_OF_SEGMENTS = 250, 500


@dataclass(frozen=True)
class Planted:
    """Two samples, and what was changed: columns, pairs and slices that may be named."""

    X: pd.DataFrame
    Y: pd.DataFrame
    kind: str
    column: str
    other: str = ""


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
#: The size of each change: chosen on seeds below 1000 for a power of about 0.9 with 250 rows of each sample.
SIZES = {"shift": 0.45, "scale": 1.6, "rarer": 0.35, "decoupled": 1.0, "missing": 0.12, "segment": 3.0}


def plant(table, change, seed):
    """A problem."""
    rng = np.random.default_rng(seed)
    draw, column, other = TABLES[table]
    rows = ROWS_OF_SEGMENTS if change == "segment" else ROWS
    X, Y = draw(rng, rows), draw(rng, 4 * rows)
    size = SIZES[change]
    if change == "segment":
        inside = (Y[column] > Y[column].quantile(0.6)) & (Y[other] > Y[other].quantile(0.6))
        weights = np.where(inside, size, 1.0)
        Y = Y.iloc[rng.choice(len(Y), rows, replace=False, p=weights / weights.sum())].reset_index(drop=True)
        return Planted(X, Y, "slice", column, other)
    Y = Y[:ROWS].reset_index(drop=True)
    if change == "shift":
        Y[column] += size * X[column].std()
    elif change == "scale":
        Y[column] = Y[column].mean() + size * (Y[column] - Y[column].mean())
    elif change == "rarer":
        kept = draw(rng, 4 * ROWS)
        out = (kept["country"] == "DE") & (rng.random(len(kept)) > size)
        return Planted(X, kept[~out][:ROWS].reset_index(drop=True), "column", "country")
    elif change == "decoupled":
        Y[other] = rng.permutation(Y[other].to_numpy())
        return Planted(X, Y, "pair", other)
    elif change == "missing":
        column = "income"
        Y.loc[rng.random(ROWS) < size, column] = np.nan
    return Planted(X, Y, "column", column)


def judge(problem, found):
    """Whether the first thing named is what was planted, and whether anything else is named."""
    own = {problem.column, f"{problem.column} is missing"}
    columns = [one.columns[0] for one in found.named_columns]
    pairs = [set(one.columns) for one in found.named_pairs]
    slices = [{c.column for c in one.conditions} for one in found.named_slices]
    if problem.kind == "slice":
        wanted = {problem.column, problem.other}
        right = bool(slices[0] & wanted) if slices else None
        return right, False
    if problem.kind == "pair":
        right = problem.column in pairs[0] if pairs else None
        return right, bool(columns) or any(problem.column not in pair for pair in pairs)
    right = columns[0] in own if columns else None
    return right, any(name not in own for name in columns) or any(not pair & own for pair in pairs)


def run(table, change, seeds, permutations):
    """The figures of one table and change."""
    rejected, right, false, seconds = 0, [], 0, 0.0
    for seed in seeds:
        problem = plant(table, change, seed)
        start = time.perf_counter()
        found = ta.compare(problem.X, problem.Y, permutations=permutations, missing="indicator", rng=seed)
        seconds += time.perf_counter() - start
        rejected += found.reject()
        one, other = judge(problem, found)
        right += [] if one is None else [one]
        false += other
    return {
        "power": rejected / len(seeds),
        "named": len(right) / len(seeds),
        "right": float(np.mean(right)) if right else None,
        "false": false / len(seeds),
        "seconds": seconds / len(seeds),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument("--start", type=int, default=1000)
    parser.add_argument("--permutations", type=int, default=199)
    parser.add_argument("--tables", default=",".join(TABLES))
    parser.add_argument("--changes", default=",".join(SIZES))
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    seeds = range(options.start, options.start + options.seeds)
    results = {}
    for table in options.tables.split(","):
        for change in options.changes.split(","):
            if change in ("rarer", "missing") and table != "made":
                continue
            found = run(table, change, seeds, options.permutations)
            results[f"{table}, {change}"] = found
            right = "-" if found["right"] is None else f"{found['right']:.2f}"
            print(
                f"{table:14} {change:10} power {found['power']:.2f}  named {found['named']:.2f}  right {right}  "
                f"false {found['false']:.2f}  {found['seconds']:.1f} s",
                flush=True,
            )
    if options.out is not None:
        options.out.write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
