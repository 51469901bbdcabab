"""Columns that are constant in the rows that features are fitted on.

Such a column has neither a scale nor ranks. It becomes an indicator of values that differ from the constant.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np

from ..data.samples import Variable
from ..data.schema import Schema
from ..omnibus import Layout

Array: TypeAlias = "np.ndarray[Any, Any]"

#: The largest number of single precision.
LARGEST = float(np.finfo(np.float32).max)


def find_constants(sketch: Array, schema: Schema) -> dict[str, float]:
    """The values of constant numeric columns, by their positions, which are text for JSON."""
    in_category = {place for unit in schema.variables if unit.kind in ("text", "missing") for place in unit.coordinates}
    constant = (sketch == sketch[:1]).all(0)
    return {str(k): float(sketch[0, k]) for k in range(sketch.shape[1]) if bool(constant[k]) and k not in in_category}


def mark_others(rows: Array, constants: dict[str, float], single: Sequence[int] = ()) -> Array:
    """Replace constant columns by indicators of values that differ from the constant.

    Columns ``single`` and their constants are rounded to single precision first.
    """
    if not constants and not single:
        return rows
    rows = rows.copy()
    places = list(single)
    rows[:, places] = to_single(rows[:, places])
    for place, value in constants.items():
        constant = rows.dtype.type(value)
        rows[:, int(place)] = rows[:, int(place)] != (to_single(constant) if int(place) in places else constant)
    return rows


def to_single(values: Array) -> Array:
    """Values in single precision, the largest of which those that are larger become."""
    return np.asarray(np.clip(values, -LARGEST, LARGEST).astype(np.float32))


def units_of(schema: Schema, constants: dict[str, float]) -> tuple[Variable, ...]:
    """The columns of a row, with constant columns as indicators."""
    return tuple(
        replace(unit, kind="text", levels=(f"not {constants[str(unit.coordinates[0])]:g}",), gap=None)
        if str(unit.coordinates[0]) in constants and unit.kind not in ("text", "missing")
        else unit
        for unit in schema.variables
    )


def layout_of(schema: Schema, constants: dict[str, float]) -> Layout:
    """The layout of the rows that features are computed from."""
    return Layout.of(units_of(schema, constants), schema.image_shape)
