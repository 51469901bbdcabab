"""Numbers written as text are read in one way in all samples: decided together, or refused."""

from __future__ import annotations

from collections import Counter
from itertools import chain
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import ks_2samp

import tellapart as ta
from tellapart._util.errors import InputError
from tellapart.data.open import open_samples
from tellapart.data.options import ReadOptions


def german(value: float) -> str:
    return f"{int(value):,}".replace(",", ".")


def cut(value: float, mark: str = ",") -> str:
    """Up to three decimals, without trailing zeros."""
    return f"{value:.3f}".rstrip("0").rstrip(".").replace(".", mark)


def skewed(g: np.random.Generator, n: int) -> Any:
    return np.exp(7 + 1.5 * g.normal(size=n))


LAWS = {
    "German thousands": lambda g: [german(v) for v in np.exp(10.87 + 1.2 * g.normal(size=100))],
    "decimal comma, 10 rows": lambda g: [cut(v) for v in np.where(g.random(10) < 0.3, 0, np.exp(g.normal(size=10)))],
    "decimal comma, 30 rows": lambda g: [cut(v) for v in np.where(g.random(30) < 0.3, 0, np.exp(g.normal(size=30)))],
    "decimal comma from 1 up": lambda g: [cut(1 + v) for v in g.exponential(size=12)],
    "US thousands": lambda g: [f"{int(v):,}" for v in skewed(g, 50)],
    "Swiss": lambda g: [f"{v:,.2f}".replace(",", "'") for v in skewed(g, 20)],
    "French": lambda g: [cut(v) if v < 1000 else f"{v:,.0f}".replace(",", "\u202f") for v in skewed(g, 20)],
    "percent": lambda g: [cut(v / 100) + " %" for v in skewed(g, 10)],
    "percent or none": lambda g: [f"{v:.1f}%" if v > 200 else f"{v / 100:.4f}" for v in skewed(g, 6)],
    "euros": lambda g: [german(v) + " €" for v in skewed(g, 20)],
    "dollars or euros": lambda g: [("$" if v < 9000 else "€") + f"{v:.0f}" for v in skewed(g, 10)],
    "days and months": lambda g: [f"{1 + k % 13}/{1 + k // 13}/2024" for k in g.integers(0, 100, 8)],
    "codes": lambda g: [f"{v:05d}" for v in g.integers(0, 99_999, 9)],
    "one X": lambda g: g.choice(["1", "2", "3", "4", "X"], p=[0.25, 0.25, 0.25, 0.23, 0.02], size=50).tolist(),
    "plain": lambda g: [cut(v, ".") for v in skewed(g, 20)],
}


def read_values(samples: list[pd.DataFrame]) -> list[np.ndarray[Any, Any]]:
    mixed = open_samples(samples, [f"s{k}" for k in range(len(samples))], ReadOptions(), keep_columns=True).encode()
    return [part[:] for part in mixed.points]


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("samples", [2, 3])
@pytest.mark.parametrize("repetitions", [30, pytest.param(400, marks=pytest.mark.full)])
def test_equal_texts_have_equal_values_in_all_samples(law, samples, repetitions):
    """So that P = Q stays P = Q: whatever is made of a text, the same is made of it in every sample, or nothing."""
    rejected, refusals = Counter(), {"v"}
    for seed in range(repetitions):
        g = np.random.default_rng([seed, 1])
        texts = [LAWS[law](g) for _ in range(samples)]
        try:
            values = read_values([pd.DataFrame({"v": part}) for part in texts])
        except InputError as error:
            rejected["refused"] += 1
            refusals.add(error.problem.split("'")[1])
            continue
        seen: dict[str, bytes] = {}
        for text, value in zip(chain(*texts), np.concatenate(values), strict=True):
            assert seen.setdefault(text, value.tobytes()) == value.tobytes()
        if values[0].shape[1] == 1:
            rejected["differ"] += ks_2samp(values[0][:, 0], values[1][:, 0], method="exact").pvalue <= 0.05
    assert refusals == {"v"}
    assert rejected["differ"] / repetitions <= 0.05 + 4 * (0.05 * 0.95 / repetitions) ** 0.5


def text_pvalue(seed, law, draws=(1, 1), design=None):
    """Of samples of one law, each of so many draws of it; None if they are refused."""
    g = np.random.default_rng(seed)
    samples = [pd.DataFrame({"v": list(chain(*(LAWS[law](g) for _ in range(k)))), "w": 0.0}) for k in draws]
    options: dict[str, Any] = {"permutations": 99, "rng": seed}
    if design == "groups":  # the two rows of a group are equal
        samples = [part.iloc[np.repeat(np.arange(len(part)), 2)] for part in samples]
        options["groups"] = np.arange(sum(map(len, samples))) // 2
    elif design == "strata":
        options["strata"] = np.arange(sum(map(len, samples))) % 4
    try:
        if len(samples) == 2:
            return ta.two_sample_test(*samples, **options).pvalue
        return ta.k_sample_test(samples, pairwise=False, **options).pvalue
    except InputError:
        return None


@pytest.mark.full
@pytest.mark.parametrize("law", ["German thousands", "decimal comma, 10 rows", "decimal comma, 30 rows", "one X"])
def test_the_level_holds_for_numbers_written_as_text(law):
    pvalues = [text_pvalue(seed, law) for seed in range(300)]
    rejected = sum(p is not None and p <= 0.05 for p in pvalues)
    print(f"{law}: rejected in {rejected} of 300, refused in {pvalues.count(None)}")
    assert rejected / 300 <= 0.05 + 3 * (0.05 * 0.95 / 300) ** 0.5


def frames(*texts: list[str]) -> list[pd.DataFrame]:
    return [pd.DataFrame({"v": part * 20}) for part in texts]


@pytest.mark.parametrize(
    ("first", "second", "values"),
    [
        (["950", "1.234", "1.234.567"], ["950", "1.234"], [950, 1234]),
        (["0", "1,234", "2,5"], ["0", "1,234"], [0, 1.234]),
        (["1'234", "1.5"], ["1.234", "7"], [1.234, 7]),
        (["31/1/2024", "1/2/2024"], ["1/2/2024", "2/2/2024"], [19754, 19755]),
        (["40%", "2.5%"], ["1.125%", "3%"], [0.01125, 0.03]),
    ],
)
def test_one_sample_decides_for_the_other(first, second, values):
    """In either order, and from files, whose numbers pandas has read before."""
    X, Y = frames(first, second)
    for k, samples in enumerate(([X, Y], [Y, X])):
        assert np.unique(read_values(samples)[1 - k]).tolist() == pytest.approx(values)
    result = ta.two_sample_test(X, Y, 19, keep_columns=True, rng=0)
    assert [note.split(":")[0] for note in result.notes if "is read as" in note] == ["X", "Y"]


def test_files_of_text_are_read_like_tables_of_text(tmp_path):
    for name, texts in (("x", ["950", "1.234", "1.234.567"]), ("y", ["950", "1.234"]), ("z", ["X", "2", "3"])):
        pd.DataFrame({"v": texts * 20, "w": 1.5}).to_csv(tmp_path / f"{name}.csv", index=False)
    x, y, z = (tmp_path / f"{name}.csv" for name in "xyz")
    mixed = open_samples([x, y], "XY", ReadOptions(), keep_columns=True).encode()
    assert np.unique(mixed.points[1][:, 0]).tolist() == [950, 1234]
    assert len(mixed.notes) == 2
    drawn = open_samples([x, y], "XY", ReadOptions(max_rows=30), keep_columns=True).encode()
    assert set(np.unique(drawn.points[1][:, 0])) == {950, 1234}
    kinds = [unit.kind for unit in open_samples([y, z], "XY", ReadOptions(), keep_columns=True).encode().variables]
    assert kinds == ["text", "number"]
    sources = [ta.read(x), ta.read(y)]
    found = open_samples(sources, "XY", ReadOptions(), keep_columns=True).encode().points[1][:, 0]
    assert np.unique(found).tolist() == [950, 1234]


@pytest.mark.parametrize(
    ("first", "second", "says"),
    [
        (["1,234", "5,678"], ["0", "1,234"], "may be 1234 or 1.234"),
        (["1,234", "567"], ["1,234", "5"], "may be 1234 or 1.234"),
        (["1.234 €", "950 €"], ["1.234 €", "5 €"], "may be 1234 or 1.234"),
        (["$4", "$5"], ["€4", "€5"], "amounts in $ and €"),
        (["40%", "50%"], ["40", "50"], "has no percent sign"),
        (["1,5", "2"], ["1.5", "2"], "are not written in one way"),
        (["10/02/2024", "11/02/2024"], ["10/03/2024"], "the day or the month may come first"),
    ],
)
def test_what_may_mean_two_things_is_refused(first, second, says):
    with pytest.raises(InputError) as caught:
        ta.two_sample_test(*frames(first, second), 19, rng=0)
    assert says in caught.value.problem
    assert caught.value.options == {"drop": ["v"]}


@pytest.mark.parametrize("schema", ["normal", "lenient"])
def test_batches_are_read_as_the_reference_was(schema, tmp_path):
    large, small = (pd.DataFrame({"v": texts * 20}) for texts in (["950", "1.234", "1.234.567"], ["950", "1.234"]))
    reference = ta.Reference.fit(large, rng=0)
    reference.save(tmp_path / "r")
    small.to_csv(tmp_path / "small.csv", index=False)
    for batch in (small, tmp_path / "small.csv"):
        rows = ta.Reference.load(tmp_path / "r").open(batch, "batch", schema).rows
        assert np.unique(rows).tolist() == [950, 1234]
    plain = ta.Reference.fit(small, rng=0)
    if schema == "normal":
        with pytest.raises(InputError, match="not built like the reference"):
            plain.open(large, "batch", schema)
    else:
        rows = ta.Reference.fit(small, missing="indicator", rng=0).open(large, "batch", schema).rows
        assert not (rows == 1_234_567).any()


def test_codes_of_a_reference_are_codes_in_batches(tmp_path):
    reference = ta.Reference.fit(pd.DataFrame({"v": ["1", "2", "3", "X"] * 20, "w": np.arange(80) % 7 / 2}), rng=0)
    batch = pd.DataFrame({"v": ["1", "2", "3", "3"] * 20, "w": np.arange(80) % 7 / 2})
    batch.to_csv(tmp_path / "b.csv", index=False)
    for given in (batch, tmp_path / "b.csv", batch.assign(v=batch.v.astype(int))):
        assert reference.open(given).deviations == ()
