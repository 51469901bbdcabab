"""What every family of `FAMILIES` must do; a new one is tested as soon as it is in that list."""

from __future__ import annotations

from dataclasses import fields, is_dataclass

import numpy as np
import pytest
import torch

import tellapart as ta
from tellapart._util.records import Records
from tellapart.engine import Compute
from tellapart.engine.rows import as_matrix
from tellapart.kernels import Laplacian
from tellapart.omnibus import FAMILIES, Layout, omnibus_test, pool_rows
from tellapart.omnibus.contrasts import Contrasts
from tellapart.omnibus.families.cells import CellFamily
from tellapart.omnibus.families.components import ComponentFamily
from tellapart.omnibus.families.given import GivenFamily
from tellapart.omnibus.fixed import PARTS, FixedTest
from tellapart.omnibus.plan import FeaturePlan
from tellapart.omnibus.rows import RowBlock
from tellapart.omnibus.scoring import FamilyScorer
from tellapart.omnibus.sketch import Sketch
from tellapart.omnibus.sums import sum_features
from tellapart.stats.design import Design
from tellapart.stats.permutations import draw_permutations


def wide(rng, n=160):
    """70 numeric columns, one of them with heavy ties, and a category."""
    Z = rng.normal(size=(n, 73))
    Z[:, 1] += 0.7 * Z[:, 0]
    Z[:, 2] = np.maximum(Z[:, 2], 0)
    Z[:, 70:] = np.eye(3)[rng.integers(0, 3, n)]
    return Z, Layout(73, ((70, 71, 72),))


def images(rng, n=160):
    return rng.random((n, 8, 8)).reshape(n, -1), Layout(64, (), (8, 8))


#: Data that between them every family applies to.
DATA = {"wide": wide, "images": images}


def draw(name, seed=0):
    Z, layout = DATA[name](np.random.default_rng(seed))
    return Z, layout


def fit(family, values, layout, seed=0):
    return family.fit(Sketch.of(values, len(values), layout, [Laplacian(60.0)], np.random.default_rng(seed)))


CASES = [
    pytest.param(family, name, id=f"{family.name}-{name}")
    for family in FAMILIES
    for name in DATA
    if fit(family, *draw(name)) is not None
]
every = pytest.mark.parametrize(("family", "name"), CASES)


def scorer_of(values, layout, labels, permutations=49, seed=0, **design):
    """Pooled rows, and what families are scored with."""
    rng = np.random.default_rng(seed)
    pooled = pool_rows([values], draw_permutations(labels, permutations, rng, Design(**design)), rng)
    plan = FeaturePlan.fit(values, len(values), layout, [Laplacian(60.0)], np.random.default_rng(0))
    return pooled, plan, FamilyScorer(Contrasts(pooled.permutations), len(values), plan.transform)


def score(family, pooled, plan, scorer, compute=None):
    """The score of one family, from sums over the pooled rows."""
    (made,) = (one for one in plan.families if isinstance(one, family))
    one = FeaturePlan(plan.rows, plan.transform, (made,))
    sums = sum_features(one, scorer.contrasts, pooled.points, compute or Compute(threads=1))
    return made.score(scorer, {block.index: pending() for block, pending in sums})


def test_every_family_applies_to_some_data():
    assert {case.values[0] for case in CASES} == set(FAMILIES)


def test_families_are_told_apart():
    assert (
        len({family.name for family in FAMILIES}) == len({family.description for family in FAMILIES}) == len(FAMILIES)
    )
    assert len({part.__name__ for part in PARTS}) == len(PARTS)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_family_says_what_it_is(family):
    assert family.name.isidentifier()
    assert family.description
    assert family.names in ("columns", "pairs", None)
    assert family.extends in {None, *(other.name for other in FAMILIES)} - {family.name}
    assert is_dataclass(family)


@every
def test_blocks_are_as_wide_as_their_features(family, name):
    values, layout = draw(name)
    made = fit(family, values, layout)
    rows = RowBlock(values[:10], Sketch.of(values, len(values), layout, (), np.random.default_rng(0)).block.transform)
    features = list(made.features(rows, range(len(made.blocks))))
    assert [block.index for block in made.blocks] == list(range(len(features)))
    for block, F in zip(made.blocks, features, strict=True):
        assert block.family == family.name
        assert F.dtype == np.float32
        assert as_matrix(F).shape == (10, block.width)
        assert np.isfinite(F).all()


@every
def test_the_fit_is_a_function_of_the_rows_alone(family, name):
    """Neither of labels, which it does not get, nor of anything global."""
    values, layout = draw(name)
    first, second = (_flat(fit(family, values, layout)) for _ in range(2))
    torch.manual_seed(5)
    assert len(first) == len(second)
    for a, b in zip(first, second, strict=True):
        assert np.array_equal(a, b)


@every
def test_features_of_a_row_do_not_depend_on_its_block(family, name):
    """To the last bit in blocks of one size, as sums are made; and to rounding in others."""
    values, layout = draw(name)
    made = fit(family, values, layout)
    transform = Sketch.of(values, len(values), layout, (), np.random.default_rng(0)).block.transform
    wanted = range(len(made.blocks))
    whole = list(made.features(RowBlock(values, transform), wanted))
    for rows in (slice(0, 64), slice(64, 128), slice(128, 160)):
        for part, F in zip(made.features(RowBlock(values[rows], transform), wanted), whole, strict=True):
            # What is between two steps of a rounding may have the next rank, or be in the next cell.
            rounded = family in (CellFamily, ComponentFamily)
            assert np.isclose(part, F[rows], atol=1e-4).mean() >= (0.99 if rounded else 1.0)
    none = made.features(RowBlock(values[:0], transform), wanted)
    if family is not GivenFamily:
        assert [as_matrix(F).shape for F in none] == [(0, block.width) for block in made.blocks]
    # Some blocks only, in order.
    for k, F in enumerate(whole):
        assert np.array_equal(next(iter(made.features(RowBlock(values, transform), [k]))), F)


@every
def test_scores_have_the_same_bits_on_threads_and_in_little_memory(family, name):
    values, layout = draw(name)
    values = np.tile(values, (20, 1))
    labels = (np.random.default_rng(1).random(len(values)) < 0.4).astype(np.uint8)
    pooled, plan, scorer = scorer_of(values, layout, labels, 19)
    base = score(family, pooled, plan, scorer)
    for compute in (Compute(threads=2), Compute(threads=2, max_memory=2**26)):
        assert np.array_equal(score(family, pooled, plan, scorer, compute).scores, base.scores)


@every
def test_permutations_are_treated_alike(family, name):
    """Whichever of all permutations is the observed one, each keeps its score."""
    values, layout = draw(name)
    # Two of sixteen rows, since eight have no cells.
    rows, ones = (8, [(5, 6, 7), (0, 2, 5)]) if fit(family, values[:8], layout) else (16, [(3, 4), (0, 15)])
    values = values[:rows]
    scores = []
    for one in ones:
        labels = np.isin(np.arange(rows), one).astype(np.uint8)
        pooled, plan, scorer = scorer_of(values, layout, labels, 149)
        assert scorer.permutations.complete
        found = score(family, pooled, plan, scorer)
        if found is None:
            pytest.skip("so few rows do not vary in this family")
        codes = scorer.permutations.codes()[np.argsort(pooled.order)]
        scores.append({tuple(column): value for column, value in zip(codes.T.tolist(), found.scores, strict=True)})
    first, second = scores
    assert first.keys() == second.keys()
    for labels, value in first.items():
        assert second[labels] == pytest.approx(value, rel=1e-3, abs=1e-3)


@every
def test_names_of_the_samples_do_not_matter(family, name):
    values, layout = draw(name)
    labels = (np.arange(160) % 2).astype(np.uint8)
    pvalues = []
    for coded in (labels, 1 - labels):
        pooled, plan, scorer = scorer_of(values, layout, coded, 99)
        found = score(family, pooled, plan, scorer)
        assert found.scores.shape == (100,)
        assert np.isfinite(found.scores).all()
        pvalues.append(found.scores[scorer.observed])
    assert pvalues[0] == pytest.approx(pvalues[1], rel=1e-2, abs=1e-2)


@every
@pytest.mark.parametrize("design", ["groups", "strata", "three samples"])
def test_every_design_is_scored(family, name, design):
    values, layout = draw(name)
    index = np.arange(160)
    labels = (index // 4 % (3 if design == "three samples" else 2)).astype(np.uint8)
    options = {"groups": index // 4} if design == "groups" else {"strata": index // 40} if design == "strata" else {}
    pooled, plan, scorer = scorer_of(values, layout, labels, 49, **options)
    found = score(family, pooled, plan, scorer)
    assert found.scores.shape == (50,)
    assert np.isfinite(found.scores).all()


@every
def test_what_it_names_are_columns_of_the_rows(family, name):
    values, layout = draw(name)
    pooled, plan, scorer = scorer_of(values, layout, (np.arange(160) % 2).astype(np.uint8))
    found = score(family, pooled, plan, scorer)
    assert bool(found.columns) == (family.names is not None)
    for one in found.columns:
        assert set(one.columns) <= set(range(layout.width))
        assert 0 < one.pvalue_unadjusted <= one.pvalue <= 1
    strongest = found.strongest
    assert bool(strongest.description) != bool(strongest.columns)
    assert set(strongest.columns) <= set(range(layout.width))


@every
def test_it_is_saved_and_loaded(family, name):
    if family is GivenFamily:
        pytest.skip("a reference has no kernels of the user")
    values, layout = draw(name)
    made = FixedTest.fit(values, layout, np.random.default_rng(0), Compute(threads=1))
    facts, tensors = Records(PARTS).pack(made)
    again = Records(PARTS).unpack(facts, tensors)
    assert again.is_consistent()
    (before,), (after,) = ([one for one in test.plan.families if isinstance(one, family)] for test in (made, again))
    assert before.blocks == after.blocks
    for (_, a), (_, b) in zip(
        made.plan.features(values, before.blocks), again.plan.features(values, after.blocks), strict=True
    ):
        assert np.array_equal(a, b)
    labels = (np.arange(160) % 2).astype(np.uint8)
    pooled = pool_rows([values], draw_permutations(labels, 19, np.random.default_rng(0)), np.random.default_rng(0))
    results = [test.test(pooled, None, Compute(threads=1)) for test in (made, again)]
    assert results[0].families[family.name].pvalue == results[1].families[family.name].pvalue
    assert np.array_equal(results[0].null_distribution, results[1].null_distribution)


@every
def test_fewer_features_for_a_regression(family, name):
    values, layout = draw(name)
    made = fit(family, values, layout)
    few = made.reduced(80)
    assert type(few) is family
    assert sum(block.width for block in few.blocks) <= sum(block.width for block in made.blocks)
    transform = Sketch.of(values, len(values), layout, (), np.random.default_rng(0)).block.transform
    for block, F in zip(few.blocks, few.features(RowBlock(values, transform), range(len(few.blocks))), strict=True):
        assert as_matrix(F).shape == (160, block.width)


@every
def test_it_is_in_the_result_of_the_test(family, name):
    values, layout = draw(name)
    rng = np.random.default_rng(0)
    labels = (np.arange(160) % 2).astype(np.uint8)
    pooled = pool_rows([values], draw_permutations(labels, 19, rng), rng)
    result = omnibus_test(pooled, layout, [Laplacian(60.0)], rng, Compute(threads=1))
    assert 0.05 <= result.families[family.name].pvalue <= 1


def test_results_and_pages_name_the_families_from_the_list():
    X, Y = np.random.default_rng(0).normal(size=(2, 60, 3))
    result = ta.two_sample_test(X, Y, 19, rng=0)
    descriptions = {family.name: family.description for family in FAMILIES}
    for name in result.families:
        assert descriptions[name] in result.summary()


def _flat(value):
    """All arrays of a tree of dataclasses; tensors are those of kernels of the user."""
    if isinstance(value, torch.Tensor):
        return [value.numpy()]
    if isinstance(value, np.ndarray):
        return [value]
    if isinstance(value, (tuple, list)):
        return [one for part in value for one in _flat(part)]
    if is_dataclass(value):
        return [one for f in fields(value) for one in _flat(getattr(value, f.name))]
    return []
