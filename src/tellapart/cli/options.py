"""Values of options, and options that several commands have."""

from __future__ import annotations

import argparse
import csv
import re


def names(text: str) -> list[str]:
    """Names between commas; those with a comma in them in double quotes.

    >>> names('age, "a, b"')
    ['age', 'a, b']
    """
    return [name.strip() for name in next(csv.reader([text], skipinitialspace=True))]


def image_size(text: str) -> tuple[int, ...]:
    """Sides such as 28x28 or 28x28x3.

    >>> image_size("28x32")
    (28, 32)
    """
    if not re.fullmatch(r"\d+([x×,]\d+){1,2}", text):
        raise argparse.ArgumentTypeError(f"{text!r} is not a size such as 28x28")
    return tuple(int(side) for side in re.split("[x×,]", text))


def count(text: str) -> int:
    """A whole number above 0."""
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number above 0")
    return int(text)


def seed(text: str) -> int:
    """A whole number from 0 up."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 0 up")
    return int(text)


def add_threads(parser: argparse._ActionsContainer) -> None:
    """``--threads N``."""
    parser.add_argument("--threads", type=count, metavar="N", help="threads to compute with (all cores)")


def set_threads(options: argparse.Namespace) -> None:
    """Do as ``--threads`` says."""
    if options.threads is not None:
        import torch

        torch.set_num_threads(options.threads)
