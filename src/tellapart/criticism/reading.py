"""How the two samples of a comparison are read, split and encoded."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

from .._util.text import printable
from ..data import Encoding, Sample, Source
from ..data.options import ReadOptions
from ..data.read import read_pair_with
from ..data.shared import find_shared_rows, hash_rows
from ..learning.splits import Split
from ..stats.nulls import Binned, Null, Permutation
from ..twosample.learned import check_learned_null, split_samples

#: Rows of each sample at the most, unless ``max_rows`` says otherwise: time grows with the square.
ROWS = 100_000

#: Tested rows up to which every row is relabelled; beyond, bins of rows, which cost next to nothing.
PERMUTED = 20_000

#: Standard deviations from the mean beyond which it makes no difference how far a row is.
_FARTHEST = 1e15

Standardise: TypeAlias = Literal["auto"] | bool


@dataclass(frozen=True, eq=False)
class Prepared:
    """Two samples that are read, split and encoded.

    Attributes
    ----------
    sources, samples
        The samples as they came, and as numbers.
    encoding
        How the one became the other.
    null
        The null distribution of the test.
    splits
        Which rows to learn from and which to test; with swapped halves, twice.
    """

    sources: tuple[Source, Source]
    samples: tuple[Sample, Sample]
    encoding: Encoding
    null: Null
    splits: list[Split]

    @property
    def names(self) -> tuple[str, str]:
        """Files by as much of their paths as tells them apart; or X and Y."""
        x, y = (printable(source.origin) for source in self.sources)
        if not x or not y:
            return x or "X", y or "Y"
        a, b = x.rstrip("/").split("/"), y.rstrip("/").split("/")
        depth = next((k for k in range(1, max(len(a), len(b)) + 1) if a[-k:] != b[-k:]), 1)
        return "/".join(a[-depth:]), "/".join(b[-depth:])

    @property
    def notes(self) -> tuple[str, ...]:
        """What was done to the data on the way."""
        return tuple(f"{source.label}: {note}" for source in self.sources for note in source.notes)


def prepare(
    X: Any,
    Y: Any,
    options: ReadOptions,
    *,
    null: Literal["auto", "permutation", "binned"],
    train: Any,
    swap: bool,
    groups: Any,
    strata: Any,
    standardise: Standardise,
) -> Prepared:
    """Read, match, split and encode two samples."""
    limit = options.max_rows or ROWS
    x, y = read_pair_with(X, Y, ("X", "Y"), replace(options, max_rows=limit))
    x, y = _note_drawn(x, limit), _note_drawn(y, limit)
    relabelling: Null = Permutation(groups, strata) if null != "binned" else check_learned_null(null, groups, strata)
    shared = find_shared_rows(hash_rows(x), hash_rows(y))
    if shared is not None:
        x = replace(x, notes=(f"{shared} Equal rows are learned from or tested together.", *x.notes))
    splits = split_samples(len(x), len(y), train, swap, relabelling, options.seed, shared)
    tested = len(splits[0].test_x) + len(splits[0].test_y)
    if null == "auto" and groups is None and strata is None and tested > PERMUTED:
        relabelling = Binned()
    # With swapped halves every row is tested, so that the encoding looks at all of them: it does not look at labels.
    rows_x, rows_y = (None, None) if swap else (splits[0].train_x, splits[0].train_y)
    encoding = Encoding.fit_matched(x, y, rows_x, rows_y, standardise)
    samples = encoding.encode(x), encoding.encode(y)
    if standardise:
        samples = _as_single(samples[0]), _as_single(samples[1])
    return Prepared((x, y), samples, encoding, relabelling, splits)


def columns_of(sample: Sample) -> tuple[str, ...]:
    """For each coordinate the column it came from."""
    return sample.columns or sample.names or ()


def _as_single(sample: Sample) -> Sample:
    """In single precision: numbers around 0 lose nothing in it, and learning takes half the time.

    A tested row may be farther out than single precision reaches, for the scale is that of the rows learned from.
    """
    return replace(sample, values=sample.values.clamp(-_FARTHEST, _FARTHEST).float())


def _note_drawn(source: Source, limit: int) -> Source:
    drawn = source.numbers.max() >= limit
    note = f"{limit:,} rows were drawn at random."
    return replace(source, notes=(note, *source.notes)) if drawn else source
