"""``tellapart reproduce``: run the experiments of Sutherland et al. (2017)."""

from __future__ import annotations

import argparse
from importlib import import_module
from inspect import signature
from pathlib import Path

from .options import add_threads, count, set_threads
from .output import say
from .results import check_output

EXPERIMENTS = {
    "paper": "all experiments that take minutes, and a page of all results that exist",
    "speed": "Figure 1: run time of the permutation test and of spectral tests",
    "blobs": "Figure 2: bandwidths chosen by MMD, t and power",
    "criticism": "Figure 3: model criticism of a GAN trained on MNIST",
    "planted": "defects planted in MNIST, and whether a comparison finds them",
    "gans": "Figure 4: samples of four generative models",
    "minimising_t": "§4: conditions under which minimizing t trains a generator, on 8 × 8 digits",
    "threshold": "§2: effect of the threshold term on the choice of a kernel near the null",
    "streaming": "§1: number of rows that streaming estimators need",
    "footnote": "footnote: a kernel learned against the generator, on 8 × 8 digits",
    "unlabelled": "Figure 4d: the improved GAN and feature matching without labels, six runs of each",
    "other_images": "beyond the paper: Fashion-MNIST and color patches",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the experiment, its size and its options."""
    parser.description = "Run an experiment of Sutherland et al. (2017); write its figure and its numbers."
    parser.epilog = "figures:\n" + "\n".join(f"  {name:13} {text}" for name, text in EXPERIMENTS.items())
    parser.add_argument("figure", choices=EXPERIMENTS, metavar="FIGURE", help=", ".join(EXPERIMENTS))
    parser.add_argument("--quick", action="store_true", help="run a smaller version that takes minutes")
    parser.add_argument(
        "--out", type=Path, default=Path("out"), help="folder for figures and numbers (default: %(default)s)"
    )
    parser.add_argument(
        "--steps", type=count, metavar="N", help="training steps of models (default for gans and criticism: 50000)"
    )
    parser.add_argument(
        "--data", help="mnist instead of digits (minimising_t, unlabelled); the folder of Fashion-MNIST (other_images)"
    )
    parser.add_argument(
        "--samples", type=Path, metavar="FILE", help="images to criticize instead of training a model (criticism)"
    )
    add_threads(parser)


def run(options: argparse.Namespace) -> None:
    """Run the experiment with the options that it accepts."""
    from .._util.memory import keep_freed_memory

    figure = options.out / f"{options.figure}.png"
    check_output(
        options,
        {"--samples": options.samples, "--data": options.data},
        {"--out": options.out, "the figure of --out": figure},
    )
    set_threads(options)
    experiment = import_module(f"...experiments.{options.figure}", __name__).run
    given = {key: value for key in ("steps", "samples", "data") if (value := getattr(options, key)) is not None}
    for key in given:
        if key not in signature(experiment).parameters:
            raise ValueError(f"{options.figure} does not accept --{key}.")
    keep_freed_memory()
    experiment(options.out, quick=options.quick, **given)
    say(f"\nWrote figures and numbers to {options.out}")
