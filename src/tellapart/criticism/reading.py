"""How the two samples of a comparison are read, split and encoded.

What other rooms do with data is called here and nowhere else in this room.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

from torch import Tensor

from ..data import Encoding, Sample, Source, check_path, match, open_source
from ..data.arrays import Array
from ..learning.splits import Split, split_rows
from ..twosample.fixed import check_groups

#: Rows of each sample at the most, unless ``max_rows`` says otherwise: time grows with the square.
ROWS = 100_000

Missing: TypeAlias = Literal["error", "indicator", "drop"]
Standardise: TypeAlias = Literal["auto"] | bool


@dataclass(frozen=True)
class Reading:
    """How samples are read, as in `tellapart.data.open_source`; ``seed`` decides which rows are drawn."""

    columns: Iterable[Any] | None = None
    drop: Iterable[Any] | None = None
    missing: Missing = "error"
    image_shape: tuple[int, ...] | None = None
    image_size: tuple[int, int] | None = None
    max_rows: int | None = None
    features: Callable[[Tensor], Any] | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("columns", "drop"):
            value = getattr(self, name)
            if value is not None and not isinstance(value, (str, list)):
                object.__setattr__(self, name, list(value))  # it is needed for X, for Y, and for more rows later

    def read(self, data: Any, name: str, max_rows: int | None) -> Source:
        """A source of at most so many rows."""
        return open_source(
            data,
            name,
            columns=self.columns,
            drop=self.drop,
            missing=self.missing,
            image_shape=self.image_shape,
            image_size=self.image_size,
            max_rows=max_rows,
            features=self.features,
            rng=self.seed,
        )

    def read_pair(self, X: Any, Y: Any) -> tuple[Source, Source]:
        """Two sources that can be compared, with a note where rows were drawn."""
        for data, name in ((X, "X"), (Y, "Y")):
            check_path(data, name)  # before anything is said of the content of the other
        limit = self.max_rows or ROWS
        x, y = match(self.read(X, "X", limit), self.read(Y, "Y", limit))
        return _note_drawn(x, limit), _note_drawn(y, limit)

    def read_more(self, data: Any, name: str) -> Source:
        """Other rows, read as the samples were, all of them."""
        return self.read(data, name, None)

    def options(self) -> dict[str, Any]:
        """What was not left as it is by default, for reports; functions by their names."""
        found = {}
        for name in ("columns", "drop", "missing", "image_shape", "image_size", "max_rows", "features"):
            value = getattr(self, name)
            if value != type(self).__dataclass_fields__[name].default:
                listed = list(value) if name in ("columns", "drop", "image_shape", "image_size") else value
                found[name] = getattr(value, "__name__", type(value).__name__) if name == "features" else listed
        return found


@dataclass(frozen=True, eq=False)
class Prepared:
    """Two samples that are read, split and encoded.

    Attributes
    ----------
    sources, samples
        The samples as they came, and as numbers.
    encoding
        How the one became the other.
    groups
        A label for each row of both samples, where there are groups.
    split
        Which rows to learn from and which to test.
    """

    sources: tuple[Source, Source]
    samples: tuple[Sample, Sample]
    encoding: Encoding
    groups: Array | None
    split: Split

    @property
    def tested_rows(self) -> int:
        """How many rows are tested."""
        return len(self.split.test_x) + len(self.split.test_y)

    @property
    def names(self) -> tuple[str, str]:
        """Files by as much of their paths as tells them apart; or X and Y."""
        x, y = (source.origin for source in self.sources)
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
    X: Any, Y: Any, reading: Reading, *, train: Any, swap: bool, groups: Any, standardise: Standardise
) -> Prepared:
    """Read, match, split and encode two samples."""
    x, y = reading.read_pair(X, Y)
    labels = check_groups(groups, len(x), len(y), "permutation")
    split = split_rows(len(x), len(y), train, groups=labels, rng=reading.seed)
    # With swapped halves every row is tested, so that the encoding looks at all of them: it does not look at labels.
    rows_x, rows_y = (None, None) if swap else (split.train_x, split.train_y)
    encoding = Encoding.fit(x, y, rows_x, rows_y, standardise)
    samples = encoding.encode(x), encoding.encode(y)
    if standardise:
        samples = _as_single(samples[0]), _as_single(samples[1])
    return Prepared((x, y), samples, encoding, labels, split)


def columns_of(sample: Sample) -> tuple[str, ...]:
    """For each coordinate the column it came from."""
    return sample.groups or sample.names or ()


def _as_single(sample: Sample) -> Sample:
    """In single precision: numbers around 0 lose nothing in it, and learning takes half the time."""
    return replace(sample, values=sample.values.float())


def _note_drawn(source: Source, limit: int) -> Source:
    drawn = source.numbers.max() >= limit
    note = f"{limit:,} rows were drawn at random."
    return replace(source, notes=(note, *source.notes)) if drawn else source
