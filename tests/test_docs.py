"""The documentation: every page begins with an example that is run, and pages belong to the site.

Examples themselves are run by pytest's ``--doctest-glob=*.md``, each page in a namespace of its own.
"""

from __future__ import annotations

import doctest
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import tellapart as ta

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
#: Pages that tell how to do something; all of them have an example.
PAGES = [DOCS / "index.md", DOCS / "start.md", DOCS / "which-test.md", *sorted(DOCS.glob("how-to/*.md"))]


def first_code(page):
    return re.search(r"```(?:python|pycon)\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)[1]


@pytest.mark.parametrize("page", [ROOT / "README.md", *PAGES], ids=lambda page: page.stem)
def test_the_first_code_of_a_page_is_an_example_that_is_run(page):
    """And it prints something, which doctest compares."""
    first = first_code(page)
    assert first.startswith(">>> ")
    found = doctest.DocTestParser().get_examples(first)
    assert any(example.want for example in found)
    assert not any(example.options.get(doctest.SKIP) for example in found)


@pytest.mark.parametrize("page", [ROOT / "README.md", *PAGES], ids=lambda page: page.stem)
def test_pasted_into_a_fresh_interpreter_it_prints_what_the_page_shows(page, tmp_path):
    (tmp_path / "example.txt").write_text(first_code(page), encoding="utf-8")
    code = (
        "import doctest, sys\n"
        "failed, tried = doctest.testfile('example.txt', module_relative=False, encoding='utf-8',"
        " optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)\n"
        "sys.exit(failed or not tried)"
    )
    environment = os.environ | {"PYTHONPATH": str(Path(ta.__file__).parents[1])}
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_every_page_is_in_the_site():
    index = (DOCS / "index.md").read_text(encoding="utf-8")
    listed = set(re.findall(r"^([\w/-]+)$", index, re.MULTILINE))
    pages = {
        page.relative_to(DOCS).with_suffix("").as_posix() for page in DOCS.rglob("*.md") if "_build" not in page.parts
    }
    assert pages - {"index"} <= listed


def test_every_public_name_is_in_the_api():
    """Of the package, and of those of its modules whose names are meant to be typed."""
    from tellapart.report import plots

    page = (DOCS / "api.md").read_text(encoding="utf-8")
    stub = (ROOT / "src" / "tellapart" / "__init__.pyi").read_text(encoding="utf-8")
    names = set(re.findall(r"^    (\w+) as \1,$", stub.split(")", 1)[1], re.MULTILINE))
    modules = (ta.datasets, ta.features, ta.losses, plots, ta.testing)
    names |= {name for module in modules for name in module.__all__}
    assert {name for name in names if not re.search(rf"^\.\. auto\w+:: {name}$", page, re.MULTILINE)} == set()


def test_every_command_is_on_its_page(monkeypatch):
    from docutils.core import publish_doctree
    from docutils.parsers.rst import directives

    from tellapart.cli import COMMANDS

    page = (DOCS / "commands.md").read_text(encoding="utf-8")
    shown = re.findall(r"^```\{command-help\} (\w+)$", page, re.MULTILINE)
    assert shown == list(COMMANDS), "docs/commands.md must have a section for each of COMMANDS, in the same order"
    monkeypatch.syspath_prepend(str(DOCS / "_ext"))
    from command_help import CommandHelp

    directives.register_directive("command-help", CommandHelp)
    assert publish_doctree(".. command-help:: test\n").astext().startswith("usage: tellapart test [-h]")


def test_there_are_six_to_eight_pictures_in_the_gallery():
    found = list(DOCS.glob("gallery/plot_*.py"))
    assert 6 <= len(found) <= 8
    for path in found:
        compile(path.read_text(encoding="utf-8"), path.name, "exec")


def test_the_version_is_in_one_place():
    (project,) = [tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]]
    assert f"version: {project['version']}" in (ROOT / "CITATION.cff").read_text(encoding="utf-8").replace('"', "")
    assert f"## {project['version']}" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    recipe = (ROOT / "conda" / "recipe.yaml").read_text(encoding="utf-8")
    assert project["version"] not in recipe
    wanted = {re.split(r"[<>=]", name)[0] for name in project["dependencies"]}
    run = recipe.split("run:", 1)[1].split("tests:", 1)[0]
    assert wanted <= set(re.findall(r"- ([\w-]+)", run.replace("pytorch", "torch")))


def test_tables_of_power_are_made_of_the_json(monkeypatch):
    from docutils.core import publish_doctree
    from docutils.parsers.rst import directives

    monkeypatch.syspath_prepend(str(DOCS / "_ext"))
    from power_tables import PowerChoice, PowerTable, PromisesTable, SpeedTable

    directives.register_directive("power-table", PowerTable)
    directives.register_directive("power-choice", PowerChoice)
    directives.register_directive("promises-table", PromisesTable)
    directives.register_directive("speed-table", SpeedTable)
    tables = ("power-table:: reporting", "power-choice::", "promises-table::", "speed-table::")
    shown = publish_doctree("".join(f".. {table}\n\n" for table in tables)).astext()
    assert "Blob-D" in shown
    assert "100 ± 0" in shown
    assert "sees most" in shown
    assert "at most 5 %" in shown
    assert "500,000 + 500,000 × 32" in shown


def test_speed_on_the_pages_is_that_of_the_json():
    data = json.loads((DOCS / "speed.json").read_text(encoding="utf-8"))["default"]
    rows, quarter, criticism, small, kernel = (
        data[name]["new"] for name in ("rows-1m", "rows-250k", "compare-100k", "small", "mmd")
    )
    readme, scaling = (
        " ".join((ROOT / name).read_text(encoding="utf-8").split()) for name in ("README.md", "docs/scaling.md")
    )
    million = f"{rows['cpu']:.0f} CPU seconds and {rows['peak_mb'] / 1e3:.1f} GB"
    assert f"{million} for a million rows of 32 numbers" in readme
    assert f"{small['cpu']:.2f} for two tables of 200 rows and 10 columns" in readme
    assert f"2,000 + 2,000 points with 200 permutations takes {kernel['cpu']:.2f}" in readme
    assert f"250,000 rows take {quarter['cpu']:.0f} CPU seconds and a million rows {rows['cpu']:.0f}" in scaling
    assert f"100,000 + 100,000 rows of 50 columns takes {criticism['cpu']:.0f}" in scaling


def test_numbers_of_the_paper_are_those_of_the_json():
    """What it says of power is what the script wrote."""
    data = json.loads((DOCS / "power.json").read_text(encoding="utf-8"))
    paper = (ROOT / "paper" / "paper.md").read_text(encoding="utf-8")
    found = data["sum_real"]["rejections"]
    said = f"{found['auto']} of {data['sum_real']['trials']} v {found['median']}, {found['energy']} (energy)"
    assert said in paper
    rates = {(c["problem"], c["m"], c["method"]): round(100 * c["power"]["rate"]) for c in data["cells"] if c["power"]}
    titles = {c["title"]: c["problem"] for c in data["cells"]}
    for title, rows, label in (
        ("Blobs, 5 × 5, ε = 4", 1000, "Blobs (1,000 + 1,000)"),
        ("Blob-D", 270, "Blob-D (270 + 270)"),
        ("1 of 50 is twice as wide", 200, "1 of 50 columns wider (200 + 200)"),
    ):
        auto, median = (rates[titles[title], rows, method] for method in ("auto", "median"))
        assert f"{label} {auto} % v {median} %" in paper
    for script in set(re.findall(r"`((?:benchmarks|tests)/[\w/]+(?:\.py)?)`", paper)):
        assert (ROOT / script).exists(), script
