"""``tellapart test``: omnibus test of two files or folders."""

from __future__ import annotations

import argparse
import warnings

from .options import add_compute, add_data, add_keep, add_test, computing, reading, testing
from .results import add_output, check_output, write_result

_EXAMPLES = """\
examples:
  tellapart test last-month.csv this-month.csv
  tellapart test before.parquet after.parquet --groups patient --missing indicator
  tellapart test train.npy live.npy --json - --fail-on-difference
  tellapart test real/ generated/ --image-size 32x32
  tellapart test old.jsonl new.jsonl --columns answer --features ngrams

A and B are files (CSV, TSV or JSON lines, optionally .gz; Parquet, .npy, .npz, .safetensors, Zarr, idx), folders of PNG
or JPEG images, or the names mnist (its test images, downloaded once) or digits. The test is exact and uses every row.

exit codes: 0; 1 if the samples differ and --fail-on-difference is given; 2 for invalid input."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add two samples and the options of the test, the data and the output."""
    parser.description = "Test whether two samples differ, and report which columns differ. No parameters need tuning."
    parser.epilog = _EXAMPLES
    add_data(parser, most="all")
    add_keep(parser)
    add_test(parser)
    add_compute(parser)
    out = add_output(parser, "the test, its columns and how it was computed")
    out.add_argument("--fail-on-difference", action="store_true", help="exit with code 1 if the samples differ")
    parser.set_defaults(parser=parser)


def run(options: argparse.Namespace) -> int:
    """Run the test, print the summary, and write the JSON file and the page."""
    from ..stats.pvalues import check_level, check_reach
    from ..twosample import two_sample_test

    check_level(options.alpha)
    check_reach(options.permutations, options.alpha)
    check_output(options, {"A": options.A, "B": options.B})
    with warnings.catch_warnings():
        # The summary contains the warnings as notes.
        warnings.simplefilter("ignore", UserWarning)
        found = two_sample_test(
            options.A,
            options.B,
            paired=options.paired,
            **testing(options),
            **reading(options),
            **computing(options),
        )
    write_result(options, found, alpha=options.alpha)
    return int(options.fail_on_difference and found.reject(options.alpha))
