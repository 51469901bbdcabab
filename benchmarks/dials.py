"""What the numbers chosen for the default test are worth: power of many combinations of the same scores.

    python benchmarks/dials.py --out out/dials --repetitions 40 --jobs 2 [--insides set one] [--problems …]
    python benchmarks/dials.py --out out/dials --page    # docs/dials.json, for a table of docs/theory.md

A test is run once for each problem, seed and setting inside the families (`INSIDES`), and the calibrated scores of all
families are kept for the observed labels and for every permutation. Power with any weights and exponents, or without a
family, is then a few array operations (`COMBINATIONS`). Numbers are chosen on the problems of ``LEARNING`` and reported
on those of ``REPORTING``, which have other sources.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

import tellapart as ta
from league.problems import PROBLEMS
from tellapart.omnibus import combination
from tellapart.omnibus.scores import calibrate_tail, rank_pvalue
from tellapart.omnibus.scoring import FamilyScore, FamilyScorer

Array = np.ndarray
FAMILIES = "tellapart.omnibus.families"
PERMUTATIONS, ALPHA = 199, 0.05
#: Problem and rows of each sample. Learning: simulations, wine, iris, diabetes, scikit-learn's digits.
LEARNING = {
    "dev_uniform_2d": 500,
    "dev_uniform_2d_fine": 600,
    "dev_uniform_1d": 400,
    "dev_shift_all": 75,
    "dev_shift_one": 100,
    "dev_shift_few": 150,
    "dev_wider": 100,
    "dev_correlation": 200,
    "dev_tails": 300,
    "dev_laplace": 150,
    "dev_blobs": 600,
    "dev_hdgm_6": 500,
    "dev_embeddings_noise": 75,
    "dev_embeddings_shift": 250,
    "mixture": 500,
    "dev_wine": 10,
    "dev_iris": 10,
    "dev_wine_decoupled": 60,
    "dev_diabetes": 100,
    "dev_digits": 20,
    "dev_digits_pca": 20,
}
#: Reporting: MNIST, tumours, photographs, documentation, and simulations of other kinds.
REPORTING = {
    "mnist_rare": 500,
    "mnist_noise": 50,
    "mnist_moved": 50,
    "mnist_knocked_out": 200,
    "mnist_blur": 200,
    "real_mnist": 30,
    "real_mnist_pca": 30,
    "real_mnist_sources": 60,
    "cancer_shifted": 100,
    "cancer_decoupled": 100,
    "cancer_rarer": 120,
    "real_cancer": 20,
    "real_patches": 30,
    "real_patches_blurred": 50,
    "real_docs_numpy": 30,
    "real_docs_torch": 20,
    "mirrored": 100,
    "outliers": 100,
    "higgs_like": 200,
}


def power_mean(scores: Array, exponent: float, weights: Any = None) -> Array:
    """log of the power mean of 1/p over the first axis: the maximum for a high exponent, `harmonic_mean` for 1."""
    weights = np.ones(len(scores)) if weights is None else np.asarray(weights, float)
    top = scores.max(0)
    share = (weights / weights.sum())[:, None]
    return top + np.log((share * np.exp(exponent * (scores - top))).sum(0)) / exponent


def add_total_before(self: FamilyScorer, single: FamilyScore, total: FamilyScore | None) -> FamilyScore:
    """`FamilyScorer.add_total` with the weights of single columns, pixels or pairs, and of all of them together."""
    if total is None:
        return single
    pairs = bool(single.columns) and single.columns[0].kind == "dependence"
    pixels = bool(single.columns) and self.transform.layout.image_shape is not None
    weights = (8.0, 1.0) if pairs else (1.0, 4.0) if pixels else (1.0, 1.0)
    both = np.stack([calibrate_tail(single.scores), calibrate_tail(total.scores)])
    return FamilyScore(power_mean(both, 1.0, weights), single.strongest, single.columns)


#: What is replaced inside families: nothing, or the exponents and weights that were set by hand before.
INSIDES: dict[str, dict[str, Any]] = {
    "one": {},
    "set": {
        f"{FAMILIES}.spectral.harmonic_mean": lambda scores: power_mean(scores, 2.0),
        f"{FAMILIES}.columns.harmonic_mean": lambda scores: power_mean(scores, 1.5),
        f"{FAMILIES}.components.harmonic_mean": lambda scores: power_mean(scores, 1.5),
        f"{FAMILIES}.pairs.harmonic_mean": lambda scores: power_mean(scores, 4.0),
        "tellapart.omnibus.scoring.FamilyScorer.add_total": add_total_before,
    },
}


@contextmanager
def inside(name: str) -> Iterator[None]:
    """Functions of families as one of `INSIDES` says."""
    with ExitStack() as stack:
        for target, value in INSIDES[name].items():
            stack.enter_context(patch(target, value))
        yield


def scores(problem: str, rows: int, seed: int, setting: str, kind: str = "power") -> dict[str, Array]:
    """Calibrated scores of all families, those of the observed labels first."""
    found: dict[str, Array] = {}

    def keep(scored, scorer):
        for family, score in scored:
            if score is not None:
                calibrated = calibrate_tail(score.scores)
                found[family.name] = np.r_[calibrated[scorer.observed], np.delete(calibrated, scorer.observed)]
                found[f"{family.name} compares"] = np.array(len(score.columns))
        return combination.combine_families(scored, scorer)

    X, Y = PROBLEMS[problem].samples(kind, rows, rows, seed)
    with warnings.catch_warnings(), inside(setting), patch("tellapart.omnibus.test.combine_families", keep):
        warnings.simplefilter("ignore")
        ta.two_sample_test(X, Y, PERMUTATIONS, rng=seed, threads=1, progress=False)
    return found


def run(task: tuple[str, int, range, str, Path]) -> str:
    """All trials of a problem with one setting; those that are known are kept."""
    problem, rows, seeds, setting, out = task
    path = out / f"{setting}-{problem}.npz"
    known = dict(np.load(path)) if path.exists() else {}
    for seed in seeds:
        if not any(key.startswith(f"{seed}/") for key in known):
            known |= {f"{seed}/{name}": value for name, value in scores(problem, rows, seed, setting).items()}
    np.savez_compressed(path, **known)
    return f"{setting} {problem}"


Trial = dict[str, Array]


def load(out: Path, setting: str, problem: str) -> list[Trial]:
    path = out / f"{setting}-{problem}.npz"
    trials: dict[str, Trial] = {}
    for key, value in (np.load(path) if path.exists() else {}).items():
        seed, name = key.split("/")
        trials.setdefault(seed, {})[name] = value
    return list(trials.values())


def weights_before(trial: Trial) -> list[float]:
    """The weights that were set by hand, with special cases."""
    images = "patches" in trial
    found = []
    for name in trial:
        if name.endswith(" compares"):
            continue
        weight = {"kernel": 1.0 if images else 2.5, "patches": 2.0}.get(name, 1.0)
        count = int(trial[f"{name} compares"])
        if name == "columns" and count == 1:
            weight = 1.0 if images else 2.5
        elif count:
            weight *= count / (count + 4)
        found.append(weight)
    return found


def families(trial: Trial, without: str = "") -> Array:
    return np.stack([value for name, value in trial.items() if not name.endswith(" compares") and name != without])


def equal(exponent: float, without: str = "") -> Callable[[Trial], Array]:
    return lambda trial: power_mean(families(trial, without), exponent)


def before(trial: Trial) -> Array:
    return power_mean(families(trial), 1.0, weights_before(trial))


def before_without_cells(trial: Trial) -> Array:
    rest = {name: value for name, value in trial.items() if not name.startswith("cells")}
    return before(rest)


#: What is called in docs, the setting inside families, and the combination of their scores.
COMBINATIONS: dict[str, tuple[str, Callable[[Trial], Array]]] = {
    "weights and exponents set by hand, without cells": ("set", before_without_cells),
    "weights and exponents set by hand": ("set", before),
    "families weigh alike, inside set by hand": ("set", equal(1.0)),
    "weights set by hand, inside all 1": ("one", before),
    "all alike, exponent 1": ("one", equal(1.0)),
    "all alike, exponent 0.5": ("one", equal(0.5)),
    "all alike, exponent 2": ("one", equal(2.0)),
    "all alike, exponent 4": ("one", equal(4.0)),
    "all alike, the maximum": ("one", equal(1e3)),
    "all alike, Fisher's sum": ("one", lambda trial: families(trial).sum(0)),
    **{
        f"all alike, without {name}": ("one", equal(1.0, name))
        for name in ("kernel", "columns", "pairs", "components", "patches", "cells")
    },
}


def power(trials: list[Trial], combine: Callable[[Trial], Array]) -> float:
    rejected = [rank_pvalue(combine(trial), 0) <= ALPHA + 1e-12 for trial in trials]
    return float(np.mean(rejected))


def table(out: Path, problems: dict[str, int]) -> dict[str, dict[str, float]]:
    """Power by combination and problem."""
    found = {}
    for name, (setting, combine) in COMBINATIONS.items():
        trials = {problem: load(out, setting, problem) for problem in problems}
        found[name] = {problem: round(power(some, combine), 4) for problem, some in trials.items() if some}
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("out/dials"))
    parser.add_argument("--repetitions", type=int, default=40)
    parser.add_argument("--first-seed", type=int, default=50_000)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--insides", nargs="+", choices=INSIDES, default=list(INSIDES))
    parser.add_argument("--problems", nargs="+", choices=[*LEARNING, *REPORTING], default=[*LEARNING, *REPORTING])
    parser.add_argument("--page", action="store_true", help="run nothing: write docs/dials.json")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    if not options.page:
        seeds = range(options.first_seed, options.first_seed + options.repetitions)
        rows = LEARNING | REPORTING
        tasks = [
            (name, rows[name], seeds, inside, options.out) for name in options.problems for inside in options.insides
        ]
        with ProcessPoolExecutor(options.jobs, multiprocessing.get_context("spawn")) as pool:
            for done in pool.map(run, tasks):
                print(done, flush=True)
    both = {"learning": table(options.out, LEARNING), "reporting": table(options.out, REPORTING)}
    known = {
        name: min((len(load(options.out, "one", problem)) or 10**9) for problem in problems)
        for name, problems in (("learning", LEARNING), ("reporting", REPORTING))
    }
    for group, found in both.items():
        print(f"\n{group}, {known[group]} samples of each problem")
        for name, powers in found.items():
            mean = np.mean(list(powers.values())) if powers else float("nan")
            print(f"  {mean:.3f}  {name} ({len(powers)} problems)")
    if options.page:
        path = Path(__file__).resolve().parents[1] / "docs" / "dials.json"
        facts = {"permutations": PERMUTATIONS, "alpha": ALPHA, "samples": known, **both}
        path.write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
