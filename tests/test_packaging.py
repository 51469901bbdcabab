"""What is released: nothing is missing from the sdist and the wheel, and the wheel needs nothing to show its help."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

pytest.importorskip("hatchling")
ROOT = Path(__file__).parents[1]


def build(folder, kind, out):
    subprocess.run([sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", str(out)], cwd=folder, check=True)
    (found,) = out.glob("*.tar.gz" if kind == "sdist" else "*.whl")
    return found


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """Made from the sdist, as pip does where there is no wheel."""
    folder = tmp_path_factory.mktemp("dist")
    with tarfile.open(build(ROOT, "sdist", folder / "sdist")) as archive:
        archive.extractall(folder / "source", filter="data")
    (source,) = (folder / "source").iterdir()
    assert (source / "tests" / "test_packaging.py").exists()
    assert (source / "constraints.txt").exists()
    return build(source, "wheel", folder / "wheel")


def test_the_wheel_holds_every_file_of_the_package(wheel):
    source = ROOT / "src"
    expected = {
        path.relative_to(source).as_posix()
        for path in (source / "tellapart").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert {name for name in zipfile.ZipFile(wheel).namelist() if name.startswith("tellapart/")} == expected
    assert {"tellapart/__init__.pyi", "tellapart/py.typed", "tellapart/experiments/speed.py"} <= expected


@pytest.mark.parametrize("command", [[], ["compare"], ["reproduce"]])
def test_the_wheel_shows_its_help_where_nothing_else_is_installed(wheel, tmp_path, command):
    zipfile.ZipFile(wheel).extractall(tmp_path)
    shown = help_of(tmp_path, [sys.executable, "-I", "-S"], [*command, "--help"])
    assert shown.startswith("usage: tellapart")


@pytest.mark.parametrize("version", ["3.10", "3.12", "3.13"])
def test_other_versions_of_python_compile_and_start_it(wheel, tmp_path, version):
    """Where they are installed, and without torch: what can be tried is the syntax, the import and the help."""
    python = shutil.which(f"python{version}")
    if python is None or subprocess.run([python, "--version"], capture_output=True).returncode:
        pytest.skip(f"Python {version} is not here")
    zipfile.ZipFile(wheel).extractall(tmp_path)
    subprocess.run([python, "-I", "-W", "error", "-m", "compileall", "-q", str(tmp_path)], check=True)
    assert help_of(tmp_path, [python, "-I"], ["--help"]).startswith("usage: tellapart")


def help_of(folder, python, command):
    code = f"import sys; sys.path.insert(0, {str(folder)!r}); from tellapart.cli import main; main(sys.argv[1:])"
    return subprocess.run([*python, "-c", code, *command], capture_output=True, text=True, check=True).stdout
