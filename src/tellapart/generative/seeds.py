"""Seeds for the uses of randomness in a run, all derived from the seed of the run."""

from __future__ import annotations

import numpy as np

#: What a seed is for.
INITIAL, NOISE, ORDER, EVALUATION = range(4)


def derive_seed(*path: int) -> int:
    """Derive an independent seed for one use of randomness.

    >>> derive_seed(0, NOISE) != derive_seed(0, ORDER, 1)
    True
    """
    return int(np.random.SeedSequence(path).generate_state(1, np.uint64)[0] >> 1)
