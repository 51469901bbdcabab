"""P-values and null distributions of every test: golden values for all processors, bits for one.

    python tests/twosample/bits.py write build/bits.json      # before a change, by the old code: `make bits`
    python tests/twosample/bits.py compare build/bits.json    # after it, on the same machine: `make bits-compare`
    python tests/twosample/bits.py golden                     # rewrite tests/golden/values.json

The same seed gives the same bits on one machine, so a file of bits shows whether a change of the code changed a result.
Such a file says nothing on another machine: matrix products and eigenvalues are rounded differently by other
processors. `test_golden_values.py` therefore compares with `tests/golden/values.json` within what rounding explains.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import auto_problems
import numpy as np
import torch

import tellapart as ta
from tellapart import kernels as k
from tellapart.criticism import witness
from tellapart.stats.nulls import NULLS, Binned, Permutation, Wild

GOLDEN = Path(__file__).parents[1] / "golden" / "values.json"

Case = Callable[[], dict[str, Any]]


def _samples(m: int, n: int, d: int, seed: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    rng = np.random.default_rng(seed)
    return torch.from_numpy(rng.normal(size=(m, d))), torch.from_numpy(rng.normal(size=(n, d)) * 1.1 + 0.1)


def _described(statistic: float, pvalue: float, null: Any, **more: float) -> dict[str, Any]:
    """What a case gives: numbers by name, and a null distribution."""
    return {"statistic": float(statistic), "pvalue": float(pvalue), **more, "null": np.asarray(null, dtype=np.float64)}


def _tested(result: Any, **more: float) -> dict[str, Any]:
    return _described(result.statistic, result.pvalue, result.null_distribution, **more)


def _kernels(d: int) -> dict[str, Any]:
    frozen = {
        "gaussian": k.Gaussian(1.5),
        "ard": k.ARD(d, 1.2),
        "mixture": k.Mixture([0.5, 1.0, 4.0]),
        "laplacian": k.Laplacian(1.5),
        "matern": k.Matern(1.5),
        "rational quadratic": k.RationalQuadratic(1.5),
        "linear": k.Linear(),
        "polynomial": k.Polynomial(),
        "deep": k.Deep(k.MLP([d, 8, 3], rng=0), k.Gaussian(1.0), original=k.Gaussian(2.0)),
        "sum": k.Gaussian(1.0) + 0.5 * k.Laplacian(2.0),
        "product": k.Gaussian(1.0) * k.Linear(),
        "wide": k.Gaussian(1000.0),
        "function": lambda x, y: (-torch.cdist(x, y)).exp(),
    }
    return {
        name: kernel.requires_grad_(False) if hasattr(kernel, "plan") else kernel for name, kernel in frozen.items()
    }


def cases() -> dict[str, Case]:
    """Every case by name."""
    found: dict[str, Case] = {}
    d = 3
    for name, kernel in _kernels(d).items():
        for null in NULLS:
            found[f"mmd_test {name} {null}"] = lambda kernel=kernel, null=null: _tested(
                ta.mmd_test(*_samples(60, 60, d), kernel, null, 199, rng=0)
            )
    for null in NULLS:
        sizes = (70, 70) if null == "paired" else (70, 45)
        found[f"mmd_test median {null}"] = lambda null=null, sizes=sizes: _tested(
            ta.mmd_test(*_samples(*sizes, d), null=null, permutations=99, rng=1)
        )
        found[f"mmd_test double {null}"] = lambda null=null, sizes=sizes: _tested(
            ta.mmd_test(*_samples(*sizes, d), null=null, permutations=99, rng=1, precision="double")
        )
    found["mmd_test float32"] = lambda: _tested(
        ta.mmd_test(*(z.float() for z in _samples(90, 80, d)), permutations=99, rng=2)
    )
    found["mmd_test arrays"] = lambda: _tested(
        ta.mmd_test(*(z.numpy() for z in _samples(90, 80, d)), permutations=99, rng=2)
    )
    found["mmd_test images"] = lambda: _tested(ta.mmd_test(*_images(), permutations=99, rng=2))
    found["mmd_test auto"] = lambda: _tested(ta.mmd_test(*_samples(90, 80, d), permutations="auto", rng=3))
    found["mmd_test groups"] = lambda: _tested(
        ta.mmd_test(*_samples(60, 60, d), permutations=99, rng=4, null=Permutation(np.repeat(np.arange(40), 3)))
    )
    found["mmd_test bins"] = lambda: _tested(
        ta.mmd_test(*_samples(300, 200, d), null=Binned(bins=40), permutations=99, rng=4)
    )
    found["mmd_test lag"] = lambda: _tested(
        ta.mmd_test(*_samples(100, 100, d), null=Wild(lag=5.0), permutations=99, rng=4)
    )
    for null in ("permutation", "binned", "paired"):
        found[f"mmd_test large {null}"] = lambda null=null: _tested(
            ta.mmd_test(*_samples(1600, 1600, 5), null=null, permutations=199, rng=5)
        )
    for name in ("rbf", "ard", "deep", "full", "witness"):
        found[f"learned_test {name}"] = lambda name=name: _tested(
            ta.learned_test(*_samples(120, 130, 4), name, permutations=99, rng=6, learning=_quick(name))
        )
    found["learned_test swapped"] = lambda: _tested(
        ta.learned_test(*_samples(120, 130, 4), "witness", cross_fit=True, permutations=99, rng=6)
    )
    for name in ("ard", "rbf", "witness"):
        found[f"compare {name}"] = lambda name=name: _compared(name)
    for problem in (*auto_problems.ALL, shifted):
        found[f"default {problem.__name__}"] = lambda problem=problem: _tested(problem(np.random.default_rng(7)))
    found["reference"] = lambda: _watched()
    found["estimate"] = lambda: _estimated()
    found["select_bandwidth"] = lambda: _selected()
    found["witness"] = lambda: _described(
        0.0, 1.0, witness(k.Gaussian(1.0), *_samples(80, 70, d), at=_samples(50, 1, d, 9)[0])
    )
    return found


def shifted(rng: np.random.Generator) -> Any:
    """A difference that is found, in one of five columns."""
    X, Y = rng.normal(size=(200, 5)), rng.normal(size=(150, 5))
    Y[:, 2] += 0.4
    return ta.two_sample_test(X, Y, 199, rng=rng)


def _watched() -> dict[str, Any]:
    rng = np.random.default_rng(8)
    reference = ta.Reference.fit(rng.normal(size=(500, 3)), rng=0)
    return _tested(reference.test(rng.normal(size=(60, 3)) * 1.2, permutations=99, rng=0))


def _quick(name: str) -> dict[str, Any]:
    return {} if name in ("rbf", "witness") else {"steps": 30}


def _images() -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    return [rng.integers(0, 256, size=(40, 8, 8), dtype=np.uint8) for _ in range(2)]


def _compared(name: str) -> dict[str, Any]:
    import pandas as pd

    rng = np.random.default_rng(0)
    frames = [
        pd.DataFrame({"age": rng.normal(40 + k, 5, 120), "town": rng.choice(["Ulm", "Bonn", "Kiel"], 120)})
        for k in range(2)
    ]
    found = ta.compare(*frames, name, permutations=99, rng=0, stability=0, learning=_quick(name))
    weights = {f"weight {index}": float(weight) for index, weight in enumerate(found.weights.values)}
    return _tested(found, auc=float(found.auc), **weights)


def _estimated() -> dict[str, Any]:
    found = ta.estimate(*(z.numpy() for z in _samples(90, 80, 3)), k.Gaussian(1.5))
    return {name: float(getattr(found, name)) for name in ("mmd2", "variance", "second_order", "t")}


def _selected() -> dict[str, Any]:
    found = {}
    for criterion in ("t", "power", "mmd", "cv", "median", "streaming"):
        choice = ta.select_bandwidth(*_samples(90, 80, 3), criterion=criterion, rng=0)
        found[criterion] = float(choice.bandwidth)
    return found


def _bits(value: Any) -> Any:
    """A number to the last bit, or all of a null distribution: JSON keeps every bit of them."""
    return value.tolist() if isinstance(value, np.ndarray) else value


def _golden(value: Any) -> Any:
    """A number; of a null distribution, its first draws, its deciles and its standard deviation."""
    if not isinstance(value, np.ndarray):
        return value
    return {"first": value[:4].tolist(), "deciles": deciles(value), "sd": float(value.std())}


def deciles(null: np.ndarray) -> list[float]:
    """Order statistics of a null distribution, from the smallest to the largest."""
    return [float(draw) for draw in np.sort(null)[np.linspace(0, len(null) - 1, 11).round().astype(int)]]


def _difference(name: str, before: dict[str, Any], now: dict[str, Any]) -> str:
    """How far numbers are from what they were, relative to the largest of the case, and whether its p-value moved."""
    largest = max(np.abs(before.get("null", [0.0])).max(initial=0.0), abs(before.get("statistic", 0.0)))
    parts = []
    for part in sorted(before.keys() - {"pvalue"}):
        old, new = (np.asarray(values[part], np.float64) for values in (before, now))
        apart = np.abs(old - new).max(initial=0.0) if old.shape == new.shape else np.inf
        scale = largest if part in ("null", "statistic") else np.abs(old).max(initial=0.0)
        parts.append(f"{part} {apart / (scale or 1.0):.1e}")
    p, q = before.get("pvalue"), now.get("pvalue")
    return f"other bits: {name}: {'same p' if p == q else f'p {p} → {q}'}, {', '.join(parts)}"


def _compute(write: Callable[[Any], Any]) -> dict[str, Any]:
    return {name: {part: write(value) for part, value in case().items()} for name, case in cases().items()}


def main(action: str, file: str | Path = GOLDEN) -> int:
    values = _compute(_golden if action == "golden" else _bits)
    if action != "compare":
        Path(file).parent.mkdir(parents=True, exist_ok=True)
        Path(file).write_text(json.dumps(values, indent=1) + "\n")
        print(f"{len(values)} cases in {file}")
        return 0
    before = json.loads(Path(file).read_text())
    other = [name for name in before if values.get(name) != before[name]]
    for name in other:
        print(_difference(name, before[name], values[name]) if name in values else f"no longer a case: {name}")
    print(f"{len(before) - len(other)} of {len(before)} cases have the same bits.")
    return int(bool(other))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
