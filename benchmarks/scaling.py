"""Samples in files, and workers of a cluster: times as ratios measured in one run, and peak memory.

    python benchmarks/scaling.py            # everything, some minutes
    python benchmarks/scaling.py workers    # one section

Files are written to a temporary folder. Workers have one thread each. Times are medians over calls made in turns.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import torch

import tellapart as ta
from engine import alone, timed_in_turns
from tellapart.twosample import mmd_test_cost

D, DRAWS = 32, 1000


def written(folder: Path, N: int) -> tuple[str, str]:
    """Two files with N rows in all, equally distributed."""
    paths = []
    for k in range(2):
        path = folder / f"{N}-{k}.npy"
        if not path.exists():
            np.save(path, np.random.default_rng(k).standard_normal((N // 2, D), dtype=np.float32))
        paths.append(str(path))
    return paths[0], paths[1]


def kernel() -> ta.kernels.Gaussian:
    return ta.kernels.Gaussian(D**0.5).requires_grad_(False)


def section_workers(folder: Path) -> dict[str, float]:
    """From one worker process to two, and what a worker costs beside a thread."""
    from distributed import Client, LocalCluster

    N, draws = 32_000, 999
    X, Y = written(folder, N)
    options = {"kernel": kernel(), "permutations": draws, "rng": 0}
    settings = {"threads_per_worker": 1, "dashboard_address": ":0"}
    with (
        LocalCluster(n_workers=1, **settings) as a,
        LocalCluster(n_workers=2, **settings) as b,
        Client(a, set_as_default=False) as one,
        Client(b, set_as_default=False) as two,
    ):
        results = {}

        def run(name: str, threads: int, cluster: object) -> None:
            torch.set_num_threads(threads)
            results[name] = ta.mmd_test(X, Y, cluster=cluster, **options)

        got = timed_in_turns(
            {
                "1 thread": lambda: run("1 thread", 1, None),
                "2 threads": lambda: run("2 threads", 2, None),
                "1 worker": lambda: run("1 worker", 1, one),
                "2 workers": lambda: run("2 workers", 1, two),
            },
            2,
        )
    same = len({result.null_distribution.tobytes() for result in results.values()}) == 1
    print(f"N = {N:,}, d = {D}, {draws} permutations, files")
    for name, seconds in got.items():
        print(f"  {name:10} {seconds:7.2f} s   {got['1 worker'] / seconds:5.2f} × one worker")
    print(f"  all null distributions the same, bit for bit: {same}", flush=True)
    return {"speed_up": got["1 worker"] / got["2 workers"], "same": float(same), **got}


def peak_memory() -> int:
    """Bytes of this program's memory at the most. (What getrusage tells counts the program that started it, too.)"""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))


def binned_from_files(X: str, Y: str, max_memory: str | None) -> tuple[float, float, int, int]:
    before, start = peak_memory(), time.perf_counter()
    result = ta.mmd_test(X, Y, kernel(), "binned", DRAWS, rng=0, max_memory=max_memory)
    return time.perf_counter() - start, result.pvalue, peak_memory(), before


def section_large(folder: Path) -> dict[str, float]:
    """Binned permutations from files within 1 GB, and what the estimate said."""
    found: dict[str, float] = {}
    print(f"d = {D}, {DRAWS:,} binned permutations, files, max_memory='1GB', all cores")
    for N in (50_000, 100_000, 200_000):
        X, Y = written(folder, N)
        cost, _ = alone(estimate, X, Y)
        (seconds, pvalue, whole, before), _ = alone(binned_from_files, X, Y, "1GB")
        print(
            f"  N = {N:7,}   {seconds:6.1f} s (estimate {cost:6.1f} s)   peak memory {whole / 1e6:4.0f} MB, "
            f"{(whole - before) / 1e6:4.0f} MB of it above the imports   p = {pvalue:.3f}",
            flush=True,
        )
        found |= {f"seconds_{N}": seconds, f"estimate_{N}": cost, f"peak_bytes_{N}": whole}
    return found


def estimate(X: str, Y: str) -> float:
    return mmd_test_cost(X, Y, kernel(), "binned", DRAWS, rng=0, max_memory="1GB").seconds


def section_streaming(folder: Path) -> dict[str, float]:
    """What it costs when rows are not kept but read again and again."""
    N = 50_000
    X, Y = written(folder, N)
    arrays = [np.load(path) for path in (X, Y)]
    options = {"kernel": kernel(), "null": "binned", "permutations": DRAWS, "rng": 0}
    got = timed_in_turns(
        {
            "in memory": lambda: ta.mmd_test(*arrays, **options),
            "files, kept": lambda: ta.mmd_test(X, Y, **options),
            "files, read again": lambda: ta.mmd_test(X, Y, max_memory="40MB", **options),
        },
        3,
    )
    print(f"N = {N:,}, d = {D}, {DRAWS:,} binned permutations, all cores")
    for name, seconds in got.items():
        print(f"  {name:18} {seconds:6.2f} s   {seconds / got['in memory']:5.2f} × in memory", flush=True)
    return {name: seconds / got["in memory"] for name, seconds in got.items()}


SECTIONS = {"workers": section_workers, "large": section_large, "streaming": section_streaming}

if __name__ == "__main__":
    wanted = sys.argv[1:] or list(SECTIONS)
    print(f"torch {torch.__version__}, {torch.get_num_threads()} cores")
    with tempfile.TemporaryDirectory() as folder:
        print(json.dumps({name: SECTIONS[name](Path(folder)) for name in wanted}, indent=1))
