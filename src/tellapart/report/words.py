"""Numbers as people read them."""

from __future__ import annotations

import math
import re

from ..twosample.effects import percent

__all__ = ["clip", "keep_units", "number", "p_sentence", "p_text", "percent", "signed"]


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


def p_text(pvalue: float, floor: float = 0.0) -> str:
    """A p-value, with ≤ where it is as small as it can be.

    >>> p_text(0.001, floor=0.001), p_text(0.0123)
    ('≤ 0.001', '0.012')
    """
    at_floor = pvalue <= floor * (1 + 1e-9)
    return f"≤ {pvalue:.2g}" if at_floor else f"{pvalue:.2g}" if pvalue < 0.995 else "1"


def p_sentence(pvalue: float, floor: float = 0.0) -> str:
    """A p-value to stand in a sentence.

    >>> p_sentence(0.001, floor=0.001), p_sentence(0.2)
    ('p ≤ 0.001', 'p = 0.2')
    """
    text = p_text(pvalue, floor)
    return f"p {text}" if text.startswith("≤") else f"p = {text}"


def clip(text: str, length: int) -> str:
    """A text, shortened where it is long.

    >>> clip("abcdef", 4)
    'abc…'
    """
    return text if len(text) <= length else text[: length - 1] + "…"


def keep_units(text: str) -> str:
    """A sentence in which no line ends between a number and its unit.

    >>> keep_units("18 % of A, +0.3 SD")
    '18\\xa0% of A, +0.3\\xa0SD'
    """
    return re.sub(r"(\d) (%|SD|points)", "\\1\u00a0\\2", text)
