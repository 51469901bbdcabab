"""Hashes of rows: equal for equal rows, and the same in every process, or a seed would not repeat a split."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pandas as pd
import torch

from tellapart.data import read
from tellapart.data.hashing import hash_blocks

CODE = """
import pandas as pd
from tellapart.data import read
frame = pd.DataFrame({"town": ["Ulm", "Köln", None], "x": [1.0, 2.0, 3.0]})
print(read(frame, missing="indicator").content.hash_rows().tolist())
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
    hashes = hash_blocks(torch.from_numpy(values))
    _, of_values = np.unique(values + 0.0, axis=0, return_inverse=True)
    _, of_hashes = np.unique(hashes, return_inverse=True)
    assert (
        len(set(zip(of_values.ravel(), of_hashes, strict=True))) == len(set(of_values.ravel())) == len(set(of_hashes))
    )
    table = read(pd.DataFrame({"town": ["Ulm", "Köln", "Ulm"], "x": [1, 2, 1]}))
    first, second, third = table.content.hash_rows()
    assert first == third != second
