"""Features of texts that can be read: which words, phrases, beginnings and endings a text has, and how long it is."""

from __future__ import annotations

import re
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from .._util.errors import InputError
from .text import as_texts

Array: TypeAlias = "np.ndarray[Any, Any]"
#: What is known of a part of a text, as in “Sure!” begins, “sure” is in.
Place: TypeAlias = Literal["begins", "ends", "is in"]

#: Parts are chosen on so many texts, with so many characters together: memory does not grow with more.
_TEXTS, _CHARACTERS = 10_000, 2**23
#: A part must occur in so many texts, and in this share of them; and be absent from as many.
_FEWEST, _LEAST_SHARE = 5, 0.002
#: Words of the longest phrase, beginning and ending.
_LONGEST = 3
#: Characters at both ends that beginnings and endings are looked for in; longer ones are none.
_ENDS, _LONGEST_END = 200, 60
#: How columns are divided among kinds of parts, where there are more than may be kept.
_SHARES = {"begins": 0.2, "ends": 0.15, "word": 0.35, "phrase": 0.2, "mark": 0.1}

#: Chinese and Japanese characters, which are words without spaces between them.
_IDEOGRAPH = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_WORD = re.compile(rf"[{_IDEOGRAPH}]|[^\W_]+(?:['’][^\W_]+)*")
#: A mark of punctuation, or the same one several times: !, ..., ```.
_MARK = re.compile(r"([^\w\s]|_)\1*")
#: What separates phrases.
_BREAK = re.compile(r"[^\w\s'’]|_")
#: A word with the punctuation around it.
_CHUNK = re.compile(rf"[{_IDEOGRAPH}][^\w\s]*|\S+?(?=[{_IDEOGRAPH}\s]|$)")
_NUMBERS = ("number of words", "number of characters", "number of lines", "share of capital letters", "share of digits")


@dataclass(frozen=True)
class Part:
    """A part of texts, and where it stands in them."""

    text: str
    place: Place

    @property
    def name(self) -> str:
        """What its column is called."""
        return f"“{self.text}” {self.place}"


class WordFeatures:
    """Chooses parts of texts on the texts that are compared; see `words`."""

    def __init__(self, max_columns: int) -> None:
        self.max_columns = max_columns
        self.__name__ = "words()"

    def fit_texts(self, texts: Iterable[str]) -> FittedWords:
        """Choose the columns on texts of all samples together. Neither labels nor the order of texts matter."""
        return FittedWords(_choose(as_texts(list(texts)), self.max_columns))

    def __call__(self, texts: Any) -> Array:
        """Raise `InputError`: the columns are not chosen yet."""
        as_texts(texts)
        raise InputError(
            "features-not-fitted",
            "words() chooses its columns on the texts of all samples together.",
            "Give {features} to the call that compares them, or choose columns first, by words().fit_texts(texts).",
            features=...,
        )


class FittedWords:
    """Features of texts, one column for each part, and a few numbers: a function of a list of strings.

    Attributes
    ----------
    parts
        The parts that are looked for.
    output_names, output_kinds
        What the columns are called, and whether they are occurrences or numbers.
    """

    def __init__(self, parts: Sequence[Part]) -> None:
        self.parts = tuple(parts)
        self.output_names = [*(part.name for part in self.parts), *_NUMBERS]
        self.output_kinds = [*["occurrence"] * len(self.parts), *["number"] * len(_NUMBERS)]
        digest = zlib.crc32("\n".join(self.output_names).encode("utf-8", "surrogatepass"))
        self.__name__ = f"words({len(self.parts)} parts, {digest:08x})"
        self._columns: dict[Place, dict[str, int]] = {"begins": {}, "ends": {}, "is in": {}}
        for k, part in enumerate(self.parts):
            self._columns[part.place][part.text] = k
        self._in_phrases = {word for part in self.parts if _kind(part) == "phrase" for word in part.text.split()}

    def __call__(self, texts: Any) -> Array:
        """One row for each text."""
        texts = as_texts(texts)
        out = np.zeros((len(texts), len(self.output_names)), np.float32)
        for row, text in zip(out, texts, strict=True):
            for place, found in _parts_of(text, self._in_phrases).items():
                columns = self._columns[place]
                row[[columns[key] for key in columns.keys() & found]] = 1
            row[len(self.parts) :] = _numbers_of(text)
        return out

    def find_part(self, column: str, text: str) -> list[tuple[int, int]]:
        """Where the part of a column stands in a text; nothing for other columns.

        >>> FittedWords([Part("sure", "is in")]).find_part("“sure” is in", "Sure! I am sure.")
        [(0, 4), (11, 15)]
        """
        part = next((part for part in self.parts if part.name == column), None)
        if part is None:
            return []
        dense = re.search(f"[{_IDEOGRAPH}]", part.text) is not None
        pattern = (r"\s*" if dense else r"\s+").join(map(re.escape, part.text.split()))
        if part.place == "begins":
            pattern = rf"\A\s*(?P<part>{pattern})"
        elif part.place == "ends":
            pattern = rf"(?P<part>{pattern})\s*\Z"
        else:
            inside = f"[{re.escape(part.text[0])}]" if _kind(part) == "mark" else "(?!)" if dense else r"[^\W_]"
            pattern = f"(?<!{inside})(?P<part>{pattern})(?!{inside})"
        flags = re.IGNORECASE if part.place == "is in" else re.UNICODE
        return [match.span("part") for match in re.finditer(pattern, text, flags)]


def words(max_columns: int = 480) -> WordFeatures:
    """Return features of texts that can be read: words, phrases, beginnings, endings, punctuation and length.

    Columns are chosen on the texts of all samples together, without knowing which text is of which sample, so that
    tests stay exact. The test then names those that differ: “Sure!” begins 19 % of B, 0 % of A.

    Parameters
    ----------
    max_columns : int, default 480
        Maximum number of parts of texts that are compared. Those that are nearest to occurring in half of the texts are
        kept, of each kind some.

    Returns
    -------
    features : callable
        To be passed as ``features=``.

    Notes
    -----
    A column is 1 if a part occurs in a text, and else 0. Parts are words and phrases of two or three words, in lower
    case; punctuation marks; and the first and the last one, two or three words as they are written, with punctuation.
    A part has a column if it occurs in at least 5 texts and 0.2 % of them, and is absent from as many; of parts that
    differ in fewer texts than that, one is kept. Parts are chosen on up to 10,000 texts. Further columns are the number
    of words, characters and lines, and the share of capital letters and digits.

    Examples
    --------
    >>> import tellapart as ta
    >>> old = ["The answer is 4.", "It is 5.", "I do not know.", "The answer is no."] * 20
    >>> new = ["Sure! " + text for text in old[:20]] + old[20:]
    >>> result = ta.two_sample_test(old, new, features=ta.features.words(), rng=0)
    >>> result.differing_columns(0.05)[0].name
    '“Sure!” begins'
    """
    if not isinstance(max_columns, int) or max_columns < 1:
        raise InputError("out-of-range", f"`max_columns` must be a positive integer, got {max_columns!r}.")
    return WordFeatures(max_columns)


def _parts_of(text: str, frequent: set[str] | None = None) -> dict[Place, set[str]]:
    """The parts of a text; phrases only of ``frequent`` words, if these are given.

    >>> _parts_of("Sure! It works.") == {
    ...     "begins": {"Sure!", "Sure! It", "Sure! It works."},
    ...     "ends": {"works.", "It works.", "Sure! It works.", "."},
    ...     "is in": {"sure", "it", "works", "it works", "!", "."},
    ... }
    True
    """
    found = {match.group() for match in _MARK.finditer(text)}
    for segment in _BREAK.split(text.lower()):
        there = _WORD.findall(segment)
        found.update(there)
        run: list[str] = []
        for word in there:
            run = [*run[1 - _LONGEST :], word] if frequent is None or word in frequent else []
            found.update(" ".join(run[start:]) for start in range(len(run) - 1))
    return {"begins": set(_beginnings(text)), "ends": set(_endings(text)), "is in": found}


def _beginnings(text: str) -> Iterator[str]:
    """The first words of a text, as they are written, and the mark it begins with."""
    head = text.lstrip()[:_ENDS]
    if mark := _MARK.match(head):
        yield mark.group()
    chunks = head.split(None, _LONGEST)[:_LONGEST] if head.isascii() else _CHUNK.findall(head)[:_LONGEST]
    yield from _short(chunks[:size] for size in range(1, len(chunks) + 1))


def _endings(text: str) -> Iterator[str]:
    """The last words of a text, as they are written, and the mark it ends with."""
    tail = text.rstrip()[-_ENDS:]
    if mark := _MARK.match(tail[::-1]):
        yield mark.group()
    chunks = tail.rsplit(None, _LONGEST)[-_LONGEST:] if tail.isascii() else _CHUNK.findall(tail)[-_LONGEST:]
    yield from _short(chunks[-size:] for size in range(1, len(chunks) + 1))


def _short(parts: Iterable[list[str]]) -> Iterator[str]:
    for chunks in parts:
        part = " ".join(chunks)
        if len(part) <= _LONGEST_END:
            yield part


def _numbers_of(text: str) -> tuple[float, ...]:
    """The numbers that `_NUMBERS` names.

    >>> _numbers_of("Ab 12\\nc")
    (3, 7, 2, 0.3333333333333333, 0.2857142857142857)
    """
    letters, digits = (sum(map(test, text)) for test in (str.isalpha, str.isdigit))
    capitals = sum(map(str.isupper, text))
    lines = text.count("\n") + 1
    return len(_WORD.findall(text)), len(text), lines, capitals / max(letters, 1), digits / max(len(text), 1)


def _choose(texts: Sequence[str], most: int) -> list[Part]:
    """The parts that get a column: those nearest to half of the texts, some of each kind."""
    sketch = _draw(texts)
    least = max(_FEWEST, _LEAST_SHARE * len(sketch))
    # A phrase is as rare as its rarest word, so that only phrases of frequent words need to be counted.
    frequency = Counter(word for text in sketch for word in set(_WORD.findall(text.lower())))
    frequent = {word for word, count in frequency.items() if count >= least}
    counts: Counter[Part] = Counter()
    for place in ("begins", "ends", "is in"):
        found = Counter(part for text in sketch for part in _parts_of(text, frequent)[place])
        counts.update({Part(text, place): count for text, count in found.items() if count >= least})
    candidates = {
        part: min(count, len(sketch) - count) for part, count in counts.items() if len(sketch) - count >= least
    }
    ordered = _by_kind(candidates)[: 2 * most]
    distinct = _distinct(ordered, sketch, least)
    return [part for part in ordered if part in distinct][:most]


def _draw(texts: Sequence[str]) -> list[str]:
    """Some of the texts, decided by what they are, and never by their order or their sample."""
    if len(texts) <= _TEXTS and sum(map(len, texts)) <= _CHARACTERS:
        return sorted(texts)
    seen: Counter[str] = Counter()
    keys = []
    for text in texts:
        # Equal texts are drawn one by one.
        key = zlib.crc32(f"{seen[text]} ".encode() + text.encode("utf-8", "surrogatepass"))
        seen[text] += 1
        keys.append((key, text))
    drawn: list[str] = []
    characters = 0
    for _, text in sorted(keys)[:_TEXTS]:
        characters += len(text)
        if characters > _CHARACTERS and drawn:
            break
        drawn.append(text)
    return drawn


def _kind(part: Part) -> str:
    if part.place != "is in":
        return part.place
    return "phrase" if " " in part.text else "word" if _WORD.match(part.text) else "mark"


def _by_kind(candidates: Mapping[Part, int]) -> list[Part]:
    """Candidates by their frequency, mixed so that each kind has about its share of the first ones."""
    ranked = sorted(candidates, key=lambda part: (-candidates[part], part.text, part.place))
    places: Counter[str] = Counter()
    keys = {}
    for part in ranked:
        kind = _kind(part)
        places[kind] += 1
        keys[part] = places[kind] / _SHARES[kind]
    return sorted(ranked, key=lambda part: keys[part])


def _distinct(candidates: Sequence[Part], texts: Sequence[str], least: float) -> set[Part]:
    """Of candidates that differ in fewer texts than a part must occur in, keep one, preferably a long first or last."""
    occurs = FittedWords(candidates)(texts)[:, : len(candidates)]
    together, counts = occurs.T @ occurs, occurs.sum(0)
    kept: list[int] = []
    for k in sorted(range(len(candidates)), key=lambda k: (candidates[k].place == "is in", -len(candidates[k].text))):
        if not kept or (counts[kept] + counts[k] - 2 * together[kept, k]).min() >= least:
            kept.append(k)
    return {candidates[k] for k in kept}
