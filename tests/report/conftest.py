"""A comparison of tables and one of images, made once."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from comparisons import EVIL, QUICK, people

import tellapart as ta


@pytest.fixture(scope="package", autouse=True)
def _one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="package")
def table():
    rng = np.random.default_rng(0)
    names = ('it\'s "last" & <first>.csv', EVIL)
    return ta.compare(people(120, 0, rng), people(100, 1, rng), names=names, missing="indicator", **QUICK)


@pytest.fixture(scope="package")
def images():
    rng = np.random.default_rng(1)
    X = rng.integers(0, 256, (90, 12, 12), np.uint8)
    Y = rng.integers(0, 256, (80, 12, 12), np.uint8)
    Y[:, 3:6, 3:6] //= 3
    return ta.compare(X, Y, names=("real", "generated"), **QUICK)
