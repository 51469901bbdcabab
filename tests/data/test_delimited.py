"""CSV files: encodings, codes with leading zeros, repeated names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from tables import column

from tellapart.data import read


def test_codes_are_found_behind_the_first_megabyte(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("zip,n\n" + "80331,12:00\n" * 100_000 + "01234,5:00\n")
    assert column(tmp_path / "x.csv").levels == ("80331", "01234")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32", "latin-1"])
def test_encodings_of_csv(tmp_path: Path, encoding: str) -> None:
    (tmp_path / "x.csv").write_text("a,b\nMünchen,1\nKöln,2\n", encoding=encoding)
    assert column(tmp_path / "x.csv").levels == ("München", "Köln")


def test_columns_of_one_name_are_not_given_to_pandas(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """pandas makes the names of a header different in quadratic time."""
    (tmp_path / "x.csv").write_text("a,a,a\n1,2,x\n4,5,y\n")
    seen: list[Any] = []
    pandas_read = pd.read_csv

    def read_csv(*arguments: Any, **options: Any) -> Any:
        seen.append(options["header"])
        return pandas_read(*arguments, **options)

    monkeypatch.setattr(pd, "read_csv", read_csv)
    assert read(tmp_path / "x.csv").columns == ("a", "a (2)", "a (3)")
    assert seen == [None]
