"""``tellapart reference``: what later batches are tested against."""

from __future__ import annotations

import argparse
from pathlib import Path

from .errors import speller
from .options import add_reading, count, existing, names, reading, seed
from .output import say
from .results import check_output

_EXAMPLES = """\
examples:
  tellapart reference last-year.parquet -o reference.tellapart
  tellapart reference train.csv -o reference.tellapart --drop id --missing indicator
  tellapart watch reference.tellapart today.parquet --state state.json
  tellapart reference answers.jsonl -o answers.tellapart --columns answer --features ngrams
  tellapart watch answers.tellapart today.jsonl --features ngrams --state state.json

The file holds rows of X: up to --max-kept-rows of them as numbers, up to 768 more as landmarks, sorted values of
each column, and the texts of each column of text. Keep it as you keep X. It holds no code: of --features
it has the name only, and `tellapart watch` is to be given the same."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """A sample, how to read it, and the file to write."""
    parser.description = "Fit a reference that later batches are tested against (`tellapart watch`)."
    parser.epilog = _EXAMPLES
    parser.add_argument("X", help="the sample: a file, or a folder of images")
    parser.add_argument("-o", "--out", type=Path, required=True, metavar="FILE", help="the file to write")
    parser.add_argument("--max-kept-rows", type=count, metavar="N", help="rows to keep (65536, fewer if they are wide)")
    parser.add_argument(
        "--keep-columns", type=names, metavar="A,B", help="compare these columns though they look like ids or dates"
    )
    parser.add_argument("--seed", type=seed, default=0, metavar="N", help="seed of everything random (%(default)s)")
    add_reading(parser, most="all")
    compute = parser.add_argument_group("the computation")
    compute.add_argument("--max-memory", metavar="SIZE", help="such as 1GB (a quarter of what is free)")
    compute.add_argument("--threads", type=count, metavar="N", help="threads to compute with (all cores)")
    parser.add_argument("--quiet", action="store_true", help="print nothing but errors")
    parser.set_defaults(parser=parser)


def run(options: argparse.Namespace) -> None:
    """Fit and save."""
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
        say(f"{options.out}: a reference of {len(fitted):,} rows, of which {kept:,} are kept in it.")
        for note in fitted.contents.notes:
            say(f"Note: {spell_note(note, speller(options.parser))}")
