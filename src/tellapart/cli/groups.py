"""``tellapart compare --by COLUMN TABLE``: compare the groups of one table."""

from __future__ import annotations

import argparse
import warnings
from dataclasses import replace

from .options import computing, existing, reading, refuse_ignored, testing
from .results import check_output, write_result

#: Options of `compare` that apply to two samples only.
_OF_TWO = (
    *("test", "criterion", "train_size", "cross_fit", "paired", "names", "items", "cost", "fail_auc", "fail_effect"),
)


def run(options: argparse.Namespace) -> int:
    """Compare the groups of a table, print the summary, and write the JSON file and the page."""
    from .._util.errors import InputError
    from ..stats.pvalues import check_level
    from ..twosample import k_sample_test

    if options.by is None:
        raise InputError(
            "wrong-number-of-samples",
            "Only one sample is given.",
            "Give a second sample, or {by} to compare groups within this one.",
            by=...,
        )
    if options.B is not None:
        raise InputError(
            "wrong-number-of-samples",
            "--by compares the groups of one table, but two samples are given.",
            "Give one table, or omit {by}.",
            by=...,
        )
    refuse_ignored(options, _OF_TWO, "applies to two samples, but --by compares the groups of one table")
    check_level(options.alpha)
    check_output(options, {"A": options.A})
    with warnings.catch_warnings():
        # The summary contains the warnings as notes.
        warnings.simplefilter("ignore", UserWarning)
        found = k_sample_test(
            existing(options.A),
            options.by,
            **testing(options),
            **reading(options),
            **computing(options),
        )
    write_result(options, replace(found, by=options.by), alpha=options.alpha)
    return int(options.fail_on_difference and found.reject(options.alpha))
