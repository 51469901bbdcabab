"""Files of JSON lines."""

from __future__ import annotations

from pathlib import Path

import pytest

from tellapart._util.errors import InputError
from tellapart.data import read


def test_two_objects_on_a_line_are_refused(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_text('{"a": 1}\n{"a": 2}{"a": 3}\n')
    with pytest.raises(InputError, match="row 1 has several objects on one line"):
        read(tmp_path / "x.jsonl")
