"""``tellapart compare --by COLUMN TABLE``: all groups of one table against each other."""

from __future__ import annotations

import argparse
import warnings
from dataclasses import replace

from .options import computing, existing, reading, refuse_ignored
from .results import check_output, write_result

#: Options of `compare` that are for two samples.
_OF_TWO = (
    *(
        "test",
        "kernel",
        "criterion",
        "train_size",
        "cross_fit",
        "paired",
        "names",
        "items",
        "cost",
        "fail_auc",
        "fail_effect",
    ),
)


def run(options: argparse.Namespace) -> int:
    """Compare all groups of a table, print the summary, write the numbers and the page."""
    from .._util.errors import InputError
    from ..stats.pvalues import check_level
    from ..twosample import k_sample_test

    if options.by is None:
        raise InputError(
            "wrong-number-of-samples",
            "There is one sample only.",
            "Give a second one, or {by} to compare groups of it.",
            by=...,
        )
    if options.B is not None:
        raise InputError(
            "wrong-number-of-samples",
            "The groups of one table are compared, but there are two.",
            "Give one, or leave out {by}.",
            by=...,
        )
    refuse_ignored(options, _OF_TWO, "is for two samples, and --by compares the groups of one table")
    check_level(options.alpha)
    check_output(options, {"A": options.A})
    with warnings.catch_warnings():
        # The notes of the summary say the same.
        warnings.simplefilter("ignore", UserWarning)
        found = k_sample_test(
            existing(options.A),
            options.by,
            permutations=options.permutations,
            groups=options.groups,
            strata=options.strata,
            keep_columns=options.keep_columns,
            rng=options.seed,
            **reading(options),
            **computing(options),
        )
    write_result(options, replace(found, by=options.by), alpha=options.alpha)
    return int(options.fail_on_difference and found.reject(options.alpha))
