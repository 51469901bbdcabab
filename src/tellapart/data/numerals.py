"""Numbers and dates that are written as text: 1,040 and 40% and $40 and 4,0 and 31/01/2024.

A column is read as numbers or dates if all its texts are such and can be read in one way only. That is decided on the
texts of all samples together. Where 1,234 may be a thousand or a little more than one, or 10/02/2024 a day in February
or October, the column is refused. Numbers as programs write them (1234, 1.234, 1e5) are read as programs read them.
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
#: Different texts such as 1,234, all with three digits after the comma, from which it sets thousands apart: of numbers
#: with up to three decimals fewer than one column in a thousand has so many that end in no 0 (0.9⁶⁶ < 0.001).
_ENOUGH = 66
_DATE = re.compile(
    r"(?=\d{4}|.*\d{4}$|\d+/\d+/\d\d$)(?P<a>\d{1,2}|\d{4})(?P<mark>[/.-])(?P<b>\d{1,2})(?P=mark)(?P<c>\d{1,2}|\d{4})"
)
_MONTHS = "jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec"
_NAMED_DATE = re.compile(rf"(\d{{1,2}}[ -])?({_MONTHS})[a-z]*[ .,-]+\d{{1,4}}([ ,-]+\d{{2,4}})?", re.IGNORECASE)

What: TypeAlias = Literal["number", "date"]


class Written(NamedTuple):
    """What a column of texts says.

    Attributes
    ----------
    kind
        What the texts are.
    values
        The value of each text; empty where there is a problem.
    how
        How they are written, for `read_written` to read other texts in the same way: ``"plain"`` for numbers as
        programs write them; the decimal mark and the unit, such as ``",%"``; or the order of a date, such as ``"dmy"``.
    remark
        How they were read, where that is worth reporting.
    problem
        Why they cannot be read in one way.
    """

    kind: What
    values: list[float]
    how: str = ""
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


def code_width(texts: Sequence[str]) -> int | None:
    """How many digits codes have that begin with 0 here and there, such as postcodes; None where these are no codes.

    >>> code_width(["01234", "99999"]), code_width(["10", "99"]), code_width(["007", "12"])
    (5, None, None)
    """
    lengths = {len(text) for text in texts}
    if len(lengths) != 1 or min(lengths) < 2 or not all(text.isdecimal() and text.isascii() for text in texts):
        return None
    return lengths.pop() if are_codes(texts) else None


def read_written(texts: Sequence[str], how: str | None = None) -> Written | None:
    """The texts as numbers or dates, if that is what all of them are; in the way ``how`` if it is given.

    Give the texts of all samples together: a column must not be read in one way here and in another there.

    >>> read_written(["1,040.5", "12"]).values, read_written(["4,0", "12"]).values, read_written(["40%"]).values
    ([1040.5, 12.0], [4.0, 12.0], [0.4])
    >>> read_written(["1,234", "567"]).problem
    "'1,234' may be 1234 or 1.234"
    >>> read_written(["1,234", "567"], ",").values
    [1.234, 567.0]
    >>> read_written(["red", "12"])
    """
    stripped = [text.strip() for text in texts]
    if not stripped or looks_like(stripped[0]) is None or are_codes(stripped):
        return None
    if how in (None, "plain") and all(map(_is_plain, stripped)):
        return _read_plain(stripped)
    kinds = {looks_like(text) for text in stripped}
    if len(kinds) > 1 or None in kinds:
        return None
    return _read_numbers(stripped, how) if kinds == {"number"} else _read_dates(stripped, how)


def _read_plain(texts: list[str]) -> Written:
    # "1.234" is what programs write for a number below 2, and what some people write for one above 1000.
    digits = [text.lstrip("+-") for text in texts]
    grouped = next((text for text in digits if "." in text), "")
    remark = f"read as numbers ({grouped!r} as {float(grouped):.12g})" if grouped and _are_like_groups(digits) else ""
    return Written("number", [float(text) for text in texts], "plain", remark)


def _is_plain(text: str) -> bool:
    """Whether Python reads it as a number (1_000 is none: only programmers write so)."""
    try:
        float(text)
    except ValueError:
        return False
    return "_" not in text


def _read_numbers(texts: list[str], how: str | None) -> Written | None:
    found = [_NUMBER.fullmatch(text) for text in texts]
    if None in found:  # such as inf among numbers with a comma
        return None
    parts = [match for match in found if match is not None]
    odd = next(text for text in [*texts, ""] if not _is_plain(text))
    if how == "plain":
        return Written(
            "number", [], problem=f"{odd!r} is not written as the other numbers are, without groups or units"
        )
    units = {mark for match in parts if (mark := match["before"] or match["after"].strip())} | set((how or "")[1:])
    if len(units) > 1 or any(match["before"] and match["after"].strip() for match in parts):
        return Written("number", [], problem=f"it has amounts in {' and '.join(sorted(units))}")
    digits = [match["digits"] for match in parts]
    bare = [
        text
        for text, match in zip(texts, parts, strict=True)
        if match["after"].strip() != "%" and match["digits"].strip("0.,")
    ]
    if "%" in units and bare:
        return Written("number", [], problem=f"{bare[0]!r} has no percent sign, and others have one")
    decimal = how[0] if how else _find_decimal(digits, plain="%" in units)
    wrong = [text for text in digits if decimal and not _is_written(text, decimal)]
    if wrong or decimal is None:
        return Written("number", [], problem=_describe_problem(digits, wrong))
    values = []
    for match, text in zip(parts, digits, strict=True):
        share = 0.01 if match["after"].strip() == "%" else 1.0
        bare_digits = _SPACES.sub("", text).replace("," if decimal == "." else ".", "").replace(decimal, ".")
        number = float(match["sign"] + bare_digits + (match["power"] or ""))
        values.append(round(number * share, 15) if share != 1 else number)
    example = max(range(len(texts)), key=lambda k: not _is_plain(texts[k]))
    remark = f"read as numbers ({texts[example]!r} as {values[example]:.12g})"
    return Written("number", values, decimal + "".join(units), remark)


def _find_decimal(digits: Sequence[str], *, plain: bool = False) -> str | None:
    """Which mark stands before decimals, a point or a comma; None where none or both may be meant.

    With ``plain`` a point is, if it may be.
    """
    if any(_SPACES.search(text) for text in digits):
        # Thousands are set apart by spaces or apostrophes, so that any other mark is before decimals.
        marks = {mark for text in digits for mark in ".," if mark in text}
        return None if len(marks) > 1 else next(iter(marks), ".")
    possible = [mark for mark in ".," if all(_is_written(text, mark) for text in digits)]
    if len(possible) < 2:
        return next(iter(possible), None)
    marks = {mark for text in digits for mark in ".," if mark in text}
    if not marks or (plain and marks == {"."}):
        return "."
    # All have the form 1,234. If commas were before decimals, one in ten would end in 0, which is cut: 1,23.
    grouped = {text for text in digits if "," in text}
    below = any(text.strip("0") for text in digits if "," not in text)
    return "." if marks == {","} and below and len(grouped) >= _ENOUGH and _are_like_groups(digits, ",") else None


def _is_written(text: str, decimal: str) -> bool:
    """Whether a text is a number with this mark before decimals; the other one may stand before each three digits.

    >>> _is_written("1,234.5", "."), _is_written("1,234", "."), _is_written("0,234", "."), _is_written("1,23", ".")
    (True, True, False, False)
    """
    group = "," if decimal == "." else "."
    whole, *rest = _SPACES.sub("", text).split(decimal)
    if len(rest) > 1 or any(group in part for part in rest):
        return False
    return group not in whole or (_GROUPED[group].fullmatch(whole) is not None and not whole.startswith("0"))


def _are_like_groups(digits: Sequence[str], mark: str = ".") -> bool:
    """Whether all texts may be whole numbers whose thousands are set apart by the mark: 950 and 1.234."""
    return all(
        (len(text) <= 3 and text.isdecimal()) or (_GROUPED[mark].fullmatch(text) is not None and text[0] != "0")
        for text in digits
    )


def _describe_problem(digits: Sequence[str], wrong: Sequence[str]) -> str:
    marked = [text for text in digits if "," in text or "." in text]
    odd = next((text for text in [*wrong, *marked] if len(re.findall("[.,]", text)) == 1), marked[0])
    if not wrong and all(_is_written(text, mark) for text in marked for mark in ".,"):
        mark = "," if "," in odd else "."
        return f"{odd!r} may be {odd.replace(mark, '')} or {odd.replace(mark, '.')}"
    other = next((text for text in marked if text != odd), odd)
    return (
        f"{odd!r} and {other!r} are not written in one way" if other != odd else f"{odd!r} is not written as others are"
    )


def _read_dates(texts: list[str], how: str | None) -> Written | None:
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
    if how in ("ymd", "dmy", "mdy") and (how == "ymd") == (order == "ymd"):
        order = how
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
    return Written("date", values, order, f"read as dates ({texts[0]!r} as {last.isoformat()})")
