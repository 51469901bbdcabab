"""What goes wrong, in one line and in the words of the command line."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from typing import Any

from .._util.errors import InputError, OutputError, spell_keyword
from .._util.spelling import flag_of, spell_flag
from .._util.text import printable


def explain(error: Exception, parser: argparse.ArgumentParser) -> str:
    """The message of an error in one line, its advice spelled with the flags of ``parser``."""
    if isinstance(error, InputError):
        return printable(_one_line(error.message(speller(parser))))
    text = printable(_one_line(str(error)))
    # Torch has no error of its own for memory that cannot be had.
    if isinstance(error, MemoryError) or (isinstance(error, RuntimeError) and "t allocate memory" in text):
        text = "" if isinstance(error, RuntimeError) else text
        advice = " or ".join(flag for flag in ("--max-rows", "--max-memory") if flag in parser._option_string_actions)
        return " ".join(filter(None, ["Out of memory.", text, advice and f"Give {advice}."]))
    if isinstance(error, RuntimeError) and "start new thread" in text:
        return "No more threads can be started here (ulimit -u, ulimit -v). Give --threads 1, or allow more."
    if isinstance(error, OSError) and error.strerror and not isinstance(error, OutputError):
        return (
            f"{printable(os.fsdecode(error.filename))}: {error.strerror}." if error.filename else f"{error.strerror}."
        )
    if isinstance(error, (ValueError, TypeError, OSError, ImportError, ArithmeticError)):
        return text or type(error).__name__
    return f"{type(error).__name__}: {text or 'no message'}. Set TELLAPART_DEBUG=1 to see where."


def speller(parser: argparse.ArgumentParser) -> Callable[[str, Any], str]:
    """How an argument is written for ``parser``: as its flag, by ``--set`` if it has that, or else as in Python."""
    flags = parser._option_string_actions

    def spell(name: str, value: Any) -> str:
        if flag_of(name) in flags:
            return spell_flag(name, value)
        return f"--set {name}={value}" if "--set" in flags and value is not ... else spell_keyword(name, value)

    return spell


def _one_line(text: str) -> str:
    return " ".join(text.split())
