"""Results as JSON: valid, documented to the last field, and without NaN."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import numpy as np
import pytest
from schema_page import page

import tellapart as ta
from tellapart import cli, report

SCHEMA = report.schema()
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)


@pytest.fixture(scope="module")
def tests():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(40, 3)), rng.normal(size=(50, 3)) + 1
    Y[:, 2] = 5  # constant in one sample: a ratio of deviations that is none
    monitor = ta.Reference.fit(X, rng=0).monitor(0.05, "fwer", permutations=99, rng=0)
    for batch in (X[:20], Y):
        monitor.add(batch)
    return [
        ta.mmd_test(X, Y, permutations=99, rng=0),
        ta.learned_test(X, Y, "rbf", permutations=99, rng=0),
        ta.learned_test(X, Y, "ard", cross_fit=True, permutations=99, rng=0, learning={"steps": 20}),
        ta.two_sample_test(X, Y, 99, rng=0),
        ta.k_sample_test([X, Y, X + 1], permutations=99, rng=0),
        ta.equivalence_test(X, Y, margin=0.5, rng=0),
        ta.plan(X, Y, repetitions=4, permutations=39, rng=0),
        ta.plan(X, X, repetitions=4, permutations=39, rng=0),
        ta.rank(X, {"a": Y, "b": X + 0.1}, rng=0),
        monitor,
    ]


def check(result):
    stored = json.loads(result.to_json(), parse_constant=lambda name: pytest.fail(name))
    VALIDATOR.validate(stored)
    definition = SCHEMA["$defs"][stored["result"]]
    assert stored["schema_version"] == 1
    assert list(undocumented(stored, definition)) == []
    return stored


def undocumented(value, definition, where=""):
    """Fields that the schema does not describe."""
    definition = resolve(definition, value)
    if isinstance(value, dict) and "properties" in definition:
        for name, inside in value.items():
            if name not in definition["properties"]:
                yield f"{where}.{name}"
            else:
                yield from undocumented(inside, definition["properties"][name], f"{where}.{name}")
    elif isinstance(value, dict) and isinstance(definition.get("additionalProperties"), dict):
        for name, inside in value.items():
            yield from undocumented(inside, definition["additionalProperties"], f"{where}.{name}")
    elif isinstance(value, list) and value and isinstance(value[0], dict):
        for inside in value:
            yield from undocumented(inside, definition["items"], f"{where}[]")


def resolve(definition, value):
    if "anyOf" in definition:
        definition = next(
            d for d in definition["anyOf"] if VALIDATOR.evolve(schema={**d, "$defs": SCHEMA["$defs"]}).is_valid(value)
        )
    return SCHEMA["$defs"][definition["$ref"].rsplit("/", 1)[1]] if "$ref" in definition else definition


def test_the_schema_is_one():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize("which", ["table", "wide", "images", "nothing", "learned_table", "learned_images"])
def test_comparisons_are_valid(which, request):
    check(request.getfixturevalue(which))


def test_results_of_tests_are_valid(tests):
    assert [check(result)["result"] for result in tests] == [
        "test",
        "learned_test",
        "learned_test",
        "two_sample_test",
        "k_sample_test",
        "equivalence_test",
        "plan",
        "plan",
        "rank",
        "monitor",
    ]


def test_what_commands_write_is_valid(tmp_path):
    rng = np.random.default_rng(0)
    for name, shift in (("a", 0), ("b", 1)):
        np.save(tmp_path / f"{name}.npy", rng.normal(size=(40, 2)) + shift)
    for command, known in (("test", "two_sample_test"), ("compare", "comparison")):
        out = tmp_path / f"{command}.json"
        files = [str(tmp_path / "a.npy"), str(tmp_path / "b.npy")]
        assert cli.main([command, *files, "--permutations", "99", "--json", str(out), "--quiet"]) == 0
        stored = json.loads(out.read_text(encoding="utf-8"))
        VALIDATOR.validate(stored)
        assert stored["result"] == known
        assert {"differ", "alpha"} <= set(stored)


def test_what_is_written_of_groups_is_valid(tmp_path):
    rows = "\n".join(f"{k % 3},{k % 7}" for k in range(30))
    (tmp_path / "t.csv").write_text(f"site,v\n{rows}\n")
    out = tmp_path / "g.json"
    arguments = ["compare", "--by", "site", str(tmp_path / "t.csv"), "--permutations", "39", "--quiet"]
    assert cli.main([*arguments, "--json", str(out)]) == 0
    stored = json.loads(out.read_text(encoding="utf-8"))
    VALIDATOR.validate(stored)
    assert list(undocumented(stored, SCHEMA["$defs"]["k_sample_test"])) == []
    assert (stored["differ"], stored["alpha"]) == (False, 0.05)


def test_a_missing_field_is_not_valid(tests):
    stored = json.loads(tests[0].to_json())
    del stored["pvalue"]
    assert not VALIDATOR.is_valid(stored)


def test_the_page_describes_the_schema():
    """``python tests/report/schema_page.py > docs/schema.md`` makes it."""
    assert (Path(__file__).parents[2] / "docs" / "schema.md").read_text(encoding="utf-8") == page()
