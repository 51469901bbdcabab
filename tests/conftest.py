"""Fixtures for all."""

from __future__ import annotations

import pytest
import torch


@pytest.fixture
def one_thread():
    """For small problems, where a second thread would only cost time."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
