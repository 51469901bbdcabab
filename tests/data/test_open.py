"""The one door: what `open_samples` makes of samples, whatever they are, and of columns that are labels of rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

import tellapart as ta
from tellapart.data import open_samples, read
from tellapart.data.options import ReadOptions, check_options

RNG = np.random.default_rng(0)
ROWS = 40
TABLE = pd.DataFrame(
    {
        "patient": np.repeat(np.arange(20), 2),
        "site": np.repeat(["n", "s"], 20),
        "age": RNG.normal(40, 10, ROWS),
        "town": RNG.choice(["Ulm", "Bonn"], ROWS),
    }
)
LABELS = {"groups": "patient", "strata": "site"}


def tables(tmp_path: Path) -> dict[str, Any]:
    """The same table in several forms."""
    TABLE.to_csv(tmp_path / "x.csv", index=False)
    TABLE.to_parquet(tmp_path / "x.parquet")
    TABLE.to_json(tmp_path / "x.jsonl", orient="records", lines=True)
    return {"frame": TABLE, "source": read(TABLE)} | {end: tmp_path / f"x.{end}" for end in ("csv", "parquet", "jsonl")}


def open_two(x: Any, y: Any = None, **options: Any) -> Any:
    return open_samples([x, x if y is None else y], ("X", "Y"), ReadOptions(), **options)


# --- Columns that are labels of rows


@pytest.mark.parametrize("form", ["frame", "source", "csv", "parquet", "jsonl"])
def test_labels_are_taken_out_of_the_table(form: str, tmp_path: Path) -> None:
    samples = open_two(tables(tmp_path)[form], labels=LABELS).encode()
    assert [variable.name for variable in samples.variables] == ["age", "town"]
    for kind, name in LABELS.items():
        assert all(part.tolist() == TABLE[name].tolist() for part in samples.labels[kind])


def test_labels_follow_rows_that_are_drawn_or_dropped() -> None:
    table = TABLE.assign(number=np.arange(ROWS))
    drawn = open_samples([table], ("X",), check_options(max_rows=7, rng=0), labels={"groups": "patient"})
    (source,), (groups,) = drawn.sources, drawn.labels["groups"]
    assert len(source) == len(groups) == 7
    assert groups.tolist() == TABLE["patient"][source.numbers].tolist()
    gaps = TABLE.assign(age=TABLE.age.where(TABLE.index % 4 > 0), site=TABLE.site.where(TABLE.index % 10 > 0))
    opened = open_samples([gaps], ("X",), check_options(missing="drop"), labels=LABELS)
    kept = [k for k in range(ROWS) if k % 4 and k % 10]
    assert opened.sources[0].numbers.tolist() == kept
    assert opened.labels["strata"][0].tolist() == TABLE["site"][kept].tolist()
    assert [note.id for note in opened.notes] == ["rows-dropped", "rows-dropped"]


def test_columns_and_drop_may_name_labels_or_not() -> None:
    for options in ({"columns": ["age"]}, {"columns": ["age", "site"]}, {"drop": ["town"]}, {"drop": ["town", "site"]}):
        drop = [name for name in ("patient",) if "drop" in options]
        given = {**options, "drop": [*options.get("drop", ()), *drop]} if drop else options
        opened = open_samples([TABLE], ("X",), check_options(**given), labels={"strata": "site"})
        assert opened.sources[0].columns == ("age",)
        assert opened.labels["strata"][0].tolist() == TABLE["site"].tolist()


def test_one_column_may_be_labels_of_two_kinds() -> None:
    opened = open_two(TABLE, labels={"groups": "site", "strata": "site"})
    assert opened.sources[0].columns == ("patient", "age", "town")
    assert opened.labels["groups"][0].tolist() == opened.labels["strata"][0].tolist()


def test_labels_of_an_array_are_one_of_its_columns() -> None:
    values = np.c_[np.repeat([3.0, 4.0], 10), RNG.normal(size=(20, 2))]
    opened = open_two(values, labels={"groups": "0"})
    assert opened.sources[0].columns == ("1", "2")
    assert opened.labels["groups"][0].tolist() == [3] * 10 + [4] * 10


@pytest.mark.parametrize(
    ("data", "labels", "id"),
    [
        (TABLE, {"groups": "patients"}, "unknown-column"),
        (TABLE.assign(site=None), {"strata": "site"}, "missing-labels"),
        (TABLE.assign(site=[[1.0, 2.0]] * ROWS), {"strata": "site"}, "unusable-labels"),
        (TABLE[["site"]], {"strata": "site"}, "no-columns-left"),
        (np.zeros((9, 8, 8)), {"groups": "patient"}, "unknown-column"),
    ],
)
def test_labels_that_cannot_be_are_refused(data: Any, labels: dict[str, str], id: str) -> None:
    with pytest.raises(ta.InputError) as error:
        open_two(data, labels=labels)
    assert error.value.id == id


@pytest.mark.parametrize("x", [TABLE, TABLE[["age"]].to_numpy()], ids=["table", "rows"])
def test_labels_that_are_given_are_those_of_each_sample(x: Any) -> None:
    found = open_two(x, labels={"groups": np.arange(2 * ROWS), "strata": None}).labels
    assert found["strata"] is None
    assert [part.tolist() for part in found["groups"]] == [[*range(ROWS)], [*range(ROWS, 2 * ROWS)]]


# --- Samples


def test_arrays_and_tables_of_the_same_numbers_become_the_same() -> None:
    values = RNG.normal(size=(30, 3))
    frame = pd.DataFrame(values, columns=list("abc"))
    plain, table = open_two(values).encode(), open_two(frame).encode()
    assert np.array_equal(plain.points[0], table.points[0])
    assert (plain.kind, table.kind) == ("rows", "table")
    assert [variable.name for variable in plain.variables] == ["0", "1", "2"]
    assert plain.sizes == table.sizes == (30, 30)


def test_rows_that_may_decide_on_categories_are_those_given() -> None:
    town = ["Ulm"] * 20 + [f"t{k % 30}" for k in range(60)]
    opened = open_samples([pd.DataFrame({"town": town})], ("reference",), ReadOptions(), keep_columns=True)
    assert opened.fit_encoding((np.arange(20),)).names == ("town=Ulm", "town=other")
    assert len(opened.fit_encoding().names) == 21


def test_constant_columns_are_kept_where_later_rows_may_vary() -> None:
    table = TABLE[["age"]].assign(constant=1.0)
    assert [v.name for v in open_two(table).encode().variables] == ["age"]
    assert [v.name for v in open_two(table, keep_constants=True).encode().variables] == ["age", "constant"]


def test_samples_are_called_by_their_files_unless_they_have_names(tmp_path: Path) -> None:
    for name in ("a", "b"):
        TABLE.to_csv(tmp_path / f"{name}.csv", index=False)
        np.save(tmp_path / f"{name}.npy", RNG.normal(size=(9, 2)))
    for end in ("csv", "npy"):
        files = [tmp_path / f"{name}.{end}" for name in ("a", "b")]
        assert open_samples(files, ("X", "Y"), ReadOptions()).names == (f"a.{end}", f"b.{end}")
        assert open_samples(files, ("X", "Y"), ReadOptions(), called=("old", "new")).names == ("old", "new")


def test_pairs_are_dropped_together() -> None:
    gaps = TABLE.assign(age=TABLE.age.where(TABLE.index != 3))
    opened = open_samples([gaps, TABLE], ("X", "Y"), check_options(missing="drop"), paired=True)
    assert [source.numbers.tolist() for source in opened.sources] == [[k for k in range(ROWS) if k != 3]] * 2


def _double(rows: torch.Tensor) -> torch.Tensor:
    return rows.double() if float(rows.max()) > 50 else rows.float()


def test_features_of_three_samples_are_those_of_all() -> None:
    """The type of features is that which holds those of all samples."""
    data = [RNG.normal(size=(9, 2)), RNG.normal(size=(8, 2)), RNG.normal(size=(7, 2)) + 100]
    opened = open_samples(data, ("A", "B", "C"), check_options(features=_double))
    assert opened.fit_encoding().dtype == np.float64
    second, third = (source.content for source in opened.sources[1:])
    joined = second.concatenate([third])
    assert len(joined) == 15
    assert np.array_equal(joined.take(np.arange(8, 15)).features, third.features)


def test_an_encoding_is_fitted_on_the_rows_of_all_samples() -> None:
    samples = [pd.DataFrame({"town": [name] * 4 + [f"{name} 2"] * 4, "n": RNG.normal(size=8)}) for name in "abc"]
    opened = open_samples(samples, ("A", "B", "C"), ReadOptions(), keep_columns=True)
    rows = [np.arange(4)] * 3
    assert opened.fit_encoding(rows).names[:3] == ("town=a", "town=b", "town=c")


@pytest.mark.parametrize("as_files", [False, True])
def test_labels_in_columns_are_read_together(tmp_path: Path, as_files: bool) -> None:
    """The label 1 is the same in a sample whose labels are all numbers, and in one that also has the label x."""
    samples: list[Any] = [
        pd.DataFrame({"g": labels * 10, "v": np.arange(20) / 3}) for labels in (["1", "2"], ["1", "x"])
    ]
    if as_files:
        for k, frame in enumerate(samples):
            frame.to_csv(tmp_path / f"{k}.csv", index=False)
        samples = [tmp_path / "0.csv", tmp_path / "1.csv"]
    labels = open_samples(samples, "XY", ReadOptions(), labels={"groups": "g"}).labels["groups"]
    assert [part[:2].tolist() for part in labels] == [["1", "2"], ["1", "x"]]


@pytest.mark.parametrize("max_rows", [None, 30])
def test_words_for_missing_numbers_leave_the_decimal_comma_of_a_file(tmp_path: Path, max_rows: int | None) -> None:
    (tmp_path / "x.csv").write_text("a;b\n" + "1,234;NA\n2,5;3,125\n" * 20)
    (tmp_path / "y.csv").write_text("a;b\n" + "1,234;2,250\n2,5;3,125\n" * 20)
    options = ReadOptions(missing="indicator", max_rows=max_rows)
    opened = open_samples([tmp_path / "x.csv", tmp_path / "y.csv"], "XY", options, keep_columns=True)
    columns = [column for source in opened.sources for column in source.content.columns]
    assert [column.kind for column in columns] == ["number"] * 4
    assert [np.unique(column.values[~column.missing]).tolist() for column in columns] == [
        [1.234, 2.5],
        [3.125],
        [1.234, 2.5],
        [2.25, 3.125],
    ]
    assert [note.split(":")[0] for note in opened.notes] == [f"X ({tmp_path / 'x.csv'})"]
