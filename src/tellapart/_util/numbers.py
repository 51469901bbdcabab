"""Numbers as people read them."""

from __future__ import annotations

import math
from datetime import datetime, timedelta


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


def percent(share: float) -> str:
    """A share for people.

    >>> percent(0.1234), percent(0.05), percent(0.0042), percent(0.996), percent(1.0), percent(0.0)
    ('12 %', '5 %', '0.42 %', '99.6 %', '100 %', '0 %')
    """
    if not math.isfinite(share):
        return "–"
    value = 100 * float(share)
    if 99 < value < 100:
        return f"{min(value, 99.99):.3g} %"
    return f"{value:.0f} %" if value >= 10 else f"{value:.2g} %"


def date_text(days: float) -> str:
    """Days since 1970 as a date.

    >>> date_text(19723.4)
    '2024-01-01'
    """
    try:
        return (datetime(1970, 1, 1) + timedelta(days=days)).date().isoformat()
    except OverflowError:
        return f"day {days:.6g}"
