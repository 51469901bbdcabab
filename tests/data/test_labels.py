"""Labels of rows: of the rows that are kept, in whatever form they are given."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import tellapart as ta
from tellapart import InputError
from tellapart.data import open_samples, read
from tellapart.data.labels import split_labels
from tellapart.data.options import check_options
from tellapart.nulls import Permutation

RNG = np.random.default_rng(0)
ROWS = 30
X, Y = (pd.DataFrame(RNG.normal(size=(ROWS, 2)), columns=["a", "b"]) for _ in range(2))
GAPS = X.assign(a=X.a.where(~X.index.isin([3, 4, 17])))
GROUPS, STRATA = np.arange(2 * ROWS) // 2, np.tile(np.repeat([0, 1], [16, 14]), 2)
NAMED = [table.assign(g=GROUPS[part], s=STRATA[part]) for table, part in ((GAPS, slice(ROWS)), (Y, slice(ROWS, None)))]
FORMS: dict[str, Callable[[Any], Any]] = {
    "one array": lambda labels: labels,
    "a list of texts": lambda labels: [f"{one:03}" for one in labels],
    "one array for each sample": lambda labels: (labels[:ROWS], labels[ROWS:]),
    "series": lambda labels: (pd.Series(labels[:ROWS]), pd.Series(labels[ROWS:])),
}
READING = {"missing": "drop"}, {"missing": "drop", "max_rows": 20}
CALLS: dict[str, Callable[..., float]] = {
    "two_sample_test": lambda **o: ta.two_sample_test(GAPS, Y, 39, rng=0, **o).statistic,
    "k_sample_test": lambda **o: ta.k_sample_test([GAPS, Y], permutations=39, rng=0, **o).statistic,
    "compare": lambda **o: ta.compare(GAPS, Y, permutations=39, rng=0, **o).test.statistic,
}


@pytest.mark.parametrize("reading", READING, ids=str)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("call", CALLS)
def test_labels_follow_the_rows_that_are_kept(call: str, form: str, reading: dict[str, Any]) -> None:
    columns = ta.two_sample_test(*NAMED, 39, groups="g", strata="s", rng=0, **reading)
    given = {"groups": FORMS[form](GROUPS), "strata": FORMS[form](STRATA)}
    assert CALLS[call](**given, **reading) == columns.statistic


@pytest.mark.parametrize("reading", READING, ids=str)
@pytest.mark.parametrize("end", ["csv", "jsonl", "parquet", "source"])
def test_labels_are_those_of_the_rows_of_a_file(end: str, reading: dict[str, Any], tmp_path: Path) -> None:
    files = [tmp_path / f"{name}.{end}" for name in ("x", "y")]
    for table, path in zip((GAPS, Y), files, strict=True):
        if end == "csv":
            table.to_csv(path, index=False)
        elif end == "jsonl":
            table.to_json(path, orient="records", lines=True)
        elif end == "parquet":
            table.to_parquet(path)
    data = [read(table, missing="drop") for table in (GAPS, Y)] if end == "source" else files
    options = check_options(**({"max_rows": 20} if end == "source" and len(reading) > 1 else reading), rng=0)
    if end == "source" and len(reading) == 1:
        options = check_options()
    opened = open_samples(data, ("X", "Y"), options, labels={"groups": np.arange(2 * ROWS)}, keep_columns=True)
    for k, source in enumerate(opened.sources):
        assert np.array_equal(opened.labels["groups"][k], source.numbers + k * ROWS)


def test_labels_of_a_source_may_be_those_of_its_rows_alone() -> None:
    x, y = read(GAPS, missing="drop"), read(Y)
    kept = np.flatnonzero(GAPS.a.notna())
    short, long = GROUPS[np.r_[kept, ROWS : 2 * ROWS]], GROUPS
    found = [ta.two_sample_test(x, y, 39, groups=groups, rng=0).statistic for groups in (short, long)]
    assert found[0] == found[1]


def test_samples_by_label_with_gaps() -> None:
    both = pd.concat(NAMED).drop(columns=["s"])
    column = ta.k_sample_test(both.assign(y=np.repeat([0, 1], ROWS)), "y", groups="g", rng=0, **READING[0])
    values = ta.k_sample_test(both.drop(columns="g"), np.repeat([0, 1], ROWS), groups=GROUPS, rng=0, **READING[0])
    assert values.statistic == column.statistic
    assert values.sizes == (ROWS - 3, ROWS)


def test_tests_with_kernels_take_labels_of_the_rows_of_the_data() -> None:
    kept = np.r_[np.flatnonzero(GAPS.a.notna()), ROWS : 2 * ROWS]
    dropped = GAPS.dropna()
    of_all, of_kept = (Permutation(groups=GROUPS[rows], strata=STRATA[rows]) for rows in (slice(None), kept))
    found = ta.mmd_test(GAPS, Y, null=of_all, rng=0, missing="drop")
    assert found.pvalue == ta.mmd_test(dropped, Y, null=of_kept, rng=0).pvalue
    learned = ta.learned_test(GAPS, Y, groups=GROUPS, strata=STRATA, rng=0, missing="drop")
    assert learned.pvalue == ta.learned_test(dropped, Y, groups=GROUPS[kept], strata=STRATA[kept], rng=0).pvalue


@pytest.mark.parametrize("test", ["auto", "rbf"])
def test_items_are_those_of_the_rows_shown(test: str) -> None:
    items = [f"x{k}" for k in range(ROWS)], [f"y{k}" for k in range(ROWS)]
    quick = {"learning": {"steps": 2}, "stability": 0} if test == "rbf" else {}
    found = ta.compare(GAPS, Y, test, permutations=39, items=items, rng=0, missing="drop", **quick)
    assert found.items is not None
    assert [int(item[1:]) for item in found.items[0]] == found.rows_x.tolist()


@pytest.mark.parametrize(
    ("call", "id"),
    [
        (lambda: ta.two_sample_test(GAPS, Y, groups=GROUPS[:-1], missing="drop"), "wrong-number-of-labels"),
        (lambda: ta.two_sample_test(X, Y, groups=GROUPS[:-1]), "wrong-number-of-labels"),
        (lambda: ta.two_sample_test(X, Y, groups=[[1, 2], [3]]), "wrong-number-of-labels"),
        (lambda: ta.k_sample_test(X, np.arange(2 * ROWS)), "wrong-number-of-labels"),
        (lambda: ta.compare(X, Y, items=(GROUPS, GROUPS)), "wrong-number-of-items"),
        (lambda: ta.compare(X, Y, items=GROUPS), "invalid-items"),
        (lambda: ta.two_sample_test(X, Y, groups=[None, *GROUPS[1:]]), "missing-labels"),
        (lambda: ta.two_sample_test(X, Y, groups=[float("nan"), *map(str, GROUPS[1:])]), "missing-labels"),
    ],
)
def test_labels_that_do_not_fit(call: Callable[[], Any], id: str) -> None:
    with pytest.raises(InputError) as caught:
        call()
    assert caught.value.id == id


def test_missing_labels_of_dropped_rows_do_not_matter() -> None:
    labels = [None if k == 3 else f"g{k // 2}" for k in range(2 * ROWS)]
    assert ta.two_sample_test(GAPS, Y, 39, groups=labels, missing="drop", rng=0).sizes == (ROWS - 3, ROWS)


def test_one_label_for_each_row() -> None:
    assert split_labels(np.zeros((3, 2)), (2, 1), "strata") is None
    assert split_labels(([1, 2], [3, 4]), (2, 1), "strata") is None
