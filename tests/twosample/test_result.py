"""The base class of results: one JSON form, one view."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

import tellapart as ta
from tellapart._util.errors import Note
from tellapart.twosample.result import SCHEMA_VERSION, Result, as_plain


def test_plain_values_are_those_of_json():
    @dataclass
    class Thing:
        a: float
        _hidden: int = 1

    values = {
        "number": np.float32(0.5),
        "whole": np.int64(3),
        "nan": float("nan"),
        "array": np.array([1.0, np.inf]),
        "nested": ((1, 2), [np.bool_(True)]),
        "thing": Thing(-np.inf),
        "note": Note("an-id", "text"),
        "none": None,
        "object": ta.kernels.Gaussian(1.0),
    }
    plain = as_plain(values)
    assert plain == {
        "number": 0.5,
        "whole": 3,
        "nan": None,
        "array": [1.0, None],
        "nested": [[1, 2], [True]],
        "thing": {"a": None},
        "note": "text",
        "none": None,
        "object": repr(ta.kernels.Gaussian(1.0)),
    }
    assert type(plain["note"]) is str
    assert type(plain["number"]) is float
    assert type(plain["nested"][1][0]) is bool


def test_every_result_has_the_same_methods():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(40, 2)), rng.normal(size=(40, 2)) + 1
    monitor = ta.Reference.fit(X, rng=0).monitor(0.05, "fwer", permutations=99, rng=0)
    monitor.add(Y)
    results = (
        ta.two_sample_test(X, Y, 99, rng=0),
        ta.k_sample_test([X, Y, X], permutations=99, rng=0),
        ta.mmd_test(X, Y, permutations=99, rng=0),
        ta.learned_test(X, Y, "rbf", permutations=99, rng=0),
        ta.compare(X, Y, permutations=99, rng=0),
        ta.rank(X, {"a": Y, "b": X + 0.1}, rng=0),
        ta.equivalence_test(X, X, margin=0.5, rng=0),
        ta.plan(X, Y, repetitions=4, permutations=39, rng=0),
        monitor,
    )
    names = set()
    for result in results:
        assert isinstance(result, Result)
        stored = result.to_dict()
        assert stored["schema_version"] == SCHEMA_VERSION
        names.add(stored["result"])
        assert result.reject() is True
        assert isinstance(result.seed, int)
        assert all(isinstance(note, str) for note in result.notes)
        assert result.view().blocks
        assert result.summary()
        assert result._repr_html_().startswith("<div")
    assert len(names) == len(results)


@pytest.fixture(scope="module")
def leveled():
    """Results with a level of their own."""
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(40, 2)), rng.normal(size=(40, 2)) + 1
    monitor = ta.Reference.fit(X, rng=0).monitor(0.05, "fwer", permutations=99, rng=0)
    monitor.add(Y)
    models = {"a": rng.normal(size=(40, 2)), "b": rng.normal(size=(40, 2)) + 0.6}
    return {
        "plan": ta.plan(X, Y, repetitions=2, permutations=39, rng=0),
        "monitor": monitor,
        "rank": ta.rank(X, models, rng=0),
    }


@pytest.mark.parametrize("name", ["plan", "monitor"])
def test_a_level_that_cannot_be_changed_is_refused(leveled, name, tmp_path):
    result = leveled[name]
    calls = [result.view, result.summary, lambda alpha: result.to_html(tmp_path / "r.html", alpha=alpha)]
    for call in [*calls, *([result.reject] if name == "monitor" else [])]:
        with pytest.raises(ta.InputError) as caught:
            call(alpha=0.01)
        assert caught.value.id == "conflicting-arguments"
        call(alpha=0.05)


def test_a_ranking_is_shown_at_another_level(leveled, tmp_path):
    result = leveled["rank"]
    p = result.pairs[0].pvalue
    low, high = p / 2, min(2 * p, 0.99)
    assert not result.at_level(low).beats["a"]
    assert result.at_level(high).beats["a"] == ("b",)
    assert result.at_level(0.05).notes == result.notes
    assert result.summary(low) == result.at_level(low).summary() != result.summary(high)
    for level in (low, high):
        result.to_html(tmp_path / f"{level == low}.html", alpha=level)
    assert (tmp_path / "True.html").read_text() != (tmp_path / "False.html").read_text()


def test_a_result_without_a_view_says_so():
    with pytest.raises(NotImplementedError):
        Result().view()


@pytest.mark.parametrize("null", ["gamma", "spectral", "wild"])
def test_draws_from_an_approximation_are_not_called_permutations(null):
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(40, 2)), rng.normal(size=(40, 2)) + 2
    result = ta.mmd_test(X, Y, null=null, permutations=99, rng=0)
    first, figure = result.view().blocks[0], result.null_figure()
    said = (str(first), first.explanation, figure.caption, figure.y.label, *(one.name for one in figure.series))
    assert "99 draws" in str(first)
    assert not any("permutation" in text for text in said)
    assert "at most" not in first.explanation


def test_labels_are_permuted_whatever_the_design_is():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(40, 2)), rng.normal(size=(40, 2))
    grouped = ta.mmd_test(X, Y, null=ta.nulls.Permutation(groups=np.repeat(np.arange(20), 4)), permutations=99, rng=0)
    assert "permutations of the labels" in grouped.null_figure().caption
    assert "permutations of the labels" in grouped.view().blocks[0].explanation
