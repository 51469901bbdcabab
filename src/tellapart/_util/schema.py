"""The form of results as JSON, which is promised: a version, and which result it is."""

from __future__ import annotations

from typing import Any

#: Fields may be added within a version. One that is renamed, removed or means something else makes a new version.
SCHEMA_VERSION = 1


def stamp(result: str) -> dict[str, Any]:
    """What every result says of itself; the schema is in ``tellapart/report/schema``."""
    return {"schema_version": SCHEMA_VERSION, "result": result}
