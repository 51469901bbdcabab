"""Option types, and options shared by several commands."""

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

#: Maximum number of digits of an integer option.
_DIGITS = 30


class Parser(argparse.ArgumentParser):
    """Argument parser that rejects repeated options and suggests corrections."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        for name in (None, "store"):
            self.register("action", name, _StoreOnce)

    def error(self, message: str) -> NoReturn:
        """Print the usage and an error message, and exit."""
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
    """Store a value and reject a second one, which would silently replace the first."""

    def __call__(self, parser: argparse.ArgumentParser, namespace: Any, values: Any, option: str | None = None) -> None:
        if option is not None and self.dest in given_options(namespace):
            raise argparse.ArgumentError(self, "is given more than once")
        if option is not None:
            namespace.given = {*given_options(namespace), self.dest}
        setattr(namespace, self.dest, values)


def given_options(options: argparse.Namespace) -> set[str]:
    """Return the attribute names of the options with a value that occur on the command line."""
    return getattr(options, "given", set())


def refuse_ignored(
    options: argparse.Namespace, names: Iterable[str], why: str, advice: str = "Leave it out.", **advised: Any
) -> None:
    """Raise `InputError` if an option is given that the other options leave without effect."""
    from .._util.errors import InputError

    get_default = options.parser.get_default
    for name in names:
        if name in given_options(options) or getattr(options, name) != get_default(name):
            raise InputError("ignored-option", f"--{name.replace('_', '-')} {why}.", advice, **advised)


def names(text: str) -> list[str]:
    """Split comma-separated names. A name that contains a comma is written in double quotes.

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
    """Parse an image size such as 28x28 or 28x28x3.

    >>> image_size("28x32")
    (28, 32)
    """
    if not re.fullmatch(r"\d+([x×,]\d+){1,2}", text):
        raise argparse.ArgumentTypeError(f"{text!r} is not a size such as 28x28")
    return tuple(int(side) for side in re.split("[x×,]", text))


def count(text: str) -> int:
    """Parse a positive integer."""
    if not text.isdecimal() or len(text) > _DIGITS or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text!r:.40} is not a positive integer")
    return int(text)


def seed(text: str) -> int:
    """Parse a non-negative integer."""
    if not text.isdecimal() or len(text) > _DIGITS:
        raise argparse.ArgumentTypeError(f"{text!r:.40} is not a non-negative integer")
    return int(text)


def number_in(low: float, high: float, description: str) -> Callable[[str], float]:
    """Return a parser of numbers in [low, high]. Its error message is "... is not {description}".

    >>> number_in(0.5, 1, "an AUC between 0.5 and 1")("0.6")
    0.6
    """

    def parse(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not low <= value <= high:
            raise argparse.ArgumentTypeError(f"{text!r} is not {description}")
        return value

    return parse


def add_data(parser: argparse.ArgumentParser, most: str, second: str | None = None) -> None:
    """Add two samples and the options of reading them.

    ``most`` is the default of ``--max-rows`` in the help text; ``second="?"`` makes the second sample optional.
    """
    parser.add_argument("A", help="first sample: a file or a folder of images")
    parser.add_argument("B", nargs=second, help="second sample")
    add_reading(parser, most)


def add_keep(parser: argparse.ArgumentParser) -> None:
    """Add ``--keep-columns``."""
    parser.add_argument(
        "--keep-columns", type=names, metavar="A,B", help="compare these columns even if they look like ids or dates"
    )


def add_test(parser: argparse.ArgumentParser) -> argparse._ActionsContainer:
    """Add the options of a permutation test."""
    test = parser.add_argument_group("test")
    test.add_argument(
        "--permutations", type=count, default=999, metavar="N", help="number of permutations (default: %(default)s)"
    )
    test.add_argument(
        "--alpha", type=float, default=0.05, metavar="P", help="significance level (default: %(default)s)"
    )
    test.add_argument("--seed", type=seed, default=0, metavar="N", help="random seed (default: %(default)s)")
    test.add_argument("--groups", metavar="COLUMN", help="column of group labels; groups are permuted as a whole")
    test.add_argument("--strata", metavar="COLUMN", help="column of strata; rows are permuted within strata")
    test.add_argument("--paired", action="store_true", help="row i of A is paired with row i of B")
    return test


def add_reading(parser: argparse.ArgumentParser, most: str) -> None:
    """Add the options of reading a sample. ``most`` is the default of ``--max-rows`` in the help text."""
    data = parser.add_argument_group("data")
    data.add_argument(
        "--missing",
        choices=("error", "indicator", "drop"),
        default="error",
        help="missing values: raise an error (default), compare missing indicators as well, or drop incomplete rows",
    )
    data.add_argument("--columns", type=names, metavar="A,B", help="use only these columns")
    data.add_argument("--drop", type=names, metavar="A,B", help="exclude these columns")
    add_features(data)
    data.add_argument("--image-size", type=image_size, metavar="HxW", help="resize images to this size")
    data.add_argument("--image-shape", type=image_size, metavar="HxW", help="treat rows as images of this shape")
    data.add_argument(
        "--max-rows", type=count, metavar="N", help=f"draw at most N rows of each sample (default: {most})"
    )


def reading(options: argparse.Namespace) -> dict[str, Any]:
    """Return the options of `add_reading` as keyword arguments of the library."""
    names = ("missing", "columns", "drop", "image_size", "image_shape", "max_rows")
    return {name: getattr(options, name) for name in names} | {"features": make_features(options.features)}


def testing(options: argparse.Namespace) -> dict[str, Any]:
    """Return the options of `add_test` that all tests take as keyword arguments of the library."""
    names = ("permutations", "groups", "strata", "keep_columns")
    return {name: getattr(options, name) for name in names} | {"rng": options.seed}


def add_resources(parser: argparse.ArgumentParser) -> argparse._ActionsContainer:
    """Add ``--max-memory`` and ``--threads``."""
    compute = parser.add_argument_group("computation")
    compute.add_argument(
        "--max-memory", metavar="SIZE", help="memory limit, e.g. 1GB (default: a quarter of free memory)"
    )
    add_threads(compute)
    return compute


def add_compute(parser: argparse.ArgumentParser) -> argparse._ActionsContainer:
    """Add ``--max-memory``, ``--threads`` and ``--cluster``."""
    compute = add_resources(parser)
    compute.add_argument("--cluster", metavar="ADDRESS", help="run on a Dask cluster: tcp://host:8786, or local")
    return compute


def computing(options: argparse.Namespace) -> dict[str, Any]:
    """Return the options of `add_compute` as keyword arguments of the library."""
    progress = False if options.quiet else None
    names = ("max_memory", "threads", "cluster")
    return {name: getattr(options, name) for name in names} | {"progress": progress}


def existing(name: str) -> Any:
    """Return a path if ``name`` exists, else the name: a file called mnist takes precedence over the data set."""
    return Path(name) if name and Path(name).exists() else name


def add_threads(parser: argparse._ActionsContainer) -> None:
    """Add ``--threads``."""
    parser.add_argument("--threads", type=count, metavar="N", help="number of threads (default: all cores)")


def set_threads(options: argparse.Namespace) -> None:
    """Set the number of torch threads to ``--threads``."""
    if options.threads is not None:
        import torch

        torch.set_num_threads(options.threads)
