"""One-line error messages that name options as command-line flags."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from typing import Any

from .._util.errors import InputError, OutputError, spell_keyword
from .._util.spelling import flag_of, spell_flag
from .._util.text import printable


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
        if flag_of(name) in flags:
            return spell_flag(name, value)
        return f"--set {name}={value}" if "--set" in flags and value is not ... else spell_keyword(name, value)

    return spell


def _one_line(text: str) -> str:
    return " ".join(text.split())
