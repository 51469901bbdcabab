"""Pages are tested (their examples, by ``--doctest-glob``); what builds them is not a test."""

import pytest

from tellapart.integrations import assertions

collect_ignore = ["conf.py"]
collect_ignore_glob = ["_ext/*", "_build/*", "auto_gallery/*", "gallery/*"]


@pytest.fixture(autouse=True)
def _outside_pytest(monkeypatch):
    """A page shows what an interpreter prints, and there no test is running."""
    monkeypatch.setattr(assertions, "running", None)
