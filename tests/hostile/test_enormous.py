"""Damaged files that claim numbers which no float holds are refused, and histories with such evidence are drawn."""

from __future__ import annotations

import gzip
import json
import struct

import numpy as np
import pytest
import zarr

import tellapart as ta
from tellapart.data import read
from tellapart.report.svg import _decades


def test_arrays_of_an_enormous_shape(tmp_path):
    path = tmp_path / "x.idx.gz"
    path.write_bytes(gzip.compress(bytes([0, 0, 8, 255]) + struct.pack(">255I", *[2**32 - 1] * 255)))
    with pytest.raises(ta.InputError, match="a million TB or more"):
        read(path)


def test_chunks_of_an_enormous_shape(tmp_path):
    path = tmp_path / "x.zarr"
    zarr.create_array(path, data=np.zeros((4, 2)), chunks=(2, 2))
    facts = json.loads((path / "zarr.json").read_text())
    facts["chunk_grid"]["configuration"]["chunk_shape"] = [10**200, 10**200]
    (path / "zarr.json").write_text(json.dumps(facts))
    with pytest.raises(ta.InputError):
        read(path)


def test_states_that_count_enormous_numbers(tmp_path):
    rng = np.random.default_rng(0)
    reference, state = ta.Reference.fit(rng.normal(size=(200, 2)), rng=0), tmp_path / "s.json"
    reference.monitor(state=state, permutations=19, rng=0).add(rng.normal(size=(20, 2)))
    known = json.loads(state.read_text())
    known["betting"]["rows"] = 10**400
    state.write_text(json.dumps(known))
    with pytest.raises(ta.InputError) as error:
        reference.monitor(state=state)
    assert error.value.id == "damaged-file"


def test_an_axis_from_the_smallest_to_the_largest_number():
    assert 5 <= len(_decades(1e-300, 1e300)) <= 10
