"""compare with a learned kernel: what it finds, how it reads, and what it says."""

from __future__ import annotations

import json
import math

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.datasets import load_digits
from two_tables import tables

import tellapart as ta
from tellapart._util.errors import InputError
from tellapart._util.numbers import number
from tellapart.criticism import compare_cost
from tellapart.kernels import ARD
from tellapart.report import render

QUICK = {"test": "ard", "stability": 1, "learning": {"steps": 20}, "permutations": 199}
#: Where it does not matter what is learned.
FAST = {"test": "witness", "stability": 0, "permutations": 99, "rng": 0}


@pytest.mark.parametrize("kernel", ["ard", "witness", "rbf", "deep", "full"])
def test_a_table_and_the_column_that_differs(kernel):
    X, Y = tables(n=200, income=3.0)
    c = ta.compare(X, Y, rng=0, **QUICK | {"test": kernel})
    assert c.pvalue == 1 / 200
    assert c.weights.leading(1)[0][0] == "income"
    assert c.weights.names == ("age", "income", "town")
    assert c.weights.values.sum() == pytest.approx(1)
    assert (c.weights.low <= c.weights.values).all()
    assert (c.weights.values <= c.weights.high).all()
    assert 0.6 < c.auc <= 1
    assert "The samples differ (p ≤ 0.005, 199 permutations)." in c.summary()
    # The rows where Y has more are those with extreme incomes, and they are shown as they came.
    shown = [c.y.shown.row(e.position) for e in c.exemplars(5) if e.level == "more of Y" and e.sample == "Y"]
    assert np.mean([abs(float(row[1]) - 3000) for row in shown]) > 2000
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
    X, Y = images[:300], images[300:600].copy()
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


def brightness(batch):
    return batch.flatten(1).mean(1, keepdim=True)


def test_the_witness_reads_other_rows_with_the_options_of_the_comparison(tmp_path):
    X, Y = tables(income=4.0)
    X.loc[::5, "age"] = np.nan
    X["note"] = Y["note"] = "never the same"
    X.loc[::7, "note"] = None
    for options in (
        {"missing": "indicator", "drop": ["note"]},
        {"missing": "indicator", "columns": (name for name in ("income", "age"))},
    ):
        c = ta.compare(X, Y, **options, **FAST)
        more = X[:2].assign(income=[3000.0, 15000.0], age=[np.nan, 40.0])
        usual, extreme = c.witness(more)
        assert usual > extreme
        more.to_csv(tmp_path / "more.csv", index=False)
        assert c.witness(tmp_path / "more.csv") == pytest.approx([usual, extreme], rel=1e-4)
    dropping = ta.compare(X, Y, missing="drop", drop=["note"], **FAST)
    assert len(dropping.witness(X)) == 240
    with pytest.raises(ValueError, match="missing"):
        ta.compare(X.fillna({"age": 0.0}), Y, drop=["note"], **FAST).witness(X)


def test_the_witness_of_images_reads_other_images_alike(tmp_path):
    images = load_digits().images.astype(np.float32) / 16
    c = ta.compare(images[:300], 1 - images[300:600], features=brightness, **FAST)
    of_x, of_y = c.witness(images[600:640]), c.witness(1 - images[640:680])
    assert of_x.mean() > of_y.mean()
    flat = images.reshape(len(images), -1)
    c = ta.compare(flat[:300], 1 - flat[300:600], image_shape=(8, 8), image_size=(4, 4), **FAST)
    assert c.x.image_shape == (4, 4)
    assert c.witness(flat[600:640]).mean() > c.witness(1 - flat[640:680]).mean()


def test_of_other_rows_all_are_read():
    X, Y = tables(n=100)
    assert len(ta.compare(X, Y, max_rows=50, **FAST).witness(X)) == 100


def test_a_difference_of_means_is_not_called_mmd():
    X, Y = tables(income=3.0)
    c = ta.compare(X, Y, **FAST)
    assert f"Difference of means: {number(c.statistic)}" in c.summary()
    assert "MMD" not in c.summary()
    assert "mmd" not in c.to_json().lower()
    stored = json.loads(c.to_json())
    assert (stored["statistic_name"], stored["distance_name"]) == ("difference of means", "difference of means")
    assert stored["distance"] == c.distance == c.statistic
    other = ta.compare(X, Y, **FAST | {"test": "rbf"})
    assert other.distance == math.sqrt(other.statistic)
    assert f"MMD: {number(other.distance)}" in other.summary()


def test_a_result_has_numbers():
    X, Y = tables(income=3.0)
    c = ta.compare(X, Y, **FAST)
    assert (c.pvalue, c.min_pvalue, c.permutations, c.at_floor) == (0.01, 0.01, 99, True)
    assert c.verdict() == "The samples differ (p ≤ 0.01, 99 permutations)."
    swapped = ta.compare(X, Y, cross_fit=True, **FAST)
    assert (swapped.min_pvalue, swapped.at_floor) == (0.02, True)
    same = ta.compare(X, X[::-1], **FAST)
    assert not same.at_floor
    assert f"(p = {same.pvalue:.3g}, 99 permutations)" in same.verdict()


def test_settings_say_how_the_samples_were_read():
    X, Y = tables(n=60)
    c = ta.compare(X, Y, columns=["age", "town"], max_rows=50, **FAST)
    assert c.settings.reading.to_dict() == {"columns": ["age", "town"], "max_rows": 50}
    stored = json.loads(c.to_json())["settings"]
    assert stored["reading"] == {"columns": ["age", "town"], "max_rows": 50}
    assert (stored["rows"], stored["kernel"], stored["train_size"]) == ([50, 50], "witness", 0.5)
    assert stored["learned_kernel"].startswith("Witness(")


def test_memory_and_threads_hold_for_every_part(monkeypatch):
    from tellapart import engine
    from tellapart.criticism import learned, learned_weights
    from tellapart.learning import fitting

    seen = []

    def spy(module, name):
        real = getattr(module, name)

        def called(*args, **options):
            compute = next(given for given in (*args, *options.values()) if isinstance(given, engine.Compute))
            seen.append((name, compute.max_memory, compute.threads))
            return real(*args, **options)

        monkeypatch.setattr(module, name, called)

    spy(learned, "run_learned_test")
    spy(fitting, "learn_kernel")
    spy(engine, "product")
    spy(learned_weights, "witness_gradients")
    before = torch.get_num_threads()
    X, Y = tables(n=60, income=3.0)
    for kernel in ("ard", "rbf"):
        ta.compare(X, Y, max_memory="20MB", threads=1, rng=0, **QUICK | {"test": kernel})
    assert {name for name, *_ in seen} == {"run_learned_test", "learn_kernel", "product", "witness_gradients"}
    assert {rest for _, *rest in map(tuple, seen) for rest in [tuple(rest)]} == {(20_000_000, 1)}
    assert torch.get_num_threads() == before
    with pytest.raises(ValueError, match="threads must be a whole number from 1 up, or None, but is 0"):
        ta.compare(X, Y, threads=0)


def test_the_cost_is_that_of_the_test(monkeypatch):
    X, Y = tables(n=400)
    cost = compare_cost(X, Y, "ard", drop=["town"], rng=0, max_rows=300)
    assert cost.tiles >= 1
    assert compare_cost(X, Y, "ard", drop=["town"], rng=0, max_rows=300, cross_fit=True).tiles == 2 * cost.tiles
    assert compare_cost(X, Y, "rbf", rng=0).tiles >= cost.tiles
    with pytest.raises(ValueError, match="there is nothing to estimate"):
        compare_cost(X, Y, "witness")
    with pytest.raises(ValueError, match="automatic test takes time that is linear"):
        compare_cost(X, Y)  # `compare` runs the automatic test by default


def test_features_are_compared_and_images_are_shown():
    images = load_digits().images.astype(np.float32) / 16
    c = ta.compare(images[:300], 1 - images[300:600], features=brightness, **FAST)
    assert c.reject()
    assert c.x.values.shape[1] == 1
    assert c.x.shown.kind == "images"


def test_the_seed_decides_and_is_told():
    X, Y = tables(n=50)
    quick = {"test": "ard", "learning": {"steps": 5, "scan": False}, "permutations": 99, "stability": 1}
    first = ta.compare(X, Y, **quick)
    again = ta.compare(X, Y, rng=first.test.seed, **quick)
    assert again.pvalue == first.pvalue
    assert np.array_equal(again.weights.values, first.weights.values)
    assert first.settings.seed == first.test.seed


def test_swapped_halves_and_groups():
    X, Y = tables(income=3.0)
    c = ta.compare(X, Y, cross_fit=True, **FAST)
    assert len(c.test.halves) == 2
    assert c.pvalue == 2 * min(half.test.pvalue for half in c.test.halves)
    groups = (np.arange(300) // 3, 1000 + np.arange(300) // 3)
    c = ta.compare(X, Y, groups=groups, **FAST)
    assert not set(groups[0][c.learned.split.train_x]) & set(groups[0][c.learned.split.test_x])


def test_many_rows_are_binned(monkeypatch):
    from tellapart.criticism import learned

    monkeypatch.setattr(learned, "PERMUTED", 90)
    c = ta.compare(*tables(n=100), "rbf", rng=0, stability=0, permutations=99)
    assert c.test.leading.test.null == "binned"
    assert c.settings.null == "binned"


def test_of_very_many_rows_some_are_drawn(monkeypatch):
    from tellapart.criticism import learned

    monkeypatch.setattr(learned, "ROWS", 100)
    X, Y = tables()
    c = ta.compare(X, Y[:90], **FAST)
    assert (len(c.x) + len(c.learned.split.train_x), len(c.y) + len(c.learned.split.train_y)) == (100, 90)
    assert c.notes == ("X: 100 rows were drawn at random.",)
    assert len(ta.compare(X, Y, max_rows=200, **FAST).x) == 100


def test_a_column_that_counts_rows_is_left_out_of_learned_tests_too():
    X, Y = tables(n=60)
    X.insert(0, "id", np.arange(60))
    Y.insert(0, "id", 60 + np.arange(60))
    c = ta.compare(X, Y, **FAST)
    assert {n.columns: n.kind for n in c.noticed if n.left_out} == {("id",): "identifier", ("since",): "date"}
    assert "id" not in c.x.columns
    assert "id" in ta.compare(X, Y, keep_columns="id", **FAST).x.columns


def test_too_few_permutations_to_find_anything():
    X, Y = tables(n=60)
    with pytest.raises(InputError, match="Give at least permutations=19") as error:
        ta.compare(X, Y, permutations=10)
    assert error.value.options == {"permutations": 19}  # so that the command line can say it in its own way
    with pytest.raises(ValueError, match="Give at least permutations=39"):
        ta.compare(X, Y, "ard", permutations=30, cross_fit=True)


def test_weights_of_coordinates_that_never_vary_are_nothing():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(200, 3)), rng.normal(size=(200, 3)) * [1, 2.5, 1]
    X[:, 2] = Y[:, 2] = 7.0
    c = ta.compare(X, Y, rng=0, **QUICK | {"test": ARD(3)})
    assert c.weights.values[2] == 0
    assert c.weights.leading(1)[0][0] == "1"


@pytest.mark.parametrize("names", [("A",), "AB", ("A", "B", "C"), (1, 2), {"A": 0, "B": 1}], ids=str)
def test_names_are_a_pair_of_texts(names):
    with pytest.raises(ta.InputError) as caught:
        ta.compare(np.zeros((9, 1)), np.ones((9, 1)), names=names)
    assert caught.value.id == "invalid-names"


@pytest.mark.parametrize(("most", "drawn"), [(1000, False), (30, False), (20, True)])
def test_rows_are_said_to_be_drawn_where_some_were(most, drawn):
    X, Y = np.random.default_rng(0).normal(size=(2, 30, 2))
    found = ta.compare(X, Y, permutations=19, alpha=0.1, max_rows=most, rng=0)
    assert found.drawn is drawn
    assert ("drawn" in found.summary()) is drawn
    assert ("drawn at random" in render(found)) is drawn
