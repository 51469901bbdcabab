"""``tellapart compare``: two files or folders."""

from __future__ import annotations

import argparse
import math
from typing import TYPE_CHECKING

from . import groups
from .options import (
    add_compute,
    add_data,
    add_keep,
    check_names,
    computing,
    names,
    number_in,
    reading,
    refuse_ignored,
    seed,
)
from .output import say
from .results import add_output, check_output, write_result

if TYPE_CHECKING:
    from ..criticism import Comparison

#: The tests that can be named: the automatic one, and kernels to learn (`tellapart.learning.NAMES`, not imported here).
TESTS = ("auto", "ard", "rbf", "full", "deep", "witness")

#: Options that say something of the samples or of the result, of which --cost makes no use.
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

A and B are files (CSV, TSV, JSON lines, also .gz; Parquet, .npy, .npz, .safetensors, zarr, idx), folders of PNG and
JPEG images, or mnist (its test images, fetched once) or digits. Every row is tested, and judged by what other rows
tell. With --test ard and other kernels, one half of the rows is learned from and the other is tested. The exit code is
0, or 1 if one of the --fail options says so, or 2 for bad input."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Two samples, and options of the test, the data and the output."""
    parser.description = "Test whether two samples differ, and show how much, in which columns and in which rows."
    parser.epilog = _EXAMPLES
    add_data(parser, most="all; 100000 for learned tests", second="?")
    parser.add_argument("--by", metavar="COLUMN", help="compare all groups of one table, by what this column has")
    add_keep(parser)
    parser.add_argument("--items", metavar="COLUMN", help="call rows by what this column has, and do not compare it")
    parser.add_argument("--names", type=names, metavar="A,B", help="what to call the samples (their files)")
    test = parser.add_argument_group("the test")
    test.add_argument("--test", choices=TESTS, default="auto", help="nothing to choose, or a kernel to learn (auto)")
    test.add_argument("--kernel", choices=TESTS[1:], help="the same as --test")
    test.add_argument("--permutations", type=int, default=999, metavar="N", help="how many (%(default)s)")
    test.add_argument("--alpha", type=float, default=0.05, metavar="P", help="level of the test (%(default)s)")
    test.add_argument("--seed", type=seed, default=0, metavar="N", help="seed of everything random (%(default)s)")
    test.add_argument("--groups", metavar="COLUMN", help="rows with the same value here belong together")
    test.add_argument("--strata", metavar="COLUMN", help="compare only rows with the same value here")
    test.add_argument("--paired", action="store_true", help="row i of A and row i of B belong together")
    learned = parser.add_argument_group("tests with a learned kernel")
    learned.add_argument("--criterion", choices=("t", "power", "mmd"), default="t", help="what is maximised (t)")
    learned.add_argument("--train-size", type=float, default=0.5, metavar="P", help="share of rows to learn from (0.5)")
    learned.add_argument("--cross-fit", action="store_true", help="also learn on the other part, to test all rows")
    compute = add_compute(parser)
    compute.add_argument("--cost", action="store_true", help="print what a learned test would cost, and stop")
    out = add_output(parser, "what differs, how much, and in which rows")
    out.add_argument("--fail-on-difference", action="store_true", help="exit with code 1 if the samples differ")
    out.add_argument(
        "--fail-auc",
        type=number_in(0.5, 1, "an AUC, from 0.5 to 1"),
        metavar="AUC",
        help="exit with code 1 if they differ and the AUC is at least this",
    )
    out.add_argument(
        "--fail-effect",
        type=number_in(0, math.inf, "an effect, from 0 up"),
        metavar="E",
        help="exit with code 1 if a named column or pair has such an effect",
    )
    parser.set_defaults(parser=parser)


def run(options: argparse.Namespace) -> int:
    """Compare, write the report and the numbers, print the summary."""
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
    if options.kernel is not None and options.test not in ("auto", options.kernel):
        raise InputError(
            "conflicting-arguments",
            f"--test {options.test} and --kernel {options.kernel} are two names of one option.",
            "Give {test} alone.",
            test=...,
        )
    test = options.kernel or options.test
    if test == "auto":
        learned, advice = ("criterion", "train_size", "cross_fit"), "Name one with {test}."
        refuse_ignored(options, learned, "is an option of a learned test", advice, test="ard")
    settings = {
        "criterion": options.criterion,
        "groups": options.groups,
        "strata": options.strata,
        "alpha": options.alpha,
        "train_size": options.train_size,
        "cross_fit": options.cross_fit,
        "permutations": options.permutations,
        "rng": options.seed,
        **reading(options),
        **computing(options),
    }
    if options.cost:
        refuse_ignored(options, _OF_RESULTS, "is for what a test finds, and --cost runs none")
        del settings["progress"]
        say(str(criticism.compare_cost(x, y, test, **settings)))
        say("Learning comes on top. With --test rbf, it too grows with the square of the rows.")
        return 0
    found = criticism.compare(
        x,
        y,
        test,
        paired=options.paired,
        names=None if options.names is None else tuple(options.names),
        items=options.items,
        keep_columns=options.keep_columns,
        **settings,
    )
    write_result(options, found)
    return int(fails(options, found))


def fails(options: argparse.Namespace, found: Comparison) -> bool:
    """Whether what was found is what the user wants to be told of by the exit code."""
    if not found.reject():
        return False
    separable = options.fail_auc is not None and found.auc >= options.fail_auc
    large = options.fail_effect is not None and found.largest_effect >= options.fail_effect
    return bool(options.fail_on_difference or separable or large)
