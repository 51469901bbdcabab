"""compare: what it finds, what it says, and that it rejects a true null no more often than it may."""

from __future__ import annotations

import json
import math

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.datasets import load_digits

import tellapart as ta
from tellapart import criticism
from tellapart.data import as_sample
from tellapart.kernels import ARD, Gaussian

QUICK = {"stability": 1, "learning": {"steps": 40}, "permutations": 199}


def tables(n=300, seed=0, income=1.0, towns=(0.5, 0.3, 0.2)):
    """Two tables; in the second, income is stretched and towns have other shares."""
    rng = np.random.default_rng(seed)
    parts = []
    for stretch, shares in ((1.0, (0.5, 0.3, 0.2)), (income, towns)):
        parts.append(
            pd.DataFrame(
                {
                    "age": rng.normal(40, 10, n).round(),
                    "income": rng.normal(0, 1000, n) * stretch + 3000,
                    "town": rng.choice(["Ulm", "Bonn", "Köln"], n, p=shares),
                    "since": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 1000, n), "D"),
                }
            )
        )
    return parts


# --- The pieces


def test_the_witness_is_its_formula():
    g = torch.Generator().manual_seed(0)
    X, Y, Z = (torch.randn(n, 3, generator=g, dtype=torch.float64) for n in (20, 30, 7))
    kernel = Gaussian(1.3)
    expected = kernel(Z, X).mean(1) - kernel(Z, Y).mean(1)
    assert np.allclose(ta.witness(kernel, X, Y, at=Z), expected.detach().numpy(), atol=1e-12)


def test_separability_is_the_auc():
    from sklearn.metrics import roc_auc_score

    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 6, 50) + 1.0, rng.integers(0, 6, 70).astype(float)
    labels = np.repeat([1, 0], [50, 70])
    assert criticism.separability(a, b) == pytest.approx(roc_auc_score(labels, np.concatenate([a, b])))


def test_exemplars_lie_where_they_are_said_to():
    x, y = as_sample(np.zeros((20, 1))), as_sample(np.zeros((30, 1)))
    of_x, of_y = np.linspace(-1, 2, 20), np.linspace(-2, 1, 30)
    found = criticism.exemplars(x, y, of_x, of_y, 4)
    assert len(found) == 2 * 3 * 4
    highest = [e for e in found if e.level == "more of X" and e.sample == "X"]
    assert [e.index for e in highest] == [19, 18, 17, 16]
    lowest = [e for e in found if e.level == "more of Y" and e.sample == "Y"]
    assert [e.index for e in lowest] == [0, 1, 2, 3]
    assert all(abs(e.value) < 0.3 for e in found if e.level == "no difference")


# --- The whole


@pytest.mark.parametrize("kernel", ["ard", "witness", "rbf", "deep", "full"])
def test_a_table_and_the_column_that_differs(kernel):
    X, Y = tables(income=3.0)
    c = ta.compare(X, Y, kernel, rng=0, **QUICK)
    assert c.pvalue == 1 / 200
    assert c.weights.leading(1)[0][0] == "income"
    assert c.weights.names == ("age", "income", "town", "since")
    assert c.weights.values.sum() == pytest.approx(1)
    assert (c.weights.low <= c.weights.values).all()
    assert (c.weights.values <= c.weights.high).all()
    assert 0.6 < c.auc <= 1
    assert "The samples differ (p ≤ 0.005, 199 permutations)." in c.summary()
    # The rows where Y has more are those with extreme incomes, and they are shown as they came.
    shown = [c.y.shown.row(e.index) for e in c.exemplars(5) if e.level == "more of Y" and e.sample == "Y"]
    assert all(abs(float(row[1]) - 3000) > 2000 for row in shown)
    stored = json.loads(c.to_json())
    assert stored["pvalue"] == c.pvalue
    assert stored["differ"] is True


def test_a_category_that_differs():
    X, Y = tables(n=500, towns=(0.1, 0.3, 0.6))
    c = ta.compare(X, Y, rng=0, **QUICK)
    assert c.reject(0.01)
    assert c.weights.leading(1)[0][0] == "town"


def test_images_and_the_pixels_that_differ():
    images = (load_digits().images * 15).astype(np.uint8)
    X, Y = images[:800], images[800:1600].copy()
    Y[:, 3, 2:5] = 0
    c = ta.compare(X, Y, rng=0, **QUICK)
    assert c.reject(0.01)
    assert c.weights.image_shape == (8, 8)
    heat = c.weights.values.reshape(8, 8)
    assert heat[3, 2:5].sum() > 0.3
    assert c.x.shown.row(0).shape == (8, 8)


def test_the_witness_at_other_rows_given_as_the_samples_were():
    X, Y = tables(income=4.0)
    c = ta.compare(X, Y, rng=0, **QUICK)
    more = pd.DataFrame({"age": [40.0] * 2, "income": [3000.0, 15000.0], "town": ["Ulm"] * 2, "since": X["since"][:2]})
    usual, extreme = c.witness(more)
    assert usual > extreme


def test_features_are_compared_and_images_are_shown():
    images = load_digits().images.astype(np.float32) / 16
    c = ta.compare(
        images[:300], 1 - images[300:600], features=lambda batch: batch.flatten(1).mean(1, keepdim=True), rng=0, **QUICK
    )
    assert c.reject()
    assert c.x.values.shape[1] == 1
    assert c.x.shown.kind == "images"


def test_the_seed_decides_and_is_told():
    X, Y = tables(n=60)
    first = ta.compare(X, Y, rng=None, **QUICK)
    again = ta.compare(X, Y, rng=first.test.seed, **QUICK)
    assert again.pvalue == first.pvalue
    assert np.array_equal(again.weights.values, first.weights.values)
    assert first.settings.seed == first.test.seed


def test_swapped_halves_and_groups():
    X, Y = tables(income=3.0)
    c = ta.compare(X, Y, swap=True, rng=0, **QUICK)
    assert len(c.test.halves) == 2
    assert c.pvalue == 2 * min(half.test.pvalue for half in c.test.halves)
    groups = (np.arange(300) // 3, 1000 + np.arange(300) // 3)
    c = ta.compare(X, Y, groups=groups, rng=0, **QUICK)
    assert not set(groups[0][c.split.train_x]) & set(groups[0][c.split.test_x])


def test_many_rows_are_binned(monkeypatch):
    from tellapart.criticism import comparing

    monkeypatch.setattr(comparing, "_PERMUTED", 100)
    c = ta.compare(*tables(), rng=0, **QUICK)
    assert c.test.leading.test.null == "binned"


def test_of_very_many_rows_some_are_drawn(monkeypatch):
    from tellapart.criticism import reading

    monkeypatch.setattr(reading, "ROWS", 100)
    X, Y = tables()
    c = ta.compare(X, Y[:90], rng=0, **QUICK)
    assert (len(c.x) + len(c.split.train_x), len(c.y) + len(c.split.train_y)) == (100, 90)
    assert c.notes == ("X: 100 rows were drawn at random.",)
    assert len(ta.compare(X, Y, rng=0, max_rows=200, **QUICK).x) == 100


def test_a_column_that_counts_rows_is_pointed_out():
    X, Y = tables(n=60)
    X.insert(0, "id", np.arange(60))
    Y.insert(0, "id", 60 + np.arange(60))
    c = ta.compare(X, Y, "witness", rng=0, **QUICK)
    assert c.notes == ("X: The column 'id' counts the rows. If it has no meaning, leave it out with drop=.",)
    assert not ta.compare(X, Y, "witness", rng=0, drop=["id"], **QUICK).notes


def test_too_few_permutations_to_find_anything():
    X, Y = tables(n=60)
    with pytest.raises(ValueError, match="Give at least permutations=19"):
        ta.compare(X, Y, permutations=10)
    with pytest.raises(ValueError, match="Give at least permutations=39"):
        ta.compare(X, Y, permutations=30, swap=True)


def test_weights_of_coordinates_that_never_vary_are_nothing():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(200, 3)), rng.normal(size=(200, 3)) * [1, 2.5, 1]
    X[:, 2] = Y[:, 2] = 7.0
    c = ta.compare(X, Y, ARD(3), rng=0, **QUICK)
    assert c.weights.values[2] == 0
    assert c.weights.leading(1)[0][0] == "1"


@pytest.mark.usefixtures("one_thread")
@pytest.mark.parametrize("repetitions", [100, pytest.param(600, marks=pytest.mark.full)])
@pytest.mark.parametrize("kernel", ["ard", "witness"])
def test_level(kernel, repetitions):
    pvalues = []
    for r in range(repetitions):
        X, Y = tables(n=40, seed=r)
        c = ta.compare(X, Y, kernel, rng=r, permutations=99, stability=0, learning={"steps": 20})
        pvalues.append(c.pvalue)
    rates = [float(np.mean(np.array(pvalues) <= alpha + 1e-12)) for alpha in (0.01, 0.05, 0.1)]
    print(f"\n{kernel}: rejection rates {rates} of {repetitions}")
    for alpha, rate in zip((0.01, 0.05, 0.1), rates, strict=True):
        assert abs(rate - alpha) <= 3 * math.sqrt(alpha * (1 - alpha) / repetitions) + 1e-12
