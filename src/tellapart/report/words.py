"""Texts on a page."""

from __future__ import annotations

import re


def clip(text: str, length: int) -> str:
    """A text, shortened where it is long.

    >>> clip("abcdef", 4)
    'abc…'
    """
    return text if len(text) <= length else text[: length - 1] + "…"


def keep_units(text: str) -> str:
    """A sentence in which no line ends between a number and its unit.

    >>> keep_units("18 % of A, +0.3 SD, × 2.5")
    '18\\xa0% of A, +0.3\\xa0SD, ×\\xa02.5'
    """
    return re.sub(r"(?<=\d) (?=%|SD|points)|(?<=×) (?=\d)", "\u00a0", text)
