"""What null distributions cost, as ratios measured in one run.

    python benchmarks/nulls.py            # everything, some minutes
    python benchmarks/nulls.py binned     # one section

Times are medians over calls made in turns; memory is the peak of a fresh process above its imports.
"""

from __future__ import annotations

import json
import sys
import time

import numpy as np
import torch

import tellapart as ta
from engine import alone, points, timed_in_turns
from tellapart.engine import Compute
from tellapart.kernels import Gaussian, Grid
from tellapart.stats import nulls


def binned_against_statistic(threads: int, N: int, d: int, permutations: int) -> dict[str, float]:
    torch.set_num_threads(threads)
    X, Y = points(N // 2, d, 0), points(N // 2, d, 1)
    kernel = ta.kernels.Gaussian(d**0.5).requires_grad_(False)
    return timed_in_turns(
        {
            "statistic": lambda: ta.mmd2(X, Y, kernel),
            "binned": lambda: ta.mmd_test(X, Y, kernel, null="binned", permutations=permutations, rng=0),
        },
        3,
    )


def binned_once(N: int, d: int, permutations: int) -> tuple[float, float]:
    X, Y = points(N // 2, d, 0), points(N // 2, d, 1)
    start = time.perf_counter()
    result = ta.mmd_test(X, Y, null="binned", permutations=permutations, rng=0)
    return time.perf_counter() - start, result.pvalue


def section_binned() -> dict[str, float]:
    N, d, permutations = 32_000, 10, 1000
    got, _ = alone(binned_against_statistic, 1, N, d, permutations)
    ratio = got["binned"] / got["statistic"]
    print(f"Binned permutations, N = {N:,}, d = {d}, B = {permutations:,}, one thread")
    times = f"statistic alone {got['statistic']:6.2f} s   binned test {got['binned']:6.2f} s"
    print(f"  {times}   ratio {ratio:.2f}", flush=True)
    return {"ratio": ratio}


def section_large() -> dict[str, float]:
    N, d, permutations = 100_000, 10, 1000
    (seconds, pvalue), peak = alone(binned_once, N, d, permutations)
    print(f"Binned permutations, N = {N:,}, d = {d}, B = {permutations:,}, all cores")
    print(f"  {seconds:6.1f} s   peak memory {peak / 1e6:.0f} MB   p = {pvalue:.3f}", flush=True)
    return {"seconds": seconds, "peak_bytes": peak}


def grid_against_one(null: str, count: int, permutations: int) -> dict[str, float]:
    torch.set_num_threads(1)
    X, Y = map(torch.from_numpy, ta.datasets.blobs(500, rng=0))
    kernels = {"one": Gaussian(1.0).requires_grad_(False), "grid": Grid(np.logspace(-1.7, 1.7, count).tolist())}

    def draw(kernel):
        drawn = nulls.as_null(null)
        return lambda: drawn.draw(
            nulls.Problem(kernel, X, Y, np.random.default_rng(0), Compute(threads=1)), permutations
        )

    with torch.no_grad():
        return timed_in_turns({name: draw(kernel) for name, kernel in kernels.items()}, 11)


def section_grid() -> dict[str, float]:
    count, permutations = 30, 1000
    ratios = {}
    print(f"{count} bandwidths in one pass against one, 500 + 500 points, B = {permutations:,}, one thread")
    for null in ("permutation", "binned"):
        got, _ = alone(grid_against_one, null, count, permutations)
        ratios[null] = got["grid"] / got["one"]
        times = f"one {1e3 * got['one']:6.1f} ms   all {1e3 * got['grid']:6.1f} ms"
        print(f"  {null:12} {times}   ratio {ratios[null]:.1f}", flush=True)
    return ratios


SECTIONS = {"binned": section_binned, "large": section_large, "grid": section_grid}

if __name__ == "__main__":
    print(f"torch {torch.__version__}, {torch.get_num_threads()} cores")
    print(json.dumps({name: SECTIONS[name]() for name in sys.argv[1:] or SECTIONS}, indent=1))
