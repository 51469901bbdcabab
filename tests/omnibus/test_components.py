"""Principal components, against the singular value decomposition."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tellapart.omnibus.families.components import ComponentFeatures


@pytest.mark.parametrize(("rows", "d"), [(400, 70), (60, 90)])
def test_components_are_those_of_the_singular_value_decomposition(rows, d):
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(rows, d)) @ np.diag(np.geomspace(3, 0.1, d)) @ rng.normal(size=(d, d))
    Z = (Z - Z.mean(0)) / Z.std(0)
    found = ComponentFeatures.fit(Z.astype(np.float32))
    count = len(found.variances)
    assert count == (63 if rows > d else 30)
    columns = found(Z.astype(np.float32)) / 2.0**14
    assert columns.shape == (rows, len(found.names))
    U, s, _ = np.linalg.svd(Z, full_matrices=False)
    expected = U[:, :count] * math.sqrt(rows)
    signs = np.sign((columns[:, :count] * expected).sum(0))
    assert np.abs(columns[:, :count] * signs - expected).max() < 2e-3
    energy = (U * s) ** 2
    band = columns[:, found.names.index("the size of principal components 4 to 7")]
    assert np.allclose(band, energy[:, 3:7].sum(1) / (s[3:7] ** 2).mean() / 4 * rows, atol=2e-3)
    assert np.allclose(
        columns[:, -1], energy[:, count:].sum(1) / energy[:, count:].sum() * rows, atol=2e-2
    )  # of floats


def test_components_that_are_rounding_are_left_out():
    rng = np.random.default_rng(0)
    Z = (rng.normal(size=(500, 4)) @ rng.normal(size=(4, 70))).astype(np.float32)
    found = ComponentFeatures.fit(Z)
    assert len(found.variances) == 4
    assert found.rest == 0
    assert found.names[4:] == ["the size of principal components 2 to 3"]
    assert ComponentFeatures.fit(np.zeros((20, 70), np.float32)) is None
