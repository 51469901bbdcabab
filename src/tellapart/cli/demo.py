"""``tellapart demo``: an example report that needs no data."""

from __future__ import annotations

import argparse
from pathlib import Path

from .options import add_threads, seed, set_threads
from .output import say
from .results import check_page


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add ``--seed``, ``--out`` and ``--threads``."""
    parser.description = (
        "Train a generative model on handwritten digits, compare real and generated digits, and write a report."
    )
    parser.add_argument("--seed", type=seed, default=0, metavar="N", help="random seed (default: %(default)s)")
    parser.add_argument(
        "--out", type=Path, default=Path("tellapart-demo.html"), help="report to write (default: %(default)s)"
    )
    add_threads(parser)


def run(options: argparse.Namespace) -> None:
    """Train a model, compare its samples with real digits, and write the report."""
    from .. import report
    from ..experiments import demo

    set_threads(options)
    report.check_installed()
    check_page(options.out)
    say("Training a generative model (GMMN) on handwritten digits. Do its samples differ from real digits?\n")
    comparison = demo.run(options.seed)
    say(comparison.summary())
    comparison.to_html(options.out, options.command)
    say(f"\nOpen the report in a browser: {options.out}")
