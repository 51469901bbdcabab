"""``tellapart demo``: something to see without any data."""

from __future__ import annotations

import argparse
from pathlib import Path

from .options import add_threads, seed, set_threads
from .output import say
from .results import check_page


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """A seed and the report's name."""
    parser.description = "Train a generative model on handwritten digits, compare them with its own, write a report."
    parser.add_argument("--seed", type=seed, default=0, metavar="N", help="seed of everything random (%(default)s)")
    parser.add_argument("--out", type=Path, default=Path("tellapart-demo.html"), help="the report (%(default)s)")
    add_threads(parser)


def run(options: argparse.Namespace) -> None:
    """Train, compare, write the report."""
    from .. import report
    from ..experiments import demo

    set_threads(options)
    report.check_installed()
    check_page(options.out)
    say("A generative model (GMMN) learns handwritten digits. Can its digits be told from real ones?\n")
    found = demo.run(options.seed)
    say(found.summary())
    found.to_html(options.out, options.command)
    say(f"\nOpen the report in a browser: {options.out}")
