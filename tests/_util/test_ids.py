"""Every error and every note has an id, which is kept wherever the message goes."""

from __future__ import annotations

import ast
import copy
import pickle
import re
import traceback
from collections.abc import Iterator
from pathlib import Path

import pytest

import tellapart as ta
from tellapart._util.errors import (
    InputChangedError,
    InputConnectionError,
    InputError,
    InputFileError,
    InputImportError,
    InputMemoryError,
    InputTypeError,
    Message,
    Note,
    note_after,
)
from tellapart.stats.permutations import NothingToExchange

SOURCE = Path(ta.__file__).parent
ERRORS = (
    InputError,
    InputChangedError,
    InputConnectionError,
    InputFileError,
    InputImportError,
    InputMemoryError,
    InputTypeError,
    NothingToExchange,
)
KINDS = {kind.__name__: kind for kind in (*ERRORS, Note)}


def calls() -> Iterator[tuple[str, str, ast.Call]]:
    """Where a message is made, the name of its class, and the call."""
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call):
                name = getattr(node.func, "id", getattr(node.func, "attr", ""))
                if name in KINDS:
                    yield f"{path.relative_to(SOURCE)}:{node.lineno}", name, node


def has_id(call: ast.Call) -> bool:
    """Whether the first argument is a literal in kebab case, or a variable or attribute that is called id."""
    first = call.args[0] if call.args else None
    if isinstance(first, ast.Constant):
        return isinstance(first.value, str) and re.fullmatch(r"[a-z]+(-[a-z]+)+", first.value) is not None
    return "id" in (getattr(first, "id", ""), getattr(first, "attr", ""))


def subclasses(kind: type) -> set[type]:
    return {kind}.union(*map(subclasses, kind.__subclasses__()))


def test_every_message_in_the_source_has_an_id() -> None:
    found = list(calls())
    assert {name for _, name, _ in found} == set(KINDS)
    assert [where for where, _, call in found if not has_id(call)] == []
    assert [where for where, _, call in found if len(call.args) < 2] == []  # an id alone explains nothing


def test_no_kind_of_message_is_left_out() -> None:
    named = {cls.name for path in SOURCE.rglob("*.py") for cls in classes(path) if bases(cls) & {*KINDS, "Message"}}
    assert named == set(KINDS)
    assert {kind.__name__ for kind in subclasses(Message)} == {*KINDS, "Message"}


def classes(path: Path) -> list[ast.ClassDef]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]


def bases(node: ast.ClassDef) -> set[str]:
    return {getattr(base, "id", getattr(base, "attr", "")) for base in node.bases}


@pytest.mark.parametrize("code", ['InputError("X has gaps.")', 'Note("Gaps", "X")', "InputError()", "Note(text, text)"])
def test_the_check_sees_what_has_no_id(code: str) -> None:
    call = ast.parse(code, mode="eval").body
    assert isinstance(call, ast.Call)
    assert not has_id(call)


@pytest.mark.parametrize("kind", KINDS.values())
def test_an_id_is_kept_by_copies_and_prefixes(kind: type[InputError] | type[Note]) -> None:
    made = kind("missing-values", "X has gaps.", "Give {missing} or {missing_}.", missing="drop", missing_=...)
    said = "X has gaps. Give missing='drop' or missing=."
    for one in (made, pickle.loads(pickle.dumps(made)), copy.copy(made), copy.deepcopy(made)):
        assert type(one) is kind
        assert (one.id, one.problem, str(one)) == ("missing-values", "X has gaps.", said)
        assert one.options == {"missing": "drop", "missing_": ...}
    later = made.after("a.csv: ")
    assert type(later) is kind
    assert (later.id, str(later), later.options) == (made.id, f"a.csv: {said}", made.options)


def test_a_note_keeps_its_id_after_the_name_of_a_sample() -> None:
    note = note_after("X: ", Note("rows-dropped", "2 rows were dropped."))
    assert isinstance(note, Note)
    assert (note.id, note) == ("rows-dropped", "X: 2 rows were dropped.")


def test_options_may_have_the_names_of_parameters() -> None:
    error = InputError("unknown-column", "No such column.", "Give {id} or {advice}.", id=3, advice=...)
    assert (error.id, str(error)) == ("unknown-column", "No such column. Give id=3 or advice=.")


def test_input_errors_are_public() -> None:
    assert ta.InputError is InputError
    with pytest.raises(ta.InputError) as caught:
        ta.two_sample_test([[1.0], [float("nan")]], [[1.0], [2.0]])
    assert caught.value.id == "missing-values"
    assert traceback.format_exception_only(caught.value)[-1].startswith("tellapart.InputError: X has 1 NaN")
