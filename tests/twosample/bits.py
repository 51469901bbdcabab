"""What must not change when code is moved: p-values and null distributions, to the last bit.

    python tests/twosample/bits.py            # write tests/golden/bits-avx2.json, or of another kind of processor

Each file was made by the code from before what it is there to watch over (the rearrangement of the library, for
AVX-512). `test_bits.py` computes every case again. Bits depend on the processor and on torch, so they are compared to
the last one only where a file was made by the same; elsewhere, to what single precision and learning leave.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

import tellapart as ta
from tellapart import kernels as k
from tellapart.stats.nulls import Binned, Permutation, Wild

#: What nulls are called now, where the file has an older name.
NAMES = {"swap": "paired"}

FOLDER = Path(__file__).parents[1] / "golden"


def maker() -> str:
    """What decides about rounding."""
    return f"torch {torch.__version__}, {torch.backends.cpu.get_cpu_capability()}, numpy {np.__version__}"


def _samples(m: int, n: int, d: int, seed: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    rng = np.random.default_rng(seed)
    return torch.from_numpy(rng.normal(size=(m, d))), torch.from_numpy(rng.normal(size=(n, d)) * 1.1 + 0.1)


def _described(statistic: float, pvalue: float, null: np.ndarray) -> dict[str, Any]:
    null = np.ascontiguousarray(null, dtype=np.float64)
    return {
        "statistic": float(statistic).hex(),
        "pvalue": pvalue,
        "first": null[:4].tolist(),
        "sha256": hashlib.sha256(null.tobytes()).hexdigest(),
    }


def _tested(result: Any) -> dict[str, Any]:
    return _described(result.statistic, result.pvalue, result.null_distribution)


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


def cases() -> dict[str, Callable[[], dict[str, Any]]]:
    """Every case by name."""
    found: dict[str, Callable[[], dict[str, Any]]] = {}
    d = 3
    nulls = ("permutation", "binned", "swap", "wild", "spectral", "gamma")
    for name, kernel in _kernels(d).items():
        for null in nulls:
            found[f"mmd_test {name} {null}"] = lambda kernel=kernel, null=null: _tested(
                ta.mmd_test(*_samples(60, 60, d), kernel, NAMES.get(null, null), 199, rng=0)
            )
    for null in nulls:
        sizes = (70, 70) if null == "swap" else (70, 45)
        found[f"mmd_test median {null}"] = lambda null=null, sizes=sizes: _tested(
            ta.mmd_test(*_samples(*sizes, d), null=NAMES.get(null, null), permutations=99, rng=1)
        )
        found[f"mmd_test double {null}"] = lambda null=null, sizes=sizes: _tested(
            ta.mmd_test(*_samples(*sizes, d), null=NAMES.get(null, null), permutations=99, rng=1, precision="double")
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
    for null in ("permutation", "binned", "swap"):
        found[f"mmd_test large {null}"] = lambda null=null: _tested(
            ta.mmd_test(*_samples(1600, 1600, 5), null=NAMES.get(null, null), permutations=199, rng=5)
        )
    for name in ("rbf", "ard", "deep", "full", "witness"):
        found[f"learned_test {name}"] = lambda name=name: _tested(
            ta.learned_test(*_samples(120, 130, 4), name, permutations=99, rng=6, learning=_quick(name))
        )
    found["learned_test swapped"] = lambda: _tested(
        ta.learned_test(*_samples(120, 130, 4), "witness", swap=True, permutations=99, rng=6)
    )
    for name in ("ard", "rbf", "witness"):
        found[f"compare {name}"] = lambda name=name: _compared(name)
    found["estimate"] = lambda: _estimated()
    found["select_bandwidth"] = lambda: _selected()
    found["witness"] = lambda: _described(
        0.0, 1.0, ta.witness(k.Gaussian(1.0), *_samples(80, 70, d), at=_samples(50, 1, d, 9)[0])
    )
    return found


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
    return _tested(found) | {"auc": float(found.auc).hex(), "weights": [float(w).hex() for w in found.weights.values]}


def _estimated() -> dict[str, Any]:
    found = ta.estimate(*(z.numpy() for z in _samples(90, 80, 3)), k.Gaussian(1.5))
    return {name: float(getattr(found, name)).hex() for name in ("mmd2", "variance", "second_order", "t")}


def _selected() -> dict[str, Any]:
    found = {}
    for criterion in ("t", "power", "mmd", "cv", "median", "streaming"):
        choice = ta.select_bandwidth(*_samples(90, 80, 3), criterion=criterion, rng=0)
        found[criterion] = float(choice.bandwidth).hex()
    return found


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    values = {name: case() for name, case in cases().items()}
    file = FOLDER / f"bits-{torch.backends.cpu.get_cpu_capability().lower()}.json"
    file.write_text(json.dumps({"made by": maker(), "cases": values}, indent=1) + "\n")
    print(f"{len(values)} cases, {maker()}")


if __name__ == "__main__":
    main()
