"""Columns without any variation where features were fitted: later values are compared by whether they are others.

Such a column has no scale and no ranks. It becomes an indicator, which is 0 wherever the value is what it always was.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor

from ..data.samples import Variable
from ..data.schema import Schema
from ..omnibus import Layout


def find_constants(sketch: Tensor, schema: Schema) -> dict[str, float]:
    """Columns of numbers without any variation; by their positions, as text for JSON."""
    in_category = {place for unit in schema.variables if unit.kind in ("text", "missing") for place in unit.coordinates}
    constant = (sketch == sketch[:1]).all(0)
    return {str(k): float(sketch[0, k]) for k in range(sketch.shape[1]) if bool(constant[k]) and k not in in_category}


def mark_others(rows: Tensor, constants: dict[str, float], single: Sequence[int] = ()) -> Tensor:
    """Rows whose constant columns are 1 where their value is another than it was, and else 0.

    Columns ``single`` are rounded to single precision before that, and so are the constants among them.
    """
    if not constants and not single:
        return rows
    rows = rows.clone()
    places, largest = list(single), torch.finfo(torch.float32).max
    rows[:, places] = rows[:, places].clamp(-largest, largest).float().to(rows.dtype)
    for place, value in constants.items():
        constant = rows.new_tensor(value)
        if int(place) in places:
            constant = constant.clamp(-largest, largest).float().to(rows.dtype)
        rows[:, int(place)] = (rows[:, int(place)] != constant).to(rows.dtype)
    return rows


def units_of(schema: Schema, constants: dict[str, float]) -> tuple[Variable, ...]:
    """What the numbers of a row are; of a constant column, whether its value is another."""
    return tuple(
        replace(unit, kind="text", levels=(f"not {constants[str(unit.coordinates[0])]:g}",), gap=None)
        if str(unit.coordinates[0]) in constants and unit.kind not in ("text", "missing")
        else unit
        for unit in schema.variables
    )


def layout_of(schema: Schema, constants: dict[str, float]) -> Layout:
    """What features are made of."""
    categories = tuple(u.coordinates for u in units_of(schema, constants) if u.kind in ("text", "missing"))
    return Layout(schema.width, categories, schema.image_shape)
