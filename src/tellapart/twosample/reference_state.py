"""What the file of a reference holds, and whether its parts fit together."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from os import PathLike
from typing import Any, TypeAlias

import numpy as np

from .._util.errors import InputError, InputFileError, InputMemoryError
from .._util.files import read_arrays, write_arrays
from .._util.records import Records
from .._util.text import printable
from ..data.finite import LARGEST
from ..data.schema import PARTS as SCHEMA_PARTS
from ..data.schema import Schema
from ..engine.rows import as_matrix
from ..omnibus.fixed import PARTS as TEST_PARTS
from ..omnibus.fixed import FixedTest
from .constant_columns import layout_of

Array: TypeAlias = "np.ndarray[Any, Any]"

#: What files say they are.
FORMAT = "tellapart reference, version 5"
#: Rows that a batch is compared with at the most.
MOST = 16_384
#: Maximum magnitude of the numbers of categories in a file; `Reference.fit` writes 0, 1 and other small ones.
_LARGEST_CATEGORY = 1e9


@dataclass(frozen=True, eq=False)
class ReferenceState:
    """What is in the file of a reference.

    Attributes
    ----------
    format, seed, total
        The version of the file, the seed it was fitted with, and how many rows the reference had.
    schema
        What its columns are.
    constants
        Columns that were constant where features were fitted, and their values: it is compared how often later values
        are others.
    test
        Features and directions, fitted on a part of the rows. Landmarks are rows of the reference, up to 768.
    rows
        The rows that batches are compared with, in random order, as numbers. Nothing that features are made of, the
        categories of the schema among it, was decided by looking at them.
    leverages
        What the first of these rows have to do with the bias of the forms.
    notes
        What should be known.
    """

    format: str
    seed: int
    total: int
    schema: Schema
    constants: dict[str, float]
    test: FixedTest
    rows: Array
    leverages: Array
    notes: tuple[str, ...]


RECORDS = Records([ReferenceState, *SCHEMA_PARTS, *TEST_PARTS])


def write_state(state: ReferenceState, path: str | PathLike[str]) -> None:
    """One file, which appears whole or not at all."""
    facts, arrays = RECORDS.pack(state)
    write_arrays(path, arrays, facts)


def read_state(path: str | PathLike[str]) -> ReferenceState:
    """What `write_state` wrote; whatever is wrong with it is an error that names the file."""
    try:
        arrays, facts = read_arrays(path, "a reference written by tellapart.Reference.save")
    except (json.JSONDecodeError, RecursionError) as error:
        raise InputError(
            "damaged-file", f"{path} cannot be read as a reference: its header is not valid JSON."
        ) from error
    except (InputFileError, InputMemoryError):
        raise
    except InputError as error:
        raise InputError(
            "wrong-file-kind",
            f"{printable(str(path))} is not a reference, or damaged. Give a file that `tellapart reference` or "
            "Reference.save wrote.",
        ) from error
    try:
        _check_version(facts)
        state: ReferenceState = RECORDS.unpack(facts, arrays)
        _check(state)
    except InputError as error:
        raise error.after(f"{path} cannot be read as a reference. ") from error
    except Exception as error:  # whatever a file that was tampered with makes of the arithmetic
        raise InputError(
            "damaged-file", f"{path} cannot be read as a reference: its parts do not fit together."
        ) from error
    return state


def as_loaded(state: ReferenceState) -> ReferenceState:
    """The same as it would come from a file, so that sums over it have the same bits."""
    facts, arrays = RECORDS.pack(state)
    copies = {name: np.array(value, order="C") for name, value in arrays.items()}
    found: ReferenceState = RECORDS.unpack(json.loads(json.dumps(facts)), copies)
    return found


def fingerprint(state: ReferenceState) -> str:
    """The same for the same state, in 16 letters."""
    facts, arrays = RECORDS.pack(state)
    found = hashlib.sha256(repr(facts).encode())
    for name in sorted(arrays):
        found.update(arrays[name].tobytes())
    return found.hexdigest()[:16]


def _check_version(facts: Any) -> None:
    """Raise `InputError` if the header of a file says that it is of another version."""
    fields = facts.get("fields") if isinstance(facts, dict) else None
    found = fields.get("format") if isinstance(fields, dict) else None
    if isinstance(found, str) and found != FORMAT:
        raise InputError(
            "other-version", f"It is of another version ({found!r:.60}, and not {FORMAT!r}). Fit the reference again."
        )


def _check(state: Any) -> None:
    """Complain about a file whose parts do not fit together, before anything is computed with it."""

    def claim(true: bool, what: str) -> None:
        if not true:
            raise InputError("damaged-file", f"Its {what} do not fit together.")

    claim(isinstance(state, ReferenceState), "parts")
    claim(state.format == FORMAT, "parts")
    schema, test, rows = state.schema, state.test, state.rows
    claim(isinstance(schema, Schema) and isinstance(test, FixedTest) and isinstance(rows, np.ndarray), "parts")
    claim(rows.ndim == 2 and rows.dtype.kind == "f" and len(rows) >= 1 and rows.shape[1] == schema.width, "rows")
    claim(len(rows) <= state.total < 2**53 and state.seed >= 0, "rows")
    schema.check()
    plan = test.plan
    claim(plan.transform.layout == layout_of(schema, state.constants), "columns")
    # Squares of values are finite, and those of categories are so in single precision too.
    categories = rows[:, [place for places in plan.transform.layout.categories for place in places]]
    usable = bool(np.isfinite(rows).all()) and float(np.abs(rows).max()) <= LARGEST
    claim(usable and float(np.abs(categories).max(initial=0)) <= _LARGEST_CATEGORY, "rows")
    claim(all(key.isdecimal() and int(key) < schema.width for key in state.constants), "columns")
    claim(test.is_consistent(), "features")
    count = sum(len(directions.names) for directions in test.directions.values())
    claim(state.leverages.shape == (min(len(rows), MOST), count), "leverages")
    # Features of two rows must be computable.
    for block, F in plan.features(rows[:2], plan.blocks):
        claim(as_matrix(F).shape == (len(rows[:2]), block.width) and bool(np.isfinite(F).all()), "features")
