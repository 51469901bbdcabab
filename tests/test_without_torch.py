"""The default test, what is built on it and the command line need no torch, and import none where it is installed."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
try:
    from calls_without_torch import CALLS, NEEDS
finally:
    sys.path.pop(0)

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "tellapart"
SCRIPT = Path(__file__).with_name("calls_without_torch.py")

#: What computes with torch: rooms, and single modules of other rooms.
WITH_TORCH = (
    "kernels",
    "generative",
    "experiments",
    "stats/nulls",
    *(f"engine/{name}.py" for name in ("costs", "passes", "prepared", "products", "tiles", "totals")),
    *(f"stats/{name}.py" for name in ("estimators", "formulas", "gather", "losses", "relative")),
    *(f"learning/{name}.py" for name in ("ascent", "bandwidths", "discriminant", "fitting", "starts")),
    *(f"twosample/{name}.py" for name in ("costs", "fixed", "learned", "opening", "ranking", "separation")),
    *(f"criticism/{name}.py" for name in ("costs", "kernel_witness", "learned", "learned_weights")),
    "data/tensors.py",
    "data/torch_rows.py",
    "integrations/torchmetrics.py",
    "losses.py",
    "nulls.py",
)


@pytest.fixture(scope="module", params=["blocked", "installed"])
def outcomes(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What became of each call: where every import of torch fails, and where torch is installed."""
    if request.param == "installed":
        pytest.importorskip("torch")
    folder = tmp_path_factory.mktemp(request.param)
    words = [sys.executable, SCRIPT, request.param]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found: dict[str, str] = json.loads((folder / "found.json").read_text(encoding="utf-8"))
    return found


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.xdist_group("without torch")
def test_a_call_needs_no_torch(outcomes: dict[str, str], name: str) -> None:
    if name in NEEDS:
        pytest.importorskip(NEEDS[name])
    assert outcomes[name] == ""


NEEDING = {
    "ta.mmd_test(X, X)": "tellapart.mmd_test needs torch",
    "ta.learned_test(X, X)": "tellapart.learned_test needs torch",
    "ta.rank(X, [X, X])": "tellapart.rank needs torch",
    "ta.mmd2(X, X, None)": "tellapart.mmd2 needs torch",
    "ta.compare(X, X, 'ard')": "compare(test='ard') needs torch",
    "ta.two_sample_test(X, X, kernels=[min])": "needs torch",
    "ta.kernels": "tellapart.kernels needs torch",
    "ta.nulls": "tellapart.nulls needs torch",
    "ta.losses": "tellapart.losses needs torch",
    "ta.generative": "tellapart.generative needs torch",
    "__import__('tellapart.losses')": "needs torch",
}
TRY = """
import sys, json
sys.path.insert(0, {folder!r})
from calls_without_torch import Blocked
sys.meta_path.insert(0, Blocked())
assert "torch" not in sys.modules
import tellapart as ta
X = [[float(k)] for k in range(20)]
found = []
for code in {codes!r}:
    try:
        eval(code)
        found.append(None)
    except ImportError as error:
        found.append([error.id, str(error), isinstance(error, ta.InputError)])
print(json.dumps(found))
"""


def test_what_needs_torch_names_its_extra() -> None:
    code = TRY.format(folder=str(SCRIPT.parent), codes=list(NEEDING))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    for (spelled, message), found in zip(NEEDING.items(), json.loads(done.stdout), strict=True):
        assert found is not None, spelled
        assert (found[0], found[2]) == ("missing-extra", True), spelled
        assert message in found[1], spelled
        assert found[1].endswith("pip install 'tellapart[torch]'."), spelled


def at_import(tree: ast.AST) -> list[str]:
    """The modules that are imported when a module is, by their absolute or relative names."""
    names: list[str] = []
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names.append(f"{'.' * node.level}{node.module or ''}")
        elif isinstance(node, (ast.Try, ast.ClassDef)) or (isinstance(node, ast.If) and not is_type_checking(node)):
            names += at_import(node)
    return names


def is_type_checking(node: ast.If) -> bool:
    return isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def is_with_torch(path: Path) -> bool:
    place = path.relative_to(SOURCE).as_posix()
    return any(place == name or place.startswith(f"{name}/") for name in WITH_TORCH)


def imported(path: Path) -> list[Path]:
    """The modules of the library that a module imports at once."""
    found = []
    for name in at_import(ast.parse(path.read_text(encoding="utf-8"))):
        level = len(name) - len(name.lstrip("."))
        if level:
            base = path.parents[level - 1].joinpath(*name.lstrip(".").split("."))
            found += [one for one in (base.with_suffix(".py"), base / "__init__.py") if one.is_file()]
    return found


MODULES = [path for path in sorted(SOURCE.rglob("*.py")) if not is_with_torch(path)]


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.relative_to(SOURCE).as_posix())
def test_other_modules_import_neither_torch_nor_what_needs_it(path: Path) -> None:
    assert not any(name.split(".")[0] == "torch" for name in at_import(ast.parse(path.read_text(encoding="utf-8"))))
    assert [one.relative_to(SOURCE).as_posix() for one in imported(path) if is_with_torch(one)] == []


def test_every_module_listed_is_there_and_computes_with_torch() -> None:
    for name in WITH_TORCH:
        path = SOURCE / name
        assert path.exists(), name
        files = [path] if path.is_file() else list(path.rglob("*.py"))
        found = [one for file in files for one in (*at_import(ast.parse(file.read_text())), *map(str, imported(file)))]
        assert any(one.startswith("torch") or is_with_torch(Path(one)) for one in found if "/" in one or one == "torch")
