"""Groups, strata and pairs: what fits samples, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from tellapart import InputError
from tellapart.stats.design import Design


def refused(*arguments, **options):
    with pytest.raises(InputError) as caught:
        Design.check(*arguments, **options)
    return caught.value


def test_labels_come_in_one_array_or_one_for_each_sample():
    whole = Design.check((2, 3), ["b", "b", "a", "c", "c"])
    parts = Design.check((2, 3), (["b", "b"], ["a", "c", "c"]))
    assert whole.groups.tolist() == parts.groups.tolist() == [1, 1, 0, 2, 2]
    assert whole.units.tolist() == whole.groups.tolist()


def test_a_group_lies_in_one_sample_and_one_stratum():
    assert refused((2, 2), [0, 1, 1, 2]).id == "group-in-two-parts"
    error = refused((2, 2), [0, 0, 1, 1], [0, 1, 0, 0], called={"groups": "patient", "strata": "site"})
    assert error.id == "group-in-two-parts"
    assert "'patient'" in str(error)
    assert "'site'" in str(error)


@pytest.mark.parametrize(
    ("options", "id"),
    [
        ({"groups": [0, 1]}, "wrong-number-of-labels"),
        ({"strata": np.zeros((4, 2))}, "wrong-number-of-labels"),
        ({"groups": "patient"}, "wrong-type"),
        ({"paired": "yes"}, "wrong-type"),
        ({"paired": True, "groups": [0, 0, 1, 1]}, "conflicting-arguments"),
        ({"equal_groups": "no", "groups": [0, 0, 1, 1]}, "wrong-type"),
        ({"equal_groups": True}, "conflicting-arguments"),
        ({"equal_groups": True, "paired": True}, "conflicting-arguments"),
    ],
)
def test_what_does_not_fit_is_refused(options, id):
    assert refused((2, 2), **options).id == id


def test_pairs_have_a_stratum_each():
    design = Design.check((3, 3), paired=True)
    assert design.strata.tolist() == [0, 1, 2, 0, 1, 2]
    assert design.units.tolist() == design.strata.tolist()
    assert design.permuted_unit == "pairs"
    assert refused((3, 2), paired=True).id == "unequal-pairs"


@pytest.mark.parametrize(
    ("design", "unit"),
    [
        (Design(), "rows"),
        (Design(np.zeros(2)), "groups"),
        (Design(np.zeros(2), equal_groups=True), "groups of equal size"),
        (Design(strata=np.zeros(2)), "rows within strata"),
        (Design(np.zeros(2), np.zeros(2)), "groups within strata"),
    ],
)
def test_what_is_permuted(design, unit):
    assert design.permuted_unit == unit


def test_some_rows():
    design = Design.check((2, 2), [0, 0, 1, 2], [5, 5, 5, 6], equal_groups=True).take(np.array([3, 0]))
    assert design.groups.tolist() == [2, 0]
    assert design.strata.tolist() == [1, 0]
    assert design.equal_groups


def test_a_design_that_restricts_nothing_is_none():
    for options in ({"groups": [3, 1, 0, 2]}, {"strata": [1, 1, 1, 1]}, {"groups": [3, 1, 0, 2], "equal_groups": True}):
        design = Design.check((2, 2), **options)
        assert (design.groups, design.strata, design.equal_groups) == (None, None, False)
        assert design.permuted_unit == "rows"
