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


def signed(value: float) -> str:
    """A number with its sign.

    >>> signed(0.31), signed(-0.0421), signed(0.0)
    ('+0.31', '−0.042', '0')
    """
    if value == 0 or not math.isfinite(value):
        return number(value)
    return f"{value:+.2g}".replace("-", "−")


def p_text(pvalue: float, smallest: float = 0.0) -> str:
    """A p-value, with ≤ where it is the smallest that the test can give.

    >>> p_text(0.001, smallest=0.001), p_text(0.0123), p_text(1e-200)
    ('≤ 0.001', '0.0123', '< 1e-15')
    """
    if pvalue < 1e-15:
        return "< 1e-15"
    return f"≤ {pvalue:.3g}" if is_smallest(pvalue, smallest) else f"{pvalue:.3g}"


def p_sentence(pvalue: float, smallest: float = 0.0) -> str:
    """A p-value with the sign before it.

    >>> p_sentence(0.001, smallest=0.001), p_sentence(0.2)
    ('p ≤ 0.001', 'p = 0.2')
    """
    return with_sign(p_text(pvalue, smallest))


def with_sign(text: str) -> str:
    """The text of a p-value with the sign before it."""
    return f"p {text}" if text[:1] in "≤<" else f"p = {text}"


def is_smallest(pvalue: float, smallest: float) -> bool:
    """Whether a p-value is the smallest that the test can give, up to rounding."""
    return pvalue <= smallest * (1 + 1e-9)


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
