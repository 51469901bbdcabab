"""What experiments write: parts, each when it is done and not computed again, and the command that made them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .._util.files import write_json


def part(out: Path, name: str, compute: Callable[[], Any]) -> Any:
    """What ``compute`` gives, read from ``out/parts`` if it is there and written to it otherwise.

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
    """What made a result, to be written with it; options that were not given are left out.

    >>> command("gans", steps=6000, quick=False, data=None)
    'tellapart reproduce gans --steps 6000'
    """
    given = (f"--{key}" if value is True else f"--{key} {value}" for key, value in options.items() if value)
    return " ".join([f"tellapart reproduce {name}", *given])
