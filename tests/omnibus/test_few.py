"""Forms of few rows from their kernel matrix, against those from sums of features."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from tellapart.engine import Compute
from tellapart.omnibus import Layout, pool_rows
from tellapart.omnibus.contrasts import Contrasts
from tellapart.omnibus.few import forms_of_few
from tellapart.omnibus.plan import FeaturePlan
from tellapart.omnibus.sketch import draw_sketch
from tellapart.omnibus.sums import needs_leverages, sum_features, sum_leverages
from tellapart.stats.design import Design
from tellapart.stats.permutations import draw_permutations

ONE = Compute(threads=1)


def problem(sizes=(50, 70), d=6, image_shape=None, **design):
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(sum(sizes), d))
    labels = np.repeat(np.arange(len(sizes), dtype=np.uint8), sizes)
    drawn = draw_permutations(labels, 49, rng, Design(**design))
    pooled = pool_rows([torch.from_numpy(Z)], drawn, rng)
    layout = Layout(d, image_shape=image_shape)
    plan = FeaturePlan.fit(draw_sketch(pooled.points, rng, ONE), len(Z), layout, (), rng)
    return pooled, plan, Contrasts(pooled.permutations)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"sizes": (30, 90)},
        {"sizes": (30, 40, 50)},
        {"d": 49, "image_shape": (7, 7)},
        {"groups": np.repeat(np.arange(60), 2)},
    ],
    ids=["even", "uneven", "three samples", "images", "groups"],
)
def test_forms_of_few_rows_are_those_of_sums_of_features(options):
    """With all rows as landmarks, features whitened by the kernel matrix of these have the kernel as inner product."""
    pooled, plan, contrasts = problem(**options)
    few = forms_of_few(plan, contrasts, pooled.points, ONE, corrected=True)
    assert set(few) == set(plan.spectral)
    for block, pending in sum_features(plan, contrasts, pooled.points, ONE):
        if block in few:
            exact = plan.spectral[block].form(block, pending(), plan.rows, contrasts, directions=True)
            forms, leverages = few[block]
            assert forms.names == exact.names
            assert np.allclose(forms.values, exact.values, rtol=2e-2)
            assert np.allclose(forms.skewness, exact.skewness, rtol=2e-3)
            summed = sum_leverages(plan, contrasts, {block: exact}, pooled.points, ONE)[block]
            assert np.allclose(leverages, summed, rtol=2e-2, atol=2e-2)


def test_sums_are_left_out_for_few_rows():
    pooled, plan, contrasts = problem()
    few = forms_of_few(plan, contrasts, pooled.points, ONE, needs_leverages(contrasts))
    summed = {block for block, _ in sum_features(plan, contrasts, pooled.points, ONE, without=few)}
    assert summed == set(plan.blocks) - set(few)


@pytest.mark.parametrize("options", [{"sizes": (2_000, 10)}, {"strata": np.arange(120) % 3}], ids=["many", "strata"])
def test_many_rows_and_strata_are_summed(options):
    pooled, plan, contrasts = problem(**options)
    assert not forms_of_few(plan, contrasts, pooled.points, ONE, corrected=False)


def test_threads_change_no_bit():
    pooled, plan, contrasts = problem(sizes=(20, 60))
    one, two = (forms_of_few(plan, contrasts, pooled.points, Compute(threads=k), corrected=True) for k in (1, 2))
    for block in one:
        assert (one[block].forms.values == two[block].forms.values).all()
        assert (one[block].leverages == two[block].leverages).all()
