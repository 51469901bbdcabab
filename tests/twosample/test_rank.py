"""Ranking models by their distance from a reference."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
import torch

import tellapart as ta
from tellapart import engine
from tellapart.kernels import Gaussian, Grid
from tellapart.stats.auc import auc_and_error
from tellapart.stats.relative import relative_from
from tellapart.twosample import ranking


def gaussians(seed=0, rows=(200, 150, 250, 180)):
    rng = np.random.default_rng(seed)
    real, good, also_good, bad = (rng.normal(size=(n, 3)) for n in rows)
    return real, {"good": good + 0.2, "also good": also_good + 0.2, "bad": bad * 2}


def test_what_is_sure_is_said_and_nothing_else():
    real, models = gaussians()
    found = ta.rank(real, models, rng=0)
    assert set(found.order[:2]) == {"good", "also good"}
    assert found.order[2] == "bad"
    assert found.beats["good"] == ("bad",)
    assert "cannot be told apart" in found.description
    assert "beat bad" in found.description
    assert found.description in found.summary()
    plain = json.loads(found.to_json())
    assert plain["order"] == list(found.order)
    assert {tuple(pair["closer"]) for pair in plain["pairs"]}
    assert not found.exact


def test_the_kernel_is_that_of_the_reference_alone():
    """Another model among them changes no distance."""
    real, models = gaussians()
    less = {name: models[name] for name in ("good", "bad")}
    all_of_them, some = (ta.rank(real, given, diagnostics=False, rng=0) for given in (models, less))
    known = {model.name: model.mmd2 for model in all_of_them.models}
    assert all(model.mmd2 == known[model.name] for model in some.models)


@pytest.mark.parametrize("measures", [False, True])
def test_progress_goes_forward_to_the_end(measures):
    shares = []
    ta.rank(*gaussians(), diagnostics=measures, rng=0, progress=lambda done, total: shares.append(done / total))
    assert shares == sorted(shares)
    assert shares[-1] == 1


def test_the_median_distance_is_measured_once(monkeypatch):
    calls, wanted = [], ranking.median_distance
    monkeypatch.setattr(ranking, "median_distance", lambda *given: calls.append(given) or wanted(*given))
    found = ta.rank(*gaussians(), rng=0)
    assert len(calls) == 1
    assert [one.bandwidth for one in found.scales] == [factor * wanted(*calls[0]) for factor in ranking.FACTORS]


def test_a_given_kernel_gives_the_statistic_by_its_definition():
    real, models = gaussians()
    kernel = Gaussian(1.5)
    found = ta.rank(real, models, kernel, diagnostics=False, rng=0)
    for model in found.models:
        assert model.mmd2 == pytest.approx(ta.mmd2(real, models[model.name], kernel), rel=1e-9)
        assert model.error**2 == pytest.approx(ta.mmd2_variance(real, models[model.name], kernel, positive=True))
    kernel.requires_grad_(False)
    sums = [engine.sums(kernel, *(torch.from_numpy(z) for z in (real, models[k]))) for k in ("good", "bad")]
    expected = relative_from(*sums)
    test = next(one for one in found.pairs if {one.closer, one.farther} == {"good", "bad"})
    assert test.z == pytest.approx(abs(float(expected.z)), rel=1e-9)
    assert test.difference == pytest.approx(abs(float(expected.difference)), rel=1e-9)
    degrees = min(len(real), len(models["good"]), len(models["bad"])) - 1
    assert test.pvalue_unadjusted == pytest.approx(ranking._two_sided(test.z, degrees), rel=1e-6)
    assert 0 < ranking._two_sided(9.0, 10**6) < 1e-18  # where a normal distribution as 1 - (1 - p) has no digits left


@pytest.mark.parametrize("kernel", ["rbf", "ard"])
def test_a_kernel_is_learned_on_rows_that_are_not_tested(kernel):
    real, models = gaussians()
    found = ta.rank(real, models, kernel, diagnostics=False, learning={"steps": 20} if kernel == "ard" else None, rng=0)
    assert found.learned == kernel
    assert found.rows == 100
    assert {model.name: model.tested for model in found.models} == {"good": 75, "also good": 125, "bad": 90}
    assert found.order[2] == "bad"


def test_tables_are_compared_in_units_of_the_reference():
    rng = np.random.default_rng(0)

    def table(rows, shift, share):
        values = {"income": 1e5 * (rng.normal(size=rows) + shift), "age": rng.normal(40, 10, rows)}
        return pd.DataFrame(values | {"town": rng.choice(["Ulm", "Bonn"], rows, p=[share, 1 - share])})

    found = ta.rank(table(300, 0, 0.5), {"a": table(300, 0, 0.5), "b": table(200, 0, 0.9)}, diagnostics=False, rng=0)
    assert found.order == ("a", "b")
    assert found.beats["a"] == ("b",)


def test_measures_that_disagree_are_said():
    """Bandwidths: one model has its mass a little shifted, the other is right at large but coarse at small scales."""
    rng = np.random.default_rng(0)
    real = rng.normal(size=(1500, 1)).round(1)
    models = {"coarse": rng.normal(size=(1500, 1)).round(0), "shifted": rng.normal(size=(1500, 1)).round(1) + 0.3}
    found = ta.rank(real, models, rng=0)
    assert any("Bandwidths disagree" in note for note in found.disagreements)
    assert set(found.disagreements) <= set(found.notes)
    assert "Two at a time (asymptotic p-values):" in found.summary()  # there is nothing to adjust for
    assert {scale.order[0] for scale in found.scales} == {"coarse", "shifted"}


def test_auc_and_its_error():
    rng = np.random.default_rng(0)
    estimates = [auc_and_error(rng.normal(size=60) + 1, rng.normal(size=40)) for _ in range(300)]
    spread = float(np.std([auc for auc, _ in estimates]))
    assert np.mean([auc for auc, _ in estimates]) == pytest.approx(0.7602, abs=0.01)
    assert np.mean([error for _, error in estimates]) == pytest.approx(spread, rel=0.15)


@pytest.mark.parametrize(
    ("models", "options", "message"),
    [
        ({"a": np.zeros((9, 2))}, {}, "two or more"),
        (np.zeros((9, 2)), {}, "a dict or a list"),
        ({"reference": np.zeros((9, 2)), "b": np.zeros((9, 2))}, {}, "reference"),
        ([np.zeros((9, 2))] * 2, {"kernel": "witness"}, "not known"),
        ([np.zeros((9, 2))] * 2, {"kernel": Grid([1.0, 2.0])}, "single kernel"),
        ([np.zeros((9, 2))] * 2, {"kernel": "rbf", "train_size": 2.0}, "between 0 and 1"),
    ],
)
def test_bad_input(models, options, message):
    with pytest.raises(ValueError if "single" not in message and "dict" not in message else TypeError, match=message):
        ta.rank(np.zeros((9, 2)), models, **options)


def test_equal_points_rank_nothing():
    found = ta.rank(np.zeros((9, 2)), [np.zeros((9, 2))] * 2, diagnostics=False)
    assert found.pairs[0].pvalue == 1.0


@pytest.mark.parametrize("kernel", [None, pytest.param("rbf", marks=pytest.mark.full)])
@pytest.mark.parametrize("repetitions", [150, pytest.param(1000, marks=pytest.mark.full)])
def test_level_of_equally_far_models(kernel, repetitions):
    found = 0
    for k in range(repetitions):
        rng = np.random.default_rng(k)
        real, a, b = (rng.normal(size=(n, 2)) for n in (60, 40, 80))
        shift = np.array([0.5, 0])
        found += ta.rank(real, [a + shift, b - shift], kernel, diagnostics=False, rng=k).pairs[0].pvalue <= 0.05
    assert found / repetitions <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / repetitions)


def test_texts_are_ranked_by_features():
    rng = np.random.default_rng(0)
    words = ["yes", "no", "perhaps", "surely", "never"]

    def texts(end):
        return [" ".join(rng.choice(words, 5)) + end for _ in range(60)]

    features = ta.features.hashing_ngrams()
    found = ta.rank(texts(""), {"dots": texts("."), "same": texts("")}, features=features, rng=0)
    assert found.models[0].name == "same"
    assert (
        ta.k_sample_test([texts(""), texts(""), texts(".")], features=features, permutations=99, rng=0).pvalue == 0.01
    )
    reference = ta.Reference.fit(texts(""), features=features, rng=0)
    assert reference.test(texts("."), permutations=99, rng=0).pvalue == 0.01


def test_models_that_copy_are_told_of():
    rng = np.random.default_rng(0)
    real = rng.normal(size=(200, 3))
    found = ta.rank(
        real, {"copies": np.r_[real[:100], rng.normal(size=(100, 3))], "fresh": rng.normal(size=(200, 3))}, rng=0
    )
    assert any("a model that copies is ranked too well" in note for note in found.notes)
