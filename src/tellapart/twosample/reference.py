"""A reference that batches are tested against: fitted once, saved, and cheap to compare with."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from os import PathLike
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from .._util.errors import InputError, Spelled
from .._util.progress import ProgressLike
from .._util.rng import RNG, seed_of
from ..data import check_unchanged
from ..data.content import Deviation
from ..data.features import features_differ
from ..data.limits import check_count
from ..data.notices import check_keep
from ..data.open import open_samples
from ..data.options import check_reading
from ..data.samples import Samples
from ..data.schema import Schema, Strictness
from ..engine import Compute, MemoryLike, computing
from ..engine.rows import as_matrix, take_matrix
from ..omnibus import OmnibusResult, Pooled
from ..omnibus.fixed import FixedTest
from ..omnibus.sketch import sketch_rows
from ..stats.design import Design
from ..stats.pvalues import check_draws, warn_of_floor
from .auto import run_omnibus
from .constant_columns import find_constants, layout_of, mark_others, to_single, units_of
from .reference_state import FORMAT, MOST, ReferenceState, as_loaded, fingerprint, read_state, write_state
from .two_sample_result import TwoSampleResult

if TYPE_CHECKING:
    from torch import Tensor

    from .control import Control
    from .monitor import Monitor

Array: TypeAlias = "np.ndarray[Any, Any]"

#: Rows of the reference that are kept unless the user says otherwise, and the numbers that these may have.
KEEP, KEEP_NUMBERS = 65_536, 2**23
#: A batch is compared with so many rows at the least (if there are as many), and with so many times its own.
LEAST, TIMES = 4_096, 4
#: Rows that a reference needs.
FEWEST = 16


@dataclass(frozen=True, eq=False)
class Reference:
    """What later batches are tested against. `Reference.fit` makes one, `Reference.load` reads one.

    Everything that is decided by looking at values is decided on one part of the reference, a quarter of its rows at
    most: the categories that are told apart (the 20 most common ones of each column; all others count as one), what
    stands for missing values, landmarks, bandwidths, ranks, directions. A batch is compared with rows of the other
    part, and labels are exchanged between these and the batch: the test is exact if the rows of the reference and of
    the batch are independent, and costs what the batch and some thousand rows cost, however large the reference was.

    Attributes
    ----------
    contents
        Everything that is saved.
    features
        The function of the rows that is compared, if the reference was fitted with one. It is not saved.
    """

    contents: ReferenceState
    features: Callable[[Tensor], Any] | None = field(default=None, repr=False)

    @classmethod
    def fit(
        cls,
        X: Any,
        *,
        max_kept_rows: int | None = None,
        keep_columns: Iterable[Any] | bool | None = None,
        features: Callable[[Tensor], Any] | None = None,
        rng: RNG = None,
        max_memory: MemoryLike = None,
        threads: int | None = None,
        progress: ProgressLike = None,
        **reading: Any,
    ) -> Reference:
        """Fit a reference.

        Parameters
        ----------
        X
            At least 16 rows: anything that `read` takes. Rows of .npy and zarr files may be more than fit into memory.
        max_kept_rows
            How many rows are kept at the most: by default 65,536, and fewer where rows are wide. Up to 16,384 of them a
            batch is compared with; an anytime-valid `Monitor` uses each once, and goes on for longer with more.
        keep_columns
            Of a table, columns that are compared although the rule of `two_sample_test` leaves them out: counters and
            identifiers, dates, free text. True compares all. It is decided on the rows of the reference, once; what is
            constant there is compared, since a batch may vary in it.
        features
            A function or module applied to the rows of the reference and of all batches, whose output is compared.
        rng
            Decides which rows go where.
        max_memory, threads, progress
            As in `mmd_test`.
        **reading
            How to read it: ``columns``, ``drop``, ``missing``, …, as in `read`. Batches are read alike.

        Notes
        -----
        A saved reference holds rows of the data: up to ``max_kept_rows`` rows as numbers, up to 768 more as landmarks,
        the sorted values of each column of up to 16,384 rows (every fourth of them where there are more rows), and the
        texts that occur in each column of text (up to 10,000).

        Examples
        --------
        >>> import numpy as np, tellapart as ta
        >>> rng = np.random.default_rng(0)
        >>> reference = ta.Reference.fit(rng.normal(size=(2000, 3)), rng=0)
        >>> reference.test(rng.normal(size=(100, 3)), rng=0).reject(0.01)
        False
        >>> reference.test(rng.normal(size=(100, 3)) + [0, 0.8, 0], rng=0).differing_columns(0.01).names
        ('1',)
        """
        seed = seed_of(rng)
        check_count(max_kept_rows, "max_kept_rows")
        options = check_reading(
            {"features": features, "rng": seed, "max_memory": max_memory, **reading}, cls.fit
        ).showing(progress)
        if hasattr(features, "fit_texts"):
            # Rows that batches are compared with must not decide on columns, and a file would need these.
            raise InputError(
                "features-not-fitted",
                "A reference needs features that are chosen beforehand, from other texts.",
                "Give {features}.",
                features=Spelled("ta.features.words().fit_texts(other_texts)", "ngrams"),
            )
        keep = check_keep(keep_columns)
        opened = open_samples([X], ("reference",), options, keep_columns=keep, keep_constants=True, plain_images=False)
        total = opened.sizes[0]
        if total < FEWEST:
            raise InputError("too-few-rows", f"A reference needs at least {FEWEST} rows, but has {total}.")
        draws = np.random.default_rng(seed)
        with computing(max_memory, None, progress, threads, title="Reference.fit") as compute:
            # Which rows are compared with batches is drawn before any value is looked at.
            order = draws.permutation(total)
            fitted = min(sketch_rows(total, opened.most_numbers(), compute), total // 4)
            schema, points, notes = Schema.fit(opened, order[:fitted], options)
            sketch = take_matrix(points, order[:fitted])
            most = max_kept_rows or max(LEAST, min(KEEP, KEEP_NUMBERS // schema.width))
            kept = take_matrix(points, order[fitted : fitted + most])
            constants = {} if schema.image_shape is not None else find_constants(sketch, schema)
            layout = layout_of(schema, constants)
            test = FixedTest.fit(mark_others(sketch, constants), layout, draws, compute)
            leverages = test.leverages(mark_others(kept[:MOST], constants), compute)
        check_unchanged(points)
        found = ReferenceState(FORMAT, seed, len(points), schema, constants, test, kept, leverages, notes)
        # What is loaded has notes that are text; these still know which arguments they name.
        return cls(replace(as_loaded(found), notes=notes), features)

    def test(
        self,
        batch: Any,
        permutations: int = 999,
        *,
        name: str = "batch",
        schema: Strictness = "normal",
        rng: RNG = None,
        max_memory: MemoryLike = None,
        threads: int | None = None,
        progress: ProgressLike = None,
    ) -> TwoSampleResult:
        """Test whether a batch comes from the distribution of the reference.

        The p-value is exact, whatever the size of the batch and the types of its columns, if all rows of the reference
        and of the batch are independent. One exception: whether a column that came as text holds numbers or categories
        is decided on all rows of the reference. If it is decided by texts that are too rare to be among the rows that
        features are fitted on, exactness is not guaranteed.

        Parameters
        ----------
        batch
            One row or more: anything that `read` takes, built like the reference.
        permutations
            The number of random permutations.
        name
            What to call it.
        schema
            What is an error: ``"normal"``: a column that is missing or of another type. ``"strict"``: also a new
            column, and texts that the reference does not have. ``"lenient"``: nothing; values that cannot be had are
            missing. Whatever is no error is counted in the notes.
        rng, max_memory, threads, progress
            As in `two_sample_test`.
        """
        seed = seed_of(rng)
        check_draws(permutations)
        opened = self.open(batch, name, schema)
        with computing(max_memory, None, progress, threads, title="Reference.test") as compute:
            result = self.run(opened, permutations, seed, compute)
        warn_of_floor(result.min_pvalue)
        return result

    def open(self, batch: Any, name: str = "batch", schema: Strictness = "normal") -> Batch:
        """A batch as numbers, and where it deviates from the schema."""
        found = self.contents.schema.read(batch, name, schema, self.features)
        dtype = self.contents.rows.dtype
        if dtype == np.float32:
            # What the reference has is in single precision already.
            rows = mark_others(to_single(as_matrix(found.values)), self.contents.constants)
            return Batch(name, rows, found.notes, found.deviations)
        rows = mark_others(as_matrix(found.values).astype(dtype), self.contents.constants, found.single)
        return Batch(name, rows, found.notes, found.deviations, found.single)

    def kept(self, rows: slice, single: tuple[int, ...] = ()) -> Array:
        """Some of the rows that batches are compared with, rounded to single precision where ``single`` says so."""
        return mark_others(self.contents.rows[rows], self.contents.constants, single)

    def run(self, batch: Batch, permutations: int, seed: int, compute: Compute) -> TwoSampleResult:
        """The test of a batch that is opened already."""
        start, known = time.perf_counter(), self.contents
        compared = min(len(known.rows), MOST, max(LEAST, TIMES * len(batch.rows)))
        rows, new = self.kept(slice(compared), batch.single), batch.rows
        units = units_of(known.schema, known.constants)
        mixed = Samples(
            (rows, new),
            units,
            known.schema.image_shape,
            (None, None),
            ("reference", batch.name),
            batch.notes,
        )
        fixed = known.test.in_single(batch.single)
        old = fixed.leverages(rows, compute) if batch.single else known.leverages[:compared]
        leverages = np.concatenate([old, fixed.leverages(new, compute)])

        def test(pooled: Pooled, rng: np.random.Generator, compute: Compute) -> OmnibusResult:
            return fixed.test(pooled, leverages, compute)

        return run_omnibus(TwoSampleResult, mixed, Design(), permutations, seed, compute, start, test)

    def monitor(self, alpha: float = 0.01, control: Control = "anytime", **options: Any) -> Monitor:
        """Watch batches as they come, with control over how often that is wrong; see `Monitor`."""
        from .monitor import Monitor

        return Monitor(self, alpha, control, **options)

    def save(self, path: str | PathLike[str]) -> None:
        """Write one file (safetensors, and JSON in its header); it appears whole or not at all."""
        write_state(self.contents, path)

    @classmethod
    def load(cls, path: str | PathLike[str], *, features: Callable[[Tensor], Any] | None = None) -> Reference:
        """Read what `save` wrote. There is no code in the file, and nothing larger than its tensors is made of it.

        Parameters
        ----------
        path
            The file.
        features
            The function that the reference was fitted with, if there was one.
        """
        contents = read_state(path)
        if contents.schema.features is not None and features is None:
            raise features_differ(path, contents.schema.features, None)
        return cls(contents, features)

    @cached_property
    def digest(self) -> str:
        """A fingerprint of everything that is saved."""
        return fingerprint(self.contents)

    def __len__(self) -> int:
        return self.contents.total

    def __repr__(self) -> str:
        known = self.contents
        kept = f"{len(known.rows):,} kept" if len(known.rows) < known.total else ""
        return f"Reference({', '.join(filter(None, (f'{known.total:,} rows', kept, known.schema.kind)))})"


@dataclass(frozen=True, eq=False)
class Batch:
    """A batch as numbers.

    Attributes
    ----------
    name, rows
        What it is called, and its rows.
    notes, deviations
        What should be known, and where it is not built like the reference.
    single
        The columns that are in single precision in the batch and in double precision in the reference, whose rows are
        rounded before they are compared with it.
    """

    name: str
    rows: Array
    notes: tuple[str, ...] = ()
    deviations: tuple[Deviation, ...] = ()
    single: tuple[int, ...] = ()

    @property
    def digest(self) -> str:
        """A fingerprint of its rows."""
        values = np.ascontiguousarray(self.rows, np.float64)
        return hashlib.sha256(repr(values.shape).encode() + values.tobytes()).hexdigest()[:16]
