"""One-line error messages that name options as command-line flags."""

from __future__ import annotations

import argparse
import os
import shlex
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from .._util.errors import InputError, Note, OutputError, spell_keyword
from .._util.text import printable

#: Library arguments whose flags have a different name.
_FLAGS = {"rng": "--seed", "labels": "--by"}


def explain(error: Exception, parser: argparse.ArgumentParser) -> str:
    """Return the message of an error in one line, with arguments spelled as flags of ``parser``."""
    if isinstance(error, InputError):
        return printable(_one_line(error.message(speller(parser))))
    text = printable(_one_line(str(error)))
    # torch raises a plain RuntimeError if an allocation fails.
    if isinstance(error, MemoryError) or (isinstance(error, RuntimeError) and "t allocate memory" in text):
        text = "" if isinstance(error, RuntimeError) else text
        advice = " or ".join(flag for flag in ("--max-rows", "--max-memory") if flag in parser._option_string_actions)
        return " ".join(filter(None, ["Out of memory.", text, advice and f"Pass {advice}."]))
    if isinstance(error, RuntimeError) and "start new thread" in text:
        return "Cannot start more threads (see ulimit -u and ulimit -v). Pass --threads 1, or raise the limit."
    if isinstance(error, OSError) and error.strerror and not isinstance(error, OutputError):
        return (
            f"{printable(os.fsdecode(error.filename))}: {error.strerror}." if error.filename else f"{error.strerror}."
        )
    if isinstance(error, (ValueError, TypeError, OSError, ImportError, ArithmeticError)):
        return text or type(error).__name__
    return f"{type(error).__name__}: {text or 'no message'}. Set TELLAPART_DEBUG=1 for the traceback."


def speller(parser: argparse.ArgumentParser) -> Callable[[str, Any], str]:
    """Return a function that spells an argument for ``parser``: as a flag, with ``--set``, or else as in Python."""
    flags = parser._option_string_actions

    def spell(name: str, value: Any) -> str:
        flag = _FLAGS.get(name, f"--{name.replace('_', '-')}")
        if flag in flags:
            return spell_flag(name, value)
        return f"--set {name}={value}" if "--set" in flags and value is not ... else spell_keyword(name, value)

    return spell


def spell_flag(name: str, value: Any) -> str:
    """Spell a library argument as a command-line flag. Ellipsis stands for any value.

    >>> spell_flag("max_rows", 1000), spell_flag("image_size", (28, 28)), spell_flag("cross_fit", True)
    ('--max-rows 1000', '--image-size 28x28', '--cross-fit')
    >>> spell_flag("drop", ["id", "full name"]), spell_flag("columns", ...)
    ("--drop 'id,full name'", '--columns')
    """
    flag = _FLAGS.get(name, f"--{name.replace('_', '-')}")
    if value is ... or value is True:
        return flag
    return f"{flag} {shlex.quote(_spell_value(value))}"


def spell_notes(summary: str, parser: argparse.ArgumentParser, notes: Iterable[str]) -> str:
    """Respell the arguments named in ``notes`` as flags of ``parser`` wherever a note occurs in ``summary``.

    A note is a complete line of the summary, optionally preceded by "Note: ".
    """
    spell = speller(parser)
    spelled = {str(note): note.message(spell) for note in notes if isinstance(note, Note)}
    spelled |= {f"Note: {note}": f"Note: {text}" for note, text in spelled.items()}
    return "\n".join(spelled.get(line, line) for line in summary.split("\n"))


def _spell_value(value: Any) -> str:
    """Spell sizes as 28x28, join lists with commas, and convert any other value with `str`."""
    if isinstance(value, str) or not isinstance(value, Sequence):
        return str(value)
    if all(isinstance(part, int) for part in value):
        return "x".join(map(str, value))
    return ",".join(f'"{part}"' if "," in str(part) else str(part) for part in value)


def _one_line(text: str) -> str:
    return " ".join(text.split())
