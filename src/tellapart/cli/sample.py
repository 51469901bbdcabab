"""``tellapart sample``: draw images from a trained model."""

from __future__ import annotations

import argparse
from pathlib import Path

from .options import add_threads, count, seed, set_threads
from .output import say
from .results import check_output


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the folder of the run, the number of images and the output file."""
    parser.description = "Draw images from the model of a training run."
    parser.add_argument("folder", type=Path, metavar="RUN", help="folder of a training run")
    parser.add_argument("--n", type=count, default=10_000, metavar="N", help="number of images (default: %(default)s)")
    parser.add_argument("--out", type=Path, required=True, metavar="FILE", help=".npz or .npy file to write")
    parser.add_argument("--seed", type=seed, default=0, metavar="N", help="random seed (default: %(default)s)")
    add_threads(parser)


def run(options: argparse.Namespace) -> None:
    """Draw the images and write the file."""
    from .._util.files import check_writable
    from ..generative import save_samples

    set_threads(options)
    check_output(options, {"the checkpoint of RUN": options.folder / "checkpoint.safetensors"}, {"--out": options.out})
    check_writable(options.out, "The image file")
    n, *shape = save_samples(options.folder, options.n, options.out, rng=options.seed)
    say(f"Wrote {n:,} images of {' × '.join(map(str, shape))} to {options.out}")
