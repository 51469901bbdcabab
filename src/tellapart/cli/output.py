"""Printing that survives closed pipes, closed streams and encodings that lack a character."""

from __future__ import annotations

import codecs
import os
import sys

from .._util.errors import OutputError
from .._util.text import printable

#: Replacements for characters that the encoding of a stream lacks.
_PLAIN = {
    "≤": "<=",
    "≥": ">=",
    "×": "x",
    "…": "...",
    "–": "-",
    "−": "-",
    "²": "^2",
    "√": "sqrt ",
    "α": "alpha",
    "“": "'",
    "”": "'",
}


def prepare_streams() -> None:
    """Make every character printable and open the standard streams that the caller has closed.

    If standard error were closed, the first file to be opened would take its file descriptor, and libraries would
    write their warnings into that file.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the smallest number that is free
    if sys.stdout is None:
        sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115
    if sys.stderr is None:
        sys.stderr = open(2, "w", closefd=False)  # noqa: SIM115
    codecs.register_error("tellapart", _spell_plainly)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="tellapart")


def say(text: str = "") -> None:
    """Print a line and flush. Continue silently if the reader of the pipe is gone (``| head -1``)."""
    try:
        print(printable(text, keep="\n\t"), flush=True)
    except OSError as error:
        # Otherwise the rest of the buffer would raise again at interpreter exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not isinstance(error, BrokenPipeError):
            raise OutputError(f"Cannot write to standard output: {error.strerror}.") from error


def print_error(text: str) -> None:
    """Print a line to standard error."""
    try:
        print(f"tellapart: {printable(text)}", file=sys.stderr, flush=True)
    except OSError:  # a closed pipe or a full disk: there is no other stream to report it on
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())


def _spell_plainly(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    text = error.object[error.start : error.end]
    return "".join(_PLAIN.get(letter, ascii(letter)[1:-1]) for letter in text), error.end
