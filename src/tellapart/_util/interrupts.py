"""Ctrl-C and SIGTERM: both end what is going on in order, at once or between two steps."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


class Terminated(KeyboardInterrupt):
    """SIGTERM came: like Ctrl-C, from somebody who has no keyboard (a scheduler, a container that is stopped)."""


def _interrupt(*_: Any) -> None:
    raise KeyboardInterrupt("interrupted")


def _terminate(*_: Any) -> None:
    raise Terminated("terminated")


_RAISING = {signal.SIGINT: _interrupt, signal.SIGTERM: _terminate}
#: Handlers that may be replaced: others are somebody's own.
_REPLACEABLE = (signal.SIG_DFL, signal.default_int_handler, _interrupt, _terminate)


@contextmanager
def stopping_on_termination() -> Iterator[None]:
    """Raise `Terminated` on SIGTERM within the block, in the main thread, unless another handler is installed."""
    with _handling({signal.SIGTERM: _terminate}):
        yield


@contextmanager
def stopping_between_steps() -> Iterator[Callable[[], None]]:
    """Ctrl-C and SIGTERM wait until the function that is given is called, which raises what came.

    Who presses Ctrl-C a second time is not kept waiting.
    """
    came: list[int] = []

    def note(number: int, *_: Any) -> None:
        if came:
            _RAISING[signal.Signals(number)]()
        came.append(number)

    def stop_here() -> None:
        if came:
            _RAISING[signal.Signals(came.pop())]()

    with _handling(dict.fromkeys(_RAISING, note)):
        yield stop_here
        stop_here()


@contextmanager
def _handling(handlers: dict[signal.Signals, Callable[..., None]]) -> Iterator[None]:
    """Handle signals within the block; in the main thread only, for others get none."""
    before: dict[signal.Signals, Any] = {}
    try:
        if threading.current_thread() is threading.main_thread():
            for number, handler in handlers.items():
                found = signal.getsignal(number)
                if found in _REPLACEABLE:
                    before[number] = found
                    signal.signal(number, handler)
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
