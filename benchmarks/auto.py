"""The test that needs no choice: its time beside `mmd_test`, how time and memory grow with rows, and all of `compare`.

    python benchmarks/auto.py               # everything, some minutes
    python benchmarks/auto.py headline      # one section
    python benchmarks/power.py --install    # before: the packages that have MMD-FUSE, which is then timed beside it

Times are medians over calls made in turns; peaks of memory are those of processes that do nothing else.
"""

from __future__ import annotations

import math
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import torch

import tellapart as ta
from engine import timed_in_turns
from league.methods import KERNELTESTS

D, DRAWS = 32, 199

ALONE = """
import sys, time, torch, tellapart as ta
ta.two_sample_test(torch.randn(100, 2), torch.randn(100, 2), 19, rng=0)
start = time.perf_counter()
call = getattr(ta, sys.argv[5])
result = call(sys.argv[1], sys.argv[2], permutations=int(sys.argv[3]), rng=0, threads=int(sys.argv[4]))
seconds = time.perf_counter() - start
with open("/proc/self/status") as lines:
    peak = next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))
print(seconds, peak, result.pvalue)
"""


def section_headline(folder: Path) -> dict[str, float]:
    """2,000 + 2,000 rows of 2 numbers, 199 permutations, one thread."""
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(2000, 2)), rng.normal(size=(2000, 2))
    tests = {
        "two_sample_test": lambda: ta.two_sample_test(X, Y, DRAWS, rng=0, threads=1),
        "mmd_test": lambda: ta.mmd_test(X, Y, permutations=DRAWS, rng=0, threads=1),
    }
    if KERNELTESTS.missing() is None:
        tests["MMD-FUSE"] = lambda: KERNELTESTS("fuse", X, Y, permutations=DRAWS, seed=0)
    got = timed_in_turns(tests, 5)
    ratio = got["two_sample_test"] / got["mmd_test"]
    print(
        f"2,000 + 2,000 × 2: {got['two_sample_test']:.3f} s, {ratio:.1f} × mmd_test ({got['mmd_test']:.3f} s)",
        flush=True,
    )
    if "MMD-FUSE" in got:
        faster = got["MMD-FUSE"] / got["two_sample_test"]
        print(f"MMD-FUSE of kerneltests {got['MMD-FUSE']:.2f} s: {faster:.1f} × as long", flush=True)
    return {"ratio": ratio, **got}


def alone(
    folder: Path, N: int, d: int, threads: int, call: str = "two_sample_test", draws: int = DRAWS
) -> tuple[float, float]:
    """Seconds and peak bytes of a call with N rows in two files, in a process of its own."""
    paths = []
    for k in range(2):
        path = folder / f"{N}-{d}-{k}.npy"
        if not path.exists():
            np.save(path, np.random.default_rng(k).standard_normal((N // 2, d), dtype=np.float32))
        paths.append(str(path))
    command = [sys.executable, "-c", ALONE, *paths, str(draws), str(threads), call]
    seconds, peak, _ = map(float, subprocess.run(command, capture_output=True, text=True, check=True).stdout.split())
    return seconds, peak


def section_rows(folder: Path) -> dict[str, float]:
    """Up to 1,000,000 rows of 32 numbers from .npy files, 999 permutations, on two threads."""
    found = {}
    for N in (62_500, 250_000, 1_000_000):
        found[N] = alone(folder, N, D, 2, draws=999)
        print(f"{N:>9,} × {D}: {found[N][0]:7.2f} s, peak {found[N][1] / 1e6:,.0f} MB", flush=True)
    exponent = math.log(found[1_000_000][0] / found[62_500][0]) / math.log(16)
    print(f"time grows with rows to the power {exponent:.2f}", flush=True)
    return {"exponent": exponent, "seconds": found[1_000_000][0], "peak": found[1_000_000][1]}


def section_columns(folder: Path) -> dict[str, float]:
    """784 columns × 4,000 rows."""
    seconds, peak = alone(folder, 4_000, 784, 2)
    print(f"    4,000 × 784: {seconds:7.2f} s, peak {peak / 1e6:,.0f} MB", flush=True)
    return {"seconds": seconds, "peak": peak}


def section_compare(folder: Path) -> dict[str, float]:
    """`compare` with everything, 999 permutations, 50 columns, on two threads."""
    for N in (20_000, 200_000):
        seconds, peak = alone(folder, N, 50, 2, "compare", 999)
        print(f"compare, {N // 2:>7,} + {N // 2:,} × 50: {seconds:7.2f} s, peak {peak / 1e6:,.0f} MB", flush=True)
    return {"seconds": seconds, "peak": peak}


SECTIONS = {"headline": section_headline, "columns": section_columns, "rows": section_rows, "compare": section_compare}


def main() -> None:
    torch.set_num_threads(1)
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        for name in sys.argv[1:] or SECTIONS:
            SECTIONS[name](Path(folder))
    print(f"{time.perf_counter() - start:.0f} s in all")


if __name__ == "__main__":
    main()
