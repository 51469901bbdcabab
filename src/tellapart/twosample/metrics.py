"""The text format of Prometheus, for its textfile collector."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple


class Metric(NamedTuple):
    """A number with its name and description; ``kind`` is ``"counter"`` if it only grows, and else ``"gauge"``."""

    name: str
    value: float
    description: str
    kind: str = "gauge"


def write_metrics(metrics: Sequence[Metric], **labels: object) -> str:
    r"""Metrics as text, all of them with the same labels. Two files with the same metrics need different labels.

    >>> print(write_metrics([Metric("rows", 3, "Rows.")], stream='a "b"'), end="")
    # HELP tellapart_rows Rows.
    # TYPE tellapart_rows gauge
    tellapart_rows{stream="a \"b\""} 3
    """
    inside = ",".join(f'{name}="{_escape(str(value))}"' for name, value in labels.items())
    suffix = f"{{{inside}}}" if inside else ""
    lines = []
    for metric in metrics:
        name = f"tellapart_{metric.name}"
        lines += [
            f"# HELP {name} {metric.description}",
            f"# TYPE {name} {metric.kind}",
            f"{name}{suffix} {_number(metric.value)}",
        ]
    return "\n".join(lines) + "\n"


def _number(value: float) -> str:
    """A number as Prometheus reads it, of Python or of NumPy.

    >>> import numpy as np
    >>> _number(np.float64(0.5)), _number(3), _number(math.inf), _number(math.nan)
    ('0.5', '3', '+Inf', 'NaN')
    """
    if math.isfinite(value):
        return repr(value) if isinstance(value, int) else repr(float(value))
    return "NaN" if math.isnan(value) else "+Inf" if value > 0 else "-Inf"


def _escape(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
