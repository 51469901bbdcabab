"""Complaints about what a user gave: what is wrong, and what to do about it.

An error knows which arguments its advice names, so that whoever shows it can spell them: ``max_rows=1000`` in Python,
``--max-rows 1000`` on the command line.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .text import clip, printable

#: Characters of a problem that are shown: names and texts in files are as long as whoever wrote them liked.
_LONGEST = 2_000


def spell_keyword(name: str, value: Any) -> str:
    """An argument as it is written in Python; Ellipsis stands for whatever the user likes.

    >>> spell_keyword("missing", "drop"), spell_keyword("max_rows", ...)
    ("missing='drop'", 'max_rows=')
    """
    return f"{name}=" if value is ... else f"{name}={value!r}"


@dataclass(frozen=True, repr=False)
class Spelled:
    """A value to give that is written in one way in Python and in another on the command line.

    >>> spell_keyword("features", Spelled("ta.features.hashing_ngrams()", "ngrams"))
    'features=ta.features.hashing_ngrams()'
    """

    python: str
    command_line: str

    def __repr__(self) -> str:
        return self.python

    def __str__(self) -> str:
        return self.command_line


class InputError(ValueError):
    """Something is wrong with what the user gave.

    Parameters
    ----------
    problem
        What is wrong, as a sentence: which argument, and what was received.
    advice
        What to do, with ``{name}`` for each argument that it names.
    **options
        Those arguments, with the value to give, or Ellipsis. An argument that is named twice, with different values,
        has an underscore after its second name.

    >>> str(InputError("X has 3 missing values.", "Open it with {missing}.", missing="drop"))
    "X has 3 missing values. Open it with missing='drop'."
    >>> str(InputError("X has gaps.", "Give {missing} or {missing_}.", missing="drop", missing_="indicator"))
    "X has gaps. Give missing='drop' or missing='indicator'."
    """

    def __init__(self, problem: str, advice: str = "", **options: Any) -> None:
        self.problem, self.advice, self.options = problem, advice, options
        super().__init__(problem)

    def message(self, spell: Callable[[str, Any], str] = spell_keyword) -> str:
        """Problem and advice in one line, with arguments spelled by ``spell(name, value)``."""
        return _join(self.problem, self.advice, self.options, spell)

    def __str__(self) -> str:
        return self.message()

    def __reduce__(self) -> Any:
        # Errors of workers travel to the process that waits for them.
        return _rebuild, (type(self), self.problem, self.advice, self.options)


class InputTypeError(InputError, TypeError):
    """A value of the wrong type."""


class InputMemoryError(InputError, MemoryError):
    """More memory would be needed than may be taken."""


class InputFileError(InputError, FileNotFoundError):
    """A file or folder that does not exist."""


class InputChangedError(InputError, OSError):
    """A file that is not what it was when it was opened."""


class InputConnectionError(InputError, ConnectionError):
    """A cluster that cannot be reached, or is gone."""


class OutputError(OSError):
    """A file that could not be written."""


class Note(str):
    """A remark on data or on a result, with advice that names arguments. As a string they are spelled as in Python.

    Parameters
    ----------
    problem, advice, **options
        As for `InputError`. Only ``advice`` is a template: names of columns and files belong into ``problem``.

    >>> note = Note("'id' counts the rows.", "To compare it, give {keep_columns}.", keep="id")
    >>> note
    "'id' counts the rows. To compare it, give keep_columns='id'."
    >>> note.message(lambda name, value: f"--{name} {value}")
    "'id' counts the rows. To compare it, give --keep id."
    >>> note.after("reference: ").message(lambda name, value: f"--{name} {value}")
    "reference: 'id' counts the rows. To compare it, give --keep id."
    """

    problem: str
    advice: str
    options: dict[str, Any]

    def __new__(cls, problem: str, advice: str = "", **options: Any) -> Note:
        note = super().__new__(cls, _join(problem, advice, options, spell_keyword))
        note.problem, note.advice, note.options = problem, advice, options
        return note

    def message(self, spell: Callable[[str, Any], str] = spell_keyword) -> str:
        """Problem and advice in one line, with arguments spelled by ``spell(name, value)``."""
        return _join(self.problem, self.advice, self.options, spell)

    def after(self, prefix: str) -> Note:
        """The note with something in front of it."""
        return Note(f"{prefix}{self.problem}", self.advice, **self.options)

    def __reduce__(self) -> Any:
        return _rebuild, (type(self), self.problem, self.advice, self.options)


def note_after(prefix: str, note: str) -> str:
    """A note with something in front of it, be it a `Note` or text."""
    return note.after(prefix) if isinstance(note, Note) else f"{prefix}{note}"


def _join(problem: str, advice: str, options: dict[str, Any], spell: Callable[[str, Any], str]) -> str:
    spelled = {name: spell(name.rstrip("_"), value) for name, value in options.items()}
    return printable(" ".join(filter(None, (clip(problem, _LONGEST), advice.format(**spelled)))))


def _rebuild(kind: Any, problem: str, advice: str, options: dict[str, Any]) -> Any:
    return kind(problem, advice, **options)
