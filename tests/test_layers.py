"""The picture of the rooms in docs/DESIGN.md is the contract that lint-imports checks."""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path

import pytest

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


#: What the default test is computed with.
WITHOUT_TORCH = (
    "_util/workers.py",
    "engine/__init__.py",
    *(f"engine/{name}.py" for name in ("cluster", "compute", "executors", "rows")),
    *(f"stats/{name}.py" for name in ("auc", "betting", "design", "permutations", "pvalues", "student")),
    "omnibus/**/*.py",
    *(f"twosample/{name}.py" for name in ("auto", "bets", "constant_columns", "control", "effects", "equivalence")),
    *(
        f"twosample/{name}.py"
        for name in ("moments", "naming", "planning", "reference", "reference_state", "variances")
    ),
    *(f"criticism/{name}.py" for name in ("automatic", "crossfit", "folds", "intervals", "slicing")),
)


@pytest.mark.parametrize("pattern", WITHOUT_TORCH)
def test_the_default_test_imports_torch_only_where_it_is_called(pattern):
    paths = list((ROOT / "src" / "tellapart").glob(pattern))
    assert paths
    for path in paths:
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert not any(re.match(r"torch\b|kernels\b", name) for name in names), path
