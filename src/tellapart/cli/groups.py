"""``tellapart compare --by COLUMN TABLE``: compare the groups of one table."""

from __future__ import annotations

import argparse
import json
import warnings
from dataclasses import replace

from .errors import spell_notes
from .options import check_output, computing, existing, reading, refuse_ignored
from .output import say

#: Options of `compare` that apply to two samples only.
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
    """Compare the groups of a table, print the summary, and write the JSON file and the page."""
    from .._util.errors import InputError
    from .._util.files import atomic_write_text
    from ..report import groups
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
