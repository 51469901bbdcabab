"""Where commands write their results: the standard output, a JSON file and a page."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

from .errors import speller
from .output import say
from .paths import Paths, check_distinct

if TYPE_CHECKING:
    from ..twosample.result import Result


def add_output(parser: argparse.ArgumentParser, report: str) -> argparse._ActionsContainer:
    """Add ``--report``, ``--json`` and ``--quiet``."""
    out = parser.add_argument_group("the output")
    out.add_argument("--report", type=Path, metavar="FILE", help=f"write an HTML page: {report}")
    out.add_argument("--json", metavar="FILE", help="write all numbers as JSON; - for standard output")
    out.add_argument("--quiet", action="store_true", help="print nothing but errors")
    return out


def check_output(options: argparse.Namespace, inputs: Paths, outputs: Paths | None = None) -> None:
    """Raise `InputError` before the work if its results cannot be written, or would overwrite what is read.

    Parameters
    ----------
    options
        The options of the command, of which ``report``, ``json`` and ``features`` are checked.
    inputs, outputs
        Further files that are read and written, by their names on the command line.
    """
    from .._util.files import check_writable

    kind, _, path = (getattr(options, "features", None) or "").partition(":")
    page, numbers = getattr(options, "report", None), getattr(options, "json", None)
    check_distinct(
        {**inputs, f"--features {kind}": path or None}, {**(outputs or {}), "--report": page, "--json": numbers}
    )
    if page is not None:
        from .. import report

        report.check_installed()
        check_page(page)
    if numbers not in (None, "-"):
        check_writable(numbers, "The JSON file")


def check_page(path: Path) -> None:
    """Raise `InputError` if a page cannot be written, or if its name is not that of a page."""
    from .._util.errors import InputError
    from .._util.files import check_writable

    if path.suffix.lower() not in ("", ".html", ".htm"):
        raise InputError(
            "wrong-suffix", f"The report is an HTML page, but {str(path)!r} ends in {path.suffix}. Call it .html."
        )
    check_writable(path, "The report")


def write_result(
    options: argparse.Namespace, result: Result, *, alpha: float | None = None, summary: str | None = None
) -> None:
    """Print the summary of a result, and write its JSON form and its page, as the options say.

    Parameters
    ----------
    options : argparse.Namespace
        The options of the command.
    result : Result
        What to write.
    alpha : float, optional
        The level, for results that do not have one. The JSON form then says whether the test rejects at it.
    summary : str, optional
        What to print. By default the summary of the result.
    """
    from .._util.files import atomic_write_text

    to_stdout, page = options.json == "-", options.report
    # The answer first: it is not lost if a file cannot be written.
    if not options.quiet and not to_stdout:
        say(result.summary(alpha, spell=speller(options.parser)) if summary is None else summary)
    if options.json is not None:
        decision = {} if alpha is None else {"differ": result.reject(alpha), "alpha": alpha}
        text = json.dumps(decision | result.to_dict(), allow_nan=False)
        if to_stdout:
            say(text)
        else:
            atomic_write_text(options.json, text + "\n")
    if page is not None:
        result.to_html(page, options.command, alpha=alpha)
        if not options.quiet and not to_stdout:
            say(f"Report: {page}")
