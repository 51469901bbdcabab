"""Problems on the tables that come with scikit-learn, as DataFrames. Rows are drawn without replacement."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from .problem import Pair, Problem, Size, rng_of, take

Sizes = tuple[Size, ...]
#: The column of categories that is added to, or found in, each table.
CATEGORY = {"wine": "cultivar", "breast_cancer": "diagnosis", "diabetes": "sex", "iris": "species"}


@cache
def table(name: str) -> tuple[Any, Any]:
    """The columns as they were measured, and the class or response of each row."""
    from sklearn import datasets

    options = {"scaled": False} if name == "diabetes" else {}
    bunch = getattr(datasets, f"load_{name}")(as_frame=True, **options)
    frame = bunch.data
    if name == "diabetes":
        frame = frame.assign(sex=frame["sex"].astype(int).astype(str))
    return frame, bunch.target.to_numpy()


@cache
def with_category(name: str) -> Any:
    """The table with its classes as a column of text."""
    frame, target = table(name)
    if name == "diabetes":
        return frame
    labels = {"wine": np.array(["1", "2", "3"]), "breast_cancer": np.array(["malignant", "benign"])}[name]
    return frame.assign(**{CATEGORY[name]: labels[target]})


def _two_parts(frame: Any, m: int, n: int, draws: np.random.Generator) -> Pair:
    if m + n > len(frame):
        raise ValueError(f"{m} + {n} rows are needed, but there are {len(frame)}.")
    order = draws.permutation(len(frame))
    return take(frame, order[:m]), take(frame, order[m : m + n])


def _same(frame: Any) -> Callable[[int, int, int], Pair]:
    return lambda m, n, seed: _two_parts(frame, m, n, rng_of(seed))


def unchanged(name: str, title: str, group: str, sizes: Sizes, data: str) -> Problem:
    return Problem(name, title, group, sizes, null=lambda *how: _same(with_category(data))(*how))


def _changed(name: str, title: str, group: str, sizes: Sizes, frame: Callable[[], Any], change: Any) -> Problem:
    """Other rows, which ``change(Y, draws)`` gives back altered."""

    def draw(m: int, n: int, seed: int) -> Pair:
        draws = rng_of(seed)
        X, Y = _two_parts(frame(), m, n, draws)
        return X, change(Y, draws)

    return Problem(name, title, group, sizes, draw, lambda *how: _same(frame())(*how))


def column_shifted(name: str, title: str, group: str, sizes: Sizes, data: str, column: str, by: float) -> Problem:
    """One column is higher by some of its standard deviations."""

    def change(Y: Any, _: np.random.Generator) -> Any:
        return Y.assign(**{column: Y[column] + by * table(data)[0][column].std()})

    return _changed(name, title, group, sizes, lambda: table(data)[0], change)


def decoupled(name: str, title: str, group: str, sizes: Sizes, data: str, column: str) -> Problem:
    """One column is shuffled among the rows: it depends on the others no more."""

    def change(Y: Any, draws: np.random.Generator) -> Any:
        return Y.assign(**{column: Y[column].to_numpy()[draws.permutation(len(Y))]})

    return _changed(name, title, group, sizes, lambda: table(data)[0], change)


def category_rarer(name: str, title: str, group: str, sizes: Sizes, data: str, level: str) -> Problem:
    """Half of the rows with one level of the category are left out of Y."""

    def draw(m: int, n: int, seed: int) -> Pair:
        frame, draws = with_category(data), rng_of(seed)
        order = draws.permutation(len(frame))
        X, rest = order[:m], order[m:]
        dropped = (frame[CATEGORY[data]].to_numpy()[rest] == level) & (draws.random(len(rest)) < 0.5)
        if (~dropped).sum() < n:
            raise ValueError(f"Too few rows for {m} + {n}.")
        return take(frame, X), take(frame, rest[~dropped][:n])

    return Problem(name, title, group, sizes, draw, lambda *how: _same(with_category(data))(*how))


def mixed(name: str, title: str, group: str, sizes: Sizes, data: str, common: int, other: int, share: float) -> Problem:
    """One class, and the same with a share of another."""

    def of(label: int) -> Any:
        frame, target = table(data)
        return take(frame, np.flatnonzero(target == label))

    def draw(m: int, n: int, seed: int) -> Pair:
        import pandas as pd

        draws, foreign = rng_of(seed), round(share * n)
        X, Y = _two_parts(of(common), m, n - foreign, draws)
        return X, pd.concat([Y, _two_parts(of(other), foreign, 0, draws)[0]], ignore_index=True)

    return Problem(name, title, group, sizes, draw, lambda *how: _same(of(common))(*how))


def divided(name: str, title: str, group: str, sizes: Sizes, data: str, column: str) -> Problem:
    """Rows with a low and with a high value in a column that is not shown."""

    def parts() -> Pair:
        frame = table(data)[0]
        values = frame[column].astype(float).to_numpy()
        high = values > values.min() if frame[column].nunique() == 2 else values > np.median(values)
        shown = frame.drop(columns=column)
        return take(shown, np.flatnonzero(~high)), take(shown, np.flatnonzero(high))

    def draw(m: int, n: int, seed: int) -> Pair:
        draws, (low, high) = rng_of(seed), parts()
        return _two_parts(low, m, 0, draws)[0], _two_parts(high, n, 0, draws)[0]

    return Problem(name, title, group, sizes, draw, lambda *how: _same(parts()[0])(*how))


def more_of(name: str, title: str, group: str, sizes: Sizes, data: str, odds: float = 7 / 3) -> Problem:
    """Rows whose response is above the median are more frequent in Y."""

    def draw(m: int, n: int, seed: int) -> Pair:
        (frame, target), draws = table(data), rng_of(seed)
        order = draws.permutation(len(frame))
        weights = np.where(target[order[m:]] > np.median(target), odds, 1.0)
        return take(frame, order[:m]), take(frame, draws.choice(order[m:], n, False, weights / weights.sum()))

    return Problem(name, title, group, sizes, draw, lambda *how: _same(table(data)[0])(*how))
