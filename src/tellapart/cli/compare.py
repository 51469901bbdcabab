"""``tellapart compare``: compare two files or folders."""

from __future__ import annotations

import argparse
import math
from typing import TYPE_CHECKING

from . import groups
from .options import (
    add_compute,
    add_data,
    add_keep,
    add_test,
    check_names,
    computing,
    names,
    number_in,
    reading,
    refuse_ignored,
    testing,
)
from .output import say
from .results import add_output, check_output, write_result

if TYPE_CHECKING:
    from ..criticism import Comparison

#: The omnibus test and the kernels to learn: a copy of `tellapart.learning.NAMES`, which is slow to import.
TESTS = ("auto", "ard", "rbf", "full", "deep", "witness")

#: Options that have no effect with --cost.
_OF_RESULTS = (
    *("paired", "keep_columns", "names", "items", "report", "json", "fail_on_difference", "fail_auc", "fail_effect"),
)

_EXAMPLES = """\
examples:
  tellapart compare last-month.csv this-month.csv
  tellapart compare real/ generated/ --image-size 32x32 --report report.html
  tellapart compare train.npy live.npy --json - --fail-auc 0.6
  tellapart compare a.parquet b.parquet --keep-columns date --missing indicator --names June,July
  tellapart compare mnist fake.npz --test ard --report report.html
  tellapart compare --by site patients.csv --report sites.html
  tellapart compare old.csv new.csv --columns review --features model:all-MiniLM-L6-v2

A and B are files (CSV, TSV or JSON lines, optionally .gz; Parquet, .npy, .npz, .safetensors, Zarr, idx), folders of PNG
or JPEG images, or the names mnist (its test images, downloaded once) or digits. The default test uses every row, and
the score of each row is cross-fitted: it is learned from other rows. With --test ard and other kernels, the kernel is
learned on one half of the rows and tested on the other half.

exit codes: 0; 1 if a condition of a --fail option holds; 2 for invalid input."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add two samples and the options of the test, the data and the output."""
    parser.description = "Test whether two samples differ, and show how much, in which columns and in which rows."
    parser.epilog = _EXAMPLES
    add_data(parser, most="all; 100000 for learned tests", second="?")
    parser.add_argument("--by", metavar="COLUMN", help="compare the groups defined by this column of one table")
    add_keep(parser)
    parser.add_argument("--items", metavar="COLUMN", help="column of row names; it is not compared")
    parser.add_argument("--names", type=names, metavar="A,B", help="names of the samples (default: their file names)")
    test = add_test(parser)
    test.add_argument("--test", choices=TESTS, default="auto", help="auto (default), or the kernel to learn")
    learned = parser.add_argument_group("tests with a learned kernel")
    learned.add_argument(
        "--criterion",
        choices=("t", "power", "mmd"),
        default="t",
        help="criterion that the kernel maximizes (default: %(default)s)",
    )
    learned.add_argument(
        "--train-size",
        type=float,
        default=0.5,
        metavar="P",
        help="proportion of rows to learn the kernel from (default: %(default)s)",
    )
    learned.add_argument(
        "--cross-fit", action="store_true", help="exchange the two halves and repeat, so that every row is tested"
    )
    compute = add_compute(parser)
    compute.add_argument("--cost", action="store_true", help="print the estimated cost of a learned test, and exit")
    out = add_output(parser, "what differs, how much, and in which rows")
    out.add_argument("--fail-on-difference", action="store_true", help="exit with code 1 if the samples differ")
    out.add_argument(
        "--fail-auc",
        type=number_in(0.5, 1, "an AUC between 0.5 and 1"),
        metavar="AUC",
        help="exit with code 1 if the samples differ and the AUC is at least this value",
    )
    out.add_argument(
        "--fail-effect",
        type=number_in(0, math.inf, "a non-negative effect"),
        metavar="E",
        help="exit with code 1 if the samples differ and a differing column or pair has at least this effect",
    )
    parser.set_defaults(parser=parser)


def run(options: argparse.Namespace) -> int:
    """Compare two samples, print the summary, and write the JSON file and the report."""
    from .. import criticism
    from .._util.errors import InputError

    if options.by is not None or options.B is None:
        return groups.run(options)
    check_output(options, {"A": options.A, "B": options.B})
    x, y = options.A, options.B
    if options.names is not None and len(options.names) != 2:
        given = "1 name" if len(options.names) == 1 else f"{len(options.names)} names"
        raise InputError(
            "wrong-number-of-names", f"There are two samples, but {given}.", "Give two with {names}.", names=...
        )
    check_names(options.names or ())
    if options.test == "auto":
        learned, advice = ("criterion", "train_size", "cross_fit"), "Name one with {test}."
        refuse_ignored(options, learned, "is an option of a learned test", advice, test="ard")
    settings = {
        "criterion": options.criterion,
        "alpha": options.alpha,
        "train_size": options.train_size,
        "cross_fit": options.cross_fit,
        **testing(options),
        **reading(options),
        **computing(options),
    }
    if options.cost:
        refuse_ignored(options, _OF_RESULTS, "has no effect with --cost, which runs no test")
        del settings["progress"], settings["keep_columns"]
        say(str(criticism.compare_cost(x, y, options.test, **settings)))
        say("The cost of learning is not included. With --test rbf it also grows with the square of the rows.")
        return 0
    comparison = criticism.compare(
        x,
        y,
        options.test,
        paired=options.paired,
        names=None if options.names is None else tuple(options.names),
        items=options.items,
        **settings,
    )
    write_result(options, comparison)
    return int(fails(options, comparison))


def fails(options: argparse.Namespace, comparison: Comparison) -> bool:
    """Return whether the condition of any ``--fail`` option holds."""
    if not comparison.reject():
        return False
    separable = options.fail_auc is not None and comparison.auc >= options.fail_auc
    large = options.fail_effect is not None and comparison.largest_effect >= options.fail_effect
    return bool(options.fail_on_difference or separable or large)
