"""``tellapart rank``: which of several files is closest to a reference."""

from __future__ import annotations

import argparse
from pathlib import Path

from .options import (
    add_keep,
    add_reading,
    check_names,
    count,
    existing,
    names,
    reading,
    refuse_ignored,
    seed,
)
from .results import add_output, check_output, write_result

_EXAMPLES = """\
examples:
  tellapart rank mnist gmmn.npz gan.npz --report ranking.html
  tellapart rank real/ a/ b/ c/ --image-size 32x32 --names "GAN,VAE,flow"
  tellapart rank human.jsonl model-1.jsonl model-2.jsonl --columns answer --features ngrams
  tellapart rank real.parquet synthetic-1.parquet synthetic-2.parquet --kernel ard --json -

REAL is what the others should look like. Each two of these are compared by their MMD² from REAL, with the error that
both share; p-values are asymptotic and adjusted for all pairs (Holm). The exit code is 0, or 2 for bad input."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The reference, the models, the kernel and the output."""
    parser.description = "Rank files by how close they are to a reference, and say what of it is sure."
    parser.epilog = _EXAMPLES
    parser.add_argument("real", metavar="REAL", help="the reference: a file, or a folder of images")
    parser.add_argument("models", nargs="+", metavar="MODEL", help="two or more files or folders")
    parser.add_argument("--names", type=names, metavar="A,B", help="what to call the models (their files)")
    add_reading(parser, most="10000")
    add_keep(parser)
    test = parser.add_argument_group("the test")
    test.add_argument(
        "--kernel",
        choices=("rbf", "ard", "full", "deep"),
        help="learn a kernel on a part of the rows (by default Gaussians at five bandwidths of REAL)",
    )
    test.add_argument("--train-size", type=float, default=0.5, metavar="SHARE", help="rows to learn from (%(default)s)")
    test.add_argument("--alpha", type=float, default=0.05, metavar="P", help="level of all pairs (%(default)s)")
    test.add_argument("--seed", type=seed, default=0, metavar="N", help="seed of everything random (%(default)s)")
    compute = parser.add_argument_group("the computation")
    compute.add_argument("--max-memory", metavar="SIZE", help="such as 1GB (a quarter of what is free)")
    compute.add_argument("--threads", type=count, metavar="N", help="threads to compute with (all cores)")
    add_output(parser, "the ranking, and what tells each model from REAL")
    parser.set_defaults(parser=parser)


def run(options: argparse.Namespace) -> None:
    """Rank, write the page and the numbers, print the summary."""
    from ..twosample import rank

    if options.kernel is None:
        refuse_ignored(options, ["train_size"], "is for a kernel that is learned, and there is no --kernel")
    models = {f"MODEL {k}": model for k, model in enumerate(options.models, 1)}
    check_output(options, {"REAL": options.real, **models})
    found = rank(
        existing(options.real),
        {name: existing(given) for name, given in zip(_names(options), options.models, strict=True)},
        options.kernel,
        alpha=options.alpha,
        train_size=options.train_size,
        keep_columns=options.keep_columns,
        rng=options.seed,
        max_memory=options.max_memory,
        threads=options.threads,
        progress=False if options.quiet else None,
        **reading(options) | {"max_rows": options.max_rows or 10_000},
    )
    write_result(options, found)


def _names(options: argparse.Namespace) -> list[str]:
    """What the models are called: as the user says, or by their files."""
    from .._util.errors import InputError

    given: list[str] | None = options.names
    if given is None:
        return distinct_names(options.models)
    models = f"{len(options.models)} model{'s' * (len(options.models) != 1)}"
    if len(given) != len(options.models):
        raise InputError(
            "wrong-number-of-names",
            f"There are {models}, but {len(given)} in --names.",
            "Give one for each with {names}.",
            names=...,
        )
    check_names(given)
    return given


def distinct_names(given: list[str]) -> list[str]:
    """Files by their last names where these differ, else by the whole of their paths, and else by their places too.

    >>> distinct_names(["a/x.npy", "b/y.npy"]), distinct_names(["a/x.npy", "b/x.npy"])
    (['x', 'y'], ['a/x.npy', 'b/x.npy'])
    """
    last = [Path(path).stem or path for path in given]
    if len(set(last)) == len(last) and "reference" not in last:
        return last
    return given if len(set(given)) == len(given) else [f"{path} ({k})" for k, path in enumerate(given, 1)]
