"""`make test-core` runs where only the core install and pytest are: what its tests import must be there."""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
#: The dependencies of the core install, what we are, and what runs the tests.
CORE = {
    "numpy",
    "scipy",
    "pandas",
    "narwhals",
    "safetensors",
    "threadpoolctl",
    "tqdm",
    "tellapart",
    "pytest",
    "_pytest",
}


def listed() -> list[Path]:
    """The files of `CORE_TESTS` in the Makefile."""
    text = (ROOT / "Makefile").read_text(encoding="utf-8").replace("\\\n", " ")
    match = re.search(r"^CORE_TESTS := (.+)$", text, re.MULTILINE)
    assert match is not None
    paths = [ROOT / name for name in match[1].split()]
    return sorted({file for path in paths for file in (path.glob("test_*.py") if path.is_dir() else [path])})


def imports(file: Path, seen: set[Path]) -> set[str]:
    """What a file imports, wherever it does so, through the helpers in its folder."""
    if file in seen:
        return set()
    seen.add(file)
    names: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.add(node.module.split(".")[0])
    helpers = {name for name in names if (file.parent / f"{name}.py").exists()}
    more = [imports(file.parent / f"{name}.py", seen) for name in helpers]
    return (names - helpers).union(*more)


FILES = listed()


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.relative_to(ROOT).as_posix())
def test_a_core_test_imports_only_the_core(file: Path) -> None:
    assert imports(file, set()) - set(sys.stdlib_module_names) <= CORE


def test_the_root_conftest_imports_only_the_core() -> None:
    assert len(FILES) > 15
    # torch is imported by a fixture, and only if a test asks for it
    assert imports(ROOT / "tests" / "conftest.py", set()) - set(sys.stdlib_module_names) <= CORE | {"torch"}
