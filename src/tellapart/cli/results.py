"""Output of the commands: the summary on standard output, a JSON file and an HTML page."""

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
    out = parser.add_argument_group("output")
    out.add_argument("--report", type=Path, metavar="FILE", help=f"write an HTML page: {report}")
    out.add_argument("--json", metavar="FILE", help="write all results as JSON; - for standard output")
    out.add_argument("--quiet", action="store_true", help="print only errors")
    return out


def check_output(options: argparse.Namespace, inputs: Paths, outputs: Paths | None = None) -> None:
    """Raise `InputError`, before any computation, if a result cannot be written or would overwrite an input.

    Parameters
    ----------
    options : argparse.Namespace
        Parsed options; ``report``, ``json`` and ``features`` are checked if they exist.
    inputs, outputs : mapping of str to path or None
        Further files to read and to write, by their name on the command line.
    """
    from .._util.files import check_writable

    method, _, path = (getattr(options, "features", None) or "").partition(":")
    page, numbers = getattr(options, "report", None), getattr(options, "json", None)
    check_distinct(
        {**inputs, f"--features {method}": path or None}, {**(outputs or {}), "--report": page, "--json": numbers}
    )
    if page is not None:
        from .. import report

        report.check_installed()
        check_page(page)
    if numbers not in (None, "-"):
        check_writable(numbers, "The JSON file")


def check_page(path: Path) -> None:
    """Raise `InputError`, before any computation, if a page cannot be written or does not end in .html."""
    from .._util.errors import InputError
    from .._util.files import check_writable

    if path.suffix.lower() not in ("", ".html", ".htm"):
        raise InputError(
            "wrong-suffix",
            f"The report is an HTML page, but {str(path)!r} ends in {path.suffix}. Use a name that ends in .html.",
        )
    check_writable(path, "The report")


def write_result(
    options: argparse.Namespace, result: Result, *, alpha: float | None = None, summary: str | None = None
) -> None:
    """Print the summary of a result, and write its JSON file and its page if the options request them.

    Parameters
    ----------
    options : argparse.Namespace
        Parsed options.
    result : Result
        Result to write.
    alpha : float, optional
        Significance level, for results without one. The JSON then also has the decision at this level.
    summary : str, optional
        Text to print. By default, the summary of the result.
    """
    from .._util.files import atomic_write_text

    to_stdout, page = options.json == "-", options.report
    # The summary comes first, so that it is not lost if a file cannot be written.
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
