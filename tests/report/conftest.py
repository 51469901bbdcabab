"""Comparisons of tables and of images, made once."""

from __future__ import annotations

import numpy as np
import pytest
from comparisons import EVIL, LEARNING, QUICK, people, with_slices

import tellapart as ta


@pytest.fixture(scope="package", autouse=True)
def _one_thread():
    torch = pytest.importorskip("torch")
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="package", autouse=True)
def _no_windows():
    import matplotlib

    before = matplotlib.get_backend()
    matplotlib.use("agg")
    yield
    matplotlib.use(before)


def two_tables():
    rng = np.random.default_rng(0)
    return people(120, 0, rng), people(100, 1, rng)


def two_sets_of_images():
    rng = np.random.default_rng(1)
    X = rng.integers(0, 256, (90, 12, 12), np.uint8)
    Y = rng.integers(0, 256, (80, 12, 12), np.uint8)
    Y[:, 3:6, 3:6] //= 3
    return X, Y


@pytest.fixture(scope="package")
def table():
    names = ('it\'s "last" & <first>.csv', EVIL)
    return with_slices(ta.compare(*two_tables(), names=names, missing="indicator", keep_columns=True, **QUICK))


@pytest.fixture(scope="package")
def wide():
    rng = np.random.default_rng(3)
    X, Y = rng.normal(size=(80, 40)), rng.normal(size=(90, 40))
    Y[:, 7] += 2
    Y[:, 21] *= 4
    Y[:, 3] = Y[:, 2] + 0.1 * Y[:, 3]
    return ta.compare(X, Y, **QUICK)


@pytest.fixture(scope="package")
def images():
    return ta.compare(*two_sets_of_images(), names=("real", "generated"), **QUICK)


@pytest.fixture(scope="package")
def nothing():
    rng = np.random.default_rng(4)
    return ta.compare(rng.normal(size=(60, 2)), rng.normal(size=(60, 2)), **QUICK)


@pytest.fixture(scope="package")
def learned_table():
    return ta.compare(*two_tables(), test="ard", names=(EVIL, "b"), missing="indicator", **LEARNING)


@pytest.fixture(scope="package")
def learned_images():
    return ta.compare(*two_sets_of_images(), test="ard", names=("real", "generated"), **LEARNING)
