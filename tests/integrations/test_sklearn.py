"""The estimators, by scikit-learn's own checks and in pipelines."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from tellapart import two_sample_test
from tellapart.integrations.sklearn import DriftDetector, DriftWarning, TwoSampleTest

QUICK = {"permutations": 19}
SHIFT = np.array([0, 1])


# No check is expected to fail. (Batches of `check_methods_subset_invariance` come from the reference; with drift, the
# verdict of DriftDetector.predict is about the whole batch, and would not be that of its parts.)
@parametrize_with_checks([TwoSampleTest(**QUICK), DriftDetector(on_drift="ignore", **QUICK)])
@pytest.mark.filterwarnings("ignore")  # data of these checks have 2 rows or constant columns
def test_checks_of_scikit_learn(estimator, check, request):
    if check.func.__name__.startswith("check_array_api") and "SCIPY_ARRAY_API" not in os.environ:
        # SciPy reads that when it is imported, and the check is skipped without: it has a process of its own.
        words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"{__file__}::{request.node.name}"]
        environment = os.environ | {"SCIPY_ARRAY_API": "1"}
        done = subprocess.run(words, env=environment, capture_output=True, text=True)
        assert "1 passed" in done.stdout, done.stdout + done.stderr
    else:
        check(estimator)


def frame(seed, rows=120, shift=0.0):
    rng = np.random.default_rng(seed)
    values = {
        "age": rng.normal(40 + shift, 5, rows),
        "town": rng.choice(["Ulm", "Bonn"], rows),
        "pay": rng.normal(size=rows),
    }
    return pd.DataFrame(values)


def test_a_test_is_that_of_tellapart_and_selects_columns():
    X, Y = frame(0), frame(1, shift=5)
    both, labels = pd.concat([X, Y], ignore_index=True), ["may"] * 120 + ["june"] * 120
    test = TwoSampleTest(random_state=0).set_output(transform="pandas").fit(both, labels)
    seed = int(np.random.RandomState(0).randint(2**31 - 1))
    assert test.pvalue_ == two_sample_test(Y, X, rng=seed).pvalue == 0.001
    assert test.classes_.tolist() == ["june", "may"]
    assert test.feature_names_in_.tolist() == ["age", "town", "pay"]
    assert test.get_feature_names_out().tolist() == ["age"]
    assert test.transform(both).columns.tolist() == ["age"]
    again = pickle.loads(pickle.dumps(test))
    assert again.pvalue_ == test.pvalue_
    assert not hasattr(clone(test), "result_")


def test_groups_are_kept_together():
    rng = np.random.default_rng(0)
    donors = np.repeat(np.arange(20), 10)
    X = rng.normal(size=(20, 1))[donors] + 0.1 * rng.normal(size=(200, 1))
    y = donors % 2
    assert (
        TwoSampleTest(random_state=0).fit(X, y).pvalue_
        < 0.05
        < TwoSampleTest(random_state=0).fit(X, y, groups=donors).pvalue_
    )


def test_a_detector_in_front_of_a_model():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(300, 2)), columns=["a", "b"])
    y = (X["a"] > 0).astype(int)
    model = make_pipeline(DriftDetector(random_state=0), StandardScaler(), LogisticRegression()).fit(X, y)
    new = pd.DataFrame(rng.normal(size=(100, 2)), columns=["a", "b"])
    assert model.score(new, (new["a"] > 0).astype(int)) > 0.9
    with pytest.warns(DriftWarning, match=r"differs in distribution from the reference \(p = 0.001; 'b' differs\)"):
        model.predict(new + SHIFT)
    assert model[0].test(new + SHIFT).differing_columns().names == ("b",)
    with pytest.warns(DriftWarning, match=r"; 'a', 'b' differ\)"):
        model.predict(new + 5)
    with pytest.raises(ValueError, match="feature names should match"):
        model[0].test(new.rename(columns={"a": "c"}))
    with pytest.raises(ValueError, match="The batch differs in distribution"):
        model.set_params(driftdetector__on_drift="raise").predict(new + SHIFT)
    assert model[0].predict(new + SHIFT).tolist() == [1] * 100
    assert model[0].predict(new[:1]).tolist() == [0]
    with pytest.raises(ValueError, match=r"`on_drift` must be .* got 'panic'"):
        DriftDetector(on_drift="panic").fit(X)


def test_missing_values_and_polars():
    X, Y = frame(0), frame(1)
    Y.loc[:40, "pay"] = np.nan
    with pytest.raises(ValueError, match="missing"):
        DriftDetector().fit(X).test(Y)
    found = DriftDetector(missing="indicator", random_state=0).fit(X).test(Y)
    assert found.reject(0.01)
    drifted = DriftDetector(random_state=0).fit(pl.from_pandas(X)).test(pl.from_pandas(frame(3, shift=5)))
    assert drifted.columns[0].name == "age"
