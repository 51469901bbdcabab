"""``tellapart reproduce``: the experiments of Sutherland et al. 2017."""

from __future__ import annotations

import argparse
from importlib import import_module
from inspect import signature
from pathlib import Path

from .options import add_threads, count, set_threads
from .output import say
from .results import check_output

EXPERIMENTS = {
    "paper": "everything that takes minutes, and the page of the whole paper from what there is",
    "speed": "Figure 1, the permutation test against spectral tests",
    "blobs": "Figure 2, bandwidths chosen by MMD, t and power",
    "criticism": "Figure 3, what is wrong with a generative model of MNIST",
    "planted": "defects planted in MNIST, and whether a comparison points to them",
    "gans": "Figure 4, digits drawn by four generative models",
    "minimising_t": "§4, what makes a generator that minimises t learn, on 8 × 8 digits",
    "threshold": "§2, whether near the null the threshold matters for the choice of a kernel",
    "streaming": "§1, how many rows streaming estimators need",
    "footnote": "a footnote, a kernel that is learned against the generator, on 8 × 8 digits",
    "unlabelled": "Figure 4 d, the improved GAN and feature matching without labels, six runs of each",
    "other_images": "beyond the paper, Fashion-MNIST and colour patches",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The figure, and how much effort to spend on it."""
    parser.description = "Run an experiment of Sutherland et al. 2017; write its figure and its numbers."
    parser.epilog = "figures:\n" + "\n".join(f"  {name:13} {what}" for name, what in EXPERIMENTS.items())
    parser.add_argument("figure", choices=EXPERIMENTS, metavar="FIGURE", help=", ".join(EXPERIMENTS))
    parser.add_argument("--quick", action="store_true", help="a smaller version, in minutes")
    parser.add_argument("--out", type=Path, default=Path("out"), help="folder for figures and numbers (%(default)s)")
    parser.add_argument("--steps", type=count, metavar="N", help="iterations of models (gans, criticism: 50000)")
    parser.add_argument(
        "--data", help="mnist in the place of digits (minimising_t, unlabelled); the folder of Fashion-MNIST"
    )
    parser.add_argument(
        "--samples", type=Path, metavar="FILE", help="images to criticise, instead of training a model (criticism)"
    )
    add_threads(parser)


def run(options: argparse.Namespace) -> None:
    """Run the experiment with the options that it takes."""
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
            raise ValueError(f"{options.figure} does not take --{key}.")
    keep_freed_memory()
    experiment(options.out, quick=options.quick, **given)
    say(f"\nFigures and numbers are in {options.out}")
