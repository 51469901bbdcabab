"""The command line: parsing and printing only."""

from __future__ import annotations

import argparse
import csv
import json
import os
import re
import shlex
import sys
from collections.abc import Sequence
from importlib import import_module
from inspect import signature
from pathlib import Path
from typing import Any

from .. import __version__, report
from .._util.files import atomic_write_text, check_writable
from .._util.memory import keep_freed_memory
from ..criticism import compare, compare_cost
from ..data import datasets
from ..experiments import demo
from ..learning.starts import NAMES

EXPERIMENTS = {
    "speed": "Figure 1, the permutation test against spectral tests",
    "blobs": "Figure 2, bandwidths chosen by MMD, t and power",
    "criticism": "Figure 3, what is wrong with a generative model of MNIST",
    "planted": "defects planted in MNIST, and whether a comparison points to them",
    "gans": "Figure 4, digits drawn by four generative models",
}

_EXAMPLES = """\
examples:
  tellapart compare last-month.csv this-month.csv
  tellapart compare real/ generated/ --image-size 32x32 --report report.html
  tellapart compare train.npy live.npy --kernel witness --json - --fail-on-difference
  tellapart compare a.parquet b.parquet --drop id,name --missing indicator --seed 7
  tellapart compare mnist fake.npz --report report.html

A and B are files (.npy, .npz, .csv, .tsv, .parquet, .safetensors, idx), folders of PNG and JPEG images, or mnist (its
test images, fetched once) or digits. One half of the rows is learned from, the other is tested. The exit code is 0, or
1 with --fail-on-difference if the samples differ, or 2 for bad input."""

_MISSING = "values that are missing: an error (the default), compared too, or their rows dropped"

#: How messages of the library name an argument, and how it is given here.
_FLAGS = (
    (r"missing='(\w+)'", r"--missing \1"),
    (r"image_(size|shape)=\((\d+), (\d+)\)", r"--image-\1 \2x\3"),
    (r"image_(size|shape)=", r"--image-\1"),
    (r"drop=\[([^\]]*)\]", lambda match: "--drop " + shlex.quote(match[1].replace("'", "").replace(", ", ","))),
    (r"max_rows=", "--max-rows"),
    (r"max_memory=", "--max-memory "),
    (r"\b(columns|drop)=", r"--\1"),
    (r"\bkernel='(\w+)'", r"--kernel \1"),
    (r"\bpermutations=", "--permutations "),
    (r"\bcluster='([^']*)'", r"--cluster \1"),
    (r"\bcluster=", "--cluster "),
)


#: The models that `train` takes. The names are here too, so that the command line starts without the models.
MODELS = ("gmmn", "t-gmmn", "feature-matching", "improved-gan", "adversarial")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    parser = _parser()
    if not given:
        parser.print_help(sys.stderr)
        return 2
    options = parser.parse_args(given)
    options.command = shlex.join(["tellapart", *given])
    try:
        return int(options.run(options) or 0)
    except KeyboardInterrupt:
        print("tellapart: interrupted", file=sys.stderr)
        return 130
    except Exception as error:
        if os.environ.get("TELLAPART_DEBUG"):
            raise
        print(f"tellapart: {_explained(error)}", file=sys.stderr)
        return 2


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="tellapart",
        description="Tell two samples apart: is there a difference, how sure are we, and where is it?",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"tellapart {__version__}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    _add_compare(commands)
    shown = commands.add_parser("demo", help="compare real and generated digits and write a report; no data needed")
    shown.add_argument("--seed", type=int, default=0, help="for everything random (0)")
    shown.add_argument("--out", type=Path, default=Path("tellapart-demo.html"), help="the report (%(default)s)")
    shown.set_defaults(run=_demo)
    reproduce = commands.add_parser("reproduce", help="reproduce the experiments of Sutherland et al. 2017")
    reproduce.add_argument("figure", choices=EXPERIMENTS, help="; ".join(f"{k}: {v}" for k, v in EXPERIMENTS.items()))
    reproduce.add_argument("--quick", action="store_true", help="a smaller version, in minutes")
    reproduce.add_argument("--out", type=Path, default=Path("out"), help="folder for figures and numbers (out)")
    reproduce.add_argument("--steps", type=int, help="iterations of the models (gans, criticism: 50000)")
    reproduce.add_argument(
        "--samples", type=Path, help="a file of images to criticise, instead of training (criticism)"
    )
    reproduce.set_defaults(run=_reproduce)
    _add_train(commands)
    _add_sample(commands)
    return parser


def _add_compare(commands: Any) -> None:
    command = commands.add_parser(
        "compare",
        help="compare two files or folders",
        description="Learn what tells two samples apart, test it on other rows, and show where they differ.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.add_argument("A", help="the first sample: a file, or a folder of images")
    command.add_argument("B", help="the second sample")
    test = command.add_argument_group("the test")
    test.add_argument("--kernel", choices=NAMES, default="ard", help="what is learned (%(default)s)")
    test.add_argument("--criterion", choices=("t", "power", "mmd"), default="t", help="what is maximised (%(default)s)")
    test.add_argument("--permutations", type=int, default=999, metavar="N", help="draws of the null (%(default)s)")
    test.add_argument("--alpha", type=float, default=0.05, metavar="P", help="level of the verdict (%(default)s)")
    test.add_argument("--seed", type=int, default=0, metavar="N", help="for everything random (%(default)s)")
    test.add_argument("--train", type=float, default=0.5, metavar="SHARE", help="rows to learn from (%(default)s)")
    test.add_argument("--swap", action="store_true", help="also learn on the other part, so that every row is tested")
    data = command.add_argument_group("the data")
    data.add_argument("--missing", choices=("error", "indicator", "drop"), default="error", help=_MISSING)
    data.add_argument("--columns", type=_names, metavar="A,B", help="take only these columns")
    data.add_argument("--drop", type=_names, metavar="A,B", help="leave these columns out")
    data.add_argument("--image-size", type=_sides, metavar="HxW", help="bring images to this size")
    data.add_argument("--image-shape", type=_sides, metavar="HxW", help="rows are the pixels of such images")
    data.add_argument("--max-rows", type=int, metavar="N", help="draw at most so many rows of each sample (100000)")
    data.add_argument("--max-memory", metavar="SIZE", help="such as 1GB (a quarter of what is free)")
    data.add_argument("--cluster", metavar="ADDRESS", help="test on a Dask cluster: tcp://host:8786, or local")
    out = command.add_argument_group("the outcome")
    out.add_argument("--report", type=Path, metavar="FILE", help="write an HTML report")
    out.add_argument("--json", metavar="FILE", help="write all numbers as JSON; - for standard output")
    out.add_argument("--fail-on-difference", action="store_true", help="exit with code 1 if the samples differ")
    out.add_argument("--estimate", action="store_true", help="only say what the test would cost, and stop")
    out.add_argument("--quiet", action="store_true", help="print nothing but errors")
    command.set_defaults(run=_compare)


def _compare(options: argparse.Namespace) -> int:
    to_stdout = options.json == "-"
    # What would fail at the end is better known now.
    if options.report is not None:
        report.check_installed()
        check_writable(options.report, "The report")
    if options.json is not None and not to_stdout:
        check_writable(options.json, "The JSON file")
    wanted = ("columns", "drop", "image_size", "image_shape", "max_rows")
    known = [given for given in (options.A, options.B) if given in datasets.NAMED and not Path(given).exists()]
    x, y = (datasets.NAMED[given]() if given in known else given for given in (options.A, options.B))
    settings = {
        "alpha": options.alpha,
        "train": options.train,
        "swap": options.swap,
        "permutations": options.permutations,
        "missing": options.missing,
        "rng": options.seed,
        "max_memory": options.max_memory,
        "cluster": options.cluster,
        **{name: getattr(options, name) for name in wanted},
    }
    if options.estimate:
        print(compare_cost(x, y, options.kernel, **settings))
        print("Learning comes on top. With --kernel rbf, it too grows with the square of the rows.")
        return 0
    settings["names"] = (options.A, options.B) if known else None
    settings["progress"] = False if options.quiet else None
    found = compare(x, y, options.kernel, options.criterion, **settings)
    if options.report is not None:
        found.to_html(options.report, options.command)
    if to_stdout:
        print(found.to_json())
    elif options.json is not None:
        atomic_write_text(options.json, found.to_json() + "\n")
    if not options.quiet and not to_stdout:
        print(found.summary())
        if options.report is not None:
            print(f"Report: {options.report}")
    return int(options.fail_on_difference and found.reject())


def _add_train(commands: Any) -> None:
    train = commands.add_parser("train", help="train a generative model with MMD, t or an improved GAN")
    train.add_argument("model", choices=list(MODELS), help="with the paper's settings, unless others are given")
    train.add_argument("--data", required=True, help="mnist, digits, a folder of images, or a file of them")
    train.add_argument("--out", type=Path, required=True, help="folder for checkpoints, log and samples")
    train.add_argument("--resume", action="store_true", help="go on with the run in that folder")
    train.add_argument("--steps", type=int, help="iterations (50000; improved-gan 20000)")
    train.add_argument("--batch-size", type=int, help="rows of a batch (500; improved-gan 100)")
    train.add_argument("--seed", type=int, help="for everything random (0)")
    train.add_argument(
        "--set",
        nargs="+",
        action="extend",
        default=[],
        metavar="KEY=VALUE",
        help="any other setting, such as learning_rate=0.5 or hidden=64,256; a wrong name lists them",
    )
    train.add_argument("--device", help="cpu or cuda (a GPU if there is one)")
    train.set_defaults(run=_train)


def _add_sample(commands: Any) -> None:
    sample = commands.add_parser("sample", help="draw images from a trained model")
    sample.add_argument("folder", type=Path, metavar="RUN", help="the folder of a training run")
    sample.add_argument("--n", type=int, default=10_000, help="how many images (10000)")
    sample.add_argument("--out", type=Path, required=True, help="an .npz or .npy file")
    sample.add_argument("--seed", type=int, default=0)
    sample.set_defaults(run=_sample)


def _demo(options: argparse.Namespace) -> None:
    report.check_installed()
    check_writable(options.out, "The report")
    print("A generative model (GMMN) learns handwritten digits. Can its digits be told from real ones?\n", flush=True)
    found = demo.run(options.seed)
    found.to_html(options.out, options.command)
    print(found.summary())
    print(f"\nOpen the report in a browser: {options.out}")


def _reproduce(options: argparse.Namespace) -> None:
    run = import_module(f"..experiments.{options.figure}", __package__).run
    given = {key: value for key in ("steps", "samples") if (value := getattr(options, key)) is not None}
    for key in given:
        if key not in signature(run).parameters:
            raise ValueError(f"--{key} is not for {options.figure}.")
    keep_freed_memory()
    run(options.out, quick=options.quick, **given)
    print(f"\nFigures and numbers are in {options.out}")


def _names(text: str) -> list[str]:
    """Names between commas; those with a comma in them in double quotes."""
    return [name.strip() for name in next(csv.reader([text], skipinitialspace=True))]


def _sides(text: str) -> tuple[int, ...]:
    if not re.fullmatch(r"\d+([x×,]\d+){1,2}", text):
        raise argparse.ArgumentTypeError(f"{text!r} is not a size such as 28x28")
    return tuple(int(side) for side in re.split("[x×,]", text))


def _explained(error: Exception) -> str:
    """One line that says what to do, in the words of the command line."""
    text = " ".join(str(error).split())
    if isinstance(error, MemoryError):
        text = f"There is not enough memory. {text} Give --max-rows or --max-memory.".replace("  ", " ")
    elif not isinstance(error, (ValueError, TypeError, OSError, ImportError, ArithmeticError)):
        text = f"{type(error).__name__}: {text or 'no message'}. Set TELLAPART_DEBUG=1 to see where."
    for pattern, flag in _FLAGS:
        text = re.sub(pattern, flag, text)
    return text or type(error).__name__


def _train(options: argparse.Namespace) -> None:
    from ..generative import train

    ranks = os.environ.get("WORLD_SIZE", "1")
    if ranks != "1":
        raise ValueError(f"A run is trained by one process, but WORLD_SIZE is {ranks}. Start it without torchrun.")
    keep_freed_memory()
    settings = dict(map(_setting, options.set))
    settings |= {key: value for key in ("steps", "batch_size", "seed") if (value := getattr(options, key)) is not None}
    train(options.model, options.data, options.out, settings, resume=options.resume, device=options.device)
    print(f"The trained model, its log and samples are in {options.out}")


def _sample(options: argparse.Namespace) -> None:
    from ..generative import save_samples

    print(f"{save_samples(options.folder, options.n, options.out, options.seed)} are in {options.out}")


def _setting(text: str) -> tuple[str, Any]:
    """KEY=VALUE, where the value is JSON (hidden=[64,64]), numbers with commas (hidden=64,64) or a word."""
    key, equals, value = text.partition("=")
    if not equals:
        raise ValueError(f"--set takes KEY=VALUE, but got {text!r}.")
    for form in (value, f"[{value}]"):
        try:
            return key.replace("-", "_"), json.loads(form)
        except json.JSONDecodeError:
            continue
    return key.replace("-", "_"), value
