"""What every kind of content must do: a new one is a line in this table."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest

from tellapart.data import Encoding, Source, read
from tellapart.data.content import Content, Features, Images, Rows, TableContent
from tellapart.data.read import validate

RNG = np.random.default_rng(0)
VALUES = RNG.integers(0, 3, (24, 2)).astype(float)
FRAME = pd.DataFrame({"age": VALUES[:, 0], "town": np.where(VALUES[:, 1] > 1, "Ulm", "Bonn")})

CONTENTS: dict[str, tuple[type[Content], Callable[[], Source]]] = {
    "rows": (Rows, lambda: read(VALUES)),
    "table": (TableContent, lambda: read(FRAME)),
    "images": (Images, lambda: read(RNG.integers(0, 256, (24, 8, 8), dtype=np.uint8))),
    "features": (Features, lambda: read(VALUES, features=lambda rows: rows.sum(1)[:, None])),
}


@pytest.fixture(params=CONTENTS)
def source(request: pytest.FixtureRequest) -> Source:
    kind, make = CONTENTS[request.param]
    made = make()
    assert isinstance(made.content, kind)
    return made


def test_rows_are_taken_with_all_that_belongs_to_them(source: Source) -> None:
    rows = np.array([5, 2, 2, 23])
    some = source.content.take(rows)
    assert len(some) == 4
    assert [str(some.row(i)) for i in range(4)] == [str(source.content.row(int(k))) for k in rows]
    assert np.array_equal(some.hash_rows(), source.content.hash_rows()[rows])


def test_equal_rows_have_equal_hashes(source: Source) -> None:
    content, encoding = source.content, Encoding.fit(source, source, standardise=False)
    _, of_hashes = np.unique(content.hash_rows(), return_inverse=True)
    _, of_values = np.unique(encoding.encode(source).values, axis=0, return_inverse=True)
    pairs = set(zip(of_hashes.ravel().tolist(), of_values.ravel().tolist(), strict=True))
    assert len(pairs) == of_hashes.max() + 1 == of_values.max() + 1


def test_a_row_becomes_no_more_numbers_than_announced(source: Source) -> None:
    width = Encoding.fit(source, source).encode(source).values.shape[1]
    assert width <= source.content.most_numbers(indicators=False)


def test_checking_again_changes_nothing(source: Source) -> None:
    gaps = source.content.validate("X", "drop")
    assert gaps is None or not gaps.any()
    again = validate(source)
    assert again.content is source.content
    assert again.notes == source.notes


def test_features_stay_features() -> None:
    source = CONTENTS["features"][1]()
    assert source.features is not None
    assert source.content.apply(lambda rows: rows, "X", "error", 8) is source.content
    assert np.array_equal(source.take([3, 1]).content.features, source.features[[3, 1]])  # type: ignore[arg-type]


def test_columns_have_the_names_that_are_shown(source: Source) -> None:
    content = source.content
    assert tuple(column.name for column in content.split_columns()) == content.names
    rest = content.without(content.names[:1])
    assert len(rest) == len(content)
