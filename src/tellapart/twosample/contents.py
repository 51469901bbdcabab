"""What the file of a reference holds, and whether its parts fit together."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from os import PathLike
from typing import Any, TypeAlias

import numpy as np
import torch
from torch import Tensor

from .._util.errors import InputError, InputFileError, InputMemoryError
from .._util.files import read_tensors, write_tensors
from .._util.records import Records
from .._util.text import printable
from ..data.schema import PARTS as SCHEMA_PARTS
from ..data.schema import Schema
from ..stats.forms.components import ComponentFeatures
from ..stats.forms.fixed import PARTS as FORMS_PARTS
from ..stats.forms.fixed import FixedForms
from ..stats.forms.landmarks import GaussianFeatures
from .constant_columns import layout_of

Array: TypeAlias = "np.ndarray[Any, Any]"

#: What files say they are.
FORMAT = "tellapart reference, version 3"
#: Rows that a batch is compared with at the most.
MOST = 16_384


@dataclass(frozen=True, eq=False)
class Contents:
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
    forms
        The features, fitted on a part of the rows. Landmarks among them are rows of the reference, up to 768.
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
    forms: FixedForms
    rows: Tensor
    leverages: Array
    notes: tuple[str, ...]


RECORDS = Records([Contents, *SCHEMA_PARTS, *FORMS_PARTS])


def write_contents(contents: Contents, path: str | PathLike[str]) -> None:
    """One file, which appears whole or not at all."""
    facts, tensors = RECORDS.pack(contents)
    write_tensors(path, tensors, facts)


def read_contents(path: str | PathLike[str]) -> Contents:
    """What `write_contents` wrote; whatever is wrong with it is an error that names the file."""
    try:
        tensors, facts = read_tensors(path, "a reference written by tellapart.Reference.save")
    except (json.JSONDecodeError, RecursionError) as error:
        raise InputError("damaged-file", f"{path} cannot be read as a reference: its header is no JSON.") from error
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
        contents: Contents = RECORDS.unpack(facts, tensors)
        _check(contents)
    except InputError as error:
        raise error.after(f"{path} cannot be read as a reference. ") from error
    except Exception as error:  # whatever a file that was tampered with makes of the arithmetic
        raise InputError(
            "damaged-file", f"{path} cannot be read as a reference: its parts do not fit together."
        ) from error
    return contents


def as_loaded(contents: Contents) -> Contents:
    """The same as it would come from a file, so that sums over it have the same bits."""
    facts, tensors = RECORDS.pack(contents)
    copies = {name: value.detach().cpu().clone().contiguous() for name, value in tensors.items()}
    found: Contents = RECORDS.unpack(json.loads(json.dumps(facts)), copies)
    return found


def fingerprint(contents: Contents) -> str:
    """The same for the same contents, in 16 letters."""
    facts, tensors = RECORDS.pack(contents)
    found = hashlib.sha256(repr(facts).encode())
    for name in sorted(tensors):
        found.update(np.ascontiguousarray(tensors[name].numpy()).tobytes())
    return found.hexdigest()[:16]


def _check_version(facts: Any) -> None:
    """Raise `InputError` if the header of a file says that it is of another version."""
    fields = facts.get("fields") if isinstance(facts, dict) else None
    found = fields.get("format") if isinstance(fields, dict) else None
    if isinstance(found, str) and found != FORMAT:
        raise InputError(
            "other-version", f"It is of another version ({found!r:.60}, and not {FORMAT!r}). Fit the reference again."
        )


def _check(contents: Any) -> None:
    """Complain about a file whose parts do not fit together, before anything is computed with it."""

    def claim(true: bool, what: str) -> None:
        if not true:
            raise InputError("damaged-file", f"Its {what} do not fit together.")

    claim(isinstance(contents, Contents), "parts")
    claim(contents.format == FORMAT, "parts")
    schema, forms, rows = contents.schema, contents.forms, contents.rows
    plan, width = forms.plan, schema.width
    claim(isinstance(schema, Schema) and isinstance(forms, FixedForms) and isinstance(rows, Tensor), "parts")
    claim(rows.ndim == 2 and rows.is_floating_point() and len(rows) >= 1 and rows.shape[1] == width, "rows")
    claim(len(rows) <= contents.total < 2**53 and contents.seed >= 0, "rows")
    schema.check()
    shape = schema.image_shape
    claim(plan.layout == layout_of(schema, contents.constants), "columns")
    claim(all(key.isdecimal() and int(key) < width for key in contents.constants), "columns")
    claim(plan.centre.shape == (width,) and plan.divisor.shape == (width,) and (plan.divisor != 0).all(), "scales")
    claim(_are_places(plan.numeric, width), "columns")
    for family, similar in plan.similarities.items():
        claim(family in ("kernel", "patches") and isinstance(similar, GaussianFeatures), "kernels")
        claim(len(similar.means) == len(similar.bandwidths) and min(similar.bandwidths) > 0, "bandwidths")
        claim(all(0 < len(mean) <= len(similar.landmarks) for mean in similar.means), "landmarks")
    claim(("patches" in plan.similarities) == (plan.patches is not None), "patches")
    if plan.patches is not None and shape is not None:
        claim(plan.patches.shape == shape, "patches")
        claim(0 < plan.patches.size <= 64 and 0 < plan.patches.stride <= max(shape), "patches")
    claim((plan.components is None) == (plan.component_ranks is None), "components")
    if plan.components is not None:
        claim(plan.components.directions.shape == (len(plan.numeric), len(plan.components.variances)), "components")
    for ranks, count in ((plan.ranks, len(plan.numeric)), (plan.component_ranks, _count(plan.components))):
        if ranks is not None:
            claim(len(ranks.values) == len(ranks.below) == count and ranks.rows > 0, "ranks")
            pairs = zip(ranks.values, ranks.below, strict=True)
            claim(all(len(b) == len(v) + 1 and len(v) > 0 for v, b in pairs), "ranks")
    if plan.pairs is not None:
        claim(all(_are_places(side, len(plan.numeric)) for side in (plan.pairs.first, plan.pairs.second)), "pairs")
    for member, found in forms.members.items():
        claim(found.directions.shape == (member.width, found.filters.shape[1]), "directions")
        claim(len(found.filters) == len(found.skewness) == len(found.names), "filters")
    count = sum(len(found.names) for found in forms.members.values())
    claim(contents.leverages.shape == (min(len(rows), MOST), count), "leverages")
    # And that features can be made at all.
    with torch.no_grad():
        for member, F in plan.features(rows[:2], plan.members):
            claim(F.flatten(1).shape == (len(rows[:2]), member.width) and bool(torch.isfinite(F).all()), "features")


def _count(components: ComponentFeatures | None) -> int:
    return 0 if components is None else len(components.names)


def _are_places(values: Array, count: int) -> bool:
    """Whether these are positions among so many."""
    return values.ndim == 1 and values.dtype.kind in "iu" and bool(((values >= 0) & (values < count)).all())
