"""Something to see without any data: handwritten digits against digits drawn from a model of them."""

from __future__ import annotations

import numpy as np

from ._extras import extra
from ._rng import seed_of
from .criticism import Array
from .testing import Comparison, compare


def run(seed: int = 0) -> Comparison:
    """Fit a model to half of scikit-learn's digits, draw as many as are left, and compare them with the other half."""
    real, drawn = samples(seed)
    return compare(real, drawn, names=("real digits", "generated digits"), rng=seed)


def samples(seed: int) -> tuple[Array, Array]:
    """Digits that the model has not seen, and digits drawn from it, as images of 8 × 8 pixels."""
    what = {"group": "demo", "what": "The demo"}
    datasets, mixture = extra("sklearn.datasets", **what), extra("sklearn.mixture", **what)
    draws = np.random.default_rng(seed_of(seed))
    digits = datasets.load_digits().images
    digits = digits[draws.permutation(len(digits))]
    learned, held_out = digits[: len(digits) // 2], digits[len(digits) // 2 :]
    model = mixture.GaussianMixture(10, reg_covar=0.05, random_state=seed_of(seed) % 2**32)
    drawn, _ = model.fit(learned.reshape(len(learned), -1)).sample(len(held_out))
    # The digits have 17 shades of grey. A model without them would be found out by that alone.
    shades = np.clip(np.rint(drawn), 0, 16).reshape(held_out.shape)
    return held_out / 16, shades[draws.permutation(len(shades))] / 16
