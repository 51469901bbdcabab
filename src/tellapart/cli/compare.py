"""``tellapart compare``: two files or folders."""

from __future__ import annotations

import argparse
from pathlib import Path

from .options import add_compute, add_data, computing, reading, seed
from .output import say

#: The kernels that can be named (`tellapart.learning.NAMES`, without importing it).
KERNELS = ("rbf", "ard", "full", "deep", "witness")

_EXAMPLES = """\
examples:
  tellapart compare last-month.csv this-month.csv
  tellapart compare real/ generated/ --image-size 32x32 --report report.html
  tellapart compare train.npy live.npy --kernel witness --json - --fail-on-difference
  tellapart compare a.parquet b.parquet --drop id,name --missing indicator --seed 7
  tellapart compare mnist fake.npz --report report.html

A and B are files (CSV, TSV, Parquet, .npy, .npz, .safetensors, idx), folders of PNG and JPEG images, or mnist (its
test images, fetched once) or digits. One half of the rows is learned from, the other is tested. The exit code is 0, or
1 with --fail-on-difference if the samples differ, or 2 for bad input."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Two samples, and options of the test, the data and the output."""
    parser.description = "Learn what tells two samples apart, test it on other rows, and show where they differ."
    parser.epilog = _EXAMPLES
    add_data(parser, most="100000")
    test = parser.add_argument_group("the test")
    test.add_argument("--kernel", choices=KERNELS, default="ard", help="the kernel to learn (%(default)s)")
    test.add_argument(
        "--criterion", choices=("t", "power", "mmd"), default="t", help="what learning maximises (%(default)s)"
    )
    test.add_argument("--permutations", type=int, default=999, metavar="N", help="how many (%(default)s)")
    test.add_argument("--alpha", type=float, default=0.05, metavar="P", help="level of the test (%(default)s)")
    test.add_argument("--seed", type=seed, default=0, metavar="N", help="seed of everything random (%(default)s)")
    test.add_argument(
        "--train", type=float, default=0.5, metavar="SHARE", help="share of the rows to learn from (%(default)s)"
    )
    test.add_argument("--swap", action="store_true", help="also learn on the other part, so that every row is tested")
    compute = add_compute(parser)
    compute.add_argument("--cost", action="store_true", help="print what the test would cost, and stop")
    out = parser.add_argument_group("the output")
    out.add_argument("--report", type=Path, metavar="FILE", help="write an HTML report")
    out.add_argument("--json", metavar="FILE", help="write all numbers as JSON; - for standard output")
    out.add_argument("--fail-on-difference", action="store_true", help="exit with code 1 if the samples differ")
    out.add_argument("--quiet", action="store_true", help="print nothing but errors")


def run(options: argparse.Namespace) -> int:
    """Compare, write the report and the numbers, print the summary."""
    from .. import criticism, report
    from .._util.files import atomic_write_text, check_writable

    to_stdout = options.json == "-"
    # Better to fail now than after the work.
    if options.report is not None:
        report.check_installed()
        check_writable(options.report, "The report")
    if options.json is not None and not to_stdout:
        check_writable(options.json, "The JSON file")
    x, y = options.A, options.B
    settings = {
        "alpha": options.alpha,
        "train": options.train,
        "swap": options.swap,
        "permutations": options.permutations,
        "rng": options.seed,
        **reading(options),
        **computing(options),
    }
    if options.cost:
        del settings["progress"]
        say(str(criticism.compare_cost(x, y, options.kernel, **settings)))
        say("Learning comes on top. With --kernel rbf, it too grows with the square of the rows.")
        return 0
    found = criticism.compare(x, y, options.kernel, options.criterion, **settings)
    # The verdict first: whatever goes wrong with the files, it is not lost.
    if to_stdout:
        say(found.to_json())
    elif not options.quiet:
        say(found.summary())
    if options.json is not None and not to_stdout:
        atomic_write_text(options.json, found.to_json() + "\n")
    if options.report is not None:
        found.to_html(options.report, options.command)
        if not options.quiet and not to_stdout:
            say(f"Report: {options.report}")
    return int(options.fail_on_difference and found.reject())
