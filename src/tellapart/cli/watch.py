"""``tellapart watch``: new files against a reference, one after the other."""

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
from .options import count, existing, refuse_ignored, seed
from .output import complain
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

With --state, what was found of earlier batches is read from there and written back after each batch, whole or not at
all. A file that was counted is not counted again, so the same command can be given again after whatever stopped it. A
file is identified by its path (links are followed; seen from the folder of the state), and never by what is in it: the
guarantee would be lost if batches were left out because they look like earlier ones. A file that was counted and has
other rows now is therefore an error. If each new batch replaces the file of the one before, give --overwritten: then
the path and the time of modification identify a batch. Files that are copied or downloaded anew have a new time too:
do not give it for these.

--control says what --alpha means: anytime (the default with --state), the probability of a false
alarm over a stream without end, by betting, which adds up small differences; fwer (the default without), the same by
p-values of single batches; fdr, the share of false ones among the batches that are flagged.

Bets are learned from the rows before. So with anytime the first batch that differs is an alarm only if it is large, or
altogether different: else the line says that it differs by itself, and the alarm comes with the next ones that do. Give
--control fwer or fdr, or no --state, where a single bad batch is to raise an alarm at once.

After an alarm that you have dealt with, begin with another --state, and with a new reference if the new law is to stay.
The exit code is 0, or 1 with --fail-on-difference if one of the files of this call is (or, where it is known already,
was) for alarm, or 2 for bad input: a file that cannot be compared is said, and the next ones are looked at."""

#: Columns that are listed of a batch that is not the last.
_FEW = 3


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """A reference, new files, the state, and the output."""
    parser.description = "Test new files against a reference, with control over false alarms."
    parser.epilog = _EXAMPLES
    parser.add_argument("reference", metavar="REFERENCE", help="a file that `tellapart reference` wrote")
    parser.add_argument("new", nargs="+", metavar="NEW", help="files or folders of images: one batch each, in order")
    add_features(parser)
    parser.add_argument("--state", type=Path, metavar="FILE", help="what was found of earlier batches, as JSON")
    parser.add_argument(
        "--overwritten", action="store_true", help="a file that was modified since it was counted is a new batch"
    )
    test = parser.add_argument_group("the test")
    test.add_argument("--control", choices=("anytime", "fwer", "fdr"), help="(anytime with --state, fwer without)")
    test.add_argument("--alpha", type=float, default=0.01, metavar="P", help="how often it may be wrong (%(default)s)")
    test.add_argument(
        "--horizon", type=count, metavar="N", help="fwer: batches for half of alpha (50; without --state these files)"
    )
    test.add_argument("--permutations", type=count, default=999, metavar="N", help="how many (%(default)s)")
    test.add_argument(
        "--refine-permutations", type=count, default=9999, metavar="N", help="for p-values at the floor (%(default)s)"
    )
    test.add_argument(
        "--schema",
        choices=("strict", "normal", "lenient"),
        default="normal",
        help="what is an error: columns missing or of another type (normal), unseen texts too (strict), nothing",
    )
    test.add_argument("--seed", type=seed, default=0, metavar="N", help="seed of everything random (%(default)s)")
    compute = parser.add_argument_group("the computation")
    compute.add_argument("--max-memory", metavar="SIZE", help="such as 1GB (a quarter of what is free)")
    compute.add_argument("--threads", type=count, metavar="N", help="threads to compute with (all cores)")
    out = add_output(parser, "the history of all batches")
    out.add_argument("--prometheus", type=Path, metavar="FILE", help="write metrics for Prometheus' textfile collector")
    out.add_argument("--fail-on-difference", action="store_true", help="exit with code 1 if there is an alarm")
    parser.set_defaults(parser=parser)


def run(options: argparse.Namespace) -> int:
    """Test the batches, write state, page and metrics, print what was found."""
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
    for path, what in ((options.state, "The state"), (options.prometheus, "The file of metrics")):
        if path is not None:
            check_writable(path, what)
    reference = _load(options)
    # Bets need a stream to add up over. Files by themselves share alpha.
    control: Control = options.control or ("fwer" if options.state is None else "anytime")
    if control != "fwer":
        refuse_ignored(options, ["horizon"], f"is for --control fwer, and this is {control}")
    if control == "anytime":
        refuse_ignored(options, ["refine_permutations"], "is for --control fwer or fdr, and this is anytime")
    horizon = options.horizon or (len(options.new) if options.state is None else 50)
    # Two at a time would each write what it knows, and forget the other's batches.
    wait = partial(complain, f"waiting for another process that is adding to {options.state}")
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
        found: list[BatchRecord] = []
        refused = 0
        try:
            for new in options.new:
                try:
                    name, key = _identify(new, options.state, options.overwritten)
                    found.append(monitor.add(existing(new), name, key=key, progress=progress))
                except InputError as error:  # the next file may be a good one
                    if error.id == "repeated-batch":  # files have no name= to correct
                        advice = (
                            "" if options.overwritten else "If each new batch replaces this file, give {overwritten}."
                        )
                        error = InputError(error.id, error.problem, advice, overwritten=True)
                    complain(explain(error, options.parser))
                    refused += 1
        finally:
            if found:
                if options.prometheus is not None:
                    atomic_write_text(options.prometheus, monitor.to_prometheus(stream=options.prometheus.stem))
                lines = _describe_batches(monitor, found, before, speller(options.parser))
                write_result(options, monitor, summary="\n".join(lines))
    return 2 if refused else int(options.fail_on_difference and any(one in monitor.alarms for one in found))


def _identify(given: str, state: Path | None, overwritten: bool) -> tuple[str, str]:
    """What a batch is called, and what identifies it: its path, seen from the folder of the state, not its contents."""
    from ..data.locate import split_member

    name = Path(given).name or given
    try:
        path, member = split_member(given)
        file, folder = path.resolve(strict=True), Path(state or "state").resolve().parent
        key = os.path.relpath(file, folder)
        modified = max(part.stat().st_mtime_ns for part in (file, *file.rglob("*"))) if overwritten else None
    except (OSError, ValueError, RuntimeError):  # the name of a data set, or a path that reading it will complain about
        return name, given
    key = key if member is None else f"{key}:{member}"
    if modified is None:
        return name, key
    when = datetime.fromtimestamp(modified // 10**9, timezone.utc)
    return f"{name} ({when:%Y-%m-%d %H:%M:%S} UTC)", f"{key} {modified}"


def _load(options: argparse.Namespace) -> Reference:
    """The reference, and the features that it was fitted with. Its file has their name, and is not trusted with more.

    A model that a file names could be any, and models may be code.
    """
    from ..data.features import features_differ
    from ..twosample import Reference

    features = make_features(options.features)
    reference = Reference.load(options.reference, features=features)
    known, given = reference.contents.schema.features, getattr(features, "__name__", None)
    if known != given:
        raise features_differ(options.reference, known, given)
    return reference


def _columns(record: BatchRecord, most: int | None) -> list[str]:
    """The columns of a batch that differ, one line each."""
    from .._util.view import View
    from ..report.text import render_text
    from ..twosample.batches import columns_table

    table = columns_table(record)
    return [] if table is None else render_text(View.of(table)).split("\n")[1:][:most]


def _describe_batches(
    monitor: Monitor, found: list[BatchRecord], before: int, spell: Callable[[str, Any], str]
) -> list[str]:
    """Describe the batch of each file of this call, and count all batches.

    Batches of an earlier call have numbers below ``before``: they are described as they were recorded.
    """
    from .._util.view import View, notes
    from ..report.text import render_text

    lines: list[str] = []
    seen: set[int] = set()
    for one in found:
        if one.number < before or one.number in seen:
            lines.append(f"{one.name}: known already, and not counted again. It was:")
        seen.add(one.number)
        lines.append(monitor.describe(one))
        lines += _columns(one, None if one is found[-1] else _FEW)
    remarks = [render_text(View.of(notes(found[-1].notes, prefix="Note: ")), spell)] if found[-1].notes else []
    if any(map(monitor.is_pending, found)):
        remarks.append(
            "Note: with --control anytime a batch that differs is no alarm before the next ones confirm it. For an "
            "alarm on a single batch give --control fwer or fdr (and another --state), or leave --state out. "
            f"{monitor.bets.left:,} rows of the reference are left to bet on: the fewer, the slower."
        )
    return [*lines, monitor.count(), *remarks]
