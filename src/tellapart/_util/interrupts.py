"""Ctrl-C and SIGTERM: both end what is going on in order."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class Terminated(KeyboardInterrupt):
    """SIGTERM came: like Ctrl-C, from somebody who has no keyboard (a scheduler, a container that is stopped)."""


@contextmanager
def stopping_on_termination() -> Iterator[None]:
    """SIGTERM raises `Terminated` within the block, in the main thread, where nobody else takes care of it."""
    if threading.current_thread() is not threading.main_thread() or signal.getsignal(signal.SIGTERM) != signal.SIG_DFL:
        yield
        return

    def stop(*_: Any) -> None:
        raise Terminated("terminated")

    signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
