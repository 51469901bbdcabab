"""Contrasts: labels as numbers."""

from __future__ import annotations

import numpy as np
import pytest

from tellapart.omnibus.contrasts import Contrasts
from tellapart.stats.design import Design
from tellapart.stats.permutations import draw_permutations


@pytest.mark.parametrize("design", ["plain", "strata", "groups", "both", "three"])
def test_contrasts_are_centred_and_of_one_size(design):
    rng = np.random.default_rng(0)
    N = 60
    groups = np.repeat(np.arange(20), 3)
    strata = groups // 5
    labels = (groups % (3 if design == "three" else 2)).astype(np.uint8)
    options = {"groups": groups} if design in ("groups", "both") else {}
    options |= {"strata": strata} if design in ("strata", "both") else {}
    found = draw_permutations(labels, 199, rng, Design(**options))
    contrasts = Contrasts(found)
    W = contrasts(slice(0, N)).astype(float)
    cells = strata if design in ("strata", "both") else np.zeros(N, int)
    for cell in np.unique(cells):
        assert np.abs(W[cells == cell].sum(0)).max() < 1e-4
    if design != "three":
        norms = (W**2).sum(0)
        assert np.allclose(norms, N - len(np.unique(cells)), rtol=1e-4)
