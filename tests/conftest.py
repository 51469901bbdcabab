"""Fixtures for all."""

from __future__ import annotations

import os

if "PYTEST_XDIST_WORKER" in os.environ:
    # Each of several test processes, and each process that a test starts, has one core. Tests of threads set their own.
    os.environ.setdefault("OMP_NUM_THREADS", "1")

import pytest

#: Tests with one of these fixtures share an expensive one, or ports: one process runs them all.
SHARED = {"client": "dask", "browser": "browser", "two_ranks": "ranks"}


def pytest_collection_modifyitems(items):
    for item in items:
        for group in {SHARED[name] for name in getattr(item, "fixturenames", ()) if name in SHARED}:
            item.add_marker(pytest.mark.xdist_group(group))


@pytest.fixture
def one_thread():
    """For small problems, where a second thread would only cost time."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
