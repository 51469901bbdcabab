"""Something to see without any data: a generative model of handwritten digits is trained, then criticised."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from .. import generative
from .._util.extras import extra
from .._util.progress import ProgressLike
from .._util.rng import RNG, seed_of
from ..criticism import Array, Comparison, compare
from ..generative import checkpoints

#: A moment matching network that is trained in some seconds.
SETTINGS = {
    "steps": 1000,
    "batch_size": 200,
    "hidden": [64, 256, 256],
    "evaluate_every": 10_000,
    "checkpoint_every": 10_000,
}
#: The digits have 17 shades of grey. Samples without them would be found out by that alone.
SHADES = 16


def run(rng: RNG = None, progress: ProgressLike = None) -> Comparison:
    """Train on half of scikit-learn's digits, draw as many as are left, and compare them with the other half."""
    seed = seed_of(rng)
    real, drawn = samples(seed, progress)
    return compare(real, drawn, names=("real digits", "generated digits"), rng=seed, progress=progress)


def samples(rng: RNG = None, progress: ProgressLike = None) -> tuple[Array, Array]:
    """Digits that the model has not seen, and digits drawn from it, as images of 8 × 8 pixels."""
    extra("sklearn.datasets", group="demo", what="The demo")
    seed = seed_of(rng)
    data = generative.load("digits", held_out=0.5)
    with TemporaryDirectory() as folder:
        model = generative.train("gmmn", data, Path(folder), SETTINGS, rng=seed, device="cpu", progress=progress)
    drawn = model.sample(len(data.held_out), checkpoints.make_generator(seed))
    real, made = ((rows * SHADES).round().reshape(-1, *data.shape).numpy() / SHADES for rows in (data.held_out, drawn))
    return real, made
