"""Tests without learning: energy distance, and each column by itself."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np


def exact_pvalue(null: np.ndarray, observed: float) -> float:
    """(1 + #{null ≥ observed})/(1 + B), where what differs by rounding only is equal."""
    tolerance = 1e-9 * max(1e-300, abs(observed), float(np.abs(null).max()))
    return float((1 + (null >= observed - tolerance).sum()) / (1 + len(null)))


def relabellings(m: int, n: int, count: int, draws: np.random.Generator) -> np.ndarray:
    """Indicators of X, one relabelling a row; the first is the observed one."""
    first = np.repeat([1.0, 0.0], [m, n])
    return np.stack([first, *(draws.permutation(first) for _ in range(count))])


def energy(X: np.ndarray, Y: np.ndarray, settings: Any, seed: int) -> float:
    """Székely and Rizzo's test: mn/(m+n) (2 mean|x-y| - mean|x-x'| - mean|y-y'|)."""
    from scipy.spatial.distance import cdist

    m, n = len(X), len(Y)
    Z = np.concatenate([X, Y])
    distances = cdist(Z, Z)
    signed = relabellings(m, n, settings.permutations, np.random.default_rng(seed))
    # With w = 1/m in X and -1/n in Y the bracket is -wᵀ D w.
    signed = signed / m - (1 - signed) / n
    statistics = -((signed @ distances) * signed).sum(1) * m * n / (m + n)
    return exact_pvalue(statistics[1:], statistics[0])


def columns(X: Any, Y: Any, settings: Any, seed: int) -> float:
    """The smallest p-value of all columns, times their number: what Holm compares first, and what decides on P = Q."""
    from scipy.stats import chi2_contingency, ks_2samp

    pvalues = []
    for x, y in _columns(X, Y):
        values, codes = np.unique(np.concatenate([x, y]), return_inverse=True)
        if len(values) == 1:
            continue
        if len(values) <= 10 or values.dtype.kind not in "iuf":
            counts = [np.bincount(part, minlength=len(values)) for part in (codes[: len(x)], codes[len(x) :])]
            pvalues.append(chi2_contingency(counts, correction=False).pvalue)
        else:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", RuntimeWarning)  # an exact p-value out of reach is approximated
                pvalues.append(ks_2samp(x, y).pvalue)
    return min(1.0, len(pvalues) * min(pvalues, default=1.0))


def _columns(X: Any, Y: Any) -> list[tuple[np.ndarray, np.ndarray]]:
    if hasattr(X, "iloc"):
        text = {name for name in X if X[name].dtype.kind not in "iuf"}
        return [tuple(Z[name].to_numpy(dtype=str if name in text else float) for Z in (X, Y)) for name in X]
    return list(zip(X.flatten(1).numpy().T, Y.flatten(1).numpy().T, strict=True))
