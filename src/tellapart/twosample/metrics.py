"""The text format of Prometheus, for its textfile collector."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple


class Metric(NamedTuple):
    """One number: what it is called, whether it only grows, and what it means."""

    name: str
    value: float
    description: str
    kind: str = "gauge"


def write_metrics(metrics: Sequence[Metric], **labels: str) -> str:
    r"""Metrics as text, all of them with the same labels: two files with the same metrics need labels that differ.

    >>> print(write_metrics([Metric("rows", 3, "Rows.")], stream='a "b"'), end="")
    # HELP tellapart_rows Rows.
    # TYPE tellapart_rows gauge
    tellapart_rows{stream="a \"b\""} 3
    """
    inside = ",".join(f'{name}="{_escape(value)}"' for name, value in labels.items())
    told = f"{{{inside}}}" if inside else ""
    lines = []
    for one in metrics:
        name = f"tellapart_{one.name}"
        lines += [f"# HELP {name} {one.description}", f"# TYPE {name} {one.kind}", f"{name}{told} {_number(one.value)}"]
    return "\n".join(lines) + "\n"


def _number(value: float) -> str:
    return "NaN" if math.isnan(value) else f"{value!r}"


def _escape(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
