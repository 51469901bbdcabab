"""One rule for what is compared: the same columns in every call, and for every labelling of the same rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

import tellapart as ta
from tellapart.data.open import open_samples
from tellapart.data.options import ReadOptions

#: For each kind of column how it is made of row numbers, and whether it is compared.
KINDS: dict[str, tuple[Callable[[Any, np.random.Generator], Any], bool]] = {
    "order": (lambda k, g: 100_000 + k, False),  # a counter, whatever it is called
    "user_id": (lambda k, g: g.choice(10**8, len(k), replace=False), False),
    "orderId": (lambda k, g: g.choice(10**8, len(k), replace=False), False),
    "year": (lambda k, g: 1990 + k % 30, False),
    "day": (lambda k, g: pd.Timestamp("2024-01-01") + pd.to_timedelta(k, unit="D"), False),
    "born": (lambda k, g: [f"{1 + i % 28}.{1 + i % 12}.{1950 + i % 50}" for i in k], False),
    "review": (lambda k, g: [f"text {v}" for v in g.integers(10**9, size=len(k))], False),
    "uuid": (lambda k, g: [f"{v:08x}" for v in g.integers(2**31, size=len(k))], False),
    "constant": (lambda k, g: "mm", False),
    "idle_ms": (lambda k, g: g.choice(10**6, len(k), replace=False), True),
    "index_of_refraction": (lambda k, g: g.choice(10**6, len(k), replace=False), True),
    "price_index": (lambda k, g: g.choice(10**6, len(k), replace=False), True),
    "price": (lambda k, g: np.sort(g.choice(10**6, len(k), replace=False)), True),  # the table is sorted by it
    "population": (lambda k, g: np.exp(g.normal(10, 2, len(k))).astype(int), True),
    "timestamp": (lambda k, g: 1_700_000_000 + np.cumsum(g.integers(1, 9_000, len(k))), True),
    "town": (lambda k, g: [f"t{v}" for v in g.integers(70, size=len(k))], True),
    "flag": (lambda k, g: ["X" if i == 5 else str(1 + i % 4) for i in k], True),  # one X among numbers
    "revenue": (lambda k, g: ["1.234.567" if i == 7 else f"{1 + i % 90}.{100 + i % 300}" for i in k], True),
    "year_built": (lambda k, g: 1950 + k % 70, True),
    "store_id": (lambda k, g: k % 12, True),
    "amount": (lambda k, g: g.normal(size=len(k)), True),
}
COMPARED = {name for name, (_, compared) in KINDS.items() if compared}
ROWS = 160


def pooled_table(seed: int = 0) -> pd.DataFrame:
    g, k = np.random.default_rng(seed), np.arange(ROWS)
    return pd.DataFrame({name: make(k, g) for name, (make, _) in KINDS.items()}, index=k)


def compared_columns(samples: list[pd.DataFrame], **options: Any) -> set[str]:
    names = [f"s{k}" for k in range(len(samples))]
    opened = open_samples(samples, names, ReadOptions(), **options)
    return {variable.name for variable in opened.encode().variables}


@pytest.mark.parametrize("relabellings", [12, pytest.param(200, marks=pytest.mark.full)])
def test_the_same_columns_are_compared_for_every_labelling(relabellings):
    """The exactness of a permutation test needs it: what is tested must not depend on the labels."""
    table = pooled_table()
    for seed in range(relabellings):
        g = np.random.default_rng(seed)
        sizes = [(80, 80), (20, 140), (50, 60, 50), (40, 40, 40, 40)][seed % 4]
        labels = g.permutation(np.repeat(np.arange(len(sizes)), sizes))
        assert compared_columns([table[labels == k] for k in range(len(sizes))]) == COMPARED
    # Disjoint counters and dates, as files have them, are one of these labellings.
    assert compared_columns([table[:80], table[80:]]) == COMPARED
    assert compared_columns([table]) == COMPARED


def tables(shift: float = 0.0) -> tuple[pd.DataFrame, pd.DataFrame]:
    table = pooled_table()[["order", "user_id", "day", "review", "constant", "price", "town", "amount"]]
    x, y = table[:80], table[80:].reset_index(drop=True)
    return x, y.assign(amount=y.amount + shift)


def columns_of_notes(notes: Any) -> set[str]:
    return {note.split("'")[1] for note in notes if "left out" in note} - {"constant"}


CALLS: dict[str, Callable[..., Any]] = {
    "two_sample_test": lambda X, Y, **o: ta.two_sample_test(X, Y, 19, rng=0, **o),
    "k_sample_test": lambda X, Y, **o: ta.k_sample_test(
        [X[:40], Y, X[40:]], permutations=19, pairwise=False, rng=0, **o
    ),
    "k_sample_test, labels": lambda X, Y, **o: ta.k_sample_test(
        pd.concat([X, Y]), np.repeat(["a", "b"], [len(X), len(Y)]), permutations=19, rng=0, **o
    ),
    "compare": lambda X, Y, **o: ta.compare(X, Y, permutations=19, rng=0, **o),
    "compare, learned": lambda X, Y, **o: ta.compare(
        X, Y, "witness", permutations=19, stability=0, learning={"steps": 1}, rng=0, **o
    ),
    "plan": lambda X, Y, **o: ta.plan(X, Y, repetitions=1, permutations=19, rng=0, **o),
    "rank": lambda X, Y, **o: ta.rank(X, {"a": Y[:40], "b": Y[40:]}, diagnostics=False, rng=0, **o),
    "equivalence_test": lambda X, Y, **o: ta.equivalence_test(X, Y, 0.5, rng=0, **o),
    "mmd_test": lambda X, Y, **o: ta.mmd_test(X, Y, permutations=19, rng=0, **o),
    "mmd_test, a kernel": lambda X, Y, **o: ta.mmd_test(X, Y, ta.kernels.Gaussian(1.0), permutations=19, rng=0, **o),
    "learned_test": lambda X, Y, **o: ta.learned_test(X, Y, permutations=19, learning={"steps": 1}, rng=0, **o),
    "Reference": lambda X, Y, keep_columns=None: ta.Reference.fit(X, keep_columns=keep_columns, rng=0).contents,
    "scikit-learn": lambda X, Y, **o: _estimator(X, Y, **o),
}


def _estimator(X: pd.DataFrame, Y: pd.DataFrame, **options: Any) -> Any:
    from tellapart.integrations.sklearn import TwoSampleTest

    labels = np.repeat([0, 1], [len(X), len(Y)])
    return TwoSampleTest(permutations=19, random_state=0, **options).fit(pd.concat([X, Y]), labels).result_


def notes_of(result: Any) -> set[str]:
    noticed = getattr(result, "noticed", None)
    if noticed is not None:
        return {column for notice in noticed if notice.left_out for column in notice.columns} - {"constant"}
    return columns_of_notes(result.notes)


@pytest.mark.parametrize("call", CALLS)
def test_every_call_leaves_out_the_same_columns_and_says_so(call):
    X, Y = tables()
    assert notes_of(CALLS[call](X, Y)) == {"order", "user_id", "day", "review"}


@pytest.mark.parametrize("call", CALLS)
def test_every_call_honours_keep(call):
    X, Y = (table.drop(columns="review") for table in tables())
    assert notes_of(CALLS[call](X, Y, keep_columns=["day", "order"])) == {"user_id"}
    assert notes_of(CALLS[call](X, Y, keep_columns=True)) == set()
    with pytest.raises(ValueError, match="no column 'nothing' to keep"):
        CALLS[call](X, Y, keep_columns="nothing")


def test_pytest_assertions_leave_out_the_same_columns():
    X, Y = tables()
    ta.testing.assert_same_distribution(X.drop(columns="price"), Y.drop(columns="price"))


def test_a_reference_leaves_out_the_same_columns_of_batches():
    X, Y = tables()
    reference = ta.Reference.fit(X.drop(columns="price"), rng=0)
    result = reference.test(Y.drop(columns="price"), 99, rng=0)
    assert {one.name for one in result.columns} <= {"town", "amount", "constant"}
    assert not any("day" in note for note in result.notes)


def test_counters_that_begin_anew_are_left_out_whatever_the_sizes():
    rng = np.random.default_rng(0)
    X, Y = (pd.DataFrame({"row": np.arange(n), "v": rng.normal(size=n)}) for n in (200, 60))
    result = ta.two_sample_test(X, Y, 99, rng=0)
    assert {one.name for one in result.columns} == {"v"}
    assert result.notes[0].startswith("'row' numbers the rows (0 to 199).")
    counts = [table.assign(row=rng.integers(0, 9, len(table))) for table in (X, Y)]
    assert compared_columns(counts) == {"row", "v"}


def test_arrays_are_compared_as_they_are_in_every_call():
    """Their columns have no names to keep; `compare` used to leave out what `two_sample_test` compared."""
    rng = np.random.default_rng(0)
    X, Y = (np.column_stack([np.arange(n), rng.normal(size=n), np.ones(n)]) for n in (60, 50))
    found = ta.compare(X, Y, permutations=19, rng=0)
    assert found.pvalue == ta.two_sample_test(X, Y, 19, rng=0).pvalue
    assert not any(notice.left_out for notice in found.noticed)


def test_shared_rows_are_found_by_one_rule():
    """`two_sample_test(...).notes` and `compare(...).noticed` once disagreed."""
    rng = np.random.default_rng(0)
    said = 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        X, Y = (rng.normal(size=(60, 2)).round(1 if seed % 2 else 3) for _ in range(2))
        Y[: seed % 5 * 2] = X[: seed % 5 * 2]
        Y = X[::-1] if seed == 11 else Y
        notes = ta.two_sample_test(X, Y, 19, rng=0).notes
        noticed = ta.compare(X, Y, permutations=19, rng=0).noticed
        of_rows = [notice.text for notice in noticed if notice.kind in ("same data", "shared rows")]
        assert [note for note in notes if "rows" in note] == of_rows
        said += len(of_rows)
    assert 0 < said < 12
