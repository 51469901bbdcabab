"""`Reference` and `Monitor`: level, time, false alarms and delays.

python benchmarks/stream.py level [--repetitions 2000]     of Reference.test, for batches of 1, 5, 50 and 1,000 rows
python benchmarks/stream.py time                           a reference of 1,000,000 × 32, batches of 1 to 20,000
python benchmarks/stream.py alarms [--streams 200]         false alarms of an anytime-valid monitor, 10,000 batches
python benchmarks/stream.py delay [--streams 50]           batches until a drift is seen, beside other tests
"""

from __future__ import annotations

import argparse
import math
import os
import tempfile
import time
from pathlib import Path

import numpy as np

import tellapart as ta

LEVELS = (0.01, 0.05, 0.1)


def draw(rng: np.random.Generator, rows: int) -> np.ndarray:
    """Numbers with a heavy tail, with ties, and dependent: 4 columns."""
    z = rng.normal(size=(rows, 4))
    z[:, 1] = np.exp(z[:, 1])
    z[:, 2] = np.round(z[:, 2])
    z[:, 3] += 0.7 * z[:, 0]
    return z


def level(repetitions: int) -> None:
    print(f"Reference.test: rejections of {repetitions} (199 relabellings; a new reference each time)")
    for rows, size in ((500, 1), (500, 5), (500, 50), (2000, 1000)):
        start, pvalues = time.perf_counter(), []
        for k in range(repetitions):
            rng = np.random.default_rng([k, size])
            reference = ta.Reference.fit(draw(rng, rows), rng=k, threads=1)
            pvalues.append(reference.test(draw(rng, size), 199, rng=k, threads=1).pvalue)
        shares = [float(np.mean(np.array(pvalues) <= alpha + 1e-12)) for alpha in LEVELS]
        told = ", ".join(
            f"{share:.4f} ± {math.sqrt(alpha * (1 - alpha) / repetitions):.4f} at {alpha}"
            for share, alpha in zip(shares, LEVELS, strict=True)
        )
        spent = (time.perf_counter() - start) / repetitions
        print(f"reference of {rows:5,}, batch of {size:5,}: {told}   {spent:.3f} s each", flush=True)


def times() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1_000_000, 32)).astype(np.float32)
    X[:, 16:] += X[:, :16] * 0.5
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "reference.tellapart"
        start = time.perf_counter()
        ta.Reference.fit(X, rng=0).save(path)
        print(f"1,000,000 × 32: fit and save {time.perf_counter() - start:.1f} s, {os.path.getsize(path) / 1e6:.0f} MB")
        start = time.perf_counter()
        reference = ta.Reference.load(path)
        print(f"load {time.perf_counter() - start:.2f} s")
        reference.test(X[:10], 19, rng=0)
        for size in (1, 50, 1_000, 1_000, 1_000, 20_000):
            batch = X[rng.integers(len(X), size=size)]
            start = time.perf_counter()
            result = reference.test(batch, rng=0)
            print(f"batch of {size:6,}: {time.perf_counter() - start:.2f} s   {result!r}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("level", "time"))
    parser.add_argument("--repetitions", type=int, default=2000)
    given = parser.parse_args()
    if given.what == "level":
        level(given.repetitions)
    else:
        times()


if __name__ == "__main__":
    main()
