"""Numbers and p-values as people read them in a page."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from pathlib import PurePath

from .._util.numbers import number, percent

__all__ = ["clip", "keep_units", "number", "p_sentence", "p_text", "percent", "short_names", "signed"]


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


def short_names(names: Sequence[str], length: int = 14) -> list[str]:
    """Names for an axis: without an ending that all of them have, and of long ones the end, which tells them apart.

    >>> short_names(["2024-02-01.csv", "2024-02-02.csv"]), short_names(["orders of 2024-02-01", "b"])
    (['2024-02-01', '2024-02-02'], ['…of 2024-02-01', 'b'])
    """
    endings = {PurePath(name).suffix for name in names}
    cut = len(endings.pop()) if len(endings) == 1 else 0
    stems = [name[: len(name) - cut] for name in names]
    return [stem if len(stem) <= length else "…" + stem[1 - length :] for stem in stems]


def keep_units(text: str) -> str:
    """A sentence in which no line ends between a number and its unit.

    >>> keep_units("18 % of A, +0.3 SD, × 2.5")
    '18\\xa0% of A, +0.3\\xa0SD, ×\\xa02.5'
    """
    return re.sub(r"(?<=\d) (?=%|SD|points)|(?<=×) (?=\d)", "\u00a0", text)
