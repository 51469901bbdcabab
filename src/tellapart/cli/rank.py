"""``tellapart rank``: rank files by their distance to a reference."""

from __future__ import annotations

import argparse
from pathlib import Path

from .options import (
    add_keep,
    add_reading,
    add_resources,
    check_names,
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

REAL is the reference sample. Two models are compared by their MMD² to REAL, taking into account that both estimates
share the sample REAL. P-values are asymptotic and adjusted for all pairs (Holm).

exit codes: 0; 2 for invalid input."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the reference, the models, and the options of the test and the output."""
    parser.description = "Rank files by their distance to a reference, and report which differences are significant."
    parser.epilog = _EXAMPLES
    parser.add_argument("real", metavar="REAL", help="reference: a file or a folder of images")
    parser.add_argument("models", nargs="+", metavar="MODEL", help="two or more files or folders")
    parser.add_argument("--names", type=names, metavar="A,B", help="names of the models (default: their file names)")
    add_reading(parser, most="10000")
    add_keep(parser)
    test = parser.add_argument_group("test")
    test.add_argument(
        "--kernel",
        choices=("rbf", "ard", "full", "deep"),
        help="learn a kernel on part of the rows (default: Gaussian kernels at five bandwidths chosen on REAL)",
    )
    test.add_argument(
        "--train-size",
        type=float,
        default=0.5,
        metavar="P",
        help="proportion of rows to learn the kernel from (default: %(default)s)",
    )
    test.add_argument(
        "--alpha", type=float, default=0.05, metavar="P", help="family-wise significance level (default: %(default)s)"
    )
    test.add_argument("--seed", type=seed, default=0, metavar="N", help="random seed (default: %(default)s)")
    add_resources(parser)
    add_output(parser, "the ranking, and how each model differs from REAL")
    parser.set_defaults(parser=parser)


def run(options: argparse.Namespace) -> None:
    """Rank the models, print the summary, and write the page and the JSON file."""
    from ..twosample import rank

    if options.kernel is None:
        refuse_ignored(options, ["train_size"], "applies to a learned kernel only, but --kernel is not given")
    models = {f"MODEL {k}": model for k, model in enumerate(options.models, 1)}
    check_output(options, {"REAL": options.real, **models})
    ranking = rank(
        existing(options.real),
        {name: existing(model) for name, model in zip(_names(options), options.models, strict=True)},
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
    write_result(options, ranking)


def _names(options: argparse.Namespace) -> list[str]:
    """Return the names of the models: those of ``--names``, or else derived from the file names."""
    from .._util.errors import InputError

    model_names: list[str] | None = options.names
    if model_names is None:
        return distinct_names(options.models)
    models = f"{len(options.models)} model{'s' * (len(options.models) != 1)}"
    if len(model_names) != len(options.models):
        raise InputError(
            "wrong-number-of-names",
            f"There are {models}, but {len(model_names)} in --names.",
            "Give one for each with {names}.",
            names=...,
        )
    check_names(model_names)
    return model_names


def distinct_names(paths: list[str]) -> list[str]:
    """Return the stems of the paths if they are unique, else the paths, numbered if these are not unique either.

    >>> distinct_names(["a/x.npy", "b/y.npy"]), distinct_names(["a/x.npy", "b/x.npy"])
    (['x', 'y'], ['a/x.npy', 'b/x.npy'])
    """
    stems = [Path(path).stem or path for path in paths]
    if len(set(stems)) == len(stems) and "reference" not in stems:
        return stems
    return paths if len(set(paths)) == len(paths) else [f"{path} ({k})" for k, path in enumerate(paths, 1)]
