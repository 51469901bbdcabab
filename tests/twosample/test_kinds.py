"""Kinds of rows: what is named, with which error, and how it is described."""

from __future__ import annotations

import json
import math
import operator
from itertools import combinations

import numpy as np
import pandas as pd
import pytest

import tellapart as ta
from tellapart.omnibus.families import CellFamily
from tellapart.omnibus.scores import step_down
from tellapart.twosample.naming_kinds import cell_squares
from tellapart.twosample.rules import describe_members

CENTERS = 8 * np.random.default_rng(0).normal(size=(10, 5))
EVEN = np.full(10, 0.1)


def moved(share=0.1):
    """Cluster 3 is rarer by this share of all rows, and cluster 4 more frequent."""
    found = EVEN.copy()
    found[3] -= share
    found[4] += share
    return found


def draw(rng, rows, shares):
    cluster = rng.choice(10, rows, p=shares)
    return CENTERS[cluster] + rng.normal(size=(rows, 5)), cluster


def run(seed, shares, rows=200, permutations=199, **options):
    rng = np.random.default_rng(seed)
    (X, of_x), (Y, of_y) = draw(rng, rows, EVEN), draw(rng, rows, shares)
    return ta.two_sample_test(X, Y, permutations, rng=seed, **options), of_x, of_y


def clusters_of(kind, of_x, of_y):
    """Which clusters the rows of a kind are from: those with at least a tenth of its rows."""
    rows = np.concatenate([of_x[kind.members[0]], of_y[kind.members[1]]])
    return set(np.flatnonzero(np.bincount(rows, minlength=10) > len(rows) / 10))


def test_a_missing_kind_and_one_that_is_more_frequent_are_named():
    result, of_x, of_y = run(0, moved(), 400)
    kinds = result.differing_kinds()
    # A third one may be named by chance.
    assert [clusters_of(kind, of_x, of_y) for kind in kinds[:2]] == [{3}, {4}]
    assert [kind.relation for kind in kinds[:2]] == ["missing", "more frequent"]
    first, second = kinds[:2]
    assert first.ratio == first.counts[1] == 0
    assert first.interval[0] == 0 < first.interval[1] < 1
    assert 1 < second.interval[0] < second.ratio < second.interval[1]
    assert second.shares == pytest.approx([count / 400 for count in second.counts])
    for kind in kinds[:2]:
        assert [len(part) for part in kind.members] == list(kind.counts)
        assert kind.precision > 0.9
        assert kind.recall > 0.9
        for row in kind.typical:
            assert row.row in kind.members[row.sample][:5]
            assert list(row.values) == ["0", "1", "2", "3", "4"]


def test_names_swap_with_the_samples():
    rng = np.random.default_rng(1)
    (X, _), (Y, _) = draw(rng, 300, EVEN), draw(rng, 300, moved())
    assert ta.two_sample_test(Y, X, 199, rng=0).kinds[0].relation == "invented"


#: What the relations of conditions mean.
MET = {">": operator.gt, "≤": operator.le, "is": operator.eq, "is not": operator.ne}


def test_rules_describe_the_rows_they_say():
    """Precision and recall, counted again from the conditions."""
    rng = np.random.default_rng(0)
    (X, _), (Y, _) = draw(rng, 300, EVEN), draw(rng, 300, moved())
    names = list("abcde")
    X, Y = (pd.DataFrame(part, columns=names) for part in (X, Y))
    X["town"] = Y["town"] = np.where(np.arange(300) % 2, "Ulm", "Bonn")
    kind = ta.two_sample_test(X, Y, 199, rng=0).kinds[0]
    both = pd.concat([X, Y], ignore_index=True)
    inside = np.ones(600, bool)
    for condition in kind.conditions:
        met = MET[condition.relation]
        inside &= met(both[condition.column], condition.value)
    members = np.zeros(600, bool)
    members[np.r_[kind.members[0], 300 + kind.members[1]]] = True
    assert kind.precision == pytest.approx((inside & members).sum() / inside.sum())
    assert kind.recall == pytest.approx((inside & members).sum() / members.sum())
    assert kind.text == " and ".join(map(str, kind.conditions))


def test_a_rule_is_no_worse_than_the_best_of_one_bound():
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(200, 3))
    members = (Z[:, 1] > 0.3) & (Z[:, 2] <= 1) & (rng.random(200) < 0.9)
    units = ta.data.samples.plain_variables(Z)
    best = 0.0
    for column in Z.T:
        for threshold in column:
            for inside in (column > threshold, column <= threshold):
                if inside.any():
                    both = (inside & members).sum()
                    best = max(best, 2 * both / (inside.sum() + members.sum()))
    rule = describe_members(Z, members, units)
    assert rule.quality > best
    assert {bound.coordinate for bound in rule.bounds} == {1, 2}
    assert describe_members(Z, rng.random(200) < 0.5, units) is None or rule.quality > 0.6


def test_the_statistic_is_that_of_all_relabelings():
    """The variance of a count, by enumeration of all labels, within strata and without."""
    rng = np.random.default_rng(0)
    inside = rng.random((8, 4)) < 0.5
    for strata in (None, np.array([0, 0, 0, 0, 1, 1, 1, 1])):
        labels = np.array([0, 1, 0, 1, 1, 0, 0, 0])
        every = []
        for ones in combinations(range(8), 3):
            drawn = np.isin(np.arange(8), ones)
            if strata is None or np.array_equal(np.bincount(strata[drawn], minlength=2), [2, 1]):
                every.append(inside[drawn].sum(0))
        every = np.array(every, float)
        gap = inside[labels == 1].sum(0) - every.mean(0)
        expected = np.divide(gap**2, every.var(0), out=np.zeros(4), where=every.var(0) > 0)
        assert np.allclose(cell_squares(inside, labels, strata, 2), expected)
    assert np.allclose(cell_squares(inside, np.array([0, 1, 2, 0, 1, 2, 0, 1]), None, 3).shape, (4,))


def test_the_statistic_of_several_samples_is_that_of_pearson():
    rng = np.random.default_rng(0)
    inside, labels = rng.random((300, 3)) < 0.3, rng.integers(0, 4, 300)
    expected = []
    for cell in inside.T:
        table = np.array([[(cell & (labels == k)).sum(), (~cell & (labels == k)).sum()] for k in range(4)], float)
        mean = table.sum(1, keepdims=True) * table.sum(0) / 300
        expected.append(((table - mean) ** 2 / mean).sum() * 299 / 300)
    assert np.allclose(cell_squares(inside, labels, None, 4), expected)


def test_adjusted_p_values_are_those_of_westfall_and_young(monkeypatch):
    """Against a loop over cells, of all squares that the family computes."""
    seen = {}
    original = CellFamily._name

    def keep(self, squares, inflation, places, scorer):
        named = original(self, squares, inflation, places, scorer)
        seen.update(squares=squares, observed=scorer.observed, named=named, places=places)
        return named

    monkeypatch.setattr(CellFamily, "_name", keep)
    result, *_ = run(0, moved(), 150, 99)
    squares, observed, named = seen["squares"].astype(float), seen["observed"], seen["named"]
    order = np.argsort(-squares[:, observed], kind="stable")
    slow, before = {}, 0.0
    for place, k in enumerate(order):
        rest = squares[order[place:]].max(0)
        before = max(before, float((rest >= squares[k, observed] * (1 - 1e-4)).mean()))
        slow[seen["places"][k]] = before
    assert slow
    assert np.allclose([slow[one] for one in named.cells], named.pvalues)
    assert np.allclose(sorted(slow.values()), np.sort(step_down(squares, observed)))
    assert result.kinds[0].pvalue == named.pvalues[0]


@pytest.mark.parametrize("options", [{"threads": 2}, {"threads": 2, "max_memory": "200MB"}])
def test_kinds_have_the_same_bits_on_threads_and_in_little_memory(options):
    rng = np.random.default_rng(0)
    (X, _), (Y, _) = draw(rng, 2_500, EVEN), draw(rng, 2_500, moved(0.05))
    first, second = (ta.two_sample_test(X, Y, 99, rng=0, **one).kinds.to_list() for one in ({"threads": 1}, options))
    assert first
    assert first == second


def test_designs():
    """Groups, strata and pairs; with strata of other proportions, a kind that is a stratum is not named."""
    rng = np.random.default_rng(0)
    (X, of_x), (Y, of_y) = draw(rng, 300, EVEN), draw(rng, 300, moved())
    strata = np.concatenate([of_x // 5, of_y // 5])
    result = ta.two_sample_test(X, Y, 199, strata=strata, rng=0)
    assert clusters_of(result.differing_kinds()[0], of_x, of_y) == {3}
    whole = np.concatenate([of_x == 3, of_y == 3]) * 1
    later = ta.two_sample_test(X, Y, 199, strata=whole, rng=0)
    assert {3} not in [clusters_of(kind, of_x, of_y) for kind in later.differing_kinds()]
    groups = np.arange(600) // 3
    assert ta.two_sample_test(X, Y, 199, groups=groups, rng=0).kinds[0].interval is not None
    assert ta.two_sample_test(X, Y, 199, paired=True, rng=0).kinds[0].pvalue <= 0.05


def test_three_samples():
    rng = np.random.default_rng(0)
    parts = [draw(rng, 250, shares) for shares in (EVEN, moved(), EVEN)]
    result = ta.k_sample_test([part for part, _ in parts], permutations=199, rng=0)
    kind = result.differing_kinds()[0]
    assert kind.relation == "missing"
    assert kind.interval is None
    assert len(kind.shares) == len(kind.members) == 3
    assert kind.counts[1] == 0


def test_images_and_results():
    rng = np.random.default_rng(0)
    base = rng.random((6, 8, 8))
    X, Y = (
        base[rng.choice(6, 150, p=p)] + 0.2 * rng.random((150, 8, 8))
        for p in ([1 / 6] * 6, [0, 1 / 3, 1 / 6, 1 / 6, 1 / 6, 1 / 6])
    )
    result = ta.two_sample_test(X, Y, 199, rng=0, image_shape=(8, 8))
    kind = next(kind for kind in result.kinds if kind.ratio < 1)
    assert kind.text.startswith("images like row")
    assert not kind.conditions
    assert math.isnan(kind.precision)
    facts = json.loads(result.to_json())
    assert facts["kinds"][0]["counts"] == list(result.kinds[0].counts)
    assert "members" not in facts["kinds"][0]
    assert kind.text in result.summary()
    assert kind.text in repr(result.kinds)
    assert len(result.kinds[:1].view().blocks) == 1


def test_many_rows_in_bins():
    rng = np.random.default_rng(0)
    (X, of_x), (Y, of_y) = draw(rng, 20_000, EVEN), draw(rng, 25_000, moved(0.05))
    kinds = ta.two_sample_test(X, Y, 199, rng=0).differing_kinds()
    assert {3} in (found := [clusters_of(kind, of_x, of_y) for kind in kinds[:2]])
    assert {4} in found
    assert sum(kinds[0].counts) == len(kinds[0].members[0]) + len(kinds[0].members[1])


def rates(seeds, shares):
    """How often any kind is named, how often one with neither cluster 3 nor 4, and the first one's clusters."""
    named = wrong = right = 0
    for seed in seeds:
        result, of_x, of_y = run(seed, shares)
        found = [clusters_of(kind, of_x, of_y) for kind in result.differing_kinds()]
        named += bool(found)
        wrong += any(not one & {3, 4} for one in found)
        right += bool(found) and bool(found[0] & {3, 4})
    return named, wrong, right


def test_kinds_are_rarely_named_where_nothing_or_something_else_differs():
    """With 60 runs of level .05: more than 8 have a probability of .005."""
    named, _, _ = rates(range(60), EVEN)
    assert named <= 8
    named, wrong, right = rates(range(60), moved(0.08))
    assert wrong <= 8
    assert right >= 0.9 * named
    assert named > 30


@pytest.mark.full
def test_error_rates_of_kinds():
    """1,000 runs: an error rate of .05 has a standard error of .007."""
    named, _, _ = rates(range(1_000), EVEN)
    assert named <= 0.05 * 1_000 + 3 * 7
    named, wrong, right = rates(range(1_000), moved(0.08))
    assert wrong <= 0.05 * 1_000 + 3 * 7
    assert right >= 0.95 * named


def test_typical_rows_of_groups_of_one_table_are_those_of_the_table():
    rng = np.random.default_rng(0)
    town = rng.permutation(np.repeat(["a", "b", "c"], 150))
    u = np.where((town == "c") & (rng.random(450) < 0.6), 9.0, 0.0) + rng.normal(size=450)
    table = pd.DataFrame({"town": town, "u": u, "v": rng.normal(size=450), "w": np.where(u > 5, "hot", "cold")})
    kinds = ta.k_sample_test(table, "town", permutations=199, pairwise=False, rng=0).kinds
    assert kinds
    for row in kinds[0].typical:
        assert kinds[0].names[row.sample] == table.town[row.row]
        assert row.values["w"] == table.w[row.row]
        assert float(row.values["u"]) == pytest.approx(table.u[row.row], rel=1e-3)
