"""Kinds of columns, each with a difference of any size, and the single-column test that suits it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

Generator = np.random.Generator
#: Draws n values; the last argument is how far they differ, 0 for not at all.
Draw = Callable[[Generator, Any, float], np.ndarray[Any, Any]]


@dataclass(frozen=True)
class Kind:
    """A kind of column.

    Attributes
    ----------
    draw
        Values of a shape, with a difference of a size.
    effect
        A size at which a rank test with Bonferroni's correction for 64 columns rejects in .5 to .9 of samples of 100.
    ties
        Whether values occur more than once.
    test
        p-values of the columns of two arrays.
    """

    draw: Draw
    effect: float
    ties: bool = False
    test: Callable[[Any, Any], Any] | None = None

    def pvalues(self, X: Any, Y: Any) -> Any:
        """Of single columns: Mann–Whitney unless another test was given."""
        if self.test is not None:
            return np.array([self.test(X[:, c], Y[:, c]) for c in range(X.shape[1])])
        return stats.mannwhitneyu(X, Y, axis=0, method="asymptotic").pvalue


def _zero_inflated(share: float, rate: float) -> Draw:
    """Exponential amounts in a share of rows; a difference makes amounts larger and more frequent."""

    def draw(g: Generator, n: Any, e: float) -> np.ndarray[Any, Any]:
        return g.exponential(np.exp(e), size=n) * (g.random(n) < min(1.0, share + rate * e))

    return draw


def _binary(share: float) -> Draw:
    return lambda g, n, e: (g.random(n) < share + e * (1 - share)).astype(float)


def _likert(g: Generator, n: Any, e: float) -> np.ndarray[Any, Any]:
    return 1.0 + np.searchsorted([-1.0, -0.3, 0.3, 1.0], g.normal(size=n) + e)


def _spike(g: Generator, n: Any, e: float) -> np.ndarray[Any, Any]:
    return np.where(g.random(n) < 0.5, 0.25, g.normal(size=n) + e)


def _text(g: Generator, n: Any, e: float) -> np.ndarray[Any, Any]:
    p = np.array([1.0, 1.0, 1.0, 1.0, 1.0 + e])
    return g.choice(np.array(["ash", "beech", "cedar", "elm", "fir"], dtype=object), size=n, p=p / p.sum())


def _dates(g: Generator, n: Any, e: float) -> np.ndarray[Any, Any]:
    return np.datetime64("2024-01-01") + (365 * (g.random(n) + e)).astype("timedelta64[D]")


def _fisher(x: Any, y: Any) -> float:
    a, b = int(x.sum()), int(y.sum())
    return float(stats.fisher_exact([[a, len(x) - a], [b, len(y) - b]]).pvalue)


def _chi2(x: Any, y: Any) -> float:
    return float(stats.chi2_contingency(pd.crosstab(np.r_[x, y], np.repeat([0, 1], [len(x), len(y)]))).pvalue)


def _of_dates(x: Any, y: Any) -> float:
    return float(stats.mannwhitneyu(x.astype(float), y.astype(float), method="asymptotic").pvalue)


KINDS: dict[str, Kind] = {
    "normal": Kind(lambda g, n, e: g.normal(size=n) + e, 0.6),
    "uniform": Kind(lambda g, n, e: g.random(n) + e, 0.18),
    "t with 3 degrees": Kind(lambda g, n, e: g.standard_t(3, size=n) + e, 0.75),
    "Cauchy": Kind(lambda g, n, e: g.standard_cauchy(n) + e, 1.1),
    "lognormal": Kind(lambda g, n, e: np.exp(g.normal(size=n) + e), 0.6),
    "exponential": Kind(lambda g, n, e: g.exponential(np.exp(e), size=n), 0.7),
    "mixture": Kind(lambda g, n, e: g.normal(size=n) + 4 * (g.random(n) < 0.4 + e), 0.33),
    "zeros in 30 %": Kind(_zero_inflated(0.7, 0.0), 1.4, True),
    "zeros in 60 %": Kind(_zero_inflated(0.4, 0.25), 0.8, True),
    "zeros in 90 %": Kind(_zero_inflated(0.1, 0.25), 0.9, True),
    "zeros in 99 %": Kind(_zero_inflated(0.01, 0.25), 0.7, True),
    "Poisson, mean 0.5": Kind(lambda g, n, e: g.poisson(0.5 * np.exp(e), size=n).astype(float), 0.7, True),
    "Poisson, mean 20": Kind(lambda g, n, e: g.poisson(20 * np.exp(e), size=n).astype(float), 0.14, True),
    "negative binomial": Kind(
        lambda g, n, e: g.negative_binomial(0.5, 0.5 / (0.5 + 3 * np.exp(e)), size=n).astype(float), 1.1, True
    ),
    "binary, share 0.5": Kind(_binary(0.5), 0.55, True, _fisher),
    "binary, share 0.1": Kind(_binary(0.1), 0.25, True, _fisher),
    "binary, share 0.01": Kind(_binary(0.01), 0.17, True, _fisher),
    "answers 1 to 5": Kind(_likert, 0.65, True),
    "rounded normal": Kind(lambda g, n, e: np.round(2 * (g.normal(size=n) + e)) / 2, 0.62, True),
    "half in a spike": Kind(_spike, 1.0, True),
    "cents": Kind(lambda g, n, e: np.round(20 * np.exp(g.normal(size=n) + e), 2), 0.6, True),
    "text": Kind(_text, 3.0, True, _chi2),
    "dates": Kind(_dates, 0.19, True, _of_dates),
}
