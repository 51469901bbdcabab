"""What to divide by when V is near 0 or negative: V+ = max(V, V2), or a floor.

    python benchmarks/variance.py [--repetitions 100] [--problems blob_d hdgm …]

V+ was chosen on principle: V2 is the part of V that is left under the null, it scales with the kernel, and it is
never negative. A floor does not scale: 1e-8 is much for one kernel and nothing for another. Here both choose the
bandwidth of a test on problems that neither was made for. The power of a choice is the rejection rate, over all
repetitions, of the bandwidth chosen, as in Figure 2 of the paper.
"""

from __future__ import annotations

import argparse

import numpy as np
import torch

import tellapart as ta
from tellapart import engine
from tellapart.kernels import Grid
from tellapart.learning import default_bandwidths
from tellapart.stats import nulls
from tellapart.stats.formulas import estimate_from

PROBLEMS = {
    "blob_d": lambda rng: ta.datasets.blob_d(270, rng=rng),
    "hdgm": lambda rng: ta.datasets.hdgm(1000, rng=rng),
    "perturbed_uniform": lambda rng: ta.datasets.perturbed_uniform(500, rng=rng),
    "gaussian_laplace": lambda rng: ta.datasets.gaussian_laplace(200, rng=rng),
    "blobs": lambda rng: ta.datasets.blobs(500, ratio=6, rng=rng),
}
RULES = {
    "V+": lambda v, v2: np.maximum(v, v2),
    "floor 1e-10": lambda v, v2: np.maximum(v, 1e-10),
    "floor 1e-8": lambda v, v2: np.maximum(v, 1e-8),
    "floor 1e-6": lambda v, v2: np.maximum(v, 1e-6),
}
ALPHA = 0.1


def trial(problem: str, seed: int, bandwidths: list[float]) -> tuple[dict[str, int], np.ndarray]:
    X, Y = map(torch.from_numpy, PROBLEMS[problem](seed))
    grid = Grid(bandwidths)
    with torch.no_grad():
        s = engine.sums(grid, X, Y, squares=True)
        found = estimate_from(s)
        u, v, v2 = (np.asarray(part) for part in (found.mmd2, found.variance, found.second_order))
        problem = nulls.Problem(grid, X, Y, np.random.default_rng(seed), engine.Compute())
        null = nulls.Permutation().draw(problem, 199)
    chosen = {name: int(np.argmax(u / np.sqrt(rule(v, v2)))) for name, rule in RULES.items()}
    return chosen, np.asarray(null.pvalue(1e-6)) <= ALPHA


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repetitions", type=int, default=100)
    parser.add_argument("--problems", nargs="+", choices=PROBLEMS, default=list(PROBLEMS))
    options = parser.parse_args()
    print(f"{'':18}" + "".join(f"{name:>14}" for name in [*RULES, "best choice"]))
    for problem in options.problems:
        bandwidths = default_bandwidths(*PROBLEMS[problem](10**6), 20, rng=0).tolist()
        trials = [trial(problem, seed, bandwidths) for seed in range(options.repetitions)]
        rates = np.mean([rejected for _, rejected in trials], axis=0)
        power = [rates[[chosen[name] for chosen, _ in trials]].mean() for name in RULES]
        print(f"{problem:18}" + "".join(f"{value:14.2f}" for value in [*power, rates.max()]), flush=True)


if __name__ == "__main__":
    main()
