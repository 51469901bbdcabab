"""Test and criticise without a choice: every row is tested, and judged by a witness learned from other rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from .._util.errors import Note
from ..data import Encoding, Points, Sample, Source, reindex
from ..data.arrays import Array
from ..data.mixed import Mixed, display_names, mix_sources
from ..data.notices import Notice, find_notices
from ..data.read import check_pair
from ..data.shared import hash_rows
from ..kernels import Kernel
from ..omnibus import Layout
from ..omnibus.distance import measure_distance
from ..stats.design import Design, check_paired
from ..twosample.auto import as_kernels, run_two_sample_test
from .comparison import Comparison
from .crossfit import cross_fit
from .folds import find_units
from .notices import notice_rows, without_left_out
from .reading import Labels, check_items, open_samples, take_items
from .request import Request
from .slicing import can_be_found, find_slices
from .weights import learn_pixel_weights

T = TypeVar("T")

_WITHOUT_SLICES = Note(
    "slices-need-extra", "Kinds of rows were not looked for, which needs scikit-learn: pip install 'tellapart[report]'."
)


@dataclass(frozen=True, eq=False)
class AutomaticOptions:
    """The options that only the automatic test has: see `compare`."""

    paired: bool = False
    kernels: Sequence[Any] | None = None


@dataclass(frozen=True, eq=False)
class _Prepared:
    """Two samples that are read and encoded.

    Attributes
    ----------
    sources, samples, mixed
        The samples as they came, as numbers, and both together.
    encoding
        How the one became the other.
    points, hashes
        The rows of both samples, and a number for each, equal for equal rows.
    design, kernels
        Which rows belong together, and kernels that were given.
    noticed
        What a person would notice first.
    items
        What to call the rows of the user's data by, if that was given.
    """

    sources: tuple[Source, Source]
    samples: tuple[Sample, Sample]
    mixed: Mixed
    encoding: Encoding
    points: Points
    hashes: Array
    design: Design
    kernels: list[Kernel]
    noticed: tuple[Notice, ...]
    items: Labels | None


def compare_automatically(request: Request, options: AutomaticOptions) -> Comparison:
    """`compare` by forms that need no choice."""
    data = _prepare(request, options)
    x, y = data.samples
    mixed, design, seed = data.mixed, data.design, request.seed
    test = run_two_sample_test(mixed, design, request.permutations, data.kernels, seed, request.compute, request.start)
    here = request.compute.here()
    rng = np.random.default_rng([seed, 2])
    # Equal rows are one unit, which stays in one fold; where all are equal there is nothing to keep apart.
    constant = bool((data.hashes == data.hashes[0]).all())
    units = np.arange(len(data.hashes)) if constant else find_units(data.hashes, design.units)
    layout = Layout(x.values.shape[1], mixed.categories, mixed.image_shape)
    fit = cross_fit(_two(mixed.points), layout, data.kernels, units, rng, here)
    labels = np.repeat(np.array([0, 1], np.uint8), [len(x), len(y)])
    distance = measure_distance(fit.features.plan, data.points, labels, design.units, rng, here)
    slices = find_slices(mixed, data.points, fit, design, request.permutations, rng)
    weights = None
    if mixed.image_shape is not None and test.reject(request.alpha):
        weights = learn_pixel_weights((x, y), np.random.default_rng([seed, 3]), here)
    return Comparison(
        test=test,
        alpha=request.alpha,
        x=x,
        y=y,
        names=_two(mixed.names),
        witness_x=fit.values[: len(x)],
        witness_y=fit.values[len(x) :],
        auc=fit.auc,
        auc_interval=fit.auc_interval,
        distance=distance.value,
        distance_interval=distance.interval,
        distance_name="MMD",
        slices=slices,
        weights=weights,
        noticed=data.noticed,
        items=take_items(data.items, (x, y)),
        notes=test.notes if can_be_found() else (*test.notes, _WITHOUT_SLICES),
        settings=request.settings(
            data.sources,
            (len(x), len(y)),
            design={"paired": options.paired},
            test="auto",
            null="permutation",
        ),
        seconds=request.seconds,
        _witness=fit,
        _encoding=data.encoding,
        _source=without_left_out(data.sources[0], data.noticed),
    )


def _prepare(request: Request, options: AutomaticOptions) -> _Prepared:
    """Read, match and encode two samples, without columns that are better left out."""
    paired = check_paired(options.paired)
    opened = open_samples(request, request.reading)
    names = request.names or _two(display_names(opened.sources))
    chosen, noticed = find_notices(opened.sources, request.keep, names)
    sources = check_pair(*_two(chosen), paired)
    mixed, (x, y), encoding = mix_sources(sources, ("X", "Y"))
    mixed = replace(mixed, names=names)
    groups, strata = (opened.of_rows(kind, sources) for kind in ("groups", "strata"))
    design = Design.check(tuple(map(len, mixed.points)), groups, strata, paired, request.equal_groups, request.labels)
    kernels = as_kernels(options.kernels)
    points = reindex(mixed.points, np.arange(len(x) + len(y)))
    hashes = hash_rows(points)
    return _Prepared(
        sources=sources,
        samples=(x, y),
        mixed=mixed,
        encoding=encoding,
        points=points,
        hashes=hashes,
        design=design,
        kernels=kernels,
        noticed=(*notice_rows(hashes, len(x), sources, names), *noticed),
        items=check_items(opened.labels["items"], sources),
    )


def _two(pair: Sequence[T]) -> tuple[T, T]:
    return pair[0], pair[1]
