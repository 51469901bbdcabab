"""Sums over rows: the same however rows are cut, in the memory that is allowed."""

from __future__ import annotations

import itertools
import operator

import numpy as np
import pytest

from tellapart.engine import Compute
from tellapart.engine.executors import branches, tree
from tellapart.engine.rows import RowJob, Size, StratifiedSums, group_into_passes, sum_rows


@pytest.mark.parametrize("gram", ["full", "diagonal", "blocks"])
@pytest.mark.parametrize("cells", [1, 3, 40])
def test_sums_do_not_depend_on_how_rows_are_cut(gram, cells):
    rng = np.random.default_rng(0)
    F = rng.normal(size=(101, *((4, 3) if gram == "blocks" else (6,)))).astype(np.float32)
    W = rng.normal(size=(101, 5)).astype(np.float32)
    strata = np.sort(rng.integers(cells, size=101))
    centred = F.astype(float)
    for cell in np.unique(strata):
        centred[strata == cell] -= centred[strata == cell].mean(0)
        W[strata == cell] -= W[strata == cell].mean(0)  # as contrasts are
    dense = {
        "full": lambda: centred.T @ centred,
        "diagonal": lambda: (centred**2).sum(0),
        "blocks": lambda: np.einsum("ndk,ndl->dkl", centred, centred),
    }[gram]()
    for cuts in ([0, 101], [0, 1, 2, 50, 101], [0, 30, 31, 60, 61, 90, 101]):
        parts = [
            StratifiedSums.of(F[a:b], W[a:b], strata[a:b] if cells > 1 else None, gram)
            for a, b in itertools.pairwise(cuts)
        ]
        for joined in (tree(operator.add, parts), parts[0]):
            if joined is parts[0]:
                for part in parts[1:]:
                    joined = joined + part
            G, C = joined.close()
            assert np.allclose(G, dense, atol=1e-4)
            assert np.allclose(C, F.reshape(101, -1).astype(float).T @ W, atol=1e-4)


def list_rows(rows, block):
    return [(rows.start, rows.stop, len(block))]


def test_every_row_is_read_once_and_orthonormalize_sequentially():
    points = np.zeros((70_001, 3), np.float32)
    found = sum_rows(list_rows, points, Size(8, 8, 1e6), Compute(threads=2), operator.add)
    assert found[0][0] == 0
    assert found[-1][1] == 70_001
    assert all(a[1] == b[0] for a, b in itertools.pairwise(found))
    assert sum(size for _, _, size in found) == 70_001


def test_memory_bounds_blocks_threads_and_how_much_is_summed_together():
    points = np.zeros((50_000, 10), np.float32)
    tight = RowJob(list_rows, points, Size(1000, 8000, 1e6), Compute(max_memory=2**22, automatic=False, threads=8))
    assert tight.block * tight.needs.row * tight.threads <= 2**22
    assert RowJob(list_rows, points[:100], Size(8, 8, 1.0), Compute()).threads == 1
    with pytest.raises(MemoryError, match="but 10,000 are allowed"):
        RowJob(list_rows, points, Size(1000, 8000, 1e6), Compute(max_memory=10_000, automatic=False))
    assert group_into_passes([Size(100, 1)] * 5, Compute(max_memory=2**30)) == [[0, 1, 2, 3, 4]]
    assert group_into_passes([Size(2**20, 1)] * 3, Compute(max_memory=2**22)) == [[0], [1], [2]]
    assert group_into_passes([Size(2**24, 1)] * 3, Compute(max_memory=2**40)) == [[0], [1], [2]]
    assert branches(3, 9) == [range(1), range(1, 2), range(2, 3)]


def test_sums_are_added_element_by_element_and_may_be_none():
    points = np.arange(10_000.0)[:, None]
    total, (count,) = sum_rows(lambda rows, block: (block.sum(), [len(block)]), points, Size(8, 8), Compute())
    assert float(total) == 10_000 * 9_999 / 2
    assert int(count) == 10_000
    assert sum_rows(lambda rows, block: None, points, Size(8, 8), Compute()) is None
