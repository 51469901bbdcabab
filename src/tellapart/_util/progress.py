"""Progress of long work: a bar on a terminal or in a notebook, nothing in a pipe, or whatever the caller wants."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias

Report: TypeAlias = Callable[[int, int], None]
#: True, False, None (a bar on a terminal and in a notebook), or a function of what is done and what there is to do.
ProgressLike: TypeAlias = bool | Report | None


@contextmanager
def progress_bar(wish: ProgressLike, title: str) -> Iterator[Report | None]:
    """Return a function that reports progress, or None if progress is not shown."""
    if callable(wish):
        yield wish
        return
    if not _has_bar(wish):
        yield None
        return
    form = "{desc}: {percentage:3.0f}%|{bar}| {elapsed}<{remaining}"
    with _bar(wish, total=1.0, desc=title, bar_format=form) as bar:

        def report(done: int, total: int) -> None:
            bar.update(done / total - bar.n)

        yield report


@contextmanager
def reading_bar(wish: ProgressLike, title: str, rows: int) -> Iterator[Callable[[int], None]]:
    """Return a function that is told how many more of ``rows`` rows have been read: the bar has their rate.

    A function of the caller is not told: its progress is that of the computation.
    """
    if callable(wish) or not _has_bar(wish):
        yield lambda count: None
        return
    with _bar(wish, total=rows, desc=f"Reading {title}", unit=" rows", unit_scale=True) as bar:
        yield bar.update


def _has_bar(wish: ProgressLike) -> bool:
    return wish is True or (wish is None and (sys.stderr.isatty() or in_notebook()))


def _bar(wish: ProgressLike, **options: Any) -> Any:
    import warnings

    with warnings.catch_warnings():
        # Without ipywidgets a notebook has a bar of text, which needs no warning.
        warnings.simplefilter("ignore")
        from tqdm.auto import tqdm

    # Work that is over at once needs no bar.
    return tqdm(delay=0 if wish else 0.5, leave=False, **options)


def in_notebook() -> bool:
    """Return whether this process is a notebook kernel, which can display a progress bar."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return type(shell).__name__ == "ZMQInteractiveShell"
