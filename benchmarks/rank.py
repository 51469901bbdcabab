"""Level and power of `ta.rank`.

python benchmarks/rank.py level [--repetitions 1000]      two models that are equally far from the reference
python benchmarks/rank.py generators [--draws 100]        GMMN on MNIST after 500 and after 5,000 iterations
"""

from __future__ import annotations

import argparse
import math
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch

import tellapart as ta

Rows = np.ndarray
#: A reference and two models that are equally far from it, by symmetry: draws of (reference, a, b).
EQUAL: dict[str, Callable[[np.random.Generator, int, int, int], tuple[Rows, Rows, Rows]]] = {
    "one law, far": lambda r, m, n, k: (
        r.normal(size=(m, 3)),
        r.normal(size=(n, 3)) + 0.5,
        r.normal(size=(k, 3)) + 0.5,
    ),
    "mirrored": lambda r, m, n, k: (
        r.normal(size=(m, 3)),
        r.normal(size=(n, 3)) + np.array([0.5, 0, 0]),
        r.normal(size=(k, 3)) - np.array([0.5, 0, 0]),
    ),
    "other columns": lambda r, m, n, k: (
        r.normal(size=(m, 3)),
        r.normal(size=(n, 3)) * [1.5, 1, 1],
        r.normal(size=(k, 3)) * [1, 1, 1.5],
    ),
    "both perfect": lambda r, m, n, k: (r.normal(size=(m, 3)), r.normal(size=(n, 3)), r.normal(size=(k, 3))),
}
SIZES = ((50, 50, 50), (200, 100, 400))
ALPHA = 0.05
KERNELS = {"given": None, "learned": "rbf"}


def level(repetitions: int, kernels: list[str]) -> None:
    print(f"rejections at level {ALPHA} of {repetitions}, two models that are equally far")
    for kernel in (KERNELS[name] for name in kernels):
        for name, draw in EQUAL.items():
            for sizes in SIZES:
                start, found = time.perf_counter(), 0
                for k in range(repetitions):
                    x, a, b = draw(np.random.default_rng([k, *sizes]), *sizes)
                    result = ta.rank(x, {"a": a, "b": b}, kernel, diagnostics=False, rng=k, threads=1)
                    found += result.pairs[0].pvalue <= ALPHA
                share = found / repetitions
                error = math.sqrt(share * (1 - share) / repetitions)
                spent = (time.perf_counter() - start) / repetitions
                print(
                    f"{'given' if kernel is None else 'learned':8} {name:14} m, n, k = {sizes!s:16} "
                    f"{share:.3f} ± {error:.3f}   {spent * 1e3:.0f} ms a call",
                    flush=True,
                )


def generators(draws: int, data: str, folder: Path, steps: tuple[int, int], rows: int) -> None:
    from tellapart import generative

    train = generative.load(data)
    models = {}
    for count in steps:
        out = folder / f"gmmn-{data}-{count}"
        start = time.perf_counter()
        quiet = {"log_every": 10**9, "evaluate_every": 10**9}
        models[count] = generative.train("gmmn", train, out, {"steps": count, **quiet}, rng=0, resume=True)
        print(f"GMMN, {count} iterations: {time.perf_counter() - start:.0f} s", flush=True)
    right = sure = 0
    for k in range(draws):
        rng = np.random.default_rng(k)
        held_out = train.held_out[rng.permutation(len(train.held_out))[:rows]]
        made = {
            str(count): model.sample(rows, torch.Generator().manual_seed(1000 * k + i))
            for i, (count, model) in enumerate(models.items())
        }
        result = ta.rank(held_out, made, diagnostics=False, rng=k)
        right += result.order[0] == str(steps[1])
        sure += result.order[0] == str(steps[1]) and result.pairs[0].pvalue <= ALPHA
    print(
        f"{steps[1]} iterations before {steps[0]} in {right} of {draws} draws of {rows} rows, "
        f"at level {ALPHA} in {sure}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("level", "generators"))
    parser.add_argument("--repetitions", type=int, default=1000)
    parser.add_argument("--kernels", nargs="+", choices=KERNELS, default=list(KERNELS))
    parser.add_argument("--draws", type=int, default=100)
    parser.add_argument("--data", default="mnist")
    parser.add_argument("--steps", type=int, nargs=2, default=(500, 5000))
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "tellapart-rank")
    given = parser.parse_args()
    if given.what == "level":
        level(given.repetitions, given.kernels)
    else:
        generators(given.draws, given.data, given.folder, tuple(given.steps), given.rows)


if __name__ == "__main__":
    main()
