"""Splits: every row once, groups whole, clear errors."""

from __future__ import annotations

import numpy as np
import pytest

from tellapart.learning import split_rows


@pytest.mark.parametrize("share", [0.3, 0.5, 0.8])
def test_a_share_of_each_sample(share):
    split = split_rows(50, 31, share, rng=1)
    assert (len(split.train_x), len(split.train_y)) == (round(share * 50), round(share * 31))
    assert sorted([*split.train_x, *split.test_x]) == list(range(50))
    assert sorted([*split.train_y, *split.test_y]) == list(range(31))


def test_the_seed_decides():
    first, again, other = (split_rows(40, 40, rng=seed).train_x for seed in (3, 3, 4))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_given_rows_and_swapped():
    split = split_rows(20, 22, (range(12), np.arange(22) % 2 == 0))
    assert split.test_x.tolist() == list(range(12, 20))
    assert split.test_y.tolist() == list(range(1, 22, 2))
    swapped = split.swapped()
    assert swapped.train_x is split.test_x
    assert swapped.test_y is split.train_y


@pytest.mark.parametrize("equal_groups", [True, False])
def test_groups_stay_whole_and_where_only_equal_ones_are_exchanged_every_size_is_split(equal_groups):
    rng = np.random.default_rng(0)
    sizes = rng.permutation(np.repeat([1, 2, 5], 12))
    groups = np.concatenate([np.repeat(np.arange(36), sizes), 100 + np.repeat(np.arange(36), sizes)])
    m = int(sizes.sum())
    split = split_rows(m, m, groups=groups, equal_groups=equal_groups, rng=0)
    learned = groups[np.concatenate([split.train_x, m + split.train_y])]
    tested = groups[np.concatenate([split.test_x, m + split.test_y])]
    assert not np.intersect1d(learned, tested).size
    for part in (groups[split.train_x], groups[split.test_x]):
        _, counts = np.unique(part, return_counts=True)
        assert len(counts) == 18
        # Sizes that are the same in both parts would make a chance difference of them come back where it is tested.
        assert ([int((counts == size).sum()) for size in (1, 2, 5)] == [6, 6, 6]) == equal_groups


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((20, 20, 1.5), "must be between 0 and 1"),
        ((20, 20, ([0, 0], [1, 2])), "must be distinct integers from 0 to 19"),
        ((20, 20, ([0, 20], [1, 2])), "must be distinct integers from 0 to 19"),
        ((20, 20, ([0, 1, 2], range(10))), "3 rows of X to learn from and 17 to test, but 8 and 2 are needed"),
        ((12, 20, 0.5), "6 rows of X to learn from"),
    ],
)
def test_errors(arguments, message):
    with pytest.raises(ValueError, match=message):
        split_rows(*arguments)


def test_a_group_in_both_parts_is_refused():
    with pytest.raises(ValueError, match="Group 0 has rows to learn from and rows to test"):
        split_rows(20, 20, (range(10), range(10)), groups=np.repeat([0, 1], 20))
