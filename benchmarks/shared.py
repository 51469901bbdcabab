"""Level of tests where the samples share rows: how often equal distributions are told to differ.

    python benchmarks/shared.py [--repetitions 200] [--rows 100] [--columns 20] [--share 0.3]

Shared rows make samples more alike than independent ones, so that a test should reject less often than its level says,
and never more often. A test that learns from a row as one of X and tests it as one of Y would.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
import torch

import tellapart as ta


def draw(rng: np.random.Generator, rows: int, columns: int, share: float) -> tuple[np.ndarray, np.ndarray]:
    """Two samples of one distribution that have a share of their rows in common, in random order."""
    common = round(share * rows)
    x, y = rng.normal(size=(rows, columns)), rng.normal(size=(rows, columns))
    y[:common] = x[:common]
    return rng.permutation(x), rng.permutation(y)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=int, default=200)
    parser.add_argument("--rows", type=int, default=100)
    parser.add_argument("--columns", type=int, default=20)
    parser.add_argument("--share", type=float, nargs="+", default=[0.0, 0.3, 1.0])
    parser.add_argument("--alpha", type=float, default=0.05)
    given = parser.parse_args()
    torch.set_num_threads(1)
    warnings.simplefilter("ignore", UserWarning)
    quick = {"permutations": 99, "threads": 1, "progress": False}
    tests = {
        "two_sample_test": lambda x, y, seed: ta.two_sample_test(x, y, rng=seed, **quick).pvalue,
        "mmd_test": lambda x, y, seed: ta.mmd_test(x, y, rng=seed, **quick).pvalue,
        "learned_test, witness": lambda x, y, seed: ta.learned_test(x, y, "witness", rng=seed, **quick).pvalue,
        "learned_test, ard": lambda x, y, seed: (
            ta.learned_test(x, y, "ard", learning={"steps": 40}, rng=seed, **quick).pvalue
        ),
        "learned_test, deep": lambda x, y, seed: (
            ta.learned_test(x, y, "deep", learning={"steps": 40}, rng=seed, **quick).pvalue
        ),
    }
    print(
        f"{given.rows} + {given.rows} rows of {given.columns} columns, level {given.alpha:g}, {given.repetitions} times"
    )
    for share in given.share:
        for name, test in tests.items():
            rejected = 0
            for seed in range(given.repetitions):
                x, y = draw(np.random.default_rng([seed, 1]), given.rows, given.columns, share)
                rejected += test(x, y, seed) <= given.alpha
            rate = rejected / given.repetitions
            error = (rate * (1 - rate) / given.repetitions) ** 0.5
            print(f"{share:4.0%} shared  {name:24} rejects {rate:6.1%} (standard error {error:.1%})", flush=True)


if __name__ == "__main__":
    main()
