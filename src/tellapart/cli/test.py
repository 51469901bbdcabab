"""``tellapart test``: two files or folders, without anything to choose."""

from __future__ import annotations

import argparse
import json
import warnings

from .errors import spell_notes
from .options import add_compute, add_data, add_keep, check_output, computing, count, reading, seed
from .output import say

_EXAMPLES = """\
examples:
  tellapart test last-month.csv this-month.csv
  tellapart test before.parquet after.parquet --groups patient --missing indicator
  tellapart test train.npy live.npy --json - --fail-on-difference
  tellapart test real/ generated/ --image-size 32x32
  tellapart test old.jsonl new.jsonl --columns answer --features ngrams

A and B are files (CSV, TSV, JSON lines, also .gz; Parquet, .npy, .npz, .safetensors, zarr, idx), folders of PNG and
JPEG images, or mnist (its test images, fetched once) or digits. The test is exact and uses every row. The exit code is
0, or 1 with --fail-on-difference if the samples differ, or 2 for bad input."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Two samples, and options of the test, the data and the output."""
    parser.description = "Test whether two samples differ, and say which columns do. There is nothing to choose."
    parser.epilog = _EXAMPLES
    add_data(parser, most="all")
    add_keep(parser)
    test = parser.add_argument_group("the test")
    test.add_argument("--permutations", type=count, default=999, metavar="N", help="how many (%(default)s)")
    test.add_argument("--alpha", type=float, default=0.05, metavar="P", help="level of the test (%(default)s)")
    test.add_argument("--seed", type=seed, default=0, metavar="N", help="seed of everything random (%(default)s)")
    test.add_argument("--groups", metavar="COLUMN", help="rows with the same value here belong together")
    test.add_argument("--strata", metavar="COLUMN", help="compare only rows with the same value here")
    test.add_argument("--paired", action="store_true", help="row i of A and row i of B belong together")
    add_compute(parser)
    out = parser.add_argument_group("the output")
    out.add_argument("--json", metavar="FILE", help="write all numbers as JSON; - for standard output")
    out.add_argument("--fail-on-difference", action="store_true", help="exit with code 1 if the samples differ")
    out.add_argument("--quiet", action="store_true", help="print nothing but errors")
    parser.set_defaults(parser=parser)


def run(options: argparse.Namespace) -> int:
    """Test, write the numbers, print the summary."""
    from .._util.files import atomic_write_text
    from ..stats.pvalues import check_level, check_reach
    from ..twosample import two_sample_test

    check_level(options.alpha)
    check_reach(options.permutations, options.alpha)
    to_stdout = options.json == "-"
    # Better to fail now than after the work.
    check_output(options, {"A": options.A, "B": options.B})
    with warnings.catch_warnings():
        # What it warns of is among the notes of the summary.
        warnings.simplefilter("ignore", UserWarning)
        found = two_sample_test(
            options.A,
            options.B,
            options.permutations,
            groups=options.groups,
            strata=options.strata,
            paired=options.paired,
            keep_columns=options.keep_columns,
            rng=options.seed,
            **reading(options),
            **computing(options),
        )
    # The verdict first: whatever goes wrong with the file, it is not lost.
    if not options.quiet and not to_stdout:
        say(spell_notes(found.summary(options.alpha), options.parser, found.notes))
    if options.json is not None:
        verdict = {"differ": found.reject(options.alpha), "alpha": options.alpha, "pvalue": found.pvalue}
        text = json.dumps(verdict | found.to_dict())
        if to_stdout:
            say(text)
        else:
            atomic_write_text(options.json, text + "\n")
    return int(options.fail_on_difference and found.reject(options.alpha))
