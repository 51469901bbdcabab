"""``tellapart reference``: fit the reference of ``tellapart watch``."""

from __future__ import annotations

import argparse
from pathlib import Path

from .errors import speller
from .options import add_keep, add_reading, add_resources, count, existing, reading, seed
from .output import say
from .results import check_output

_EXAMPLES = """\
examples:
  tellapart reference last-year.parquet -o reference.tellapart
  tellapart reference train.csv -o reference.tellapart --drop id --missing indicator
  tellapart watch reference.tellapart today.parquet --state state.json
  tellapart reference answers.jsonl -o answers.tellapart --columns answer --features ngrams
  tellapart watch answers.tellapart today.jsonl --features ngrams --state state.json

The file contains data of X: up to --max-kept-rows rows as numbers, up to 768 further rows as landmarks, the sorted
values of each column, and the texts of each text column. Protect it as you protect X. It contains no code: it records
only the name of --features, so pass the same --features to `tellapart watch`."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add a sample, the options of reading it, and the output file."""
    parser.description = "Fit a reference that later batches are tested against (`tellapart watch`)."
    parser.epilog = _EXAMPLES
    parser.add_argument("X", help="sample: a file or a folder of images")
    parser.add_argument("-o", "--out", type=Path, required=True, metavar="FILE", help="file to write")
    parser.add_argument(
        "--max-kept-rows",
        type=count,
        metavar="N",
        help="number of rows to keep (default: 65536, fewer if rows are wide)",
    )
    add_keep(parser)
    parser.add_argument("--seed", type=seed, default=0, metavar="N", help="random seed (default: %(default)s)")
    add_reading(parser, most="all")
    add_resources(parser)
    parser.add_argument("--quiet", action="store_true", help="print only errors")
    parser.set_defaults(parser=parser)


def run(options: argparse.Namespace) -> None:
    """Fit a reference and save it."""
    from .._util.files import check_writable
    from .._util.spelling import spell_note
    from ..twosample import Reference

    check_output(options, {"X": options.X}, {"--out": options.out})
    check_writable(options.out, "The reference")
    fitted = Reference.fit(
        existing(options.X),
        max_kept_rows=options.max_kept_rows,
        keep_columns=options.keep_columns,
        rng=options.seed,
        max_memory=options.max_memory,
        threads=options.threads,
        progress=False if options.quiet else None,
        **reading(options),
    )
    fitted.save(options.out)
    if not options.quiet:
        kept = len(fitted.contents.rows)
        say(f"{options.out}: reference fitted on {len(fitted):,} rows; {kept:,} of them are kept in the file.")
        for note in fitted.contents.notes:
            say(f"Note: {spell_note(note, speller(options.parser))}")
