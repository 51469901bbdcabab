"""What is released: nothing is missing from the sdist and the wheel, and the wheel needs nothing to show its help."""

from __future__ import annotations

import os
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
    assert any(name.endswith(".html") for name in expected), "templates"
    assert any(name.startswith("tellapart/report/schema/") for name in expected), "schema"


def test_nothing_else_is_in_the_wheel(wheel):
    archive = zipfile.ZipFile(wheel)
    others = {name for name in archive.namelist() if not name.startswith("tellapart/")}
    assert {name.split("/")[0].rsplit(".", 1)[-1] for name in others} == {"dist-info"}
    (entries,) = [name for name in others if name.endswith("entry_points.txt")]
    shown = archive.read(entries).decode()
    assert "tellapart = tellapart.cli:main" in shown
    assert "[pytest11]\ntellapart = tellapart.integrations.pytest_plugin" in shown


def test_twine_accepts_it(wheel):
    """The description must be one that the index can show."""
    pytest.importorskip("twine")
    done = subprocess.run([sys.executable, "-m", "twine", "check", "--strict", wheel], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_extra_is_tried_in_an_environment_of_its_own():
    """By ``make release-check``, which needs an index and minutes."""
    sys.path.insert(0, str(Path(__file__).parent))
    try:
        import clean_installs
    finally:
        sys.path.pop(0)
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    extras = text.split("[project.optional-dependencies]")[1].split("[project.scripts]")[0]
    names = {line.split(" = ")[0] for line in extras.splitlines() if " = [" in line}
    assert set(clean_installs.USES) == names - {"test", "docs"}


@pytest.mark.parametrize("command", [[], ["compare"], ["reproduce"]])
def test_the_wheel_shows_its_help_where_nothing_else_is_installed(wheel, tmp_path, command):
    zipfile.ZipFile(wheel).extractall(tmp_path)
    shown = help_of(tmp_path, [sys.executable, "-I", "-S"], [*command, "--help"])
    assert shown.startswith("usage: tellapart")


@pytest.mark.parametrize("version", ["3.10", "3.12", "3.13"])
def test_other_versions_of_python_compile_and_start_it(wheel, tmp_path, version):
    """Where they are installed, and without torch: what can be tried is the syntax, the import and the help."""
    python = find_python(version)
    if python is None:
        pytest.skip(f"Python {version} is not here")
    zipfile.ZipFile(wheel).extractall(tmp_path)
    subprocess.run([python, "-I", "-W", "error", "-m", "compileall", "-q", str(tmp_path)], check=True)
    assert help_of(tmp_path, [python, "-I"], ["--help"]).startswith("usage: tellapart")


def find_python(version):
    """One on the path that starts, or one of pyenv, whose commands on the path start only what was chosen."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    candidates = [shutil.which(f"python{version}"), *pyenv.glob(f"{version}.*/bin/python")]
    started = (str(p) for p in candidates if p and not subprocess.run([p, "--version"], capture_output=True).returncode)
    return next(started, None)


def help_of(folder, python, command):
    code = f"import sys; sys.path.insert(0, {str(folder)!r}); from tellapart.cli import main; main(sys.argv[1:])"
    return subprocess.run([*python, "-c", code, *command], capture_output=True, text=True, check=True).stdout
