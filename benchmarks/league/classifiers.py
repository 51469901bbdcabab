"""Classifier two-sample tests (C2ST): can the samples be told apart better than by chance?

Scores of a fitted classifier and the labels it was fitted to are not exchangeable, so none of these permutes the labels
under scores that have seen them. Either the classifier is fitted anew for each permutation, or it scores rows that it
has not seen.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from .classical import exact_pvalue, relabellings

#: Fits (rows, labels) and gives a function from rows to scores, high where rows look like X.
Model = Callable[[np.ndarray, np.ndarray, int], Callable[[np.ndarray], np.ndarray]]


def random_forest(Z: np.ndarray, labels: np.ndarray, seed: int) -> Any:
    from sklearn.ensemble import RandomForestClassifier

    model = RandomForestClassifier(100, random_state=seed).fit(Z, labels)
    return lambda rows: model.predict_proba(rows)[:, 1]


def boosted_trees(Z: np.ndarray, labels: np.ndarray, seed: int) -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier

    model = HistGradientBoostingClassifier(max_iter=100, min_samples_leaf=5, early_stopping=False, random_state=seed)
    return model.fit(Z, labels).decision_function


def logistic(Z: np.ndarray, labels: np.ndarray, seed: int) -> Any:
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # not converged is good enough, and the level does not depend on it
        return model.fit(Z, labels).decision_function


def cross_fitted(X: np.ndarray, Y: np.ndarray, settings: Any, seed: int, *, model: Model) -> float:
    """Fit on one half of each sample, test the mean scores of the other; the other way round; twice the smaller p."""
    draws = np.random.default_rng(seed)
    folds = [np.array_split(draws.permutation(len(Z)), 2) for Z in (X, Y)]
    pvalues = []
    for train, test in ((0, 1), (1, 0)):
        fitted = [Z[fold[train]] for Z, fold in zip((X, Y), folds, strict=True)]
        tested = [Z[fold[test]] for Z, fold in zip((X, Y), folds, strict=True)]
        score = model(np.concatenate(fitted), np.repeat([1, 0], [len(Z) for Z in fitted]), seed)
        scores = score(np.concatenate(tested))
        labels = relabellings(len(tested[0]), len(tested[1]), settings.permutations, draws)
        means = labels @ scores / len(tested[0]) - (1 - labels) @ scores / len(tested[1])
        pvalues.append(exact_pvalue(means[1:], means[0]))
    return min(1.0, 2 * min(pvalues))


def forest(X: np.ndarray, Y: np.ndarray, settings: Any, seed: int) -> float:
    """The AUC of out-of-bag probabilities, with a forest for every relabelling.

    The permutations end when so many reach the observed AUC that the test cannot reject at ``settings.alpha``; then
    the p-value is h/l, for h of l permutations, which is valid too (Besag and Clifford 1991).
    """
    from scipy.stats import rankdata
    from sklearn.ensemble import RandomForestClassifier

    Z = np.concatenate([X, Y])
    draws = np.random.default_rng(seed)

    def statistic(labels: np.ndarray) -> float:
        model = RandomForestClassifier(100, oob_score=True, random_state=int(draws.integers(2**31)))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # a row that is in every bag
            scores = np.nan_to_num(model.fit(Z, labels).oob_decision_function_[:, 1], nan=0.5)
        ranks = rankdata(scores)[labels == 1]
        return float((ranks.sum() - len(X) * (len(X) + 1) / 2) / (len(X) * len(Y)))

    labels = np.repeat([1, 0], [len(X), len(Y)])
    # The rows of a forest are drawn by their numbers, and the observed labels must not be the only ones in order.
    Z, labels = _shuffled(Z, labels, draws)
    observed = statistic(labels)
    enough = int(np.floor(settings.alpha * (settings.forest_permutations + 1) + 1e-9))
    reached = 0
    for done in range(1, settings.forest_permutations + 1):
        reached += statistic(draws.permutation(labels)) >= observed - 1e-12
        if reached >= enough:
            return reached / done
    return (1 + reached) / (1 + settings.forest_permutations)


def _shuffled(Z: np.ndarray, labels: np.ndarray, draws: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    order = draws.permutation(len(Z))
    return Z[order], labels[order]
