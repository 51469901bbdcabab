"""Numbers and dates that are written as text: 1,040 and 40% and $40 and 4,0 and 31/01/2024.

A column is read as numbers or dates if all its texts are such, and can be read in one way only. Where 1,234 may be a
thousand or a little more than one, or 10/02/2024 a day in February or October, nobody guesses.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date
from typing import Literal, NamedTuple, TypeAlias

_CURRENCY = "$€£¥"
#: Digits in groups of three, or in one; then perhaps decimals. 1.2.3 is no number.
_DIGITS = r"\d{1,3}(?P<group>[.,'\u00a0\u202f ])\d{3}((?P=group)\d{3})*([.,]\d+)?|\d+([.,]\d*)?|[.,]\d+"
#: A sign and a currency, digits, and what may follow.
_NUMBER = re.compile(
    rf"(?P<sign>[+-]?)(?P<before>[{_CURRENCY}]?) ?(?P<digits>{_DIGITS})(?P<power>[eE][+-]?\d+)?"
    rf"(?P<after> ?[%{_CURRENCY}]?)"
)
_SPACES = re.compile("['\u00a0\u202f ]")
_GROUPED = {mark: re.compile(rf"\d{{1,3}}([{mark}]\d{{3}})+") for mark in ",."}
_CODE = re.compile(r"0\d+")
_DATE = re.compile(
    r"(?=\d{4}|.*\d{4}$|\d+/\d+/\d\d$)(?P<a>\d{1,2}|\d{4})(?P<mark>[/.-])(?P<b>\d{1,2})(?P=mark)(?P<c>\d{1,2}|\d{4})"
)
_MONTHS = "jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec"
_NAMED_DATE = re.compile(rf"(\d{{1,2}}[ -])?({_MONTHS})[a-z]*[ .,-]+\d{{1,4}}([ ,-]+\d{{2,4}})?", re.IGNORECASE)

What: TypeAlias = Literal["number", "date"]


class Written(NamedTuple):
    """What a column of texts says: for each text its value, and how it was read, as a remark. Or a problem with it."""

    kind: What
    values: list[float]
    remark: str = ""
    problem: str = ""


def looks_like(text: str) -> What | None:
    """Whether a text is a number or a date in any way of writing.

    >>> [looks_like(text) for text in ("$1,040", "40 %", "31.1.2024", "?", "12b")]
    ['number', 'number', 'date', None, None]
    """
    text = text.strip()
    if _DATE.fullmatch(text) or _NAMED_DATE.fullmatch(text):
        return "date"
    return "number" if _NUMBER.fullmatch(text) or _is_plain(text) else None


def are_codes(texts: Sequence[str]) -> bool:
    """Whether some are whole numbers with a zero in front, as in postcodes: then none of them is a quantity."""
    return any(_CODE.fullmatch(text.strip()) for text in texts)


def read_written(texts: Sequence[str]) -> Written | None:
    """The texts as numbers or dates, if that is what all of them are.

    >>> read_written(["1,040", "12"]).values, read_written(["4,0", "12"]).values, read_written(["40%"]).values
    ([1040.0, 12.0], [4.0, 12.0], [0.4])
    >>> read_written(["1,234", "5,678"]).problem
    "'1,234' may be 1234 or 1.234"
    >>> read_written(["red", "12"])
    """
    stripped = [text.strip() for text in texts]
    if not stripped or looks_like(stripped[0]) is None:
        return None
    kinds = {looks_like(text) for text in stripped}
    if len(kinds) > 1 or None in kinds or are_codes(stripped):
        return None
    return _read_numbers(stripped) if kinds == {"number"} else _read_dates(stripped)


def _is_plain(text: str) -> bool:
    """Whether Python reads it as a number (1_000 is none: only programmers write so)."""
    try:
        float(text)
    except ValueError:
        return False
    return "_" not in text


def _read_numbers(texts: list[str]) -> Written | None:
    if all(map(_is_plain, texts)):
        return Written("number", [float(text) for text in texts])
    found = [_NUMBER.fullmatch(text) for text in texts]
    if None in found:  # such as inf among numbers with a comma
        return None
    parts = [match for match in found if match is not None]
    units = {mark for match in parts if (mark := match["before"] or match["after"].strip())}
    if len(units) > 1 or any(match["before"] and match["after"].strip() for match in parts):
        return Written("number", [], problem=f"it has amounts in {' and '.join(sorted(units))}")
    digits = [_SPACES.sub("", match["digits"]) for match in parts]
    decimal = _find_decimal(digits)
    if decimal is None:
        odd = next(text for text in digits if "," in text)
        return Written("number", [], problem=f"{odd!r} may be {odd.replace(',', '')} or {odd.replace(',', '.')}")
    group = "," if decimal == "." else "."
    values = []
    for match, text in zip(parts, digits, strict=True):
        share = 0.01 if match["after"].strip() == "%" else 1.0
        number = float(match["sign"] + text.replace(group, "").replace(decimal, ".") + (match["power"] or ""))
        values.append(round(number * share, 15) if share != 1 else number)
    example = next(k for k, text in enumerate(texts) if not _is_plain(text))
    return Written("number", values, f"read as numbers ({texts[example]!r} as {values[example]:.12g})")


def _find_decimal(digits: list[str]) -> str | None:
    """Which mark stands before decimals, a point or a comma; None where both may be meant."""
    commas = [text for text in digits if "," in text]
    if not commas:
        return "." if all(text.count(".") <= 1 for text in digits) else _all_grouped(digits, ".")
    # A comma after which anything but three digits comes, or behind a single 0, is before decimals.
    if all(_is_grouped(text, ",") for text in commas):
        clear = any(text.count(",") > 1 or "." in text for text in commas) or any(
            "," not in text and "." not in text and len(text) <= 3 for text in digits
        )
        return "." if clear else None
    return "," if all(text.count(",") <= 1 and _is_grouped(text.split(",")[0], ".") for text in digits) else None


def _is_grouped(text: str, mark: str) -> bool:
    """Whether the whole number in front has no mark, or one before each three digits, and does not start with 0."""
    other = "." if mark == "," else ","
    whole, *rest = text.split(other)
    if len(rest) > 1 or any(mark in part for part in rest):
        return False
    return mark not in whole or (_GROUPED[mark].fullmatch(whole) is not None and not whole.startswith("0"))


def _all_grouped(digits: list[str], mark: str) -> str | None:
    return "," if all(_is_grouped(text, mark) for text in digits) else None


def _read_dates(texts: list[str]) -> Written | None:
    found = [_DATE.fullmatch(text) for text in texts]
    parts = [match for match in found if match is not None]
    if len(parts) < len(texts):
        return Written("date", [], problem=f"it has dates such as {texts[found.index(None)]!r}")
    if all(len(match["a"]) == 4 for match in parts):
        order = "ymd"
    elif all(len(match["c"]) == 4 and len(match["a"]) <= 2 for match in parts):
        first, second = (max(int(match[name]) for match in parts) for name in "ab")
        # With points the day comes first.
        order = "dmy" if first > 12 or all(match["mark"] == "." for match in parts) else "mdy" if second > 12 else ""
    else:
        return Written("date", [], problem=f"it has dates such as {texts[0]!r}, whose year has two digits or none")
    if not order:
        return Written("date", [], problem=f"in {texts[0]!r} the day or the month may come first")
    epoch = date(1970, 1, 1)
    values = []
    for text, match in zip(texts, parts, strict=True):
        named = dict(zip(order, (int(match[name]) for name in "abc"), strict=True))
        try:
            values.append(float((date(named["y"], named["m"], named["d"]) - epoch).days))
        except ValueError:
            return Written("date", [], problem=f"{text!r} is no date where others are day, month and year")
    last = date.fromordinal(int(values[0]) + epoch.toordinal())
    return Written("date", values, f"read as dates ({texts[0]!r} as {last.isoformat()})")
