"""Numbers and dates that are written as text: read as what they are, or refused with the cell that is in the way."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import tellapart as ta
from tellapart._util.errors import InputError
from tellapart.data import read

N = 120


def prices(shift: float, seed: int) -> Any:
    return np.random.default_rng(seed).integers(100, 3000, N) + int(shift)


WAYS = {
    "thousands": lambda v: f"{v:,}",
    "percent": lambda v: f"{v}%",
    "percent and space": lambda v: f"{v} %",
    "dollars": lambda v: f"${v}",
    "dollars and thousands": lambda v: f"${v:,}",
    "euros": lambda v: f"{v} €",
    "decimal comma": lambda v: f"{v / 10:.1f}".replace(".", ","),
    "points and comma": lambda v: f"{v:,}.5".replace(",", " ").replace(".", ",").replace(" ", "."),
    "spaces": lambda v: f"{v:,}".replace(",", "\u202f"),
    "apostrophes": lambda v: f"{v:,}".replace(",", "'"),
    "strings": str,
    "dates, the day first": lambda v: (pd.Timestamp("2020-01-01") + pd.Timedelta(days=int(v))).strftime("%d/%m/%Y"),
    "dates, the month first": lambda v: (pd.Timestamp("2020-01-01") + pd.Timedelta(days=int(v))).strftime("%m/%d/%Y"),
    "dates with points": lambda v: (pd.Timestamp("2020-01-01") + pd.Timedelta(days=int(v))).strftime("%-d.%-m.%Y"),
    "dates, the year first": lambda v: (pd.Timestamp("2020-01-01") + pd.Timedelta(days=int(v))).strftime("%Y/%m/%d"),
}


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_a_shift_is_seen_however_numbers_are_written(tmp_path: Path, way: Any) -> None:
    expected = ta.two_sample_test(
        pd.DataFrame({"v": prices(0, 0)}), pd.DataFrame({"v": prices(700, 1)}), 99, rng=0
    ).pvalue
    for k, shift in enumerate((0, 700)):
        pd.DataFrame({"v": [way(v) for v in prices(shift, k)]}).to_csv(tmp_path / f"{k}.csv", index=False)
    x = read(tmp_path / "0.csv")
    assert x.content.columns[0].kind in ("number", "date")
    if way is not str:
        assert any("'v' is read as" in note for note in x.notes)
    assert ta.two_sample_test(tmp_path / "0.csv", tmp_path / "1.csv", 99, rng=0).pvalue == expected == 0.01


@pytest.mark.parametrize(
    ("cells", "says"),
    [
        (
            [*map(str, range(50)), "?"],
            r"column 'v' has 1 value that is not a number: '\?' in row 50\. Correct or empty",
        ),
        ([f"{k}%" for k in range(50)] + ["low"], "has 1 value that is not a number: 'low' in row 50"),
        ([*map(str, range(90)), *"abcdefg"], "has 7 values that are not numbers: 'a' in row 90, …"),
        ([f"2024-01-{k:02}" for k in range(1, 29)] + ["soon"], "has 1 value that is not a date: 'soon' in row 28"),
        ([f"{k}/2/2024" for k in range(1, 29)] + ["soon"], "has 1 value that is not a date: 'soon' in row 28"),
        (
            ["1,234", "5,678"] * 20,
            r"cannot be read in one way: '1,234' may be 1234 or 1\.234\. Write numbers as 1234\.5",
        ),
        (["10/02/2024", "11/03/2024"] * 20, "in '10/02/2024' the day or the month may come first"),
        (["10/02/24", "31/03/24"] * 20, "whose year has two digits or none"),
        (["10 Feb 2024", "3 Mar 2024"] * 20, "it has dates such as '10 Feb 2024'"),
        (["2024-01-01", "2024-13-01"] * 20, "'2024-13-01' is no date"),
        (["31/02/2024", "11/03/2024"] * 20, "'31/02/2024' is no date"),
        (["$4", "€5"] * 20, r"it has amounts in \$ and €"),
    ],
)
def test_what_is_in_the_way_is_named(cells: list[str], says: str) -> None:
    with pytest.raises(InputError, match=says):
        read(pd.DataFrame({"v": cells}))


@pytest.mark.parametrize(
    "cells",
    [
        ["1.2.3", "1.10.0"],  # versions
        ["1,2", "1,2,3"],  # lists
        ["12:30", "13:15"],
        ["1", "2", "3", "?"],  # few numbers are categories
        ["red", "12"],
    ],
)
def test_what_stays_text(cells: list[str]) -> None:
    source = read(pd.DataFrame({"v": cells * 3}))
    assert source.content.columns[0].kind == "text"
    assert source.notes == ()


def test_postcodes_stay_text_which_is_said() -> None:
    source = read(pd.DataFrame({"v": ["01067", "12345", *map(str, range(20_000, 20_020))] * 3}))
    assert source.content.columns[0].kind == "text"
    assert source.notes == ("'v' is read as text: values such as '01067' begin with 0.",)


def test_categories_are_categories_whatever_they_are_called() -> None:
    source = read(pd.DataFrame({"v": pd.Categorical(["40%", "?"] * 20)}))
    assert source.content.columns[0].kind == "text"
