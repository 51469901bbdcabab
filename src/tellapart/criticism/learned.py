"""Learn a kernel on one part of the rows, test and criticise on the other (Sutherland et al. 2017)."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from torch import Tensor

from .._util.rng import seed_of
from ..data.arrays import Array
from ..data.options import ReadOptions
from ..engine import Compute
from ..kernels import Kernel
from ..learning import fitting
from ..twosample.learned import run_learned_test
from .comparison import Comparison
from .intervals import auc_of_samples
from .notices import notice_shared
from .reading import Standardise, prepare, take_items
from .settings import Settings, design_of
from .weights import find_weights
from .witness import witness_values

#: Steps and patience at the most, when weights are learned again to see how stable they are.
_QUICK = {"steps": 150, "patience": 3}


@dataclass(frozen=True, eq=False)
class LearnedOptions:
    """The options of a learned test: see `compare`."""

    kernel: Any
    learning: fitting.Settings
    criterion: str
    train: Any
    swap: bool
    null: Literal["auto", "permutation", "binned"]
    permutations: int
    groups: Any
    strata: Any
    standardise: Standardise
    stability: int


def compare_learned(
    X: Any,
    Y: Any,
    options: LearnedOptions,
    alpha: float,
    names: tuple[str, str] | None,
    items: Any,
    reading: ReadOptions,
    compute: Compute,
    start: float,
) -> Comparison:
    """`compare` with options that are checked; ``start`` is when it began."""
    kernel, settings, seed = options.kernel, options.learning, reading.seed
    data = prepare(X, Y, items, reading, options)
    x, y = data.samples
    test = run_learned_test(
        x.values, y.values, kernel, settings, data.splits, data.null, options.permutations, seed, compute
    )
    here = compute.here()
    split = test.split
    learned_from = x.take(split.train_x), y.take(split.train_y)
    tested = x.take(split.test_x), y.take(split.test_y)

    def witness(at: Tensor, how: Compute) -> Array:
        return witness_values(test.kernel, learned_from[0].values, learned_from[1].values, at, how)

    witness_x, witness_y = (witness(part.values, here) for part in tested)

    def relearn(x: Tensor, y: Tensor, rng: np.random.Generator) -> Kernel:
        quick = replace(settings, **{name: min(most, getattr(settings, name)) for name, most in _QUICK.items()})
        return fitting.learn_kernel(x, y, kernel, quick, seed_of(rng), here)[0]

    weights = find_weights(
        test.kernel,
        learned_from,
        tested,
        relearn,
        repetitions=options.stability,
        rng=np.random.default_rng([seed, 1]),
        compute=here,
    )
    auc, interval = auc_of_samples(witness_x, witness_y)
    return Comparison(
        test=test,
        alpha=alpha,
        x=tested[0],
        y=tested[1],
        names=names or data.names,
        witness_x=witness_x,
        witness_y=witness_y,
        auc=auc,
        auc_interval=interval,
        distance=test.kernel.distance(test.statistic),
        distance_interval=None,
        distance_name=test.kernel.distance_name,
        slices=(),
        weights=weights,
        noticed=notice_shared(data.shared),
        items=take_items(data.items, tested),
        notes=data.notes,
        settings=Settings(
            test=kernel if isinstance(kernel, str) else type(kernel).__name__,
            criterion=options.criterion,
            train=options.train if isinstance(options.train, float) else None,
            swap=options.swap,
            null=data.null.name,
            permutations=options.permutations,
            seed=seed,
            origins=(data.sources[0].origin or None, data.sources[1].origin or None),
            rows=(len(x), len(y)),
            kind=data.sources[0].kind,
            design=design_of(groups=options.groups, strata=options.strata),
            reading=reading,
        ),
        seconds=time.perf_counter() - start,
        _witness=witness,
        _encoding=data.encoding,
        _source=data.sources[0],
    )
