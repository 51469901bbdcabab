"""What null distributions cost, as ratios measured in one run.

    python benchmarks/nulls.py            # everything, some minutes
    python benchmarks/nulls.py binned     # one section

Times are medians over calls made in turns; memory is the peak of a fresh process above its imports.
"""

from __future__ import annotations

import json
import sys
import time

import torch

import tellapart as ta
from engine import alone, points, timed_in_turns


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


SECTIONS = {"binned": section_binned, "large": section_large}

if __name__ == "__main__":
    print(f"torch {torch.__version__}, {torch.get_num_threads()} cores")
    print(json.dumps({name: SECTIONS[name]() for name in sys.argv[1:] or SECTIONS}, indent=1))
