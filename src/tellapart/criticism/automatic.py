"""Test and criticise without a choice: every row is tested, and judged by a witness learned from other rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from .._util.errors import Note
from ..data import reindex
from ..data.hashing import hash_blocks
from ..omnibus import Layout
from ..omnibus.distance import measure_distance
from ..stats.design import Design, check_paired
from ..twosample.auto import as_kernels, run_two_sample_test
from .comparison import Comparison
from .crossfit import cross_fit
from .folds import find_units
from .notices import notice_rows
from .options import ComparisonOptions
from .slicing import can_be_found, find_slices

T = TypeVar("T")

_WITHOUT_SLICES = Note(
    "slices-need-extra", "Kinds of rows were not looked for, which needs scikit-learn: pip install 'tellapart[report]'."
)
_WITHOUT_WEIGHTS = Note(
    "weights-need-extra", "Weights of pixels were not learned, which needs torch: pip install 'tellapart[torch]'."
)


@dataclass(frozen=True, eq=False)
class AutomaticOptions:
    """The options that only the automatic test has: see `compare`."""

    paired: bool = False
    kernels: Sequence[Any] | None = None


def compare_automatically(request: ComparisonOptions, options: AutomaticOptions) -> Comparison:
    """`compare` by forms that need no choice."""
    paired, seed = check_paired(options.paired), request.seed
    samples = request.open(request.reading, paired=paired).encode()
    assert samples.encoding is not None
    (x, y), (m, n), names = _two(samples.encoded), _two(samples.sizes), _two(samples.names)
    groups, strata = samples.labels["groups"], samples.labels["strata"]
    called = {"groups": request.groups, "strata": request.strata}
    design = Design.check(samples.sizes, groups, strata, paired, request.equal_groups, called)
    kernels = as_kernels(options.kernels)
    points = reindex(samples.points, np.arange(m + n))
    hashes = hash_blocks(points)
    noticed = (*notice_rows(hashes, m, _two(samples.sources), names), *samples.notices)
    items = request.items_of(samples)
    test = run_two_sample_test(samples, design, request.permutations, kernels, seed, request.compute, request.start)
    here = request.compute.here()
    rng = np.random.default_rng([seed, 2])
    # Equal rows are one unit, which stays in one fold; where all are equal there is nothing to keep apart.
    constant = bool((hashes == hashes[0]).all())
    units = np.arange(m + n) if constant else find_units(hashes, design.units)
    layout = Layout.of(samples.variables, samples.image_shape)
    fit = cross_fit(_two(samples.points), layout, kernels, units, rng, here, hashes)
    labels = np.repeat(np.array([0, 1], np.uint8), [m, n])
    distance = measure_distance(fit.features.plan, points, labels, design.units, rng, here)
    slices = find_slices(samples, points, fit, design, request.permutations, rng)
    notes = test.notes if can_be_found() else (*test.notes, _WITHOUT_SLICES)
    weights = None
    if samples.image_shape is not None and test.reject(request.alpha):
        try:
            from .learned_weights import learn_pixel_weights
        except ImportError:
            notes = (*notes, _WITHOUT_WEIGHTS)
        else:
            weights = learn_pixel_weights((x, y), np.random.default_rng([seed, 3]), here)
    return Comparison(
        test=test,
        alpha=request.alpha,
        x=x,
        y=y,
        names=names,
        witness_x=fit.values[:m],
        witness_y=fit.values[m:],
        auc=fit.auc,
        auc_interval=fit.auc_interval,
        distance=distance.value,
        distance_interval=distance.interval,
        distance_name="MMD",
        slices=slices,
        weights=weights,
        noticed=noticed,
        items=items,
        notes=notes,
        settings=request.settings(samples, paired=options.paired, test="auto", null="permutation"),
        seconds=request.seconds,
        _witness=fit,
        _encoding=samples.encoding,
        _source=samples.sources[0],
    )


def _two(pair: Sequence[T]) -> tuple[T, T]:
    return pair[0], pair[1]
