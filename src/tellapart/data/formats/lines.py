"""Text files with one text on each line, for ``features=`` to make numbers of. Also gzipped."""

from __future__ import annotations

from ..._util.errors import InputError, InputTypeError
from ..features import NGRAMS
from .base import FileFormat, Opened, Request
from .strings import table_of_texts
from .text import LATIN_NOTE, measure_text, open_bytes, read_head

#: Memory that a byte of text takes while it is read.
_BYTES_PER_BYTE = 8


class TextLines(FileFormat):
    """Files with one text on each line; empty lines are left out, and not counted."""

    name = ".txt (also .gz)"
    suffixes = (".txt", ".txt.gz")
    tabular = True

    def open(self, request: Request) -> Opened:
        """Read the lines wanted."""
        if not request.options.by_features:
            raise InputTypeError(
                "text-without-features",
                f"{request.label} holds texts, one on each line.",
                "Give {features}, or save numbers as .csv or .npy.",
                features=NGRAMS,
            )
        measure_text(request, _BYTES_PER_BYTE)
        _, encoding = read_head(request.data, request.label)
        with open_bytes(request.data) as file:
            data = file.read()
        try:
            text = data.decode(encoding)
        except UnicodeDecodeError:  # beyond the part by which the encoding was found
            encoding, text = "latin-1", data.decode("latin-1")
        if "\0" in text:
            raise InputError("not-text", f"{request.label} is not a text file: it has a zero byte.")
        lines = [line.rstrip("\r") for line in text.split("\n")]
        texts = [line for line in lines if line.strip()]
        if not texts:
            raise InputError("no-rows", f"{request.label} is empty: it has no rows.")
        numbers = request.choose_rows(len(texts))
        notes = (LATIN_NOTE,) if encoding == "latin-1" else ()
        return Opened(table_of_texts([texts[k] for k in numbers]), numbers, notes=notes, total=len(texts))
