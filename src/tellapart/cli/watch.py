"""``tellapart watch``: test new files against a reference."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from contextlib import nullcontext
from datetime import datetime, timezone
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .errors import explain, speller
from .features import add_features, make_features
from .options import add_resources, count, existing, refuse_ignored, seed
from .output import print_error
from .results import add_output, check_output, write_result

if TYPE_CHECKING:
    from ..twosample import BatchRecord, Monitor, Reference
    from ..twosample.control import Control

_EXAMPLES = """\
examples:
  tellapart reference last-year.parquet -o reference.tellapart
  tellapart watch reference.tellapart today.parquet --state state.json
  tellapart watch reference.tellapart 2026-*.csv --state state.json --report history.html
  tellapart watch reference.tellapart new.npy --json - --fail-on-difference
  tellapart watch reference.tellapart new.csv --state s.json --prometheus /var/lib/node_exporter/tellapart.prom
  tellapart watch reference.tellapart latest.csv --overwritten --state state.json

--state is a file of the results of earlier batches; it is rewritten atomically after each batch. A file that has been
tested is not tested again, so an interrupted command can simply be repeated. A file is identified by its path (links
are resolved; relative to the folder of the state) and never by its contents: skipping batches that look like earlier
ones would invalidate the error guarantee. A file that has been tested and now has different rows is therefore an error.
If each batch overwrites the file of the previous one, pass --overwritten: the path and the modification time then
identify a batch. Do not use it for files that are copied or downloaded again, because they get a new modification time.

--control defines what --alpha limits:
  anytime  (default with --state) the probability of any false alarm over an unlimited stream, by betting, which
           accumulates small differences over batches
  fwer     (default without --state) the same probability, using a p-value of each batch
  fdr      the expected proportion of false alarms among all alarms

With anytime, bets are learned from earlier rows. The first batch that differs therefore raises an alarm only if it is
large or very different; otherwise it is reported as different by itself, and the alarm follows when later batches
confirm it. Use --control fwer or fdr, or omit --state, if a single batch should be able to raise an alarm.

After handling an alarm, start a new --state file, and fit a new reference if the change is permanent.

exit codes: 0; 1 if a file of this call raised an alarm, in this call or when it was first tested, and
--fail-on-difference is given; 2 for invalid input. A file that cannot be tested is reported, and the remaining files
are still tested."""

#: Number of columns listed for each batch but the last.
_FEW = 3


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add a reference, new files, the state, and the options of the test and the output."""
    parser.description = "Test new files against a reference, with control of false alarms over time."
    parser.epilog = _EXAMPLES
    parser.add_argument("reference", metavar="REFERENCE", help="file written by `tellapart reference`")
    parser.add_argument("new", nargs="+", metavar="NEW", help="files or folders of images, one batch each, in order")
    add_features(parser)
    parser.add_argument("--state", type=Path, metavar="FILE", help="JSON file of the results of earlier batches")
    parser.add_argument(
        "--overwritten", action="store_true", help="treat a file modified since it was tested as a new batch"
    )
    test = parser.add_argument_group("test")
    test.add_argument(
        "--control",
        choices=("anytime", "fwer", "fdr"),
        help="error that --alpha limits (default: anytime with --state, fwer without)",
    )
    test.add_argument("--alpha", type=float, default=0.01, metavar="P", help="error level (default: %(default)s)")
    test.add_argument(
        "--horizon",
        type=count,
        metavar="N",
        help="with --control fwer: number of batches that share the first half of alpha (default: 50, or the number "
        "of files without --state)",
    )
    test.add_argument(
        "--permutations", type=count, default=999, metavar="N", help="number of permutations (default: %(default)s)"
    )
    test.add_argument(
        "--refine-permutations",
        type=count,
        default=9999,
        metavar="N",
        help="number of permutations used to recompute the smallest p-values (default: %(default)s)",
    )
    test.add_argument(
        "--schema",
        choices=("strict", "normal", "lenient"),
        default="normal",
        help="normal (default): missing columns and changed types are errors; strict: unseen categories too; lenient: "
        "deviations are recorded instead",
    )
    test.add_argument("--seed", type=seed, default=0, metavar="N", help="random seed (default: %(default)s)")
    add_resources(parser)
    out = add_output(parser, "the history of all batches")
    out.add_argument("--prometheus", type=Path, metavar="FILE", help="write metrics for Prometheus' textfile collector")
    out.add_argument("--fail-on-difference", action="store_true", help="exit with code 1 if there is an alarm")
    parser.set_defaults(parser=parser)


def run(options: argparse.Namespace) -> int:
    """Test the batches, print the results, and write the state, the page and the metrics."""
    from .._util.errors import InputError
    from .._util.files import atomic_write_text, check_writable
    from .._util.locks import exclusive
    from ..twosample import Monitor

    lock = None if options.state is None else options.state.with_name(f".{options.state.name}.lock")
    check_output(
        options,
        {"REFERENCE": options.reference, **{f"NEW {k}": new for k, new in enumerate(options.new, 1)}},
        {"--state": options.state, "the lock of --state": lock, "--prometheus": options.prometheus},
    )
    for path, description in ((options.state, "The state"), (options.prometheus, "The metrics file")):
        if path is not None:
            check_writable(path, description)
    reference = _load(options)
    # Betting accumulates evidence over a stream, which needs a state. Without one, the files of this call share alpha.
    control: Control = options.control or ("fwer" if options.state is None else "anytime")
    if control != "fwer":
        refuse_ignored(options, ["horizon"], f"applies to --control fwer only, but the control is {control}")
    if control == "anytime":
        refuse_ignored(
            options, ["refine_permutations"], "applies to --control fwer and fdr only, but the control is anytime"
        )
    horizon = options.horizon or (len(options.new) if options.state is None else 50)
    # Two processes that write the same state would each lose the batches of the other.
    wait = partial(print_error, f"waiting for another process that is adding to {options.state}")
    with nullcontext() if options.state is None else exclusive(options.state, wait):
        monitor = Monitor(
            reference,
            options.alpha,
            control,
            state=options.state,
            permutations=options.permutations,
            refine_permutations=options.refine_permutations,
            horizon=horizon,
            schema=options.schema,
            rng=options.seed,
            max_memory=options.max_memory,
            threads=options.threads,
        )
        progress, before = False if options.quiet else None, len(monitor.records)
        records: list[BatchRecord] = []
        refused = 0
        try:
            for new in options.new:
                try:
                    name, key = _identify(new, options.state, options.overwritten)
                    records.append(monitor.add(existing(new), name, key=key, progress=progress))
                except InputError as error:  # continue with the next file
                    if error.id == "repeated-batch":  # on the command line there is no name= to correct
                        advice = (
                            "" if options.overwritten else "If each new batch replaces this file, give {overwritten}."
                        )
                        error = InputError(error.id, error.problem, advice, overwritten=True)
                    print_error(explain(error, options.parser))
                    refused += 1
        finally:
            if records:
                if options.prometheus is not None:
                    atomic_write_text(options.prometheus, monitor.to_prometheus(stream=options.prometheus.stem))
                lines = _describe_batches(monitor, records, before, speller(options.parser))
                write_result(options, monitor, summary="\n".join(lines))
    return 2 if refused else int(options.fail_on_difference and any(record in monitor.alarms for record in records))


def _identify(batch: str, state: Path | None, overwritten: bool) -> tuple[str, str]:
    """Return the name and the key of a batch. The key is its path relative to the folder of the state."""
    from ..data.locate import split_member

    name = Path(batch).name or batch
    try:
        path, member = split_member(batch)
        file, folder = path.resolve(strict=True), Path(state or "state").resolve().parent
        key = os.path.relpath(file, folder)
        modified = max(part.stat().st_mtime_ns for part in (file, *file.rglob("*"))) if overwritten else None
    except (OSError, ValueError, RuntimeError):  # the name of a data set, or a path on which reading will raise
        return name, batch
    key = key if member is None else f"{key}:{member}"
    if modified is None:
        return name, key
    when = datetime.fromtimestamp(modified // 10**9, timezone.utc)
    return f"{name} ({when:%Y-%m-%d %H:%M:%S} UTC)", f"{key} {modified}"


def _load(options: argparse.Namespace) -> Reference:
    """Load the reference and check that ``--features`` are those that it was fitted with.

    The file records only the name of the features. Loading a model named by a file would be unsafe, because models
    can contain code.
    """
    from ..data.features import features_differ
    from ..twosample import Reference

    features = make_features(options.features)
    reference = Reference.load(options.reference, features=features)
    fitted, given = reference.contents.schema.features, getattr(features, "__name__", None)
    if fitted != given:
        raise features_differ(options.reference, fitted, given)
    return reference


def _columns(record: BatchRecord, most: int | None) -> list[str]:
    """Return a line for each column of a batch that differs, at most ``most`` of them."""
    from .._util.view import View
    from ..report.text import render_text
    from ..twosample.batches import columns_table

    table = columns_table(record)
    return [] if table is None else render_text(View.of(table)).split("\n")[1:][:most]


def _describe_batches(
    monitor: Monitor, records: list[BatchRecord], before: int, spell: Callable[[str, Any], str]
) -> list[str]:
    """Return the lines to print: the files of this call, the number of batches, and notes.

    Records with a number below ``before`` are from an earlier call and are repeated as they were recorded.
    """
    from .._util.view import View, notes
    from ..report.text import render_text

    lines: list[str] = []
    seen: set[int] = set()
    for record in records:
        if record.number < before or record.number in seen:
            lines.append(f"{record.name}: already tested, not counted again. The result was:")
        seen.add(record.number)
        lines.append(monitor.describe(record))
        lines += _columns(record, None if record is records[-1] else _FEW)
    last = records[-1].notes
    remarks = [render_text(View.of(notes(last, prefix="Note: ")), spell)] if last else []
    if any(map(monitor.is_pending, records)):
        remarks.append(
            "Note: with --control anytime, a batch that differs raises an alarm only when later batches confirm it. To "
            "raise an alarm on a single batch, use --control fwer or fdr (with a new --state), or omit --state. "
            f"Evidence grows more slowly as rows of the reference are used up; {monitor.bets.left:,} rows are left."
        )
    return [*lines, monitor.count(), *remarks]
