"""``tellapart compare --by COLUMN TABLE``: all groups of one table against each other."""

from __future__ import annotations

import argparse
import json
import warnings
from dataclasses import replace

from .errors import spell_notes
from .options import check_output, computing, existing, reading, refuse_ignored
from .output import say

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
    """Compare all groups of a table, write the page and the numbers, print the summary."""
    from .._util.errors import InputError
    from .._util.files import atomic_write_text
    from ..report import groups
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
        # What it warns of is among the notes of the summary.
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
    verdict = {"differ": found.reject(options.alpha), "alpha": options.alpha, "pvalue": found.pvalue}
    text = json.dumps(verdict | found.to_dict())
    if options.json == "-":
        say(text)
    elif not options.quiet:
        say(spell_notes(found.summary(options.alpha), options.parser, found.notes))
    if options.json not in (None, "-"):
        atomic_write_text(options.json, text + "\n")
    if options.report is not None:
        notes = (spell_notes(note, options.parser, [note]) for note in found.notes)
        groups.write(replace(found, notes=tuple(notes)), options.report, options.by, options.alpha, options.command)
        if not options.quiet and options.json != "-":
            say(f"Report: {options.report}")
    return int(options.fail_on_difference and found.reject(options.alpha))
