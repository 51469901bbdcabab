"""Command-line interface. Each command is a separate module, imported only when it is called.

A command module defines ``add_arguments(parser)`` and ``run(options)``, which returns the exit code or None. Slow
imports belong inside ``run``, so that ``--help`` and errors in the arguments appear immediately.
"""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from .._util.interrupts import Terminated, stopping_on_termination
from .._util.text import printable
from .errors import explain
from .options import Parser
from .output import prepare_streams, print_error

#: One-line description of each command.
COMMANDS = {
    "test": "test whether two files or folders differ, and in which columns",
    "compare": "compare two files or folders: is there a difference, and where?",
    "rank": "rank files or folders by their distance to a reference (which generator is best?)",
    "reference": "fit a reference that later batches are tested against",
    "watch": "test new files against a reference, with control of false alarms over time",
    "demo": "compare real and generated digits and write a report; no data needed",
    "train": "train a generative model with an MMD or t-statistic loss, or an improved GAN",
    "sample": "draw images from a trained model",
    "reproduce": "reproduce the experiments of Sutherland et al. 2017",
}

_EPILOG = """\
examples:
  tellapart test last-month.csv this-month.csv
  tellapart compare last-month.csv this-month.csv
  tellapart compare real/ generated/ --image-size 32x32 --report report.html
  tellapart reference last-year.parquet -o reference.tellapart
  tellapart watch reference.tellapart today.parquet --state state.json --report history.html
  tellapart rank real/ gan/ vae/ --image-size 32x32 --report ranking.html
  tellapart train gmmn --data digits --out runs/gmmn
  tellapart demo

Run `tellapart COMMAND --help` for the options of a command.

exit codes: 0 on success; 1 if the samples differ and --fail-on-difference is given; 2 for invalid input; 130 if
interrupted; 143 if terminated."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code."""
    prepare_streams()
    given = sys.argv[1:] if arguments is None else list(arguments)
    if not given:
        _overview().print_help(sys.stderr)
        return 2
    if given[0] not in COMMANDS:
        _overview().parse_args(given)
        return 2
    if not _has_working_directory():
        print_error("The working directory no longer exists. Change to another directory.")
        return 2
    command: Any = import_module(f".{given[0]}", __name__)
    parser = Parser(f"tellapart {given[0]}", formatter_class=argparse.RawDescriptionHelpFormatter)
    command.add_arguments(parser)
    options = parser.parse_args(given[1:])
    options.command = printable(shlex.join(["tellapart", *given]))
    try:
        with stopping_on_termination():
            return int(command.run(options) or 0)
    except KeyboardInterrupt as error:
        print_error(str(error) or "interrupted")
        return 143 if isinstance(error, Terminated) else 130
    except Exception as error:
        if os.environ.get("TELLAPART_DEBUG"):
            raise
        print_error(explain(error, parser))
        return 2


def _has_working_directory() -> bool:
    try:
        os.getcwd()
    except OSError:
        return False
    return True


def _overview() -> argparse.ArgumentParser:
    """Return the parser for a call without a command: prints the help, the version or an error."""
    parser = Parser(
        prog="tellapart",
        description="Tell two samples apart: is there a difference, how sure are we, and where is it?",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="show the version and exit")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    for name, help in COMMANDS.items():
        commands.add_parser(name, help=help)
    return parser


class _Version(argparse.Action):
    """Look up the version only when it is requested: importlib.metadata is slow to import."""

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        from .. import __version__

        print(f"tellapart {__version__}")
        parser.exit()
