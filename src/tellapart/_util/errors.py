"""Errors and notes about what a user gave: an id for programs, a problem and advice for people.

A message knows which arguments its advice names, so that each interface can spell them: ``max_rows=1000`` in Python,
``--max-rows 1000`` on the command line.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .text import printable, shorten_middle

if TYPE_CHECKING:
    from typing_extensions import Self

#: The longest problem that is shown, in characters: names and texts that come from files can have any length.
_LONGEST = 2_000


def spell_keyword(name: str, value: Any) -> str:
    """Return an argument as it is written in Python; Ellipsis stands for any value.

    >>> spell_keyword("missing", "drop"), spell_keyword("max_rows", ...)
    ("missing='drop'", 'max_rows=')
    """
    return f"{name}=" if value is ... else f"{name}={value!r}"


@dataclass(frozen=True, repr=False)
class Spelled:
    """A value that is written differently in Python and on the command line.

    >>> spell_keyword("features", Spelled("ta.features.hashing_ngrams()", "ngrams"))
    'features=ta.features.hashing_ngrams()'
    """

    python: str
    command_line: str

    def __repr__(self) -> str:
        return self.python

    def __str__(self) -> str:
        return self.command_line


class Message:
    """What `InputError` and `Note` have in common.

    Parameters
    ----------
    id
        The kind of problem, in kebab case. The same problem has the same id wherever it occurs.
    problem
        What is wrong, as a sentence: which argument, and what was received.
    advice
        What to do, with ``{name}`` for each argument that it names. Only ``advice`` is a template: names of columns
        and files belong in ``problem``.
    **options
        Those arguments, with the value to pass, or Ellipsis. An argument that is named twice, with different values,
        has an underscore after its second name.

    >>> error = InputError("missing-values", "X has 3 missing values.", "Open it with {missing}.", missing="drop")
    >>> error.id, str(error)
    ('missing-values', "X has 3 missing values. Open it with missing='drop'.")
    >>> advice = "Give {missing} or {missing_}."
    >>> str(InputError("missing-values", "X has gaps.", advice, missing="drop", missing_="indicator"))
    "X has gaps. Give missing='drop' or missing='indicator'."
    """

    id: str
    problem: str
    advice: str
    options: dict[str, Any]

    def message(self, spell: Callable[[str, Any], str] = spell_keyword) -> str:
        """Return problem and advice in one line, with arguments spelled by ``spell(name, value)``."""
        return _join(self.problem, self.advice, self.options, spell)

    def after(self, prefix: str) -> Self:
        """Return the same message with ``prefix`` in front of the problem."""
        made: Self = _rebuild(type(self), self.id, f"{prefix}{self.problem}", self.advice, self.options)
        return made

    def __reduce__(self) -> Any:
        # Errors of workers are pickled on their way to the process that waits for them.
        return _rebuild, (type(self), self.id, self.problem, self.advice, self.options)


class InputError(Message, ValueError):
    """Raised if an argument, a file or the data in it cannot be used.

    Attributes
    ----------
    id
        The kind of problem, such as ``"missing-values"``. Unlike the wording, it can be relied on in programs.
    problem
        What is wrong.
    advice
        What to do, with ``{name}`` for each argument that it names.
    options
        Those arguments, with the value to pass, or Ellipsis.
    """

    __module__ = "tellapart"  # its public name, which tracebacks show

    def __init__(self, id: str, problem: str, advice: str = "", /, **options: Any) -> None:
        self.id, self.problem, self.advice, self.options = id, problem, advice, options
        super().__init__(problem)

    def __str__(self) -> str:
        return self.message()


class InputTypeError(InputError, TypeError):
    """Raised for a value of the wrong type."""


class InputMemoryError(InputError, MemoryError):
    """Raised if more memory would be needed than is free or allowed."""


class InputFileError(InputError, FileNotFoundError):
    """Raised for a file or folder that does not exist."""


class InputChangedError(InputError, OSError):
    """Raised for a file that has changed since it was opened."""


class InputConnectionError(InputError, ConnectionError):
    """Raised if a cluster cannot be reached, or no longer answers."""


class InputImportError(InputError, ImportError):
    """Raised if a library is needed that an extra of tellapart installs, and is not installed."""


class OutputError(OSError):
    """Raised if a file cannot be written."""


class Note(Message, str):
    """A remark on data or on a result. As a string, its advice spells arguments as in Python.

    >>> note = Note("column-left-out", "'id' counts the rows.", "To compare it, give {columns}.", columns="id")
    >>> note
    "'id' counts the rows. To compare it, give columns='id'."
    >>> note.message(lambda name, value: f"--{name} {value}")
    "'id' counts the rows. To compare it, give --columns id."
    >>> note.after("reference: ").message(lambda name, value: f"--{name} {value}")
    "reference: 'id' counts the rows. To compare it, give --columns id."
    """

    def __new__(cls, id: str, problem: str, advice: str = "", /, **options: Any) -> Note:
        note = super().__new__(cls, _join(problem, advice, options, spell_keyword))
        note.id, note.problem, note.advice, note.options = id, problem, advice, options
        return note


def note_after(prefix: str, note: str) -> str:
    """Return a note, be it a `Note` or plain text, with ``prefix`` in front."""
    return note.after(prefix) if isinstance(note, Note) else f"{prefix}{note}"


def _join(problem: str, advice: str, options: dict[str, Any], spell: Callable[[str, Any], str]) -> str:
    spelled = {name: spell(name.rstrip("_"), value) for name, value in options.items()}
    return printable(" ".join(filter(None, (shorten_middle(problem, _LONGEST), advice.format(**spelled)))))


def _rebuild(kind: Any, id: str, problem: str, advice: str, options: dict[str, Any]) -> Any:
    return kind(id, problem, advice, **options)
