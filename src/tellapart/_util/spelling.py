"""Arguments of the library as they are written on the command line."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from typing import Any

from .errors import Note

#: Arguments whose flags have another name.
_FLAGS = {"rng": "--seed", "labels": "--by"}


def flag_of(name: str) -> str:
    """The flag of an argument.

    >>> flag_of("max_rows"), flag_of("rng")
    ('--max-rows', '--seed')
    """
    return _FLAGS.get(name, f"--{name.replace('_', '-')}")


def spell_flag(name: str, value: Any) -> str:
    """An argument as it is written on the command line; an Ellipsis stands for a value that the user chooses.

    >>> spell_flag("max_rows", 1000), spell_flag("image_size", (28, 28)), spell_flag("cross_fit", True)
    ('--max-rows 1000', '--image-size 28x28', '--cross-fit')
    >>> spell_flag("drop", ["id", "full name"]), spell_flag("columns", ...)
    ("--drop 'id,full name'", '--columns')
    """
    flag = flag_of(name)
    if value is ... or value is True:
        return flag
    return f"{flag} {shlex.quote(_spell_value(value))}"


def _spell_value(value: Any) -> str:
    """Sizes as 28x28, lists of names with commas, anything else as it is."""
    if isinstance(value, str) or not isinstance(value, Sequence):
        return str(value)
    if all(isinstance(part, int) for part in value):
        return "x".join(map(str, value))
    return ",".join(f'"{part}"' if "," in str(part) else str(part) for part in value)


def spell_note(note: str, spell: Callable[[str, Any], str]) -> str:
    """A note with its arguments written by ``spell``; other texts as they are."""
    return note.message(spell) if isinstance(note, Note) else note
