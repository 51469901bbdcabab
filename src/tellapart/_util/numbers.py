"""Numbers as people read them."""

from __future__ import annotations

import math


def number(value: float) -> str:
    """A number for people: three digits, and no more zeros than needed.

    >>> number(1234.5), number(0.000012), number(-0.5), number(1e7)
    ('1,230', '1.2e-05', '-0.5', '1e+07')
    """
    if value == 0:
        return "0"
    if not math.isfinite(value):
        return "–" if math.isnan(value) else "∞" if value > 0 else "−∞"
    if not 1e-4 <= abs(value) < 1e6:
        return f"{value:.3g}"
    digits = max(0, 2 - math.floor(math.log10(abs(value))))
    text = f"{round(value, 2 - math.floor(math.log10(abs(value)))):,.{digits}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
