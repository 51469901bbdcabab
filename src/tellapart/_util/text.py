"""Text that came from files, as it may be shown: nothing in it moves a cursor, hides anything, or is endless."""

from __future__ import annotations

import re

#: What acts instead of being seen: control characters, line ends, marks that turn the direction of writing, and halves
#: of characters (bytes of a file's name that are not UTF-8), which cannot be written.
_ACTING = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def printable(text: str, keep: str = "") -> str:
    """The text with what would act instead of being seen spelled out, but for characters to keep.

    >>> print(printable("a\\x1b[2Jb"))
    a\\x1b[2Jb
    """
    return _ACTING.sub(lambda match: match[0] if match[0] in keep else ascii(match[0])[1:-1], text)


def shorten(text: str, most: int) -> str:
    """The text, or its beginning and how long it is.

    >>> shorten("x" * 5000, 10)
    'xxxxxxxxxx… (5,000 characters)'
    """
    return text if len(text) <= most else f"{text[:most]}… ({len(text):,} characters)"


def shorten_middle(text: str, most: int) -> str:
    """The text, or its beginning and its end: what is wrong with a long name stands after it.

    >>> shorten_middle("x" * 5000 + " is long", 16)
    'xxxxxxxx … is long'
    """
    half = most // 2
    return text if len(text) <= most else f"{text[:half]} … {text[-half:].lstrip()}"


def count_noun(count: int, noun: str) -> str:
    """A count with its noun in the singular or plural.

    >>> count_noun(1, "batch"), count_noun(1200, "row"), count_noun(2, "batch")
    ('1 batch', '1,200 rows', '2 batches')
    """
    plural = "" if count == 1 else "es" if noun.endswith("ch") else "s"
    return f"{count:,} {noun}{plural}"
