"""`Reference` and `Monitor`: level, time, false alarms and delays.

python benchmarks/stream.py level [--repetitions 2000]     of Reference.test, for batches of 1, 5, 50 and 1,000 rows
python benchmarks/stream.py time                           a reference of 1,000,000 × 32, batches of 1 to 20,000
python benchmarks/stream.py alarms [--streams 200]         false alarms of an anytime-valid monitor, 10,000 batches
python benchmarks/stream.py delay [--streams 50]           batches until a drift is seen, beside other tests
python benchmarks/stream.py online [--streams 50]          the same for alibi-detect, in an environment that has it
"""

from __future__ import annotations

import argparse
import math
import os
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch

import tellapart as ta
from tellapart.stats.betting import Betting
from tellapart.twosample.bets import BetFeatures, Bets

LEVELS = (0.01, 0.05, 0.1)


def draw(rng: np.random.Generator, rows: int) -> np.ndarray:
    """Numbers with a heavy tail, with ties, and dependent: 4 columns."""
    z = rng.normal(size=(rows, 4))
    z[:, 1] = np.exp(z[:, 1])
    z[:, 2] = np.round(z[:, 2])
    z[:, 3] += 0.7 * z[:, 0]
    return z


#: Rows of a batch, and of the reference that it is tested against.
SIZES = {1: 500, 5: 500, 50: 500, 1000: 1000}


def level(repetitions: int, sizes: list[int]) -> None:
    print(f"Reference.test: rejections of {repetitions} (199 relabellings; a new reference each time)")
    for size in sizes:
        start, pvalues, rows = time.perf_counter(), [], SIZES[size]
        for k in range(repetitions):
            rng = np.random.default_rng([k, size])
            reference = ta.Reference.fit(draw(rng, rows), rng=k, threads=1)
            pvalues.append(reference.test(draw(rng, size), 199, rng=k, threads=1).pvalue)
            if len(pvalues) % 250 and len(pvalues) < repetitions:
                continue
            told = ", ".join(
                f"{np.mean(np.array(pvalues) <= alpha + 1e-12):.4f} ± "
                f"{math.sqrt(alpha * (1 - alpha) / len(pvalues)):.4f} at {alpha}"
                for alpha in LEVELS
            )
            spent = (time.perf_counter() - start) / len(pvalues)
            print(
                f"reference of {rows:5,}, batch of {size:5,}, {len(pvalues):5,} times: {told}   {spent:.3f} s each",
                flush=True,
            )


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
            start, busy = time.perf_counter(), time.process_time()
            result = reference.test(batch, rng=0)
            spent, busy = time.perf_counter() - start, time.process_time() - busy
            print(f"batch of {size:6,}: {spent:.2f} s ({busy:.2f} s of all cores)   {result!r}", flush=True)


def run_bets(
    reference: ta.Reference, batches: np.ndarray, fresh: np.ndarray, size: int, alpha: float
) -> tuple[int | None, float]:
    """The batch at which the capital reached 1/alpha, and the largest that it was; each row has its features."""
    features = BetFeatures.of(reference)
    betting, largest, alarm = Betting(features.groups), 1.0, None
    kept = reference.contents.rows.dtype
    phi, psi = (
        np.concatenate([features(part.astype(kept)) for part in np.array_split(rows, -(-len(rows) // 8192))])
        for rows in (batches, fresh)
    )
    for k in range(len(batches) // size):
        rows = slice(k * size, (k + 1) * size)
        capital = betting.bet(phi[rows], psi[rows])
        largest = max(largest, capital)
        if alarm is None and capital >= 1 / alpha:
            alarm = k
            break
    return alarm, largest


def alarms(streams: int, first: int, batches: int, size: int, alpha: float) -> None:
    """Fresh rows are drawn as if the reference had been kept whole, so that bets go on to the end."""
    start, found, largest = time.perf_counter(), 0, []
    for k in range(first, first + streams):
        rng = np.random.default_rng(k)
        reference = ta.Reference.fit(draw(rng, 400), rng=k, threads=1)
        alarm, most = run_bets(reference, draw(rng, batches * size), draw(rng, batches * size), size, alpha)
        found += alarm is not None
        largest.append(most)
        if len(largest) % 10 == 0:
            spent = time.perf_counter() - start
            print(
                f"{len(largest)} streams of {batches:,} batches of {size}: {found} false alarms at alpha = {alpha}; "
                f"the largest capital {max(largest):.3g}, its median {np.median(largest):.3g}; {spent:.0f} s",
                flush=True,
            )


#: Drifts of 10 columns.
DRIFTS = {
    "one column by 0.3 SD": lambda z: z + 0.3 * np.eye(z.shape[1])[0],
    "one column by 0.6 SD": lambda z: z + 0.6 * np.eye(z.shape[1])[0],
    "all columns by 0.15 SD": lambda z: z + 0.15,
    "one column 1.5 × as wide": lambda z: z * (1 + 0.5 * np.eye(z.shape[1])[0]),
}
COLUMNS, REFERENCE_ROWS, SIZE, BEFORE, AFTER = 10, 4000, 40, 50, 60
#: Batches after the drift that single tests are made of: they cost more, and need no more.
TESTED = 20


def stream(seed: int, drift: str) -> tuple[np.ndarray, np.ndarray]:
    """A reference, and the rows of a stream whose law changes after `BEFORE` batches."""
    rng = np.random.default_rng(seed)
    reference = rng.normal(size=(REFERENCE_ROWS, COLUMNS))
    rows = rng.normal(size=((BEFORE + AFTER) * SIZE, COLUMNS))
    rows[BEFORE * SIZE :] = DRIFTS[drift](rows[BEFORE * SIZE :])
    return reference, rows


def delay(streams: int, tested: int, drifts: list[str], alpha: float) -> None:
    """What the user has: 4,000 rows of a reference, 50 batches of 40 rows before the drift and 60 after it.

    Batches of the first ``tested`` streams are tested one by one too, which takes most of the time.
    """
    print(f"batches of {SIZE} until the alarm (median; quartiles), seen within {AFTER} (tests {TESTED}), false alarms")
    shared = alpha / (BEFORE + AFTER)
    for drift in drifts:
        bets: list[int | None] = []
        tests: dict[float, list[int | None]] = {shared: [], alpha: []}
        for k in range(streams):
            X, rows = stream(k, drift)
            reference = ta.Reference.fit(X, rng=k, threads=1)
            batches = rows.reshape(BEFORE + AFTER, SIZE, COLUMNS)
            bets.append(first_alarm(reference, batches, alpha))
            if k >= tested:
                continue
            pvalues = [1.0] * BEFORE
            for batch in batches[BEFORE : BEFORE + TESTED]:
                pvalues.append(smallest_pvalue(reference, batch, len(pvalues), shared))
                if pvalues[-1] <= shared:
                    break
            for level, found in tests.items():
                found.append(next((t for t, p in enumerate(pvalues) if p <= level + 1e-12), None))
        tell(drift, "anytime, alpha", bets)
        if tested:
            tell(drift, "each batch, alpha / batches", tests[shared], shared)
            tell(drift, "each batch, alpha", tests[alpha], alpha)


def first_alarm(reference: ta.Reference, batches: np.ndarray, alpha: float) -> int | None:
    """The batch at which a monitor's capital reaches 1/alpha."""
    bets = Bets(reference)
    for t, batch in enumerate(batches):
        bets.add(reference.open(batch), np.random.default_rng(t))
        if bets.capital >= 1 / alpha:
            return t
    return None


def smallest_pvalue(reference: ta.Reference, batch: np.ndarray, seed: int, level: float) -> float:
    """The p-value of a batch, with more permutations where it may be as small as the level."""
    pvalue = 1.0
    for permutations in (199, 1_999, math.ceil(1 / level) - 1):
        pvalue = reference.test(batch, permutations, rng=seed, threads=1).pvalue
        if pvalue > 2.5 / (permutations + 1):
            break
    return pvalue


def online(streams: int, expected: int, bootstraps: int, rows: int) -> None:
    """alibi-detect's MMDDriftOnline, which looks after every row, at an expected run time in rows, not at a level."""
    from alibi_detect.cd.pytorch.mmd_online import MMDDriftOnlineTorch

    print(
        f"expected run time {expected:,} rows, window {SIZE}, {rows:,} rows of the reference, {bootstraps:,} bootstraps"
    )
    hits: dict[str, list[int | None]] = {drift: [] for drift in DRIFTS}
    for k in range(streams):
        reference = stream(k, next(iter(DRIFTS)))[0].astype(np.float32)  # the same for all drifts
        torch.manual_seed(k)
        start = time.perf_counter()
        detector = MMDDriftOnlineTorch(
            reference[:rows], ert=expected, window_size=SIZE, n_bootstraps=bootstraps, verbose=False
        )
        print(f"stream {k}: thresholds in {time.perf_counter() - start:.0f} s", flush=True)
        for drift, found in hits.items():
            detector.reset_state()
            late = (t for t, row in enumerate(stream(k, drift)[1].astype(np.float32)) if is_drift(detector, row))
            first = next(late, None)
            found.append(None if first is None else first // SIZE)
    for drift, found in hits.items():
        tell(drift, "alibi-detect, online MMD", found)


def is_drift(detector: Any, row: np.ndarray) -> bool:
    return bool(detector.predict(row)["data"]["is_drift"])


def tell(drift: str, name: str, hits: list[int | None], level: float | None = None) -> None:
    """One line of the table of delays. Exact tests are not made before the drift: their level says how these go."""
    early = sum(hit is not None and hit < BEFORE for hit in hits)
    after = [hit - BEFORE + 1 for hit in hits if hit is not None and hit >= BEFORE]
    middle = np.quantile(
        [*after, *[math.inf] * (len(hits) - early - len(after))] or [math.nan], [0.25, 0.5, 0.75], method="lower"
    )
    quartiles = f"{middle[1]:.0f} ({middle[0]:.0f} to {middle[2]:.0f})"
    false = f"{early} false" if level is None else f"{100 * (1 - (1 - level) ** BEFORE):.1f} % false by chance"
    print(f"{drift:26} {name:28} {quartiles:>16}   {len(after)} of {len(hits)}, {false}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("level", "time", "alarms", "delay", "online"))
    parser.add_argument("--repetitions", type=int, default=2000)
    parser.add_argument("--sizes", type=int, nargs="+", choices=SIZES, default=list(SIZES), help="batches, for level")
    parser.add_argument("--streams", type=int)
    parser.add_argument("--tested", type=int, help="streams whose batches are tested one by one, for delay (all)")
    parser.add_argument("--drifts", nargs="+", choices=DRIFTS, default=list(DRIFTS), help="for delay")
    parser.add_argument("--first", type=int, default=0, help="the number of the first stream, for alarms in parts")
    parser.add_argument("--batches", type=int, default=10_000)
    parser.add_argument("--size", type=int, default=10)
    parser.add_argument("--alpha", type=float)
    parser.add_argument("--expected", type=int, default=20_000, help="run time without a drift, for online")
    parser.add_argument("--bootstraps", type=int, default=25_000)
    parser.add_argument("--rows", type=int, default=REFERENCE_ROWS)
    given = parser.parse_args()
    if given.what == "level":
        level(given.repetitions, given.sizes)
    elif given.what == "time":
        times()
    elif given.what == "alarms":
        alarms(given.streams or 200, given.first, given.batches, given.size, given.alpha or 0.05)
    elif given.what == "online":
        online(given.streams or 50, given.expected, given.bootstraps, given.rows)
    else:
        streams = given.streams or 50
        delay(streams, streams if given.tested is None else given.tested, given.drifts, given.alpha or 0.01)


if __name__ == "__main__":
    main()
