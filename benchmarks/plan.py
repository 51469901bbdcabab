"""What `ta.plan` foretells beside the power that studies of fresh rows have.

    python benchmarks/plan.py [--pilots 10] [--studies 100] [--out FILE]

For each problem some pilots are drawn and planned from. Then the power is simulated, with fresh rows, at the pilots'
size and at the median of the sizes that they asked for.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np

import tellapart as ta
from league.problems import PROBLEMS

#: Problems and rows of a pilot, at which the test has a power of about a half.
PILOTS = {"shift_all": 140, "wider_one": 80, "correlation": 220, "diabetes_shifted": 120}
PERMUTATIONS = 199


def simulated(problem: str, rows: int, studies: int) -> float:
    """How often studies of fresh rows reject."""
    found = 0
    for seed in range(10_000, 10_000 + studies):
        X, Y = PROBLEMS[problem].samples("power", rows, rows, seed)
        found += ta.two_sample_test(X, Y, PERMUTATIONS, rng=seed).reject()
    return found / studies


def run(problem: str, rows: int, pilots: int, studies: int) -> dict[str, float]:
    plans = []
    for seed in range(pilots):
        X, Y = PROBLEMS[problem].samples("power", rows, rows, seed)
        plans.append(ta.plan(X, Y, power=0.9, permutations=PERMUTATIONS, rng=seed))
    asked = float(np.median([found.rows for found in plans]))
    return {
        "pilot rows": rows,
        "foretold power of the pilot": float(np.median([found.pilot_power for found in plans])),
        "simulated power of the pilot": simulated(problem, rows, studies),
        "rows asked for": asked,
        "first quarter": float(np.quantile([found.rows for found in plans], 0.25)),
        "last quarter": float(np.quantile([found.rows for found in plans], 0.75)),
        "simulated power there": simulated(problem, round(asked), studies) if asked < 20 * rows else float("nan"),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pilots", type=int, default=10)
    parser.add_argument("--studies", type=int, default=100)
    parser.add_argument("--problems", nargs="+", choices=PILOTS, default=list(PILOTS))
    parser.add_argument("--out", type=Path, help="a JSON file for the figures")
    options = parser.parse_args()
    results = {}
    for problem in options.problems:
        found = results[problem] = run(problem, PILOTS[problem], options.pilots, options.studies)
        print(
            f"{problem:17} pilot of {found['pilot rows']}: foretold {found['foretold power of the pilot']:.2f}, "
            f"simulated {found['simulated power of the pilot']:.2f}; for .90 it asks for {found['rows asked for']:.0f} "
            f"({found['first quarter']:.0f} to {found['last quarter']:.0f}): simulated "
            f"{found['simulated power there']:.2f}",
            flush=True,
        )
    if options.out is not None:
        options.out.write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
