"""``tellapart train``: train a generative model."""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path
from typing import Any

from .options import add_threads, count, image_size, seed, set_threads
from .output import say
from .results import check_output

#: Names of the models: a copy of `tellapart.generative.MODELS`, which is slow to import.
MODELS = ("gmmn", "t-gmmn", "feature-matching", "improved-gan", "adversarial")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the model, the data, the folder of the run and the settings."""
    parser.description = "Train a generative model. The default settings are those of Sutherland et al. (2017)."
    parser.add_argument("model", choices=MODELS, metavar="MODEL", help=", ".join(MODELS))
    parser.add_argument("--data", required=True, help="mnist, digits, a folder of images or idx files, or a file")
    parser.add_argument("--image-size", type=image_size, metavar="HxW", help="resize images to this size")
    parser.add_argument("--out", type=Path, required=True, help="folder for the checkpoint, the log and samples")
    parser.add_argument("--resume", action="store_true", help="continue the run in the --out folder")
    parser.add_argument(
        "--steps", type=count, metavar="N", help="number of training steps (default: 50000; improved-gan: 20000)"
    )
    parser.add_argument(
        "--batch-size", type=count, metavar="N", help="rows per batch (default: 500; improved-gan: 100)"
    )
    parser.add_argument("--seed", type=seed, metavar="N", help="random seed (default: 0)")
    parser.add_argument(
        "--set",
        nargs="+",
        action="extend",
        default=[],
        metavar="KEY=VALUE",
        help="other settings, such as learning_rate=0.5 or hidden=64,256; an unknown name lists all settings",
    )
    parser.add_argument("--device", help="cpu or cuda (default: a GPU if available)")
    add_threads(parser)


def run(options: argparse.Namespace) -> None:
    """Train a model, or resume its training."""
    from .._util.memory import keep_freed_memory
    from ..generative import load, train
    from ..generative.runs import has_run

    ranks = os.environ.get("WORLD_SIZE", "1")
    if ranks != "1":
        raise ValueError(
            f"Training supports only a single process, but WORLD_SIZE is {ranks}. Start it without torchrun."
        )
    # File names as in `tellapart.generative.trainer`.
    written = {"checkpoint": "checkpoint.safetensors", "log": "log.jsonl", "pictures": "samples/step-000000.png"}
    files = {f"the {content} in --out": options.out / name for content, name in written.items()}
    check_output(options, {"--data": options.data}, {"--out": options.out, **files})
    set_threads(options)
    keep_freed_memory()
    settings = dict(map(parse_setting, options.set))
    settings |= {key: value for key in ("steps", "batch_size") if (value := getattr(options, key)) is not None}
    data = load(options.data, image_size=options.image_size)
    # A resumed run keeps its seed.
    rng = 0 if options.seed is None and not has_run(options.out) else options.seed
    try:
        train(options.model, data, options.out, settings, rng=rng, resume=options.resume, device=options.device)
    except KeyboardInterrupt as stop:
        raise type(stop)(f"{str(stop) or 'interrupted'}. Continue with --resume.") from None
    say(f"Wrote the trained model, its log and samples to {options.out}")


def parse_setting(text: str) -> tuple[str, Any]:
    """Parse KEY=VALUE, where VALUE is JSON (hidden=[64,64]), comma-separated numbers (hidden=64,64) or a word.

    >>> parse_setting("hidden=64,256"), parse_setting("match=means")
    (('hidden', [64, 256]), ('match', 'means'))
    """
    key, equals, value = text.partition("=")
    if not equals:
        raise ValueError(f"--set expects KEY=VALUE, got {text!r}.")
    for form in (value, f"[{value}]"):
        try:
            return key.replace("-", "_"), json.loads(form)
        except json.JSONDecodeError:
            continue
    return key.replace("-", "_"), value
