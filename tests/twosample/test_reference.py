"""A reference: exact tests of batches, the same after a file, and no trust in files."""

from __future__ import annotations

import json
import math
import struct
from contextlib import suppress

import numpy as np
import pandas as pd
import pytest
import torch
from safetensors.torch import load_file, save_file

import tellapart as ta
from tellapart.omnibus.families.kernel import KernelFamily
from tellapart.results import TwoSampleResult


def rows(n, seed=0, d=3):
    return np.random.default_rng(seed).normal(size=(n, d))


def table(n, seed=0, shift=0.0, towns=("Ulm", "Bonn")):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "age": rng.normal(40 + shift, 10, n).round(),
            "income": rng.lognormal(10, 0.5, n),
            "town": rng.choice(towns, n),
            "member": rng.random(n) < 0.3,
            "constant": 7.0,
        }
    )


@pytest.fixture(scope="module")
def reference():
    return ta.Reference.fit(rows(800), rng=0)


@pytest.fixture(scope="module")
def of_table():
    return ta.Reference.fit(table(800), rng=0)


def same(a, b):
    assert a.pvalue == b.pvalue
    assert a.statistic == b.statistic
    assert np.array_equal(a.null_distribution, b.null_distribution)
    assert a.columns.to_list() == b.columns.to_list()


def test_what_differs_is_found_and_named(reference):
    result = reference.test(rows(100, 1) + np.array([0, 0.8, 0]), rng=0)
    assert isinstance(result, TwoSampleResult)
    assert result.pvalue == 0.001
    assert result.differing_columns(0.05).names == ("1",)
    assert result.names == ("reference", "batch")
    assert result.n == 100
    assert not reference.test(rows(100, 1), rng=0).reject(0.01)


@pytest.mark.parametrize("size", [1, 2, 5, 3000])
def test_batches_of_any_size(reference, size):
    assert 0 < reference.test(rows(size, 5), 99, rng=0).pvalue <= 1
    far = reference.test(rows(size, 5) + 50, 99, rng=0)
    assert far.pvalue == pytest.approx(0.01)


def test_a_column_that_was_constant_and_is_not_any_more(of_table):
    changed = table(60, 2)
    changed.loc[::3, "constant"] = 8.0
    result = of_table.test(changed, rng=0)
    assert "constant" in result.differing_columns(0.05).names
    assert "'not 7'" in result.columns[0].description
    assert not of_table.test(table(60, 2), rng=0).reject(0.01)


@pytest.mark.parametrize("kind", ["rows", "table", "images", "features", "missing"])
def test_saved_and_loaded_it_gives_the_same_bits(kind, tmp_path):
    options, features = {}, None
    if kind == "rows":
        X, Y = rows(300), rows(40, 1)
    elif kind == "table":
        X, Y = table(300), table(40, 1)
    elif kind == "missing":
        X, Y = (part.mask(np.random.default_rng(3).random(part.shape) < 0.1) for part in (table(300), table(40, 1)))
        options = {"missing": "indicator"}
    else:
        X, Y = (np.random.default_rng(k).integers(0, 255, (n, 8, 8)).astype(np.uint8) for k, n in ((0, 300), (1, 40)))
    if kind == "features":
        features = _means
    fitted = ta.Reference.fit(X, rng=0, features=features, **options)
    fitted.save(tmp_path / "a.tellapart")
    loaded = ta.Reference.load(tmp_path / "a.tellapart", features=features)
    same(fitted.test(Y, 99, rng=1), loaded.test(Y, 99, rng=1))
    assert fitted.digest == loaded.digest
    loaded.save(tmp_path / "b.tellapart")
    assert (tmp_path / "a.tellapart").read_bytes() == (tmp_path / "b.tellapart").read_bytes()
    if kind == "features":
        with pytest.raises(ValueError, match="not stored"):
            ta.Reference.load(tmp_path / "a.tellapart")


def _means(images):
    return images.mean((2, 3), keepdim=True).flatten(1) if images.ndim == 4 else images


def test_files_and_frames_and_arrays_are_one(tmp_path, reference):
    batch = rows(30, 2).astype(np.float32)
    np.save(tmp_path / "batch.npy", batch)
    pd.DataFrame(batch, columns=list("abc")).to_csv(tmp_path / "batch.csv", index=False)
    first = reference.test(batch, 99, rng=0)
    same(first, reference.test(tmp_path / "batch.npy", 99, rng=0))
    assert reference.test(tmp_path / "batch.csv", 99, rng=0).pvalue == pytest.approx(first.pvalue, abs=0.02)
    same(first, reference.test(torch.from_numpy(batch), 99, rng=0))


def test_columns_come_in_any_order(of_table):
    batch = table(50, 3)
    same(of_table.test(batch, 99, rng=0), of_table.test(batch[batch.columns[::-1]], 99, rng=0))


def test_unseen_categories_are_counted_and_seen(of_table):
    batch = table(60, 3, towns=("Ulm", "Köln"))
    result = of_table.test(batch, rng=0)
    assert any("'Köln'" in note and "of 60 rows" in note for note in result.notes)
    assert "town" in result.differing_columns(0.05).names
    with pytest.raises(ValueError, match="not built like the reference"):
        of_table.test(batch, rng=0, schema="strict")


def test_columns_that_are_missing_or_changed(of_table):
    without = table(50, 3).drop(columns="age")
    with pytest.raises(ValueError, match="'age' is missing"):
        of_table.test(without)
    with pytest.raises(ValueError, match="'age' holds text"):
        of_table.test(table(50, 3).assign(age="old"))
    extended = of_table.test(table(50, 3).assign(more=1.0), 99, rng=0)
    assert any("'more'" in note for note in extended.notes)
    with pytest.raises(ValueError, match="'more'"):
        of_table.test(table(50, 3).assign(more=1.0), schema="strict")
    with pytest.raises(ValueError, match="schema='other'"):
        of_table.test(table(50, 3), schema="other")


@pytest.mark.parametrize("left_out", [{"drop": ["1"]}, {"columns": [0, 2]}])
def test_columns_that_were_left_out_are_left_out_of_batches(left_out, tmp_path):
    """Rows, whole or without the column; a strict schema too."""
    reference = ta.Reference.fit(rows(300), rng=0, **left_out)
    reference.save(tmp_path / "r.tellapart")
    batch = rows(40, 1) + np.array([0, 9, 0])
    found = ta.Reference.load(tmp_path / "r.tellapart").test(batch, 99, rng=0, schema="strict")
    assert found.pvalue > 0.01
    same(found, reference.test(batch[:, [0, 2]], 99, rng=0))
    with pytest.raises(ValueError, match="rows of 4 numbers"):
        ta.Reference.fit(rows(300), rng=0).test(np.zeros((9, 4)))


@pytest.mark.parametrize("left_out", [{"drop": ["age"]}, {"columns": ["income", "town", "member", "constant"]}])
def test_columns_of_tables_that_were_left_out_are_no_news(left_out):
    reference = ta.Reference.fit(table(300), rng=0, **left_out)
    batch = table(40, 1, shift=900.0)
    assert reference.test(batch, 99, rng=0, schema="strict").notes == ()
    same(reference.test(batch, 99, rng=0), reference.test(batch.drop(columns="age"), 99, rng=0))


def test_features_of_chosen_columns():
    def lengths(texts):
        return torch.tensor([[float(len(text))] for text in texts])

    def notes(n, seed):
        words = np.random.default_rng(seed).integers(1, 9, n)
        return pd.DataFrame({"id": range(n), "text": ["word " * k + str(i) for i, k in enumerate(words)]})

    reference = ta.Reference.fit(notes(200, 0), columns=["text"], features=lengths, rng=0)
    assert reference.test(notes(50, 1), 99, rng=0).pvalue > 0.01
    longer = notes(50, 1).assign(text=lambda t: t["text"] * 3)
    assert reference.test(longer, 99, rng=0).pvalue == 0.01


def test_features_of_images_see_them_at_one_size():
    def brightness(images):
        assert images.shape[2:] == (4, 4)
        return images.mean((2, 3))

    def images(n, side, seed):
        return np.random.default_rng(seed).integers(0, 256, (n, side, side), np.uint8)

    reference = ta.Reference.fit(images(100, 8, 0), image_size=(4, 4), features=brightness, rng=0)
    assert reference.test(images(30, 8, 1), 99, rng=0).pvalue > 0.01


def test_a_date_is_no_number():
    frame = pd.DataFrame({"x": np.random.default_rng(0).normal(size=200), "y": np.arange(200) % 7.0})
    reference = ta.Reference.fit(frame, rng=0, missing="indicator")
    batch = frame[:50].assign(x=pd.Timestamp("2024-01-01"))
    found = reference.open(batch, schema="lenient").rows
    assert found[:, 0].max() < 10  # and not 19,723 days


def test_lenient_compares_what_is_missing():
    reference = ta.Reference.fit(table(600), missing="indicator", rng=0)
    for batch in (table(50, 3).drop(columns="age"), table(50, 3).assign(age="old")):
        result = reference.test(batch, rng=0, schema="lenient")
        assert result.pvalue == 0.001
        assert "age is missing" in result.differing_columns(0.05).names
        assert any("'age'" in note for note in result.notes)
    assert not reference.test(table(50, 3), rng=0).reject(0.01)


@pytest.mark.parametrize(
    ("batch", "message"),
    [(np.zeros((5, 2)), "rows of 2 numbers"), (np.full((5, 3), np.nan), "NaN"), (np.zeros((0, 3)), "empty|no rows")],
)
def test_batches_that_cannot_be_compared(reference, batch, message):
    with pytest.raises(ValueError, match=message):
        reference.test(batch)


def test_too_few_rows_for_a_reference():
    with pytest.raises(ValueError, match="at least 16"):
        ta.Reference.fit(rows(15))
    with pytest.raises(ValueError, match="max_kept_rows"):
        ta.Reference.fit(rows(50), max_kept_rows=0)


def test_no_more_rows_are_kept_than_wanted():
    reference = ta.Reference.fit(rows(500), max_kept_rows=100, rng=0)
    assert len(reference.contents.rows) == 100
    assert reference.test(rows(50, 1) + 1, rng=0).m == 100


def test_no_row_is_both_fitted_on_and_compared():
    """Landmarks are rows that features were fitted on: none of them may be among the rows kept."""
    X = rows(400)
    reference = ta.Reference.fit(X, rng=0)
    plan = reference.contents.test.plan
    (kernel,) = (family for family in plan.families if isinstance(family, KernelFamily))
    landmarks = kernel.similarities.landmarks * plan.transform.divisor + plan.transform.centre
    distances = np.abs(landmarks[:, None] - reference.contents.rows[None]).max(2)
    assert distances.min() > 1e-6


def test_what_rows_become_does_not_depend_on_the_rows_that_are_compared():
    """Every value of these rows is replaced: categories, fills, scales and features stay the same to the last bit."""
    rng = np.random.default_rng(0)

    def draw(n, towns, shift=0.0):
        found = pd.DataFrame(
            {
                "town": [f"t{k}" for k in rng.integers(*towns, n)],
                "age": rng.normal(40 + shift, 10, n),
                "zeros": np.where(rng.random(n) < 0.7, 0.0, rng.exponential(size=n) + shift),
                "constant": np.full(n, 1.0 + shift),
                "member": rng.random(n) < 0.3 + shift,
            }
        )
        return found.mask(rng.random(found.shape) < 0.1)

    X = draw(400, (0, 60))
    sketch = np.random.default_rng(7).permutation(400)[:100]
    others = np.setdiff1d(np.arange(400), sketch)
    changed = X.copy()
    changed.iloc[others] = draw(300, (30, 90), shift=0.5).to_numpy()
    changed = changed.astype({"age": float, "zeros": float, "constant": float})
    before, after = (ta.Reference.fit(part, rng=7, missing="indicator").contents for part in (X, changed))
    parts = [[vars(part) for part in known.schema.encoding.parts] for known in (before, after)]
    np.testing.assert_equal(*parts)
    assert before.schema.variables == after.schema.variables
    assert before.constants == after.constants
    batch = ta.Reference(before).open(draw(50, (0, 90)))
    for (_, first), (_, second) in zip(
        *(known.test.plan.features(batch.rows, known.test.plan.blocks) for known in (before, after)), strict=True
    ):
        assert np.array_equal(first, second)


def test_categories_that_only_other_rows_have_are_others():
    rng = np.random.default_rng(0)
    towns = rng.choice(["Ulm", "Bonn"], 400)
    sketch = rng_sketch = np.random.default_rng(0).permutation(400)[:100]
    towns[np.setdiff1d(np.arange(400), rng_sketch)[:50]] = "Kiel"
    assert "Kiel" not in towns[sketch]
    reference = ta.Reference.fit(pd.DataFrame({"town": towns, "x": rng.normal(size=400)}), rng=0)
    assert reference.contents.schema.encoding.names == ("town=Bonn", "town=Ulm", "town=other", "x")
    # It is in the reference nevertheless: no deviation.
    found = reference.open(pd.DataFrame({"town": ["Kiel", "Rom"], "x": 0.0}))
    assert [one.count for one in found.deviations] == [1]
    assert found.rows[:, 2].tolist() == [1.0, 1.0]


def test_a_batch_may_have_as_many_different_texts_as_it_likes():
    """Of 400 categories a batch of 100 rows has nearly 100; without it, the stream would be another."""
    rng = np.random.default_rng(0)

    def draw(n):
        return pd.DataFrame({"town": [f"t{k}" for k in rng.integers(400, size=n)]})

    reference = ta.Reference.fit(draw(1200), rng=0)
    assert 0 < reference.test(draw(100), 19, rng=0).pvalue <= 1
    # Mostly numbers, with a few texts: categories, as in the reference.
    grades = pd.DataFrame({"grade": [*map(str, range(12))] * 30 + ["?"] * 60})
    reference = ta.Reference.fit(grades, rng=0)
    batch = pd.DataFrame({"grade": [*map(str, range(12))] * 3 + ["?"]})
    assert reference.open(batch).deviations == ()


@pytest.mark.parametrize("kinds", [("f4", "f8"), ("f8", "f4"), ("f4", "f4")])
def test_columns_are_compared_in_the_coarser_precision(kinds):
    """The same decimals, in single precision here and in double precision there, beside a column of large numbers."""

    def table(n, seed, kind):
        rng = np.random.default_rng(seed)
        decimals = (rng.integers(1, 4, n) / 10).astype(kind)
        return pd.DataFrame({"price": decimals, "always": np.full(n, 0.1, kind), "count": rng.integers(0, 2**40, n)})

    reference = ta.Reference.fit(table(600, 0, kinds[0]), rng=0)
    found = reference.test(table(200, 1, kinds[1]), 99, rng=0)
    alike = ta.Reference.fit(table(600, 0, "f4"), rng=0).test(table(200, 1, "f4"), 99, rng=0)
    assert found.pvalue == pytest.approx(alike.pvalue, abs=0.021)
    assert found.pvalue > 0.05
    evidence = reference.monitor(0.05, rng=0, permutations=9)
    assert not any(evidence.add(table(100, 2 + k, kinds[1])).alarm for k in range(8))


@pytest.mark.parametrize("kinds", [("f4", "f8"), ("f8", "f4")])
def test_arrays_are_compared_in_the_coarser_precision(kinds):
    first, second = (np.random.default_rng(k).integers(1, 4, (n, 2)) / 10 for k, n in ((0, 600), (1, 200)))
    reference = ta.Reference.fit(first.astype(kinds[0]), rng=0)
    assert reference.test(second.astype(kinds[1]), 99, rng=0).pvalue > 0.05
    beyond = second.copy()
    beyond[0, 0] = 1e100 if kinds[1] == "f8" else 3e38
    assert np.isfinite(reference.test(beyond.astype(kinds[1]), 19, rng=0).statistic)


def test_files_of_another_version_are_refused(tmp_path, of_table):
    path = tmp_path / "old.tellapart"
    of_table.save(path)
    raw = path.read_bytes()
    length = struct.unpack("<Q", raw[:8])[0]
    header = json.loads(json.loads(raw[8 : 8 + length])["__metadata__"]["tellapart"])
    header["fields"]["format"] = "tellapart reference, version 2"
    write(path, load_file(path), header)
    with pytest.raises(ValueError, match=r"another version .*Fit the reference again"):
        ta.Reference.load(path)


def write(path, tensors, header):
    save_file(tensors, path, {"tellapart": header if isinstance(header, str) else json.dumps(header)})


def test_hostile_files_are_refused(tmp_path, of_table):
    good = tmp_path / "good.tellapart"
    of_table.save(good)
    raw = good.read_bytes()
    length = struct.unpack("<Q", raw[:8])[0]
    header = json.loads(json.loads(raw[8 : 8 + length])["__metadata__"]["tellapart"])
    tensors = load_file(good)
    bad = tmp_path / "bad.tellapart"

    def refused():
        with pytest.raises(ValueError, match=r"bad\.tellapart"):
            ta.Reference.load(bad)

    for content in (b"", b"no", raw[: len(raw) // 2], struct.pack("<Q", 2**60) + raw[8:], b"\x80\x04\x95pickle"):
        bad.write_bytes(content)
        refused()
    headers = ["[" * 100_000, "{}", "null", '"x"', json.dumps({"class": "os.system", "fields": {}})]
    headers += [json.dumps({"class": "Contents", "fields": {}}), "not json"]
    for text in headers:
        write(bad, tensors, text)
        refused()
    rng = np.random.default_rng(0)
    for place in _leaves(header):
        for value in (None, -1, 10**9, "x", [], {"tensor": "0"}, {"tensor": "no"}, math.pi):
            if rng.random() < 0.05:
                write(bad, tensors, _changed(header, place, value))
                _refused_or_harmless(bad)
    for name in tensors:
        for change in (lambda t: t[:0], lambda t: t.double() * math.nan, lambda t: torch.cat([t, t])):
            if tensors[name].ndim and rng.random() < 0.5:
                write(bad, tensors | {name: change(tensors[name]).contiguous()}, header)
                _refused_or_harmless(bad)


def _refused_or_harmless(path):
    """A clear error, or a reference that works (a note that was changed does no harm)."""
    problem = ""
    try:
        loaded = ta.Reference.load(path)
    except ValueError as error:
        problem = str(error)
    else:
        with suppress(ValueError):
            loaded.test(table(20, 1), 19, rng=0)
    assert not problem or str(path) in problem


def _leaves(tree, place=()):
    parts = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    found = [leaf for key, part in parts for leaf in _leaves(part, (*place, key))]
    return [*found, place] if place else found


def _changed(tree, place, value):
    copy = json.loads(json.dumps(tree))
    part = copy
    for key in place[:-1]:
        part = part[key]
    part[place[-1]] = value
    return copy


@pytest.mark.usefixtures("one_thread")
@pytest.mark.parametrize("size", [1, 5, 50])
@pytest.mark.parametrize("repetitions", [100, pytest.param(2000, marks=pytest.mark.full)])
def test_level(size, repetitions):
    """Each time a new reference and a new batch; ties, heavy tails and dependent columns among them."""

    def draw(rng, n):
        z = rng.normal(size=(n, 3))
        z[:, 1] = np.exp(z[:, 1] + z[:, 0])
        z[:, 2] = z[:, 2].round()
        return z

    pvalues = []
    for k in range(repetitions):
        rng = np.random.default_rng([k, size])
        reference = ta.Reference.fit(draw(rng, 150), rng=k)
        pvalues.append(reference.test(draw(rng, size), 59, rng=k).pvalue)
    for alpha in (0.05, 0.2):
        share = np.mean(np.array(pvalues) <= alpha + 1e-12)
        assert share <= alpha + 3 * math.sqrt(alpha * (1 - alpha) / repetitions)


@pytest.mark.parametrize("schema", ["strict", "normal", "lenient"])
def test_a_table_is_not_a_batch_of_images(schema):
    rng = np.random.default_rng(0)
    reference = ta.Reference.fit(rng.random((30, 8, 8)), rng=0)
    with pytest.raises(ta.InputError) as caught:
        reference.test(pd.DataFrame({"a": rng.normal(size=9), "b": 1.0}), 9, schema=schema, rng=0)
    assert caught.value.id == "shapes-differ"


def test_rows_of_a_damaged_file_that_cannot_be_computed_with_are_refused(tmp_path):
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"a": rng.normal(size=60), "t": rng.choice(list("xyz"), 60)})
    ta.Reference.fit(table, rng=0).save(tmp_path / "good")
    tensors = load_file(tmp_path / "good")
    with open(tmp_path / "good", "rb") as file:
        header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
    name = next(key for key, part in tensors.items() if part.dtype == torch.float64 and part.shape == (45, 5))
    for value in (6e299, 1e40):
        changed = {key: part.clone() for key, part in tensors.items()}
        changed[name][0, -1] = value
        save_file(changed, tmp_path / "bad", header["__metadata__"])
        with pytest.raises(ta.InputError, match="Its rows do not fit together"):
            ta.Reference.load(tmp_path / "bad")
