"""Hashes of rows: equal for equal rows, and the same in every process, or a seed would not repeat a split."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pandas as pd
import torch
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from tellapart.data import read
from tellapart.data.shared import connect_labels, hash_rows

CODE = """
import pandas as pd
from tellapart.data import read
from tellapart.data.shared import hash_rows
frame = pd.DataFrame({"town": ["Ulm", "Köln", None], "x": [1.0, 2.0, 3.0]})
print(hash_rows(read(frame, missing="indicator")).tolist())
"""


def test_hashes_are_the_same_in_every_process():
    found = set()
    for seed in ("1", "2"):
        run = subprocess.run(
            [sys.executable, "-c", CODE],
            env=os.environ | {"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        )
        found.add(run.stdout)
    assert len(found) == 1


def test_equal_rows_have_equal_hashes_and_others_have_not():
    values = np.random.default_rng(0).integers(0, 3, (200, 4)).astype(float)
    values[0] = -0.0
    values[1] = 0.0
    hashes = hash_rows(torch.from_numpy(values))
    _, of_values = np.unique(values + 0.0, axis=0, return_inverse=True)
    _, of_hashes = np.unique(hashes, return_inverse=True)
    assert (
        len(set(zip(of_values.ravel(), of_hashes, strict=True))) == len(set(of_values.ravel())) == len(set(of_hashes))
    )
    table = read(pd.DataFrame({"town": ["Ulm", "Köln", "Ulm"], "x": [1, 2, 1]}))
    first, second, third = hash_rows(table)
    assert first == third != second


def test_labels_are_connected_by_chains_of_both_kinds():
    rng = np.random.default_rng(0)
    for _ in range(20):
        first, second = (rng.integers(0, 30, 40) for _ in range(2))
        graph = coo_array((np.ones(40), (first, 30 + second)), (60, 60))
        parts = connected_components(graph, directed=False)[1][first]
        found = connect_labels(first.astype(str), second)
        assert np.array_equal(found[:, None] == found, parts[:, None] == parts)
        assert set(found) == set(range(found.max() + 1))
