"""Progress of long work: a bar on a terminal, nothing in a pipe, or whatever the caller wants."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

Report: TypeAlias = Callable[[int, int], None]
#: True, False, None (a bar if standard error is a terminal), or a function of what is done and what there is to do.
ProgressLike: TypeAlias = bool | Report | None


@contextmanager
def progress_bar(wish: ProgressLike, title: str) -> Iterator[Report | None]:
    """A function to report progress to, or None if nobody wants to know."""
    if callable(wish):
        yield wish
        return
    if wish is False or (wish is None and not sys.stderr.isatty()):
        yield None
        return
    from tqdm import tqdm

    # Work that is over at once needs no bar.
    form = "{desc}: {percentage:3.0f}%|{bar}| {elapsed}<{remaining}"
    with tqdm(total=1.0, desc=title, delay=0 if wish else 0.5, leave=False, bar_format=form) as bar:

        def report(done: int, total: int) -> None:
            bar.update(done / total - bar.n)

        yield report
