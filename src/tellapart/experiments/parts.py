"""Output of experiments: parts that are cached as they are completed, and the command that created them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .._util.files import write_json


def part(out: Path, name: str, compute: Callable[[], Any]) -> Any:
    """Return the result of ``compute``, cached in ``out/parts``.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     part(Path(folder), "one", lambda: [1]), part(Path(folder), "one", lambda: [2])
    ([1], [1])
    """
    path = out / "parts" / f"{name}.json"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        write_json(path, compute())
    return json.loads(path.read_text())


def command(name: str, **options: Any) -> str:
    """Command line that creates a result. Options without a value are omitted.

    >>> command("gans", steps=6000, quick=False, data=None)
    'tellapart reproduce gans --steps 6000'
    """
    given = (f"--{key}" if value is True else f"--{key} {value}" for key, value in options.items() if value)
    return " ".join([f"tellapart reproduce {name}", *given])
