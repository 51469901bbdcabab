"""Permuting random bins of rows instead of rows: power, level and time beside the test that permutes rows.

    python benchmarks/bins.py [--runs 500] [--problems shift hdgm …] [--out docs/bins.json]

Each problem has 10,000 + 10,000 rows. The full test permutes single rows; both see the same data, so the difference of
powers has the standard error of paired observations. The script keeps its results, and resumes.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from pathlib import Path

import numpy as np

import tellapart as ta
from tellapart.omnibus import bins

ROWS, DRAWS = 10_000, 199


def shift(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """1 of 10 columns shifted by 0.05 standard deviations."""
    X, Y = rng.normal(size=(2, ROWS, 10))
    Y[:, 0] += 0.05
    return X, Y


def correlation(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """A correlation of 0.05 between 2 of 10 columns."""
    X, Y = rng.normal(size=(2, ROWS, 10))
    Y[:, 1] = 0.05 * Y[:, 0] + math.sqrt(1 - 0.05**2) * Y[:, 1]
    return X, Y


def cluster(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """One of 20 clusters in 5 dimensions has 20 % fewer rows."""
    centres = np.random.default_rng(0).normal(size=(20, 5)) * 3
    shares = np.ones(20)
    shares[0] = 0.8
    of_x, of_y = rng.integers(20, size=ROWS), rng.choice(20, ROWS, p=shares / shares.sum())
    return tuple(centres[k] + rng.normal(size=(ROWS, 5)) for k in (of_x, of_y))


def wiggle(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """A density in 2 dimensions that is perturbed by a sine with 4 periods (by rejection)."""
    X, Y = rng.random((2, 2 * ROWS, 2))
    accepted = rng.random(2 * ROWS) * 1.12 < 1 + 0.12 * np.sin(8 * math.pi * Y).prod(1)
    return X[:ROWS], Y[accepted][:ROWS]


def tails(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """t with 25 degrees of freedom beside the normal distribution, in 5 dimensions, scaled to unit variance."""
    return rng.normal(size=(ROWS, 5)), rng.standard_t(25, (ROWS, 5)) * math.sqrt(23 / 25)


def null(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """No difference: ties in one column, heavy tails in another."""
    X, Y = (np.c_[rng.integers(0, 4, ROWS), rng.standard_cauchy(ROWS), rng.normal(size=(ROWS, 3))] for _ in range(2))
    return X, Y


PROBLEMS = {function.__name__: function for function in (shift, correlation, cluster, wiggle, tails, null)}


def run(name: str, seed: int) -> dict[str, float]:
    """P-values and CPU seconds of both tests on the same data."""
    X, Y = PROBLEMS[name](np.random.default_rng([seed, 11]))
    found = {}
    for kind, limit in (("bins", 20_000), ("rows", 10**12)):
        bins.MANY_ROWS = limit
        start = time.process_time()
        found[kind] = ta.two_sample_test(X, Y, DRAWS, rng=seed, threads=1).pvalue
        found[f"{kind} seconds"] = time.process_time() - start
    return found


def _save(results: dict[str, dict[str, list[float]]], path: Path) -> None:
    """Write all results, or leave the file as it was."""
    part = path.with_suffix(".part")
    part.write_text(json.dumps(results) + "\n")
    part.replace(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=500)
    parser.add_argument("--problems", nargs="*", default=list(PROBLEMS))
    parser.add_argument("--out", type=Path, default=Path("docs/bins.json"))
    options = parser.parse_args()
    kept = json.loads(options.out.read_text()) if options.out.exists() else {}
    for seed in range(options.runs):
        for name in options.problems:
            done = kept.setdefault(name, {"bins": [], "rows": [], "bins seconds": [], "rows seconds": []})
            if len(done["bins"]) > seed:
                continue
            for key, value in run(name, seed).items():
                done[key].append(round(value, 4))
            _save(kept, options.out)
    print(f"{'problem':12} {'runs':>5} {'bins':>6} {'rows':>6} {'difference ± standard error':>28} {'CPU s':>12}")
    for name in options.problems:
        of = {key: np.array(values) for key, values in kept[name].items()}
        apart = (of["bins"] <= 0.05).astype(float) - (of["rows"] <= 0.05)
        error = apart.std() / math.sqrt(len(apart))
        seconds = f"{np.median(of['bins seconds']):.2f} / {np.median(of['rows seconds']):.2f}"
        print(
            f"{name:12} {len(apart):5} {np.mean(of['bins'] <= 0.05):6.3f} {np.mean(of['rows'] <= 0.05):6.3f} "
            f"{apart.mean():+15.3f} ± {error:.3f} {seconds:>14}"
        )


if __name__ == "__main__":
    main()
