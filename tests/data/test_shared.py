"""Rows that both samples have, and labels that hang together by them."""

from __future__ import annotations

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from tellapart.data.shared import connect_labels


def test_labels_are_connected_by_chains_of_both_kinds():
    rng = np.random.default_rng(0)
    for _ in range(20):
        first, second = (rng.integers(0, 30, 40) for _ in range(2))
        graph = coo_array((np.ones(40), (first, 30 + second)), (60, 60))
        parts = connected_components(graph, directed=False)[1][first]
        found = connect_labels(first.astype(str), second)
        assert np.array_equal(found[:, None] == found, parts[:, None] == parts)
        assert set(found) == set(range(found.max() + 1))
