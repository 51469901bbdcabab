"""The command line. Each command is a module of its own, which is imported when it is chosen.

A command's module has ``add_arguments(parser)`` and ``run(options)``, which returns the exit code or None. It imports
what is heavy inside ``run``, so that help and complaints about the call itself come at once.
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
from .output import complain, prepare_streams

#: What each command does, in one line.
COMMANDS = {
    "test": "test two files or folders: do they differ, and in which columns? Nothing to choose",
    "compare": "compare two files or folders: is there a difference, and where?",
    "rank": "rank files or folders by how close they are to a reference: which generator is best?",
    "reference": "fit a reference that later batches are tested against",
    "watch": "test new files against a reference, day after day, with control over false alarms",
    "demo": "compare real and generated digits and write a report; no data needed",
    "train": "train a generative model with MMD, t or an improved GAN",
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

`tellapart COMMAND --help` describes a command. The exit code is 0; 1 if --fail-on-difference is given and the samples
differ; 2 for bad input; 130 if interrupted, 143 if terminated."""


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
        complain("The working directory does not exist any more. Change to another one.")
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
        complain(str(error) or "interrupted")
        return 143 if isinstance(error, Terminated) else 130
    except Exception as error:
        if os.environ.get("TELLAPART_DEBUG"):
            raise
        complain(explain(error, parser))
        return 2


def _has_working_directory() -> bool:
    try:
        os.getcwd()
    except OSError:
        return False
    return True


def _overview() -> argparse.ArgumentParser:
    """The parser of a call without a command: help, the version, or an error."""
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
    """Looks the version up only where it is asked for."""

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        from .. import __version__

        print(f"tellapart {__version__}")
        parser.exit()
