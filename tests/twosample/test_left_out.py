"""Columns of tables that are better left out of a test: the rules, and the verdict, of `compare`."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import tellapart as ta

FAST = {"permutations": 99, "rng": 0}
COUNTER = "'customer_id' numbers the rows (1000 to 5059). It is left out."


def customers(first: int, shift: float = 0, rows: int = 60) -> pd.DataFrame:
    """Customers of a month, whose numbers go on where those of the last one ended."""
    rng = np.random.default_rng(first)
    ids = np.arange(first, first + rows)
    return pd.DataFrame({"customer_id": ids, "age": rng.normal(size=rows) + shift, "pay": rng.normal(size=rows)})


@pytest.mark.parametrize("shift", [0, 2])
def test_ids_are_left_out_and_the_verdict_is_that_of_compare(shift):
    X, Y = customers(1000), customers(5000, shift)
    result, compared = ta.two_sample_test(X, Y, **FAST), ta.compare(X, Y, **FAST)
    assert result.notes == (f"{COUNTER} To compare it nevertheless, give keep_columns='customer_id'.",)
    assert compared.noticed[0].text == COUNTER
    assert (result.pvalue, result.statistic) == (compared.pvalue, compared.statistic)
    assert result.reject() == (shift > 0)
    assert sorted(one.name for one in result.columns) == ["age", "pay"]
    dropped = ta.two_sample_test(X, Y, drop="customer_id", **FAST)
    assert np.array_equal(dropped.null_distribution, result.null_distribution)


@pytest.mark.parametrize("keep", ["customer_id", ["customer_id"], True])
def test_what_is_kept_is_compared(keep):
    X, Y = customers(1000), customers(5000)
    result = ta.two_sample_test(X, Y, keep_columns=keep, **FAST)
    assert result.pvalue == 0.01
    assert result.differing_columns().names == ("customer_id",)
    assert not any("It is left out." in note for note in result.notes)
    with pytest.raises(ValueError, match=r"no column 'customr_id' to keep. Did you mean 'customer_id'\? There are "):
        ta.two_sample_test(X, Y, keep_columns="customr_id", **FAST)


def test_a_column_that_was_left_out_is_not_advised_against():
    X, Y = customers(1), customers(1)
    said = "'customer_id' numbers the rows (1 to 60). It is left out."
    for result in (ta.two_sample_test(X, Y, **FAST), ta.k_sample_test([X, Y, X], permutations=19, rng=0)):
        assert result.notes[0].startswith(said)
        assert not any("drop=" in note for note in result.notes)
    assert not any("customer_id" in note for note in ta.two_sample_test(X, Y, keep_columns=True, **FAST).notes)


def test_free_text_is_left_out_and_constants_in_one_sentence():
    X, Y = (
        customers(first).assign(review=[f"text {first} {k}" for k in range(60)], a=1, b="same")
        for first in (1000, 5000)
    )
    notes = ta.two_sample_test(X, Y, **FAST).notes
    assert notes[1] == (
        "'review' holds free text or identifiers (120 different texts in 120 rows). It is left out. To compare it "
        "alone, as text, give columns='review' and features=ta.features.hashing_ngrams()."
    )
    assert notes[2] == "'a', 'b' have the same value in every row. They are left out."
    with pytest.raises(ValueError, match=r"free text or identifiers \(.*\) in 'review'"):
        ta.two_sample_test(X, Y, keep_columns="review", **FAST)


def test_something_has_to_be_compared():
    X, Y = customers(1000)[["customer_id"]], customers(5000)[["customer_id"]]
    result = ta.two_sample_test(X, Y, **FAST)
    assert result.differing_columns().names == ("customer_id",)


def test_arrays_and_features_are_compared_as_they_are():
    X, Y = customers(1000), customers(5000)
    for result in (
        ta.two_sample_test(X.to_numpy(), Y.to_numpy(), **FAST),
        ta.two_sample_test(X, Y.to_numpy(), **FAST),
        ta.two_sample_test(X, Y, features=lambda rows: rows, **FAST),
    ):
        assert result.pvalue == 0.01
        assert result.notes == ()
    with pytest.raises(ValueError, match=r"no column 'customer_id' to keep. There are '0', '1', '2'"):
        ta.two_sample_test(X.to_numpy(), Y.to_numpy(), keep_columns="customer_id", **FAST)


def test_too_few_rows_to_tell():
    X, Y = customers(1000, rows=7), customers(5000, rows=7)
    assert "customer_id" in [one.name for one in ta.two_sample_test(X, Y, **FAST).columns]


def test_labels_and_gaps_go_as_before():
    """A column of labels is no column to leave out, and gaps in one that is left out are no gaps."""
    X, Y = customers(1000), customers(5000)
    places = np.arange(60) // 4
    for kind, others in (("groups", places + 100), ("strata", places)):
        X2, Y2 = X.assign(place=places), Y.assign(place=others)
        result = ta.two_sample_test(X2, Y2, **{kind: "place"}, **FAST)
        assert [note for note in result.notes if "left out" in note] == [
            f"{COUNTER} To compare it nevertheless, give keep_columns='customer_id'."
        ]
        assert result.pvalue == ta.compare(X2, Y2, **{kind: "place"}, **FAST).pvalue
    named = ta.two_sample_test(X, Y, groups="customer_id", **FAST)
    # Each customer has one row: such groups restrict nothing, and the column of labels is not compared.
    assert (named.permuted_unit, named.notes) == ("rows", ())
    Y.loc[3, "customer_id"] = np.nan
    assert ta.two_sample_test(X, Y, **FAST).sizes == (60, 60)


@pytest.mark.parametrize("ids", [[f"P{k:02}" for k in range(60)], list(range(60))])
def test_pairs_in_another_order_are_noted_though_ids_are_left_out(ids):
    before = customers(0).assign(customer_id=ids)
    after = before.assign(age=before.age + 0.5)
    told = "'customer_id' has the same values in both samples, in another order"
    for other, expected in ((after, False), (after.sample(frac=1, random_state=0), True)):
        result = ta.two_sample_test(before, other, paired=True, **FAST)
        assert result.pvalue == ta.compare(before, other, paired=True, **FAST).pvalue
        assert "It is left out." in result.notes[0]
        assert any(told in note for note in result.notes) == expected


def test_assertions_follow_the_same_rule():
    X, Y = customers(1000), customers(5000)
    ta.testing.assert_same_distribution(X, Y)
    with pytest.raises(AssertionError, match="customer_id"):
        ta.testing.assert_same_distribution(X, Y, keep_columns=["customer_id"], report=False)
    with pytest.raises(AssertionError, match="Expected the samples to differ"):
        ta.testing.assert_different(X, Y)


def test_ids_and_texts_of_a_table_are_left_out_of_its_groups():
    """By what all rows together look like: the same for every labelling."""
    rng = np.random.default_rng(0)
    values = rng.normal(size=(120, 2))
    table = pd.DataFrame(values, columns=["u", "v"]).assign(
        site=np.repeat(["a", "b", "c"], 40), id=range(120), review=[f"number {k}" for k in range(120)]
    )
    found = ta.k_sample_test(table, "site", permutations=99, rng=0)
    plain = ta.k_sample_test(table[["u", "v", "site"]], "site", permutations=99, rng=0)
    assert found.pvalue == plain.pvalue > 0.01
    assert any(note.startswith("'id' numbers the rows (0 to 119). It is left out.") for note in found.notes)
    assert any(note.startswith("'review' holds free text or identifiers") for note in found.notes)
    kept = ta.k_sample_test(table, "site", permutations=99, rng=0, keep_columns="id")
    assert kept.differing_columns(0.05).names == ("id",)
    rows = ta.k_sample_test(table[["u", "id"]].to_numpy(), table["site"], permutations=99, rng=0)
    assert rows.differing_columns(0.05).names == ("1",)


@pytest.mark.parametrize("column", ["latency", "year_of_birth", "yearly"])
def test_a_measurement_in_other_units_is_a_difference(column):
    """The farther apart samples are, the surer: only what is an id, a running number or a date is left out."""
    rng = np.random.default_rng(0)
    X, Y = (pd.DataFrame(rng.normal(size=(60, 2)), columns=["u", "v"]) for _ in range(2))
    X[column], Y[column] = rng.integers(1000, 2300, 60), rng.integers(1000, 2300, 60) * 1000
    result = ta.two_sample_test(X, Y, **FAST)
    assert result.differing_columns().names == (column,)
    assert result.pvalue == ta.compare(X, Y, **FAST).pvalue == 0.01


def test_years_are_left_out_and_sorted_numbers_are_compared():
    """Neither the order of rows nor ranges that do not overlap make an identifier of a number."""
    rng = np.random.default_rng(0)
    tables = [
        pd.DataFrame({"u": rng.normal(size=60), "v": rng.normal(size=60)}).assign(
            year=rng.integers(1990 + 10 * k, 2000 + 10 * k, 60), price=np.sort(rng.choice(999, 60, False)) + 999 * k
        )
        for k in range(2)
    ]
    assert sorted(one.name for one in ta.two_sample_test(*tables, **FAST).columns) == ["price", "u", "v"]
