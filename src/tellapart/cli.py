"""The command line: parsing and printing only."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from . import __version__, mmd_test
from .datasets import gaussian_laplace

EXPERIMENTS = {
    "speed": "Figure 1, the permutation test against spectral tests",
    "blobs": "Figure 2, bandwidths chosen by MMD, t and power",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code."""
    options = _parser().parse_args(arguments)
    try:
        return int(options.run(options) or 0)
    except (ValueError, TypeError, OSError, ImportError, MemoryError) as error:
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
    return parser


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
