"""The tests that need no choice: level, power, what they name, the same bits everywhere, and hostile input."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys

import auto_problems
import numpy as np
import pandas as pd
import pytest
import torch

import tellapart as ta
from tellapart.cli import main
from tellapart.data import read
from tellapart.engine import rows
from tellapart.kernels import Gaussian, Laplacian
from tellapart.omnibus import FAMILIES
from tellapart.stats.pvalues import holm
from tellapart.twosample.effects import equal_chance

pytestmark = pytest.mark.usefixtures("one_thread")


def same(a, b):
    return (
        a.statistic == b.statistic
        and a.pvalue == b.pvalue
        and np.array_equal(a.null_distribution, b.null_distribution)
        and unnamed(a.columns) == unnamed(b.columns)
        and unnamed(a.pairs) == unnamed(b.pairs)
    )


def unnamed(findings):
    """Everything but the descriptions, which call files by their names."""
    return [{key: value for key, value in one.items() if key != "description"} for one in findings.to_list()]


def normal(n, d, seed):
    return np.random.default_rng(seed).normal(size=(n, d))


# --- level and power ----------------------------------------------------------------------------------------------


LEVELS = (0.01, 0.05, 0.1)


def rejections(problem, repetitions, seed=0):
    """How often p is at most 0.01, 0.05, 0.1."""
    found = np.array([problem(np.random.default_rng([seed, k])).pvalue for k in range(repetitions)])
    return [int((found <= alpha + 1e-9).sum()) for alpha in LEVELS]


def check_level(problem, repetitions, seed=0):
    """Not more than level α, but for chance at one in ten thousand."""
    from scipy.stats import binom

    found = rejections(problem, repetitions, seed)
    print(
        problem.__name__,
        *(f"{count / repetitions:.4f} at {alpha:g}" for alpha, count in zip(LEVELS, found, strict=True)),
    )
    for alpha, count in zip(LEVELS, found, strict=True):
        assert count <= binom.ppf(1 - 1e-4, repetitions, alpha)


@pytest.mark.parametrize("problem", auto_problems.QUICK, ids=lambda problem: problem.__name__)
def test_level(problem):
    check_level(problem, 100)


@pytest.mark.full
@pytest.mark.parametrize("problem", auto_problems.ALL, ids=lambda problem: problem.__name__)
def test_level_in_many_repetitions(problem):
    check_level(problem, 2000, seed=1)


def false_names(repetitions):
    """How often, of 20 columns of which 3 differ, one of the other 17 is named."""
    false = 0
    for seed in range(repetitions):
        rng = np.random.default_rng(seed)
        X, Y = rng.normal(size=(60, 20)), rng.normal(size=(60, 20))
        Y[:, :3] = Y[:, :3] * [1, 1, 3] + [2, 1, 0]
        named = ta.two_sample_test(X, Y, 59, rng=seed).differing_columns(0.05).names
        assert "0" in named
        false += bool(set(named) - {"0", "1", "2"})
    return false


def test_columns_that_do_not_differ_are_not_named():
    assert false_names(40) <= 7  # 2 are expected: 8 or more by chance once in 2,000 times


@pytest.mark.full
def test_columns_that_do_not_differ_are_named_in_at_most_alpha():
    found = false_names(1000)
    print(f"a column that does not differ was named in {found} of 1,000")
    assert found <= 50 + 4 * 7


def shifted(rng):
    return rng.normal(size=(150, 20)), rng.normal(size=(150, 20)) + 0.2


def wider(rng):
    return rng.normal(size=(200, 50)), rng.normal(size=(200, 50)) * np.r_[2, np.ones(49)]


def correlated(rng):
    Y = rng.normal(size=(250, 10))
    Y[:, 1] = 0.6 * Y[:, 0] + 0.8 * Y[:, 1]
    return rng.normal(size=(250, 10)), Y


def wavy(rng):
    """A density with waves: no moment differs."""
    u = rng.random((2000, 2))
    kept = rng.random(2000) < (1 + 0.9 * np.prod(np.sin(4 * np.pi * u), axis=1)) / 2
    return rng.random((500, 2)), u[kept][:500]


@pytest.mark.parametrize("problem", [shifted, wider, correlated, wavy])
def test_power(problem):
    """The power is about .9 on waves (27 of 30 runs), and more on the others: fewer than 11 of 15 have odds of 1:80."""
    found = [ta.two_sample_test(*problem(np.random.default_rng(k)), 99, rng=k).pvalue <= 0.05 for k in range(15)]
    assert sum(found) >= 11


# --- what is found ------------------------------------------------------------------------------------------------


def frames(n=400):
    rng = np.random.default_rng(0)

    def frame(shift, shares, gaps, r):
        found = pd.DataFrame(
            {
                "age": rng.normal(40 + shift, 10, n),
                "town": rng.choice(["Ulm", "Bonn", "Köln"], n, p=shares),
                "day": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 100, n) + 5 * shift, unit="D"),
                "member": rng.random(n) < 0.3 + 0.05 * shift,
                "x": rng.normal(size=n),
                "site": rng.integers(0, 4, n),
            }
        )
        found["y"] = r * found["x"] + np.sqrt(1 - r * r) * rng.normal(size=n)
        found.loc[rng.random(n) < gaps, "age"] = np.nan
        return found

    return frame(0, [0.4, 0.3, 0.3], 0.02, 0.0), frame(6, [0.2, 0.5, 0.3], 0.2, 0.6)


def test_findings_of_a_table():
    X, Y = frames()
    X["site"] = Y["site"] = np.arange(len(X)) % 4  # as many of each in both: effects are those of all rows
    result = ta.two_sample_test(X, Y, 199, missing="indicator", strata="site", keep_columns=["day"], rng=0)
    assert "site" not in {one.name for one in result.columns}
    found = {one.name: one for one in result.columns}
    assert set(result.differing_columns().names) == {"age", "town", "day", "member", "age is missing"}
    age = found["age"]
    assert age.kind == "location"
    assert age.effect == pytest.approx((Y.age.mean() - X.age.mean()) / X.age.std(), rel=0.1)
    assert age.description.startswith("larger in Y, +0.")
    assert age.interval[0] < age.effect < age.interval[1]
    assert age.values["mean"] == pytest.approx((X.age.mean(), Y.age.mean()))
    assert found["day"].description.startswith("later in Y by")
    share = [(frame.town == "Ulm").mean() for frame in (X, Y)]
    assert found["town"].description.startswith("'Ulm' 40 % → 20 % (-19 points")
    assert found["town"].values["Ulm"] == pytest.approx(tuple(share))
    assert found["town"].effect == pytest.approx(share[1] - share[0])
    assert found["age is missing"].effect == pytest.approx(Y.age.isna().mean() - X.age.isna().mean())
    assert found["member"].description.startswith("yes 3")
    assert found["age is missing"].description.startswith("2")
    assert "% missing in Y" in found["age is missing"].description
    pair = result.pairs[0]
    assert pair.columns == ("x", "y")
    correlations = [frame.x.corr(frame.y) for frame in (X, Y)]
    assert pair.effect == pytest.approx(correlations[1] - correlations[0])
    assert pair.description.startswith(f"correlation {correlations[0]:.2f} → {correlations[1]:.2f} (")
    assert result.pairs.below()[0].name == "x × y"


def test_effects_are_those_of_the_columns():
    X, Y = normal(300, 3, 0), normal(200, 3, 1) * [1, 3, 1] + [1, 0, 0]
    result = ta.two_sample_test(X, Y, 99, rng=0)
    found = {one.name: one for one in result.columns}
    pooled = np.sqrt((300 * X[:, 0].var() + 200 * Y[:, 0].var()) / 500)
    assert found["0"].kind == "location"
    assert found["0"].effect == pytest.approx((Y[:, 0].mean() - X[:, 0].mean()) / pooled)
    assert found["1"].kind == "scale"
    assert found["1"].effect == pytest.approx(np.log(Y[:, 1].std() / X[:, 1].std()))
    assert "more spread out in Y" in found["1"].description
    other = ta.two_sample_test(Y, X, 99, rng=0)
    assert {one.name: one.description for one in other.columns}["0"].startswith("smaller in Y, -")


def test_deviations_of_samples_that_are_far_apart():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(60, 2)), rng.normal(size=(50, 2)) + 1e8
    found = ta.two_sample_test(X, Y, 99, rng=0).columns
    for one in found:
        assert one.values["SD"] == pytest.approx((X[:, int(one.name)].std(), Y[:, int(one.name)].std()), rel=1e-6)


def test_a_column_without_variation_comes_first():
    X, Y = normal(40, 3, 0), normal(40, 3, 1) + np.array([1.5, 0, 1])
    X[:, 1], Y[:, 1] = 0, 1
    first = ta.two_sample_test(X, Y, 199, rng=0).columns[0]
    assert (first.name, first.description) == ("1", "larger in Y, always 0 → always 1")


@pytest.mark.filterwarnings("ignore:The smallest attainable p-value")
def test_the_threshold_says_what_the_pvalue_says():
    """Also where many relabellings tie."""
    rng = np.random.default_rng(0)
    for seed in range(40):
        X, Y = rng.integers(0, 3, size=(2, 8, 2)).astype(float)
        result = ta.two_sample_test(X, Y, 199, rng=seed)
        for alpha in (0.05, 0.1, 0.2, 0.5):
            assert (result.statistic > result.threshold(alpha)) == result.reject(alpha)


@pytest.mark.parametrize("ids", [[f"P{k:02}" for k in range(24)], list(range(24))])
def test_pairs_in_another_order_are_noted(ids):
    rng = np.random.default_rng(0)
    before = pd.DataFrame({"patient": ids, "pressure": rng.normal(size=24)})
    after = before.assign(pressure=before.pressure + 0.5)
    told = "'patient' has the same values in both samples, in another order"
    for other, expected in ((after, False), (after.sample(frac=1, random_state=0), True)):
        notes = ta.two_sample_test(before, other, 99, paired=True, rng=0).notes
        assert any(told in note for note in notes) == expected


def test_a_result_is_complete():
    X, Y = normal(80, 3, 0), normal(70, 3, 1) + np.array([1, 0, 0])
    result = ta.two_sample_test(X, Y, 199, rng=3)
    statistic, pvalue = result
    assert (statistic, pvalue) == (result.statistic, result.pvalue)
    assert (result.m, result.n, result.permutations, result.exact) == (80, 70, 199, True)
    assert pvalue == (1 + (result.null_distribution >= statistic).sum()) / 200 == result.min_pvalue
    assert result.reject()
    assert statistic > result.threshold(0.05)
    told = json.loads(result.to_json())
    assert told["pvalue"] == pvalue
    assert told["columns"][0]["name"] == "0"
    assert {"kernel", "columns", "pairs"} <= set(result.families) <= {family.name for family in FAMILIES}
    assert not {"patches", "given", "components"} & set(result.families)
    assert all(0 < family.pvalue <= 1 for family in result.families.values())
    assert result.strongest_statistic
    assert "the smallest possible" in repr(result)
    assert result.summary().startswith("The samples differ (p ≤ 0.005, 199 permutations).\nX (80 rows), Y (70 rows);")
    assert "0: larger in Y, +" in result.summary()
    again = ta.two_sample_test(X, Y, 199, rng=result.seed)
    assert same(result, again)


def test_the_floor_is_the_true_one():
    with pytest.warns(UserWarning, match=r"smallest attainable p-value is 0\.1 "):
        result = ta.two_sample_test([[1.0], [2.0], [3.0]], [[11.0], [12.0], [13.0]], rng=0)
    assert result.pvalue == result.min_pvalue == 0.1
    assert result.permutations == 19
    assert any("smallest attainable p-value" in note for note in result.notes)
    groups = np.repeat(np.arange(6), 10)
    with pytest.warns(UserWarning, match="smallest attainable p-value"):
        result = ta.two_sample_test(normal(30, 1, 0), normal(30, 1, 1) + 9, groups=groups, rng=0)
    assert result.min_pvalue == 0.1


def test_groups_of_different_sizes_see_what_equal_ones_cannot():
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(24), np.r_[2:14, 3:15])
    Z = rng.normal(size=(len(groups), 2)) + 0.3 * rng.normal(size=(24, 2))[groups] + 2 * (groups >= 12)[:, None]
    X = groups < 12
    options = {"groups": (groups[X], groups[~X]), "rng": 0}
    assert ta.two_sample_test(Z[X], Z[~X], **options).pvalue == 0.001
    equal = ta.two_sample_test(Z[X], Z[~X], **options, equal_groups=True)
    assert equal.min_pvalue == pytest.approx(max(0.001, 1 / 2**11))


def test_what_is_dropped_of_one_sample_is_dropped_of_its_pairs():
    rng = np.random.default_rng(0)
    x = pd.DataFrame(rng.normal(size=(60, 2)) * 5, columns=["a", "b"])
    y = x + 0.5 + 0.3 * rng.normal(size=(60, 2))
    x.loc[2, "a"] = y.loc[57, "b"] = np.nan
    both = x.notna().all(axis=1) & y.notna().all(axis=1)
    expected = ta.two_sample_test(x[both], y[both], 199, paired=True, rng=0)
    found = ta.two_sample_test(x, y, 199, paired=True, missing="drop", rng=0)
    assert found.pvalue == expected.pvalue == 0.005
    assert found.sizes == (58, 58)
    assert sum("1 row was left out because the other of the pair was" in note for note in found.notes) == 2
    assert ta.compare(x, y, paired=True, missing="drop", rng=0).pvalue <= 0.005
    assert ta.mmd_test(x, y, null="paired", missing="drop", rng=0).pvalue <= 0.01
    assert ta.two_sample_test(x[both], y[both], 199, paired=True, max_rows=40, rng=0).pvalue == 0.005
    with pytest.raises(ValueError, match="has 60 rows and Y has 50"):
        ta.two_sample_test(x, y[:50], paired=True, missing="drop", rng=0)


def test_strata_are_no_evidence_and_pairs_are():
    rng = np.random.default_rng(1)
    site = np.repeat([0, 1, 0, 1], [40, 10, 10, 40])
    Z = rng.normal(size=(100, 2)) + 3 * site[:, None]
    assert ta.two_sample_test(Z[:50], Z[50:], 199, rng=0).pvalue == 0.005
    assert ta.two_sample_test(Z[:50], Z[50:], 199, strata=site, rng=0).pvalue > 0.05
    centre = 5 * rng.normal(size=(60, 2))
    X, Y = centre + 0.3 * rng.normal(size=(60, 2)), centre + 0.3 * rng.normal(size=(60, 2)) + 0.4
    assert ta.two_sample_test(X, Y, 199, rng=0).pvalue > 0.05
    assert ta.two_sample_test(X, Y, 199, paired=True, rng=0).pvalue == 0.005


def test_kernels_of_the_user_are_a_family():
    X, Y = normal(60, 2, 0), normal(60, 2, 1) + 0.8
    result = ta.two_sample_test(X, Y, 99, kernels=[Laplacian(1.0), lambda a, b: a @ b.T], rng=0)
    assert result.families["given"].pvalue == 0.01
    assert ta.two_sample_test(X, Y, 99, kernels=Gaussian(1.0), rng=0).families["given"].pvalue == 0.01


def test_images_have_patches():
    rng = np.random.default_rng(0)
    X = rng.random((60, 12, 12)).astype("f4")
    Y = rng.random((60, 12, 12)).astype("f4")
    Y[:, 1:] = (Y[:, 1:] + Y[:, :-1]) / 2**0.5
    for a, b in ((X, Y), (X[:, None], Y[:, None]), (np.repeat(X[..., None], 3, -1), np.repeat(Y[..., None], 3, -1))):
        result = ta.two_sample_test(a, b, 99, rng=0)
        assert result.families["patches"].pvalue == 0.01
        assert not result.pairs
    flat = ta.two_sample_test(X.reshape(60, -1), Y.reshape(60, -1), 99, image_shape=(12, 12), rng=0)
    assert flat.families["patches"].pvalue == 0.01
    assert flat.columns[0].name.startswith("pixel ")
    bytes_and_floats = ta.two_sample_test((X * 255).astype("u1"), X, 99, rng=0)
    assert bytes_and_floats.pvalue > 0.05


def embeddings(n, noise, seed, shift=0.0):
    """Clusters and factors in a few directions, and noise in all of them."""
    fixed, rng = np.random.default_rng(7), np.random.default_rng(seed)
    centres, factors, across = fixed.normal(size=(6, 96)), fixed.normal(size=(8, 96)), fixed.normal(size=96)
    found = centres[rng.integers(6, size=n)] + rng.normal(size=(n, 8)) @ factors
    return (found + noise * rng.normal(size=(n, 96)) + shift * across).astype("f4")


@pytest.mark.parametrize(("noise", "shift"), [(0.22, 0.0), (0.18, 0.0), (0.2, 0.04)])
def test_what_differs_where_embeddings_vary_little_is_seen(noise, shift):
    X, Y = embeddings(300, 0.2, 0), embeddings(300, noise, 1, shift)
    result = ta.two_sample_test(X, Y, 199, rng=0)
    assert result.pvalue <= 0.01
    assert next(iter(result.families)) == "components"
    assert result.families["components"].pvalue == 0.005
    assert result.families["kernel"].pvalue > 0.05
    assert result.families["columns"].pvalue > 0.05
    assert "principal components" in result.summary()


def test_the_rounding_of_values_is_no_difference():
    """Columns that follow from five others but for how they were rounded: no components are left to look at."""
    rng = np.random.default_rng(0)
    X, Y = (rng.normal(size=(200, 5)) @ np.random.default_rng(7).normal(size=(5, 80)) for _ in range(2))
    for rounded in (Y.astype("f4"), Y.astype("f2").astype("f4")):
        found = ta.two_sample_test(X, rounded, 199, rng=0)
        assert found.families["components"].pvalue > 0.05


def test_features_are_compared_instead():
    X, Y = normal(50, 4, 0), normal(50, 4, 1)
    Y[:, 0] += 5
    result = ta.two_sample_test(X, Y, 99, features=lambda block: block[:, 1:], rng=0)
    assert len(result.columns) == 3
    assert result.pvalue > 0.01


# --- several samples ----------------------------------------------------------------------------------------------


def test_several_samples():
    samples = {"a": normal(60, 2, 0), "b": normal(50, 2, 1), "c": normal(40, 2, 2) + 1}
    result = ta.k_sample_test(samples, permutations=199, rng=0)
    assert result.pvalue == 0.005
    assert [one.names for one in result.pairwise] == [("a", "b"), ("a", "c"), ("b", "c")]
    assert [one.pvalue <= 0.05 for one in result.pairwise] == [False, True, True]
    assert "a and c: p = 0.015" in result.summary()
    assert len(json.loads(result.to_json())["pairwise"]) == 3
    Z, labels = np.concatenate(list(samples.values())), np.repeat(list("abc"), [60, 50, 40])
    by_label = ta.k_sample_test(Z, labels, permutations=199, rng=0)
    assert by_label.pvalue == result.pvalue
    assert by_label.names == ("a", "b", "c")
    frame = pd.DataFrame(Z, columns=["u", "v"]).assign(kind=labels)
    by_column = ta.k_sample_test(frame, "kind", permutations=199, pairwise=False, rng=0)
    assert by_column.pvalue == 0.005
    assert {one.name for one in by_column.columns} == {"u", "v"}
    assert ta.k_sample_test([frame[frame.kind == k].drop(columns="kind") for k in "abc"], rng=0).pvalue == 0.001


def test_pairs_of_samples_that_are_only_shifted_are_not_named():
    """Products of scores change where means do: a pair must differ in its correlation, of three samples as of two."""
    named, found = 0, 0
    for seed in range(6):
        draws = np.random.default_rng(seed)
        a, b, c = draws.normal(size=(3, 150, 3))
        tied = np.stack([c[:, 0], 0.6 * c[:, 0] + 0.8 * c[:, 1], c[:, 2]], 1)
        by = np.array([1.5, 1.5, 0.0])
        shifted, changed = ([a, b, last + by] for last in (c, tied))
        one, other = (ta.k_sample_test(some, permutations=99, pairwise=False, rng=0) for some in (shifted, changed))
        named += any(pair.pvalue <= 0.05 for pair in one.pairs)
        found += [pair.name for pair in other.pairs if pair.pvalue <= 0.05] == ["0 × 1"]
    assert named <= 1
    assert found >= 5


@pytest.mark.parametrize(("samples", "rows"), [(12, 10), (5, 40)])
def test_pairs_of_many_small_samples_that_are_only_shifted_are_not_named(samples, rows):
    """Variances of few rows are uncertain: by Cochran's Q, 19 of 30 were named."""
    named = 0
    for seed in range(8):
        draws = np.random.default_rng(seed)
        means = draws.normal(size=(samples, 1, 2))
        shifted = list(means + 0.4 * draws.normal(size=(samples, rows, 2)))
        found = ta.k_sample_test(shifted, permutations=99, pairwise=False, rng=0)
        assert found.reject(0.05)
        named += bool(found.differing_pairs(0.05))
    assert named <= 1


@pytest.mark.parametrize(
    ("samples", "rows", "law"), [(12, 10, "normal"), (3, 20, "t"), (12, 50, "t"), (5, 10, "coins"), (5, 40, "normal")]
)
def test_the_level_of_the_test_that_correlations_are_the_same(samples, rows, law):
    rng, rejected, runs = np.random.default_rng(0), 0, 1000
    for _ in range(runs):
        u = rng.normal(size=(2, samples, rows)) / (np.sqrt(rng.chisquare(5, (samples, rows)) / 5) if law == "t" else 1)
        u[1] = 0.5 * u[0] + np.sqrt(0.75) * u[1]
        u = (u > 0.5).astype(float) if law == "coins" else u
        u = u - u.mean(-1, keepdims=True)
        with np.errstate(divide="ignore", invalid="ignore"):
            a, b = u / u.std(-1, keepdims=True)
        r = (a * b).mean(-1)
        influence = (a * b - r[:, None] * (a**2 + b**2) / 2) / rows
        variances = (influence**2).sum(-1) * rows / (rows - 1)
        rejected += equal_chance(r, variances, np.full(samples, rows)) <= 0.025
    assert rejected / runs <= 0.045


def test_groups_of_a_table_know_their_column():
    frame = pd.DataFrame({"u": np.arange(40.0) % 7, "kind": list("ab") * 20})
    result = ta.k_sample_test(frame, "kind", permutations=19, rng=0)
    assert result.by == "kind"
    assert "2 groups by kind" in {block.title for block in result.view().blocks}
    assert ta.k_sample_test(frame[["u"]], frame["kind"], permutations=19, rng=0).by is None


@pytest.mark.parametrize("call", [ta.two_sample_test, lambda X, Y, **options: ta.k_sample_test([X, Y], **options)])
def test_kernels_are_checked_before_samples_are_read(call):
    with pytest.raises(TypeError, match="must be a kernel"):
        call("absent.csv", "absent.csv", kernels=["rbf"])


def test_two_of_several_samples_that_share_no_stratum():
    rng = np.random.default_rng(0)
    samples = {name: rng.normal(size=(20, 2)) for name in "abc"}
    strata = np.r_[np.zeros(20), np.tile([0, 1], 10), np.ones(20)]
    found = ta.k_sample_test(samples, strata=strata, permutations=99, rng=0)
    assert [one.names for one in found.pairwise] == [("a", "b"), ("b", "c")]
    assert any("a and c were not compared with each other" in note for note in found.notes)


def test_two_samples_are_two_of_several():
    X, Y = normal(40, 2, 0), normal(50, 2, 1)
    a, b = ta.two_sample_test(X, Y, 99, rng=0), ta.k_sample_test([X, Y], permutations=99, rng=0)
    assert a.pvalue == b.pvalue
    assert a.statistic == b.statistic


def test_holm():
    assert holm([0.5, 0.01, 0.02]) == [0.5, 0.03, 0.04]
    assert holm([]) == []


def test_samples_that_cannot_be_compared():
    with pytest.raises(ValueError, match="compares 2 to 255 samples, but got 1"):
        ta.k_sample_test([normal(5, 2, 0)])
    with pytest.raises(ValueError, match="must be a list or a dict"):
        ta.k_sample_test(normal(5, 2, 0))
    with pytest.raises(ValueError, match="labels must have one label for each of the 5 rows"):
        ta.k_sample_test(normal(5, 2, 0), [1, 2])


def test_words_do_not_claim_what_the_interval_leaves_open():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(400, 1)), rng.normal(size=(400, 1)) - 0.3
    X[0], Y[0] = -40, 30  # the means are about equal; nearly all of Y is smaller
    found = ta.two_sample_test(X, Y, 199, rng=0).columns[0]
    assert found.pvalue <= 0.05
    assert found.interval[0] < 0 < found.interval[1]
    assert found.description.startswith("mostly smaller in Y (mean")
    few = ta.two_sample_test(X[1:30], Y[1:30] + 0.3, 199, rng=0).columns[0]
    assert few.pvalue > 0.05
    assert "mostly" not in few.description


@pytest.mark.parametrize("rows", [1, 2, 4])
def test_intervals_of_effects_within_small_strata(rows):
    """One answer to each prompt, or a few: the interval of a shift holds, and is no point."""
    covered, widths = 0, []
    for seed in range(60):
        rng = np.random.default_rng([rows, seed])
        strata = np.repeat(np.arange(60 // rows), rows)
        centre = 2 * rng.normal(size=60 // rows)[strata, None]
        X, Y = (centre + rng.normal(size=(60, 1)) + shift for shift in (0.0, 0.5))
        one = ta.two_sample_test(X, Y, 19, strata=np.r_[strata, strata], rng=0).columns[0]
        if one.kind == "scale":  # of which the effect is another
            continue
        sd = np.sqrt((X.var() + Y.var()) / 2)
        covered += one.interval[0] <= 0.5 / sd <= one.interval[1]
        widths.append(one.interval[1] - one.interval[0])
    assert covered / len(widths) >= 0.85
    assert np.median(widths) > 0.2


def test_strata_of_one_row_of_each_sample_are_pairs():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 1))
    Y = X + 0.1 + 0.1 * rng.normal(size=(60, 1))
    pairs = np.tile(np.arange(60), 2)
    by_strata, paired = (ta.two_sample_test(X, Y, 99, rng=0, **how) for how in ({"strata": pairs}, {"paired": True}))
    assert by_strata.columns[0].interval == pytest.approx(paired.columns[0].interval)
    assert by_strata.columns[0].interval[0] > 0.05


def test_effects_are_those_within_strata():
    rng = np.random.default_rng(0)

    def draw(rows, share, shift):
        site = rng.random(rows) < share
        seen = rng.random(rows) < np.where(site, 0.8, 0.3) - 0.15 * (shift < 0)
        values = rng.normal(size=rows) + 3 * site + shift
        return pd.DataFrame({"value": values, "seen": np.where(seen, "yes", "no"), "site": np.where(site, "b", "a")})

    # Within both sites values are smaller and "yes" is rarer in Y, which has more of the site where both are larger.
    X, Y = draw(600, 0.2, 0.0), draw(600, 0.8, -0.6)
    result = ta.two_sample_test(X, Y, 39, strata="site", rng=0)
    found = {one.name: one for one in result.columns}
    assert found["value"].description.startswith("smaller in Y, -0.")
    assert found["value"].interval[0] < -0.6 / np.sqrt(1 + 9 * 0.25) < found["value"].interval[1]
    assert found["value"].interval[1] < 0
    assert "'yes'" not in found["seen"].description or found["seen"].effect < 0
    assert any(note.id == "unequal-strata" for note in result.notes)
    pooled = {one.name: one for one in ta.two_sample_test(X, Y, 19, drop=["site"], rng=0).columns}
    assert pooled["value"].effect > 0.5


def test_samples_far_apart_are_told_so():
    rng = np.random.default_rng(0)
    X, Y = rng.poisson(3, size=(300, 3)).astype(float), rng.poisson(3, size=(300, 3)).astype(float)
    Y[:, 0] += 50
    found = ta.two_sample_test(X, Y, 99, rng=0).columns[0]
    assert (found.name, found.kind) == ("0", "location")
    assert found.description.startswith("larger in Y, +2")


def test_what_was_relabelled_is_said():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2))
    groups = np.arange(80) // 4
    assert ta.two_sample_test(X, X + 0.1, 19, paired=True, rng=0).permuted_unit == "pairs"
    assert "permutations of groups" in ta.two_sample_test(X, X + 1, 19, groups=groups, rng=0).summary()
    strata = np.tile(np.arange(40) % 2, 2)
    assert ta.two_sample_test(X, X + 1, 19, strata=strata, rng=0).permuted_unit == "rows within strata"


def test_of_several_samples_each_is_told_by_name():
    rng = np.random.default_rng(0)
    days = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 30, 90), unit="D")
    table = pd.DataFrame({"day": days, "kind": rng.choice(["u", "v"], 90), "place": np.repeat(["a", "b", "c"], 30)})
    table.loc[table["place"] == "c", "day"] += pd.Timedelta(days=90)
    table.loc[table["place"] == "a", "kind"] = "u"
    result = ta.k_sample_test(table, labels="place", permutations=19, keep_columns=["day"], rng=0)
    words = {one.name: one.description for one in result.columns}
    assert re.fullmatch(r"mean 2024-01-\d\d in a, 2024-01-\d\d in b, 2024-04-\d\d in c", words["day"])
    assert re.search(r"% in a, .* % in b, .* % in c", words["kind"])


# --- the same bits ------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def samples():
    X, Y = (normal(1500, 5, seed).astype("f4") for seed in (0, 1))
    return X, Y * np.float32(1.05)


@pytest.fixture(scope="module")
def files(samples, tmp_path_factory):
    folder = tmp_path_factory.mktemp("auto")
    for name, values in zip("xy", samples, strict=True):
        np.save(folder / f"{name}.npy", values)
    return str(folder / "x.npy"), str(folder / "y.npy")


@pytest.fixture
def small_blocks(monkeypatch):
    """So that a few thousand rows are many runs, on as many threads as are allowed."""
    monkeypatch.setattr(rows, "BLOCK", 128)
    monkeypatch.setattr(rows, "WORTH_A_THREAD", 0.0)


def saved(path, values):
    np.save(path, values)
    return str(path)


@pytest.mark.parametrize("design", ["plain", "strata", "pairs", "unequal", "wide"])
def test_threads_files_and_memory_do_not_change_a_bit(design, samples, files, small_blocks, tmp_path):
    options = {"permutations": 39, "rng": 0}
    if design == "strata":
        options["strata"] = np.random.default_rng(0).integers(0, 30, 3000)
    X, Y = samples
    if design == "unequal":
        X, files = X[:300], (X[:300], files[1])
    if design == "wide":
        spread = normal(5, 70, 2).astype("f4")
        X, Y = X @ spread, Y @ spread + 0.1 * normal(1500, 70, 3).astype("f4")
        files = tuple(saved(tmp_path / f"{k}.npy", Z) for k, Z in enumerate((X, Y)))
    options["paired"] = design == "pairs"
    base = ta.two_sample_test(X, Y, **options, threads=1)
    assert same(base, ta.two_sample_test(X, Y, **options, threads=2))
    assert same(base, ta.two_sample_test(*files, **options, threads=2))
    assert same(base, ta.two_sample_test(torch.from_numpy(X), files[1], **options))
    # Sums that do not fit together are made one after the other.
    assert same(base, ta.two_sample_test(X, Y, **options, threads=2, max_memory="120MB"))


@pytest.fixture(scope="module")
def client():
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield client


@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_workers_do_not_change_a_bit(samples, files, client, small_blocks):
    strata = np.random.default_rng(0).integers(0, 30, 3000)
    base = ta.two_sample_test(*samples, 39, strata=strata, rng=0)
    assert same(base, ta.two_sample_test(*files, 39, strata=strata, rng=0, cluster=client))


@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_worker_that_is_killed_does_not_change_a_bit(samples, files, small_blocks):
    distributed = pytest.importorskip("distributed")
    base = ta.two_sample_test(*samples, 39, rng=0)
    killed = []
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        victim = next(iter(client.run(os.getpid).values()))

        def kill(done, total):
            if done > total / 4 and not killed:
                killed.append(victim)
                os.kill(victim, signal.SIGKILL)

        found = ta.two_sample_test(*files, 39, rng=0, cluster=client, progress=kill)
    assert killed
    assert same(base, found)


PEAK = """
import sys, torch, tellapart as ta
from tellapart.omnibus import sketch

def peak():
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))

torch.set_num_threads(1)
sketch.LANDMARKS = 128
ta.two_sample_test(torch.randn(1000, 8), torch.randn(1000, 8), 99, rng=0)
before = peak()
print(ta.two_sample_test(sys.argv[1], sys.argv[2], 99, rng=0, max_memory=sys.argv[3]).pvalue)
print(peak() - before)
"""


@pytest.mark.serial
@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="the peak is read there")
def test_memory_is_bounded_by_max_memory_and_not_by_the_rows(tmp_path):
    """60 MB of rows in 40 MB, with few landmarks: eigendecompositions take more, whatever the rows."""
    for k, name in enumerate("xy"):
        np.save(tmp_path / f"{name}.npy", np.random.default_rng(k).standard_normal((15_000, 500), dtype="f4"))
    arguments = [str(tmp_path / "x.npy"), str(tmp_path / "y.npy"), "40MB"]
    done = subprocess.run([sys.executable, "-c", PEAK, *arguments], capture_output=True, text=True, check=True)
    pvalue, peak = map(float, done.stdout.split())
    assert 0 < pvalue <= 1
    assert peak < 50e6


def test_progress_reaches_its_end(samples):
    seen = []
    ta.two_sample_test(*samples, 19, rng=0, max_memory="60MB", progress=lambda done, total: seen.append((done, total)))
    assert seen == sorted(seen)
    assert seen[-1][0] == seen[-1][1]


# --- hostile input ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [3.3, 1e37, -1e149])
def test_a_constant_column_of_any_size_hides_nothing(value):
    rng = np.random.default_rng(0)
    X, Y = (np.c_[rng.normal(size=50) + shift, np.full(50, value)] for shift in (0.0, 1.5))
    assert ta.two_sample_test(X, Y, 99, rng=0).pvalue == 0.01


def test_one_row_against_thousands_in_all_labellings():
    X = np.random.default_rng(0).normal(size=(1100, 2))
    found = ta.two_sample_test(X, [[9.0, 9.0], [9.0, 9.1]], 1999, groups=np.r_[np.arange(1100), 1100, 1100], rng=0)
    assert found.pvalue == 1 / 1101


def test_a_column_that_became_constant_has_an_effect():
    X = np.random.default_rng(0).normal(size=(100, 2))
    Y = X[::-1].copy()
    Y[:, 0] = X[:, 0].mean()
    found = ta.compare(X, Y, rng=0)
    assert found.differing_columns()[0].name == "0"
    assert found.largest_effect == np.inf
    json.loads(found.to_json())
    assert found.columns[0].values["SD"][1] == 0


def test_constant_and_missing_columns():
    X = pd.DataFrame({"a": 1.0, "b": normal(20, 1, 0)[:, 0], "none": np.nan, "text": "same"})
    Y = X.assign(b=normal(20, 1, 1)[:, 0])
    result = ta.two_sample_test(X, Y, 39, missing="indicator", rng=0)
    assert {one.name for one in result.columns} == {"b"}
    everything = ta.two_sample_test(np.ones((5, 2)), np.ones((6, 2)), 39, rng=0)
    assert everything.pvalue == 1
    assert "nothing to compare" in everything.summary()
    with pytest.raises(ValueError, match="has missing values in 'none'"):
        ta.two_sample_test(X, Y)


def test_one_column_and_more_columns_than_rows():
    assert ta.two_sample_test(normal(40, 1, 0)[:, 0], normal(40, 1, 1)[:, 0] + 2, 99, rng=0).pvalue == 0.01
    wide = ta.two_sample_test(normal(12, 300, 0), normal(12, 300, 1) + 1, 99, rng=0)
    assert wide.pvalue == 0.01
    assert len(wide.pairs) == 2000
    huge = ta.two_sample_test(normal(30, 2, 0) * 1e30, normal(30, 2, 1) * 1e30 + 2e30, 99, rng=0)
    assert huge.pvalue == 0.01
    far = ta.two_sample_test(normal(30, 2, 0) + 1e9, normal(30, 2, 1) + 1e9 + 2, 99, rng=0)
    assert far.pvalue == 0.01


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"X": [[1.0]]}, "needs at least 2 rows, but has 1"),
        ({"X": [[1.0], [float("nan")]]}, "has 1 NaN"),
        ({"permutations": 0}, "permutations must be a whole number from 1 up"),
        ({"groups": [1, 2]}, "groups must have one label for each of the 6 rows"),
        ({"paired": True}, "X has 2 rows and Y has 4"),
        ({"paired": True, "strata": [0] * 6}, "takes neither groups= nor strata="),
        ({"groups": "patient"}, "has no column"),
        ({"Y": [[1.0, 2.0]] * 3}, "rows of the same shape"),
    ],
)
def test_complaints(arguments, message):
    options = {"X": [[1.0], [2.0]], "Y": [[1.0], [2.0], [3.0], [5.0]], **arguments}
    with pytest.raises(ValueError, match=message):
        ta.two_sample_test(**options)


def test_sources_and_identifiers():
    """Labels of groups may be identifiers, which are no columns to be compared."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"v": rng.normal(size=120), "who": [f"p{k:02}" for k in np.arange(120) // 2]})
    X, Y = frame[:60], frame[60:]
    base = ta.two_sample_test(X, Y, 39, groups="who", rng=0)
    codes = np.arange(120) // 2
    given = ta.two_sample_test(X[["v"]], Y[["v"]], 39, groups=codes, rng=0)
    assert base.pvalue == given.pvalue
    x, y = (read(part.assign(who=np.arange(60) // 2 + at), name) for part, name, at in ((X, "X", 0), (Y, "Y", 30)))
    assert ta.two_sample_test(x, y, 39, groups="who", rng=0).pvalue == given.pvalue


# --- the command line ---------------------------------------------------------------------------------------------


def test_command(tmp_path, capsys):
    X, Y = frames(150)
    X.to_csv(tmp_path / "a.csv", index=False)
    Y.to_csv(tmp_path / "b.csv", index=False)
    files = [str(tmp_path / "a.csv"), str(tmp_path / "b.csv")]
    options = ["--permutations", "99", "--missing", "indicator", "--strata", "site"]
    assert main(["test", *files, *options, "--fail-on-difference"]) == 1
    told = capsys.readouterr().out
    assert told.startswith(
        "The samples differ (p ≤ 0.01, 99 permutations).\na.csv (150 rows), b.csv (150 rows); exact test"
    )
    assert "town: '" in told
    assert main(["test", *files, *options, "--json", "-"]) == 0
    assert json.loads(capsys.readouterr().out)["pvalue"] == 0.01
    assert main(["test", *files, *options, "--drop", "age", "--quiet", "--json", str(tmp_path / "out.json")]) == 0
    assert not capsys.readouterr().out
    names = {one["name"] for one in json.loads((tmp_path / "out.json").read_text())["columns"]}
    assert "age" not in names
    assert main(["test", *files]) == 2
    assert "--missing indicator" in capsys.readouterr().err
