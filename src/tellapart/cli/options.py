"""Values of options, and options that several commands have."""

from __future__ import annotations

import argparse
import csv
import math
import re
from collections.abc import Callable, Iterable, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NoReturn

from .._util.text import printable
from .features import add_features, make_features

#: Digits that a whole number may have.
_DIGITS = 30


class Parser(argparse.ArgumentParser):
    """A parser that takes each option once, and suggests what may have been meant."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        for name in (None, "store"):
            self.register("action", name, _StoreOnce)

    def error(self, message: str) -> NoReturn:
        """Print what is wrong with the call, and stop."""
        super().error(printable(message + self._suggest(message)))

    def _suggest(self, message: str) -> str:
        unknown = re.search(r"unrecognized arguments: (--[\w-]+)", message)
        if unknown:
            close = get_close_matches(unknown[1], self._option_string_actions, 1)
            return f" (did you mean {close[0]}?)" if close else ""
        choice = re.search(r"invalid choice: '([^']*)' \(choose from (.*)\)", message)
        if choice:
            close = get_close_matches(choice[1], re.split(r"[',\s]+", choice[2]), 1)
            return f" (did you mean {close[0]}?)" if close else ""
        return ""


class _StoreOnce(argparse.Action):
    """Stores a value, and refuses a second one: the first would be lost without a word."""

    def __call__(self, parser: argparse.ArgumentParser, namespace: Any, values: Any, option: str | None = None) -> None:
        if option is not None and self.dest in given_options(namespace):
            raise argparse.ArgumentError(self, "is given more than once")
        if option is not None:
            namespace.given = {*given_options(namespace), self.dest}
        setattr(namespace, self.dest, values)


def given_options(options: argparse.Namespace) -> set[str]:
    """The options with a value that stand on the command line, by the names of their attributes."""
    return getattr(options, "given", set())


def refuse_ignored(
    options: argparse.Namespace, names: Iterable[str], why: str, advice: str = "Leave it out.", **advised: Any
) -> None:
    """Raise `InputError` if one of the options is given that the others make meaningless."""
    from .._util.errors import InputError

    usual = options.parser.get_default
    for name in names:
        if name in given_options(options) or getattr(options, name) != usual(name):
            raise InputError("ignored-option", f"--{name.replace('_', '-')} {why}.", advice, **advised)


def names(text: str) -> list[str]:
    """Names between commas; those with a comma in them in double quotes.

    >>> names('age, "a, b"')
    ['age', 'a, b']
    """
    try:
        return [name.strip() for name in next(csv.reader([text], skipinitialspace=True, strict=True))]
    except csv.Error as error:
        raise argparse.ArgumentTypeError(f"{text!r:.80} is not a list of names: {error}") from None


def check_names(given: Sequence[str]) -> None:
    """Raise `InputError` if names are empty or not unique."""
    from .._util.errors import InputError

    if len(set(given)) < len(given) or not all(given):
        raise InputError("invalid-names", "Names must be unique and non-empty.", "Correct {names}.", names=...)


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
    if not text.isdecimal() or len(text) > _DIGITS or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text!r:.40} is not a whole number above 0")
    return int(text)


def seed(text: str) -> int:
    """A whole number from 0 up."""
    if not text.isdecimal() or len(text) > _DIGITS:
        raise argparse.ArgumentTypeError(f"{text!r:.40} is not a whole number from 0 up")
    return int(text)


def number_in(low: float, high: float, what: str) -> Callable[[str], float]:
    """A number within limits, which ``what`` says.

    >>> number_in(0.5, 1, "an AUC, from 0.5 to 1")("0.6")
    0.6
    """

    def parse(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not low <= value <= high:
            raise argparse.ArgumentTypeError(f"{text!r} is not {what}")
        return value

    return parse


def add_data(parser: argparse.ArgumentParser, most: str, second: str | None = None) -> None:
    """Two samples, and how to read them; of ``most`` rows each, unless another number is given.

    With ``second="?"`` there may be one only.
    """
    parser.add_argument("A", help="the first sample: a file, or a folder of images")
    parser.add_argument("B", nargs=second, help="the second sample")
    add_reading(parser, most)


def add_keep(parser: argparse.ArgumentParser) -> None:
    """Columns that are compared in any case."""
    parser.add_argument(
        "--keep-columns", type=names, metavar="A,B", help="compare these columns though they look like ids or dates"
    )


def add_reading(parser: argparse.ArgumentParser, most: str) -> None:
    """How to read samples."""
    data = parser.add_argument_group("the data")
    data.add_argument(
        "--missing",
        choices=("error", "indicator", "drop"),
        default="error",
        help="missing values: an error (the default), an indicator to compare, or drop their rows",
    )
    data.add_argument("--columns", type=names, metavar="A,B", help="use only these columns")
    data.add_argument("--drop", type=names, metavar="A,B", help="leave these columns out")
    add_features(data)
    data.add_argument("--image-size", type=image_size, metavar="HxW", help="resize images to this size")
    data.add_argument("--image-shape", type=image_size, metavar="HxW", help="rows are the pixels of such images")
    data.add_argument("--max-rows", type=count, metavar="N", help=f"draw at most N rows of each sample ({most})")


def reading(options: argparse.Namespace) -> dict[str, Any]:
    """What `add_reading` asked for, as keywords of the library."""
    known = ("missing", "columns", "drop", "image_size", "image_shape", "max_rows")
    return {name: getattr(options, name) for name in known} | {"features": make_features(options.features)}


def add_compute(parser: argparse.ArgumentParser) -> argparse._ActionsContainer:
    """How to compute."""
    compute = parser.add_argument_group("the computation")
    compute.add_argument("--max-memory", metavar="SIZE", help="such as 1GB (a quarter of what is free)")
    compute.add_argument("--threads", type=count, metavar="N", help="threads to compute with (all cores)")
    compute.add_argument("--cluster", metavar="ADDRESS", help="test on a Dask cluster: tcp://host:8786, or local")
    return compute


def computing(options: argparse.Namespace) -> dict[str, Any]:
    """What `add_compute` asked for, as keywords of the library."""
    progress = False if options.quiet else None
    known = ("max_memory", "threads", "cluster")
    return {name: getattr(options, name) for name in known} | {"progress": progress}


def existing(given: str) -> Any:
    """A path where there is one: a file that is called mnist comes before the data set."""
    return Path(given) if given and Path(given).exists() else given


def add_threads(parser: argparse._ActionsContainer) -> None:
    """``--threads N``."""
    parser.add_argument("--threads", type=count, metavar="N", help="threads to compute with (all cores)")


def set_threads(options: argparse.Namespace) -> None:
    """Do as ``--threads`` says."""
    if options.threads is not None:
        import torch

        torch.set_num_threads(options.threads)
