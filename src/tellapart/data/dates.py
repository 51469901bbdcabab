"""Dates and durations of every container as days: the float nearest to the exact value, whatever unit they came in."""

from __future__ import annotations

import math
import re
from datetime import datetime, timedelta
from typing import Any

import numpy as np

from .arrays import Array

_ISO = re.compile(r"(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d)?)(?:(?<=:\d\d:\d\d)\.(\d{1,9}))?(Z|[+-]\d\d:?\d\d)?)?")
_EPOCH = datetime(1970, 1, 1)
_DAY, _MICROSECOND = timedelta(days=1), timedelta(microseconds=1)
#: Units of NumPy of which a day has a whole number.
_PER_DAY = {"D": 1, "h": 24, "m": 1440} | {
    unit: 86_400 * 1000**k for k, unit in enumerate(("s", "ms", "us", "ns", "ps", "fs", "as"))
}
#: Whole numbers up to this are floats.
_EXACT = 2**53


def is_iso_date(text: str) -> bool:
    """Whether a text is written as a date of ISO 8601, perhaps with a time of up to nine decimals and a zone.

    >>> is_iso_date("2024-01-31 12:00:00.123456789+01:00"), is_iso_date("31.1.2024")
    (True, False)
    """
    return _ISO.fullmatch(text) is not None


def parse_iso_date(text: str) -> float:
    """Days since 1970-01-01 in UTC; raise `ValueError` if there is no such day.

    >>> parse_iso_date("1970-01-02T12:00:00.000000+01:00") * 24
    35.0
    """
    match = _ISO.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is not a date of ISO 8601")
    day, time, fraction, zone = match.groups()
    moment = datetime.fromisoformat(f"{day}T{time}" if time else day)
    nanoseconds = (moment - _EPOCH) // _MICROSECOND * 1000 + int((fraction or "0").ljust(9, "0"))
    if zone and zone != "Z":
        minutes = int(zone[1:3]) * 60 + int(zone[-2:])
        nanoseconds -= (-1 if zone[0] == "-" else 1) * minutes * 60 * 10**9
    return float(nanoseconds / _PER_DAY["ns"])


def days_from_array(array: Array) -> Array:
    """Days since 1970-01-01, or of a duration, from an array of NumPy's dates or durations; NaN for NaT.

    The quotient is computed in the unit of the array: converting far dates to another unit would overflow.

    >>> days_from_array(np.array(["1677-09-21T12:00:00", "NaT"], "M8[ns]"))
    array([-106751.5,       nan])
    """
    unit, step = np.datetime_data(array.dtype)
    if unit in ("Y", "M"):  # which have no fixed length
        first = array.astype("M8[M]").astype(np.int64)
        array, unit, step = first.astype("M8[M]").astype("M8[D]"), "D", 1
    missing = np.isnat(array)
    whole = np.where(missing, 0, array.astype(np.int64))
    times, per_day = step * (7 if unit == "W" else 1), _PER_DAY.get(unit, 1)
    days = _divide(whole, times, per_day)
    return np.where(missing, np.nan, days)


def days_since_epoch(value: Any) -> float:
    """Days since 1970-01-01 in UTC, of a date of Python, NumPy or pandas."""
    if hasattr(value, "to_datetime64"):  # pandas, which has nanoseconds too
        value = value.to_datetime64()
    if isinstance(value, np.datetime64):
        return float(days_from_array(np.array([value]))[0])
    if not isinstance(value, datetime):
        return float((value - _EPOCH.date()).days)
    offset = value.utcoffset() or timedelta(0)
    return (value.replace(tzinfo=None) - _EPOCH - offset) / _DAY


def days_of_duration(value: Any) -> float:
    """A duration of Python, NumPy or pandas in days."""
    if hasattr(value, "to_timedelta64"):
        value = value.to_timedelta64()
    return value / _DAY if isinstance(value, timedelta) else float(days_from_array(np.array([value]))[0])


def format_date(days: float) -> str:
    """The date and, unless it is midnight, the time to the second.

    >>> format_date(19723.5), format_date(1e9)
    ('2024-01-01 12:00:00', 'day 1e+09')
    """
    try:
        moment = _EPOCH + timedelta(seconds=round(days * 86_400))
    except OverflowError:  # beyond the years 1 to 9999
        return f"day {days:.6g}"
    return moment.date().isoformat() if moment.time() == _EPOCH.time() else moment.isoformat(sep=" ")


def _divide(whole: Array, times: int, per_day: int) -> Array:
    """The floats nearest to whole · times / per_day."""
    common = math.gcd(per_day, int(np.gcd.reduce(whole))) if len(whole) else 1
    if common > 1:
        whole, per_day = whole // common, per_day // common
    if not len(whole) or max(abs(int(whole.min())), abs(int(whole.max()))) * times <= _EXACT:
        return whole * times / per_day
    used, places = np.unique(whole, return_inverse=True)
    return np.array([int(value) * times / per_day for value in used])[places.reshape(-1)]
