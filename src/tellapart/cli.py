"""The command line: parsing and printing only."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from . import __version__, _memory, mmd_test
from .datasets import gaussian_laplace

EXPERIMENTS = {
    "speed": "Figure 1, the permutation test against spectral tests",
    "blobs": "Figure 2, bandwidths chosen by MMD, t and power",
    "gans": "Figure 4, digits drawn by four generative models",
}


#: The models that `train` takes. The names are here too, so that the command line starts without the models.
MODELS = ("gmmn", "t-gmmn", "feature-matching", "improved-gan", "adversarial")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code."""
    options = _parser().parse_args(arguments)
    try:
        return int(options.run(options) or 0)
    except (ValueError, TypeError, OSError, ImportError, MemoryError, ArithmeticError) as error:
        print(f"tellapart: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("tellapart: interrupted", file=sys.stderr)
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="tellapart",
        description="Tell two samples apart: is there a difference, how sure are we, and where is it?",
    )
    parser.add_argument("--version", action="version", version=f"tellapart {__version__}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    demo = commands.add_parser("demo", help="test two small samples; no data needed")
    demo.add_argument("--seed", type=int, default=0)
    demo.set_defaults(run=_demo)
    reproduce = commands.add_parser("reproduce", help="reproduce a figure of Sutherland et al. 2017")
    reproduce.add_argument("figure", choices=EXPERIMENTS, help="; ".join(f"{k}: {v}" for k, v in EXPERIMENTS.items()))
    reproduce.add_argument("--quick", action="store_true", help="a smaller version, in minutes")
    reproduce.add_argument("--out", type=Path, default=Path("out"), help="folder for figures and numbers (out)")
    reproduce.set_defaults(run=_reproduce)
    _add_train(commands)
    _add_sample(commands)
    return parser


def _add_train(commands: Any) -> None:
    train = commands.add_parser("train", help="train a generative model with MMD, t or an improved GAN")
    train.add_argument("model", choices=list(MODELS))
    train.add_argument("--data", required=True, help="mnist, digits, a folder of images, or a file of them")
    train.add_argument("--out", type=Path, required=True, help="folder for checkpoints, log and samples")
    train.add_argument("--resume", action="store_true", help="go on with the run in that folder")
    train.add_argument("--steps", type=int)
    train.add_argument("--batch-size", type=int)
    train.add_argument("--seed", type=int)
    train.add_argument("--set", nargs="+", action="extend", default=[], metavar="KEY=VALUE", help="any other setting")
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
    print("Two samples of 1,500 points in the plane, with the same mean and the same variance:")
    print("one is normal, the other Laplace. Can they be told apart?\n")
    X, Y = gaussian_laplace(1500, rng=options.seed)
    for what, other in (
        ("normal against Laplace", Y),
        ("normal against normal", gaussian_laplace(1500, rng=options.seed + 1)[0]),
    ):
        result = mmd_test(X, other, rng=options.seed)
        verdict = "they differ" if result.reject(0.05) else "no difference is seen"
        print(f"{what}:  MMD² = {result.statistic:9.2e}   p = {result.pvalue:.3f}   → {verdict}")
        print(f"    {result.permutations} exact permutations in {result.seconds:.2f} s\n")


def _reproduce(options: argparse.Namespace) -> None:
    import_module(f".experiments.{options.figure}", __package__).run(options.out, quick=options.quick)
    print(f"\nFigures and numbers are in {options.out}")


def _train(options: argparse.Namespace) -> None:
    from .generative import train

    _memory.keep_freed()
    settings = dict(map(_setting, options.set))
    settings |= {key: value for key in ("steps", "batch_size", "seed") if (value := getattr(options, key)) is not None}
    train(options.model, options.data, options.out, settings, resume=options.resume, device=options.device)
    print(f"The trained model, its log and samples are in {options.out}")


def _sample(options: argparse.Namespace) -> None:
    from .generative import save_samples

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
