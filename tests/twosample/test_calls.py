"""Calls that are not what was meant: what to give instead is said."""

from __future__ import annotations

import os

import numpy as np
import pandas as pd
import pytest
import torch

import tellapart as ta
from tellapart._util.errors import InputChangedError, InputError
from tellapart.data import shared
from tellapart.data.formats.delimited import Delimited
from tellapart.data.hashing import hash_blocks
from tellapart.data.stores import Plain
from tellapart.learning.starts import named_kernel
from tellapart.stats.estimators import block_estimate

X, Y = (np.random.default_rng(seed).normal(size=(20, 2)) for seed in (0, 1))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: ta.two_sample_test(X, Y, paired="patient"),
            r"paired must be True .* but is 'patient'.*groups= or strata=",
        ),
        (lambda: ta.compare(X, Y, paired="patient"), r"paired must be True"),
        (lambda: ta.k_sample_test([X, Y, X], 199), r"k_sample_test\(\[X, Y, Z\], permutations=199\)"),
        (lambda: ta.k_sample_test(X, Y), r"Give the samples as one list: k_sample_test\(\[X, Y\]\)"),
        (lambda: ta.k_sample_test(X, [Y, Y[:9]]), r"Give the samples as one list: k_sample_test"),
        (lambda: ta.two_sample_test(X, Y, permutation=99), r"Did you mean permutations=\?"),
        (
            lambda: ta.two_sample_test(X, Y, permutation=99),
            r"Arguments of two_sample_test are X, Y, permutations, groups",
        ),
        (lambda: ta.two_sample_test(X, Y, alpha=5), r"'alpha'. The level is given to the result: result.reject"),
        (lambda: ta.two_sample_test(X, Y, seed=5), r"Randomness comes in through rng=."),
        (lambda: ta.rank(X, [X, Y], trian_size=0.5), r"Did you mean train_size=\?"),
        (lambda: ta.plan(X, Y, repetition=9), r"Did you mean repetitions=\?.*Arguments of plan are X, Y, power"),
    ],
)
def test_what_to_give_is_said(call, message):
    with pytest.raises(TypeError, match=message):
        call()


@pytest.mark.parametrize("count", [0, -1, 2.5, True])
@pytest.mark.parametrize("name", ["repetitions", "permutations"])
def test_counts_of_a_plan_are_whole_numbers(name, count):
    with pytest.raises(InputError, match=f"{name} must be a whole number from 1 up, but is {count!r}"):
        ta.plan(X, Y, **{name: count})


def test_numbers_of_numpy_are_numbers():
    found = ta.equivalence_test(X, Y, np.float32(0.25), bandwidth=np.int64(2), rng=0)
    plain = ta.equivalence_test(X, Y, 0.25, bandwidth=2, rng=0)
    assert (found.pvalue, found.margin, found.bandwidth) == (plain.pvalue, plain.margin, plain.bandwidth)
    assert type(found.margin) is type(found.bandwidth) is float


@pytest.mark.parametrize(
    ("margin", "message"),
    [
        (0, "margin must be a number above 0, but is 0"),
        (True, "margin must be a number above 0, but is True"),
        ("0.2", "margin must be a number above 0, but is '0.2'"),
        (float("nan"), "margin must be a number above 0, but is nan"),
        (2**0.5, "margin must be less than √2, the largest MMD that a Gaussian kernel gives, but is 1.41421"),
        (3, "margin must be less than √2"),
    ],
)
def test_margins_that_mean_nothing(margin, message):
    with pytest.raises(InputError, match=message):
        ta.equivalence_test(X, Y, margin)


K = ta.kernels.Gaussian(1.0)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ta.mmd_test(X, Y, alpha=2), "alpha must be between 0 and 1, but is 2"),
        (lambda: ta.plan(X, Y, alpha="5 %"), "alpha must be a number between 0 and 1, but is '5 %'"),
        (lambda: ta.mmd_test(X, Y, threads=0), "threads must be a whole number from 1 up, or None, but is 0"),
        (lambda: ta.mmd_test(X, Y, max_memory="much"), "'much' is not a size of memory"),
        (lambda: ta.mmd_test(X, Y, max_memory=[1]), "A size of memory is .* not of type list"),
        (lambda: ta.mmd_test(X, Y, max_memory=0), "max_memory= must be positive"),
        (lambda: ta.mmd_test(X, Y, rng=-1), "rng must be a whole number from 0 up"),
        (lambda: ta.mmd2(X, Y, K, estimator="best"), "estimator='best' is not an estimator of MMD²"),
        (lambda: ta.mmd2(X, Y, ta.kernels.Grid([1.0, 2.0])), "Expected a single kernel, got a Grid of 2"),
        (lambda: block_estimate(X, Y, K, block_size=1), "block_size must be a whole number from 2 up, but is 1"),
        (lambda: ta.losses.MMDLoss(K, estimator="best"), "estimator='best' is not"),
        (lambda: ta.fit_kernel(X, Y, "gauss"), "`kernel` must be a kernel or one of 'rbf', 'ard'"),
        (
            lambda: named_kernel("witness", torch.from_numpy(X), torch.from_numpy(Y), 0),
            "kernel='witness' learns a function",
        ),
    ],
)
def test_what_is_refused_is_an_input_error(call, message):
    with pytest.raises(InputError, match=message):
        call()


GAPS = {
    "None": ["a", None, "b", None] * 5,
    "NaN among texts": ["a", float("nan"), "b", float("nan")] * 5,
    "NaN among numbers": np.array([0, np.nan, 1, np.nan] * 5),
    "NA": pd.Series(["a", None, "b", None] * 5, dtype="string"),
    "NaT": np.array(["2024-01-01", "NaT", "2024-01-02", "NaT"] * 5, "datetime64[D]"),
    "objects": np.array(["a", None, "b", float("nan")] * 5, object),
}


@pytest.mark.parametrize("labels", GAPS.values(), ids=GAPS)
def test_labels_that_are_missing(labels):
    with pytest.raises(InputError, match=r"labels has 10 missing values, but is to say which sample .* fill these in"):
        ta.k_sample_test(X, labels)
    both = np.concatenate([np.asarray(labels, object)] * 2)
    with pytest.raises(InputError, match="groups has 20 missing values, but is to say which rows belong together"):
        ta.two_sample_test(X, Y, groups=both)
    with pytest.raises(InputError, match="strata has 20 missing values, but is to say which rows may be exchanged"):
        ta.two_sample_test(X, Y, strata=(labels, labels))
    with pytest.raises(InputError, match=r"strata has 20 missing values, .* strata= needs a value for every row"):
        ta.mmd_test(X, Y, null=ta.nulls.Permutation(strata=both))
    with pytest.raises(InputError, match="groups has 20 missing values"):
        ta.mmd_test(X, Y, null=ta.nulls.Permutation((labels, labels)))


def test_a_column_of_labels_with_gaps_that_was_read_already():
    table = pd.DataFrame(X, columns=["u", "v"]).assign(kind=["a", None, "b", "a"] * 5)
    with pytest.raises(InputError, match="5 missing values in 'kind', which is to say which sample each row belongs"):
        ta.k_sample_test(ta.read(table, missing="indicator"), "kind")
    found = ta.k_sample_test(table, "kind", permutations=19, missing="drop", rng=0)
    expected = ta.k_sample_test(table.dropna(), "kind", permutations=19, rng=0)
    assert (found.names, found.pvalue, found.statistic) == (expected.names, expected.pvalue, expected.statistic)
    nothing = table.assign(kind=pd.Series([None] * 20, dtype=float))
    with pytest.raises(InputError, match=r"samples has no value in 'kind'\. missing='drop' would leave nothing"):
        ta.k_sample_test(nothing, "kind", missing="drop")


def test_samples_by_label_are_read_once(tmp_path, monkeypatch):
    path = tmp_path / "all.csv"
    pd.DataFrame(X, columns=["u", "v"]).assign(town=["Ulm", "Bonn"] * 10, kind=["a", "b", "b", "a"] * 5).to_csv(path)
    opened, wanted = [], Delimited.open
    monkeypatch.setattr(Delimited, "open", lambda self, request: opened.append(request) or wanted(self, request))
    ta.k_sample_test(path, np.repeat(["a", "b"], 10), permutations=19, rng=0)
    assert len(opened) == 1
    ta.k_sample_test(path, "kind", permutations=19, rng=0)
    assert len(opened) == 2  # labels in a column are taken out of what was read


@pytest.mark.parametrize(
    ("labels", "names"), [([0, 1], ("0", "1")), ([10, 9], ("9", "10")), ([0.5, 1], ("0.5", "1.0"))]
)
def test_labels_that_are_whole_numbers_are_called_so(tmp_path, labels, names):
    table = pd.DataFrame(X, columns=["u", "v"]).assign(kind=labels * 10)
    table.to_csv(tmp_path / "all.csv", index=False)
    for data in (tmp_path / "all.csv", table, ta.read(table)):
        assert ta.k_sample_test(data, "kind", permutations=19, rng=0).names == names
    assert ta.k_sample_test(table.to_numpy(), "2", permutations=19, rng=0).names == names
    assert ta.k_sample_test(X, np.array(labels * 10, float), permutations=19, rng=0).names == names


def test_twice_as_many_labels_as_rows():
    with pytest.raises(InputError, match=r"labels must have one label for each of the 20 rows, but has shape .40,"):
        ta.k_sample_test(X, np.tile(["a", "b"], 20))


def test_rows_that_both_samples_have_are_noted():
    found = ta.two_sample_test(X, X, 39, rng=0)
    assert "X and Y have the same rows." in found.notes
    some = ta.two_sample_test(X, np.concatenate([X[:10], Y]), 39, rng=0)
    assert any(note.startswith("10 of the 20 rows of X are in Y too.") for note in some.notes)
    assert ta.two_sample_test(X, Y, 39, rng=0).notes == ()
    coarse = ta.two_sample_test(X.round(), Y.round(), 39, rng=0)
    assert coarse.notes == ()


SHARING = {
    "two_sample_test": lambda x, y: ta.two_sample_test(x, y, 19, rng=0),
    "k_sample_test": lambda x, y: ta.k_sample_test([x, y, X - 9], permutations=19, rng=0),
    "k_sample_test by labels": lambda x, y: ta.k_sample_test(
        np.concatenate([x, y]), np.repeat(["x", "y"], [len(x), len(y)]), permutations=19, rng=0
    ),
    "mmd_test": lambda x, y: ta.mmd_test(x, y, permutations=19, rng=0),
    "learned_test": lambda x, y: ta.learned_test(x, y, permutations=19, rng=0),
    "equivalence_test": lambda x, y: ta.equivalence_test(x, y, 0.5, rng=0),
    "plan": lambda x, y: ta.plan(*(np.r_[z, z[:9] + 20] for z in (x, y)), repetitions=2, permutations=19, rng=0),
    "rank": lambda x, y: ta.rank(x, [y, X - 9], diagnostics=False, rng=0),
}


@pytest.mark.filterwarnings("ignore:.*also occur in")
@pytest.mark.parametrize("call", SHARING)
def test_every_call_notes_rows_that_samples_share(call):
    apart = {note.id for note in SHARING[call](X, Y).notes if hasattr(note, "id")}
    assert not apart & {"same-data", "shared-rows"}
    some = [note for note in SHARING[call](X, np.concatenate([X[:10], Y[10:]])).notes if hasattr(note, "id")]
    assert [note.id for note in some if note.id in ("same-data", "shared-rows")] == ["shared-rows"]
    same = [note for note in SHARING[call](X, X[::-1]).notes if hasattr(note, "id")]
    expected = "shared-rows" if call in ("learned_test", "plan") else "same-data"
    assert [note.id for note in same if note.id in ("same-data", "shared-rows")] == [expected]


def test_each_sample_is_hashed_once(monkeypatch):
    hashed = []
    monkeypatch.setattr(shared, "hash_blocks", lambda values: hashed.append(len(values)) or hash_blocks(values))
    ta.rank(X, {"a": Y, "b": Y[:12] + 1, "c": Y[:9]}, diagnostics=False, rng=0)
    assert hashed == [20, 20, 12, 9]


def test_models_with_rows_of_the_reference_are_noted():
    found = ta.rank(X, {"copied": X[:12], "own": Y}, rng=0)
    assert any(note.startswith("12 of the 20 rows of the reference are in copied too.") for note in found.notes)
    assert not any("own too" in note for note in found.notes)


READERS = {
    "two_sample_test": lambda x: ta.two_sample_test(x, Y, 19, rng=0),
    "k_sample_test": lambda x: ta.k_sample_test([Y, x], permutations=19, rng=0),
    "mmd_test": lambda x: ta.mmd_test(x, Y, permutations=19, rng=0),
    "learned_test": lambda x: ta.learned_test(x, Y, permutations=19, rng=0),
    "rank": lambda x: ta.rank(Y, {"other": Y + 1, "file": x}, rng=0),
    "equivalence_test": lambda x: ta.equivalence_test(x, Y, 0.5, rng=0),
    "plan": lambda x: ta.plan(x, np.tile(Y, (2, 1)), repetitions=2, permutations=19, rng=0),
    "Reference.fit": lambda x: ta.Reference.fit(x, rng=0),
}


@pytest.mark.parametrize("call", READERS.values(), ids=READERS)
def test_a_file_that_changes_during_the_call_is_noticed(call, tmp_path, monkeypatch):
    path = tmp_path / "x.npy"
    np.save(path, np.concatenate([X, X + 0.1]))
    wanted = Plain.rows

    def read_and_touch(self, index):
        found = wanted(self, index)
        os.utime(path, (0, 0))
        return found

    call(path)
    monkeypatch.setattr(Plain, "rows", read_and_touch)
    with pytest.raises(InputChangedError, match=r"x.npy.* has changed since it was opened"):
        call(path)


def test_no_reference(tmp_path):
    (tmp_path / "may.csv").write_text("a,b\n1,2\n")
    with pytest.raises(ValueError, match=r"may.csv is not a reference, or damaged. Give a file that .* Reference.save"):
        ta.Reference.load(tmp_path / "may.csv")


@pytest.mark.parametrize("call", [ta.two_sample_test, ta.compare])
@pytest.mark.parametrize("paired", ["id", np.arange(20)])
def test_what_pairs_rows_is_yes_or_no(call, paired):
    X = np.random.default_rng(0).normal(size=(20, 2))
    with pytest.raises(TypeError, match="paired must be True"):
        call(X, X[:10], paired=paired)
