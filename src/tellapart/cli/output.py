"""What the command line prints: whatever becomes of the screen, the pipe or the encoding, the work is not lost."""

from __future__ import annotations

import codecs
import os
import sys

from .._util.errors import OutputError
from .._util.text import printable

#: What to write where an encoding lacks a character.
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
    """Let every character be printed in some way, and have all three streams open, also where the caller closed them.

    The first file to be opened would else become standard error, and get what libraries have to say.
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
    """Print a line at once. If nobody reads any more (``| head -1``), go on without a word."""
    try:
        print(printable(text, keep="\n\t"), flush=True)
    except OSError as error:
        # What is still in the buffer would fail again when Python ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not isinstance(error, BrokenPipeError):
            raise OutputError(f"The standard output cannot be written: {error.strerror}.") from error


def complain(text: str) -> None:
    """Print a line to standard error."""
    try:
        print(f"tellapart: {printable(text)}", file=sys.stderr, flush=True)
    except OSError:  # a closed pipe, or a full disk: there is no other place to say it
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())


def _spell_plainly(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    text = error.object[error.start : error.end]
    return "".join(_PLAIN.get(letter, ascii(letter)[1:-1]) for letter in text), error.end
