"""The picture of the rooms in docs/DESIGN.md is the contract that lint-imports checks."""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


def contract() -> list[set[str]]:
    (found,) = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]["contracts"]
    return [set(re.split(r"\s*\|\s*", layer)) for layer in found["layers"]]


def picture() -> list[set[str]]:
    page = (ROOT / "docs" / "DESIGN.md").read_text(encoding="utf-8")
    drawing = re.search(r"^## Rooms$.*?^```\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    assert drawing is not None
    return [set(re.split(r"  +", line)[0].split(" · ")) for line in drawing[1].splitlines()]


def test_the_picture_shows_the_contract():
    assert picture() == contract()


def test_every_room_is_there():
    rooms = {path.stem for path in (ROOT / "src" / "tellapart").iterdir() if path.suffix == ".py" or path.is_dir()}
    assert set().union(*contract()) == rooms - {"__init__", "__main__", "__pycache__"}
