"""compare by default: every row tested and judged, what is noticed first, slices, and original row numbers."""

from __future__ import annotations

import json
import re

import numpy as np
import pandas as pd
import pytest
import torch
from two_tables import tables

import tellapart as ta
from tellapart.criticism.folds import draw_folds, find_units
from tellapart.criticism.notices import notice_rows
from tellapart.data.hashing import hash_blocks
from tellapart.report import render

pytestmark = pytest.mark.usefixtures("one_thread")
FAST = {"permutations": 99, "rng": 0}


def test_the_test_is_that_of_two_sample_test():
    X, Y = tables(n=120, income=4.0)
    c, t = ta.compare(X, Y, **FAST), ta.two_sample_test(X, Y, 99, rng=0)
    assert (c.pvalue, c.statistic) == (t.pvalue, t.statistic)
    assert [one.pvalue for one in c.columns] == [one.pvalue for one in t.columns]
    assert c.differing_columns()[0].name == "income"
    assert set(c.families) == set(t.families)
    assert (len(c.witness_x), len(c.witness_y), c.weights, c.kernel, c.learned) == (120, 120, None, None, None)
    low, high = c.auc_interval
    assert 0.5 < low < c.auc < high < 1
    assert c.distance_interval[0] < c.distance < c.distance_interval[1]
    stored = json.loads(c.to_json())
    assert stored["named"]["columns"] == ["income"]
    assert stored["columns"][0]["interval"][0] > 0
    assert "income: more spread out in Y, SD " in c.summary()


def test_arrays_and_the_same_seed():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(90, 3)), rng.normal(size=(70, 3)) + np.array([1, 0, 0])
    first, again = (ta.compare(X, Y, **FAST) for _ in range(2))
    assert np.array_equal(first.witness_x, again.witness_x)
    assert (first.pvalue, first.auc) == (again.pvalue, again.auc)
    assert first.pvalue == ta.two_sample_test(X, Y, 99, rng=0).pvalue
    assert first.witness_x.mean() > first.witness_y.mean()
    at = first.witness([[-2.0, 0, 0], [3.0, 0, 0]])
    assert at[0] > 0 > at[1]


def test_options_of_the_other_test_are_refused():
    X, Y = tables(n=30)
    with pytest.raises(ValueError, match=r"cross_fit is an option of a learned test\. Name one with test='ard'"):
        ta.compare(X, Y, cross_fit=True)
    with pytest.raises(ValueError, match="paired is an option of the automatic test"):
        ta.compare(X, Y, "ard", paired=True)


def people(n=200, seed=0, month=1, fog=0.1):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "id": np.arange(n) + 1000 * month,
            "date": pd.Timestamp(f"2024-{month:02}-01") + pd.to_timedelta(rng.integers(0, 28, n), unit="D"),
            "unit": "mm",
            "note": [f"text {k}" for k in rng.integers(0, 10**9, n)],
            "fog": rng.random(n) < fog,
            "rain": rng.gamma(2, 2, n),
            "wind": rng.choice(["N", "S", "E"] + (["W"] if month > 1 else []), n),
        }
    )


def test_what_a_person_would_notice_is_said_and_left_out():
    X, Y = people(), people(seed=1, month=2, fog=0.45)
    c = ta.compare(X, Y, names=("May", "June"), **FAST)
    kinds = {notice.columns[0]: (notice.kind, notice.left_out) for notice in c.noticed if notice.columns}
    assert kinds == {
        "id": ("identifier", True),
        "date": ("date", True),
        "unit": ("constant", True),
        "note": ("free text", True),
        "wind": ("new categories", False),
    }
    assert {one.name for one in c.columns} == {"fog", "rain", "wind"}
    assert {one.name for one in c.differing_columns()} == {"fog", "wind"}
    assert "fog: yes " in c.summary()
    assert "'id', 'date' can be compared nevertheless. Give keep_columns=['id', 'date']." in c.summary()
    assert "'note' can be shown next to the examples. Give items='note'." in c.summary()
    assert {one.item[:4] for one in ta.compare(X, Y, items="note", **FAST).exemplars(1)} == {"text"}
    assert "'date' holds dates (2024-01-01 to 2024-02-28). It is left out." in c.summary()
    assert len(c.witness(Y)) == 200
    kept = ta.compare(X, Y, keep_columns=["date"], drop=["note", "id"], **FAST)
    assert "date" in {one.name for one in kept.columns}
    with pytest.raises(ValueError, match="no column 'dat' to keep"):
        ta.compare(X, Y, keep_columns=["dat"], **FAST)


def test_rows_that_both_have_and_files_given_twice(tmp_path):
    X, Y = tables(n=100)
    Y = pd.concat([Y[:60], X[:40]])
    c = ta.compare(X, Y, **FAST)
    assert c.noticed[0].kind == "shared rows"
    assert c.noticed[0].count == 40
    assert c.summary().startswith("First: 40 of the 100 rows of X are in Y too.")
    X.to_csv(tmp_path / "a.csv", index=False)
    same = ta.compare(tmp_path / "a.csv", tmp_path / "a.csv", **FAST)
    assert same.noticed[0].text.startswith("The same file was given twice")
    assert same.pvalue == 1
    assert same.auc == pytest.approx(0.5)  # copies are never judged by each other
    assert same.auc_interval == pytest.approx((0.5, 0.5))
    learned = ta.compare(X, Y, "rbf", stability=0, learning={"steps": 2}, **FAST)
    assert learned.summary().startswith("First: 40 of 100 rows of X also occur in Y")
    assert same.names[0] != same.names[1]
    twice = ta.compare(pd.concat([X, X[:30]]), Y[:60], **FAST)
    assert "duplicated rows" in {notice.kind for notice in twice.noticed}


def test_ties_of_coarse_columns_are_no_copies():
    """Two rounded columns have equal rows by chance."""
    rng = np.random.default_rng(0)
    X, Y = (rng.normal(size=(300, 2)).round(1) for _ in range(2))
    hashes = hash_blocks(torch.from_numpy(np.concatenate([X, Y])))
    sources = ta.read(X), ta.read(Y)
    assert len(np.unique(hashes[:300])) <= 297
    assert notice_rows(hashes, 300, sources, ("X", "Y")) == []
    X = np.concatenate([rng.normal(size=(290, 2)), rng.normal(size=(5, 2)).repeat(2, 0)])
    hashes = hash_blocks(torch.from_numpy(np.concatenate([X, Y])))
    found = notice_rows(hashes, 300, (ta.read(X), sources[1]), ("X", "Y"))
    assert [notice.text for notice in found] == [
        "5 of the 300 rows of X repeat another one. If these are copies, remove them."
    ]


def test_a_measured_column_is_compared_even_where_ranges_do_not_overlap():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(50, 2)), rng.normal(size=(50, 2)) + np.array([30, 0])
    c = ta.compare(X, Y, **FAST)
    assert [(n.kind, n.left_out) for n in c.noticed] == [("disjoint ranges", False)]
    assert c.differing_columns()[0].name == "0"


@pytest.mark.parametrize("argument", ["groups", "strata", "items"])
def test_rows_without_a_label_are_dropped_as_asked(tmp_path, argument):
    rng, files, complete = np.random.default_rng(0), [], []
    for name, rows in (("a", 60), ("b", 50)):
        labels = [f"c{k % 4}" if argument == "strata" else f"{name}{k}" for k in range(rows)]
        table = pd.DataFrame(rng.normal(size=(rows, 2)), columns=["u", "v"]).assign(city=labels)
        table.loc[3::10, "city"] = None
        table.loc[7, "u"] = None
        files.append(tmp_path / f"{name}.csv")
        complete.append(table.dropna())
        table.to_csv(files[-1], index=False)
    given = {argument: "city", **FAST}
    with pytest.raises(ValueError, match="fill these in, or drop rows with gaps by missing='drop'"):
        ta.compare(*files, **given)
    found, expected = ta.compare(*files, missing="drop", **given), ta.compare(*complete, **given)
    assert (found.pvalue, found.auc) == (expected.pvalue, expected.auc)
    assert any(note.endswith("6 of 60 rows had no value in 'city' and were dropped.") for note in found.notes)
    if argument != "items":
        both = ta.two_sample_test(*files, 99, missing="drop", rng=0, **{argument: "city"})
        assert both.pvalue == ta.two_sample_test(*complete, 99, rng=0, **{argument: "city"}).pvalue


def test_row_numbers_and_items_are_the_users(tmp_path):
    X, Y = tables(n=80, income=3.0)
    X["name"], Y["name"] = ([f"{k}{i}" for i in range(80)] for k in "xy")
    X.loc[[0, 5], "age"] = np.nan
    c = ta.compare(X, Y, items="name", missing="drop", **FAST)
    assert c.rows_x.tolist() == [i for i in range(80) if i not in (0, 5)]
    assert "name" not in {one.name for one in c.columns}
    for one in c.exemplars(3):
        assert one.item == f"{one.sample.lower()}{one.row}"
        assert one.where == f"row {one.row}"
    assert "position" not in json.loads(c.to_json())["exemplars"][0]
    given = ta.compare(X.drop(columns="name"), Y.drop(columns="name"), items=(X.name, Y.name), missing="drop", **FAST)
    assert given.items[0][0] == "x1"
    with pytest.raises(ValueError, match="items must have one item for each of the 160 rows"):
        ta.compare(X.drop(columns="name"), Y.drop(columns="name"), items=([1], [2]), missing="drop", **FAST)


def test_a_slice_is_found_on_one_half_and_counted_on_the_other():
    rng = np.random.default_rng(0)

    def frame(n, segment):
        found = pd.DataFrame({"age": rng.uniform(20, 60, n).round(), "hours": rng.uniform(20, 60, n).round()})
        inside = (found.age <= 30) & (found.hours > 45)
        return found[inside | (rng.random(n) < 1 / segment)][: n // 4].reset_index(drop=True)

    X, Y = frame(4000, 1.0), frame(4000, 3.0)
    c = ta.compare(X, Y, **FAST)
    best = c.differing_slices[0]
    assert {condition.column for condition in best.conditions} <= {"age", "hours"}
    assert best.share_y > 1.7 * best.share_x
    rows = X.iloc[c.rows_x[best.members_x]]
    for condition in best.conditions:
        values = rows[condition.column]
        assert ((values > condition.value) if condition.relation == ">" else (values <= condition.value)).all()
    assert f"{best.text}: " in c.summary()


def test_a_rule_is_as_short_as_what_it_says():
    rng = np.random.default_rng(0)

    def frame(n, gaps, rare):
        work = rng.choice(["missing", "yes", "no"], n, p=[rare, 0.6 - rare, 0.4]).astype(object)
        work[rng.random(n) < gaps] = None
        return pd.DataFrame({"work": work, "age": rng.normal(40, 10, n), "income": rng.normal(size=n)})

    c = ta.compare(frame(1500, 0.05, 0.1), frame(1500, 0.2, 0.3), missing="indicator", **FAST)
    # Not cut in pieces by columns that do not matter, and what is one thing is not said not to be another.
    assert c.differing_slices
    for one in c.differing_slices:
        assert {condition.column for condition in one.conditions} == {"work"}
        assert len(one.conditions) == 1 or {condition.relation for condition in one.conditions} == {"is not"}
    gone = ta.compare(frame(400, 0.05, 0.1), frame(400, 0.4, 0.1), missing="indicator", **FAST)
    assert [one.text for one in gone.differing_slices] == ["work is missing"]
    assert re.search(r"work: \d+ % missing in Y, [\d.]+ % in X \(\+3\d points", gone.summary())


def test_no_grade_where_nothing_is_shown():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    c = ta.compare(X, X + 1e-6 * rng.normal(size=(60, 3)), **FAST)
    assert not c.reject()
    assert "not shown to be separable" in c.summary()


def test_slices_hold_their_level():
    named = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        c = ta.compare(rng.normal(size=(200, 3)), rng.normal(size=(200, 3)), permutations=49, rng=seed)
        named += any(one.pvalue <= 0.1 for one in c.slices)
    assert named <= 7  # of 20 at level 0.1


def test_clusters_of_images():
    from sklearn.datasets import load_digits

    digits = load_digits()
    order = np.random.default_rng(0).permutation(len(digits.images))
    images, labels = digits.images[order], digits.target[order]
    X, Y = images[:800], images[800:][labels[800:] != 0]
    c = ta.compare(X, Y, **FAST)
    best = c.differing_slices[0]
    assert best.conditions == ()
    assert best.share_x > best.share_y
    assert np.mean(labels[:800][c.rows_x[best.members_x[:20]]] == 0) > 0.5


def test_weights_of_a_learned_kernel_beside_the_pixels_of_images():
    from sklearn.datasets import load_digits

    images = load_digits().images[np.random.default_rng(0).permutation(1797)]
    X, Y = images[:600].copy(), images[600:1200].copy()
    Y[:, :, 3] = 0
    c = ta.compare(X, Y, **FAST)
    assert c.learned is None
    assert c.weights.values.reshape(8, 8)[:, 3].sum() > 0.5
    assert "weights" not in c.summary()
    assert "Learned weights" in render(c)
    assert ta.compare(X[:300], X[300:], **FAST).weights is None  # nothing differs, so nothing is learned


def test_groups_pairs_and_kernels():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(60, 2)), rng.normal(size=(60, 2)) + 1
    groups = np.repeat(np.arange(40), 3)
    c = ta.compare(X, Y, groups=groups, **FAST)
    assert c.reject()
    narrow = ta.compare(X, Y, **FAST)
    assert c.columns[0].interval != narrow.columns[0].interval
    paired = ta.compare(X, X + 0.3 + 0.05 * rng.normal(size=(60, 2)), paired=True, **FAST)
    low, high = paired.columns[0].interval
    assert high - low < 0.2  # what is common to the pair does not count
    assert ta.compare(X, Y, kernels=[ta.kernels.Gaussian(1.0)], **FAST).reject()


def test_equal_rows_do_not_join_groups_or_pairs():
    rng = np.random.default_rng(0)
    X, Y = (rng.integers(0, 3, size=(60, 2)).astype(float) for _ in range(2))
    c = ta.compare(X, Y, paired=True, rng=0)
    assert c.auc_interval[1] - c.auc_interval[0] > 0.05
    groups = np.repeat(np.arange(40), 3)
    X[::3] = Y[::3] = 0  # every group has an empty row
    assert 0 < ta.compare(X, Y, groups=groups, rng=0).auc < 1
    alone = ta.compare(X, Y, groups=np.repeat([0, 1], 60), rng=0)
    assert alone.pvalue == 1
    assert (alone.auc, alone.auc_interval) == (0.5, (0.0, 1.0))


def test_groups_in_a_column_where_rows_are_dropped():
    X, Y = tables(n=60)
    X["who"], Y["who"] = np.arange(60) // 3, 100 + np.arange(60) // 3
    X.loc[::7, "age"] = np.nan
    c = ta.compare(X, Y, groups="who", missing="drop", **FAST)
    assert len(c.rows_x) == 51
    t = ta.two_sample_test(X, Y, 99, groups="who", missing="drop", rng=0)
    assert c.pvalue == t.pvalue


def test_units_stay_in_one_fold():
    rng = np.random.default_rng(0)
    values = rng.normal(size=(200, 2))
    values[100:120] = values[:20]
    import torch

    labels = np.repeat([0, 1], 100)
    units = find_units(hash_blocks(torch.from_numpy(values)), np.repeat(np.arange(100), 2))
    folds, count = draw_folds(units, labels, rng)
    assert count == 6
    assert (folds[100:120] == folds[:20]).all()
    assert (folds[::2] == folds[1::2]).all()
    # Of few different rows, equal ones are no copies.
    assert len(np.unique(find_units(hash_blocks(torch.from_numpy(values.round() > 0)), None))) == 200


def test_few_rows():
    rng = np.random.default_rng(0)
    for m, n in ((2, 2), (3, 5), (6, 40)):
        c = ta.compare(rng.normal(size=(m, 2)), rng.normal(size=(n, 2)), permutations=19, rng=0)
        assert 0 <= c.auc_interval[0] <= c.auc_interval[1] <= 1
        assert np.isfinite(c.witness_x).all()
        json.loads(c.to_json())
    assert ta.compare(np.ones((40, 2)), np.ones((30, 2)), **FAST).pvalue == 1


def test_clusters_of_embeddings_are_told_by_what_is_in_them():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(400, 24)), rng.normal(size=(400, 24))
    Y[:80] += 3
    texts = [f"one {k}" for k in range(400)], [f"{'odd' if k < 80 else 'plain'} {k}" for k in range(400)]
    c = ta.compare(X, Y, items=texts, **FAST)
    best = c.differing_slices[0]
    assert best.conditions == ()
    assert best.share_x < 0.02 < best.share_y
    assert re.search(r"cluster \d+ \(like odd \d+, odd \d+, odd \d+ of Y\): ", c.summary())
    assert re.search(r"cluster \d+ \(like row \d+, row \d+, row \d+ of Y\): ", ta.compare(X, Y, **FAST).summary())
    assert "single columns: p ≤ 0.01" in c.summary()


def test_the_interval_of_a_distance_is_never_a_point():
    for seed in range(40):
        X, Y = np.random.default_rng(seed).normal(size=(2, 24, 2))
        distance = ta.equivalence_test(X, Y, margin=0.2, rng=0)
        assert distance.interval[1] > 0.05


def test_features_get_every_column():
    """A constant column is better left out of a comparison, but not of what a function is given."""
    rng = np.random.default_rng(0)
    X, Y = (np.c_[np.ones(60), rng.normal(size=(60, 2))] for _ in range(2))
    widths = set()
    found = ta.compare(X, Y, permutations=99, features=lambda rows: widths.add(rows.shape[1]) or rows, rng=0)
    assert widths == {3}
    assert not found.noticed
