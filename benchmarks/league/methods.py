"""All methods of the league: ours and the peers'. Each takes two samples, the settings and a seed, and decides.

Ours are called as a user would call them, and so is every peer, with the settings that its authors or its package
propose; `Method.settings` says which. Where not stated otherwise a method permutes ``Settings.permutations`` times.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np
import torch

import tellapart as ta

from . import classical, classifiers
from .outside import RemoteTest


@dataclass(frozen=True)
class Settings:
    """The same for every problem. The forest fits anew for each permutation and gets fewer."""

    alpha: float = 0.05
    permutations: int = 399
    forest_permutations: int = 99
    steps: int | None = None  # of learned kernels; None is their default

    @classmethod
    def quick(cls) -> Settings:
        return cls(permutations=199, forest_permutations=39, steps=100)


class Outcome(NamedTuple):
    """A decision at the level of the settings; and the p-value, where the method has one."""

    reject: bool
    pvalue: float | None = None
    seconds: float | None = None  # of the CPU, where another process did the work


Run = Callable[[Any, Any, Settings, int], float | Outcome]


@dataclass(frozen=True)
class Method:
    title: str
    run: Run
    settings: str
    ours: bool = False
    #: Whether it is given DataFrames and images as they are, or a matrix of numbers.
    raw: bool = False
    missing: Callable[[], str | None] = lambda: None

    def __call__(self, X: Any, Y: Any, settings: Settings, seed: int) -> Outcome:
        """The samples as a problem gives them. Seconds are of the test, without the making of matrices."""
        if not self.raw:
            X, Y = matrices(X, Y)
        start = time.process_time()
        found = self.run(X, Y, settings, seed)
        if isinstance(found, Outcome):
            return found
        return Outcome(bool(found <= settings.alpha + 1e-12), float(found), time.process_time() - start)


def matrices(X: Any, Y: Any) -> tuple[np.ndarray, np.ndarray]:
    """Rows of numbers in double precision.

    Images are flattened and points stay as they are. In tables text becomes 0/1 columns and numbers get mean 0 and
    variance 1 over both samples: done without the labels, so that no test loses its level.
    """
    if not hasattr(X, "iloc"):
        return X.flatten(1).double().numpy(), Y.flatten(1).double().numpy()
    import pandas as pd

    pooled = pd.concat([X, Y], ignore_index=True)
    columns = pooled.select_dtypes("number").columns
    spread = pooled[columns].std(ddof=0).replace(0, 1)
    pooled = pooled.assign(**((pooled[columns] - pooled[columns].mean()) / spread))
    rows = pd.get_dummies(pooled, dtype=float).to_numpy(dtype=float)
    return rows[: len(X)], rows[len(X) :]


# Ours.


def auto(X: Any, Y: Any, settings: Settings, seed: int) -> float:
    return ta.two_sample_test(X, Y, permutations=settings.permutations, rng=seed).pvalue


def median(X: Any, Y: Any, settings: Settings, seed: int) -> float:
    return ta.mmd_test(_points(X), _points(Y), permutations=settings.permutations, rng=seed).pvalue


def learned(X: Any, Y: Any, settings: Settings, seed: int, *, kernel: str) -> float:
    effort = {} if settings.steps is None else {"steps": settings.steps}
    how = {"cross_fit": True, "permutations": settings.permutations, "rng": seed}
    return ta.learned_test(_points(X), _points(Y), kernel, **how, **effort).pvalue


def _points(X: np.ndarray) -> torch.Tensor:
    return torch.from_numpy(X)


def _no_auto() -> str | None:
    return None if hasattr(ta, "two_sample_test") else "this version of tellapart has no two_sample_test"


# Peers in environments of their own.


def fuse(X: np.ndarray, Y: np.ndarray, settings: Settings, seed: int) -> Outcome:
    return _outcome(KERNELTESTS("fuse", X, Y, permutations=settings.permutations, seed=seed), settings)


def aggregated(X: np.ndarray, Y: np.ndarray, settings: Settings, seed: int) -> Outcome:
    found = KERNELTESTS("agg", X, Y, alpha=settings.alpha, seed=seed)
    return Outcome(found["reject"], None, found["seconds"])


def energy_of_dcor(X: np.ndarray, Y: np.ndarray, settings: Settings, seed: int) -> Outcome:
    return _outcome(DCOR("energy", X, Y, permutations=settings.permutations, seed=seed), settings)


def _outcome(found: dict[str, Any], settings: Settings) -> Outcome:
    return Outcome(found["pvalue"] <= settings.alpha + 1e-12, found["pvalue"], found["seconds"])


KERNELTESTS = RemoteTest("kerneltests")
DCOR = RemoteTest("dcor", ("dcor==0.7",))
REMOTE = (KERNELTESTS, DCOR)


METHODS = {
    "auto": Method(
        "auto", auto, "`ta.two_sample_test(X, Y)`; tables and images as they are", ours=True, raw=True, missing=_no_auto
    ),
    "median": Method("median", median, "`ta.mmd_test(X, Y)`: Gaussian kernel, median distance", ours=True),
    "ard": Method("ard", partial(learned, kernel="ard"), '`ta.learned_test(X, Y, "ard", cross_fit=True)`', ours=True),
    "rbf": Method("rbf", partial(learned, kernel="rbf"), '`ta.learned_test(X, Y, "rbf", cross_fit=True)`', ours=True),
    "witness": Method(
        "witness", partial(learned, kernel="witness"), '`ta.learned_test(X, Y, "witness", cross_fit=True)`', ours=True
    ),
    "deep": Method(
        "deep", partial(learned, kernel="deep"), '`ta.learned_test(X, Y, "deep", cross_fit=True)`', ours=True
    ),
    "fuse": Method(
        "MMD-FUSE",
        fuse,
        "kerneltests 0.0.1, its defaults: Laplace and Gaussian kernels, 10 bandwidths each, λ = 1; "
        "but with as many permutations as the others",
        missing=KERNELTESTS.missing,
    ),
    "agg": Method(
        "MMDAgg",
        aggregated,
        "kerneltests 0.0.1, its defaults: Laplace and Gaussian kernels, 10 bandwidths each, uniform weights, "
        "B₁ = B₂ = 2,000, B₃ = 50; wild bootstrap for m = n, else permutations; it decides, without a p-value",
        missing=KERNELTESTS.missing,
    ),
    "energy": Method(
        "energy",
        classical.energy,
        "energy distance (V-statistic), the test of dcor, all permutations as one product of SciPy's distances; "
        "ties count against rejection",
    ),
    "energy-dcor": Method(
        "energy (dcor)",
        energy_of_dcor,
        "`dcor.homogeneity.energy_test` 0.7 itself: the same statistic, but slow; ties count for rejection",
        missing=DCOR.missing,
    ),
    "forest": Method(
        "forest",
        classifiers.forest,
        "random forest C2ST (as hypoRF, Hediger et al. 2022): 100 trees, scikit-learn's defaults, AUC of the "
        "out-of-bag probabilities, fitted anew for each permutation; these end once the test cannot reject "
        "(Besag and Clifford 1991); exact, all rows",
    ),
    "forest-split": Method(
        "forest, split",
        partial(classifiers.cross_fitted, model=classifiers.random_forest),
        "random forest C2ST: fitted on half of the rows, mean difference of the probabilities on the others, labels "
        "permuted; then the other way round; twice the smaller p-value; exact",
    ),
    "boosted": Method(
        "boosted trees",
        partial(classifiers.cross_fitted, model=classifiers.boosted_trees),
        "`HistGradientBoostingClassifier`, 100 trees, 5 rows in a leaf, log-odds; halves as in forest, split",
    ),
    "logistic": Method(
        "logistic",
        partial(classifiers.cross_fitted, model=classifiers.logistic),
        "`LogisticRegression`, C = 1, standardised columns, log-odds; halves as in forest, split",
    ),
    "columns": Method(
        "KS/χ², Holm",
        classical.columns,
        "each column: Kolmogorov–Smirnov, or χ² for text and up to 10 values; the smallest p-value after Holm",
        raw=True,
    ),
}


@cache
def warm_up(name: str) -> None:
    """Import and compile, once in a process, what a method needs, so that this is not timed."""
    draws = np.random.default_rng(0)
    X, Y = (torch.from_numpy(draws.standard_normal((20, 2))) for _ in range(2))
    # Should it fail, then so will the trial, whose error is kept.
    with suppress(Exception):
        METHODS[name](X, Y, Settings(permutations=9, forest_permutations=1, steps=2), 0)


#: What takes so long that it gets fewer repetitions.
SLOW = ("forest",)
#: What is left out unless asked for: it is slow, or repeats another method.
ONLY_IF_ASKED = ("deep", "energy-dcor")
