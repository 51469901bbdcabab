"""Names of columns: those that are wanted, that are not there, and that occur twice."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import Any

from .._util.errors import InputError, InputTypeError
from .._util.text import printable


def as_names(names: Any, argument: str) -> tuple[str, ...]:
    """Names of columns, as the user gave them: one, or several."""
    if isinstance(names, (str, int)):
        return (str(names),)
    if not isinstance(names, Iterable):
        raise InputTypeError("wrong-type", f"{argument} must be a list of names, but is {names!r}.")
    return tuple(str(name) for name in names)


def select_columns(
    names: tuple[str, ...], label: str, columns: tuple[str, ...] | None = None, drop: tuple[str, ...] | None = None
) -> list[int]:
    """Positions of the columns that are wanted: those in ``columns`` (or all), without those in ``drop``."""
    # By the names that are shown: what cannot be seen cannot be typed.
    names = tuple(map(printable, names))
    wanted, unwanted = (tuple(map(printable, given)) for given in (names if columns is None else columns, drop or ()))
    known = set(names)
    for given in (wanted, unwanted):
        strange = [name for name in given if name not in known]
        if strange:
            raise unknown_columns(label, strange, names)
    chosen = set(wanted) - set(unwanted)
    keep = [k for k, name in enumerate(names) if name in chosen]
    if not keep:
        raise InputError("no-columns-left", f"{label} has no columns left to compare, of {len(names)}.")
    return keep


def unknown_columns(label: str, strange: Sequence[str], names: Sequence[str]) -> InputError:
    """What to say of columns that are not among those of a table.

    >>> print(unknown_columns("X", ["alcohl"], ["alcohol", "colour"]))
    X has no column 'alcohl'. Did you mean 'alcohol'? It has 'alcohol', 'colour'.
    """
    there = f" It has {quote_names(names)}." if names else ""
    return InputError(
        "unknown-column", f"{label} has no column {quote_names(strange)}.{did_you_mean(strange[0], names)}{there}"
    )


def did_you_mean(name: str, names: Sequence[str]) -> str:
    """A question about the name that is most like one that is not there; nothing if none is.

    >>> did_you_mean("alcohl", ["alcohol", "colour"]), did_you_mean("id", ["colour"])
    (" Did you mean 'alcohol'?", '')
    """
    close = get_close_matches(name, names, 1)
    return f" Did you mean {close[0]!r}?" if close else ""


def unique_names(names: Iterable[str]) -> tuple[str, ...]:
    """Names that differ: the second 'a' becomes 'a (2)'.

    >>> unique_names(["a", "b", "a"])
    ('a', 'b', 'a (2)')
    """
    taken: set[str] = set()
    counts: dict[str, int] = {}
    found = []
    for name in names:
        new = name
        while new in taken:
            # Counting goes on where it ended: many columns of one name take linear time.
            counts[name] = counts.get(name, 1) + 1
            new = f"{name} ({counts[name]})"
        taken.add(new)
        found.append(new)
    return tuple(found)


def quote_names(names: Iterable[str], most: int = 8) -> str:
    """Names for a message, quoted, and not too many of them."""
    shown = [repr(name) for name in names]
    return ", ".join(shown[:most]) + (f" and {len(shown) - most} more" if len(shown) > most else "")
