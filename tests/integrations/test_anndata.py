"""Cells of two conditions, with donors as groups."""

from __future__ import annotations

import anndata
import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import tellapart as ta
from tellapart.integrations.anndata import samples


@pytest.fixture(scope="module")
def cells():
    """12 donors of 20 cells, 6 of either condition; what varies is the donor, and gene 1 the condition."""
    rng = np.random.default_rng(0)
    donor = np.repeat(np.arange(12), 20)
    X = rng.poisson(np.exp(rng.normal(0, 0.7, (12, 4))[donor])).astype(np.float32)
    obs = pd.DataFrame(
        {"donor": pd.Categorical([f"d{k}" for k in donor]), "condition": np.where(donor % 2, "stim", "ctrl")},
        index=[f"cell{k}" for k in range(240)],
    )
    found = anndata.AnnData(sparse.csr_matrix(X), obs, pd.DataFrame(index=[f"gene{k}" for k in range(4)]))
    found.layers["raw"] = X + 3 * (donor % 2)[:, None] * np.eye(4)[1]
    found.obsm["X_pca"] = X[:, :2]
    return found


def test_donors_are_exchanged_whole(cells):
    given = samples(cells, "condition", ("ctrl", "stim"), groups="donor")
    assert given["X"].names == ("gene0", "gene1", "gene2", "gene3")
    assert (len(given["X"]), len(given["Y"]), given["groups"][0], given["groups"][-1]) == (120, 120, "d0", "d11")
    alone = {name: given[name] for name in "XY"}
    assert ta.two_sample_test(**alone, rng=0).reject(0.01)  # cells are no replicates
    assert not ta.two_sample_test(**given, rng=0).reject(0.05)


def test_layers_genes_and_embeddings(cells):
    layer = samples(cells, "condition", ("ctrl", "stim"), layer="raw", groups="donor")
    assert ta.two_sample_test(**layer, rng=0).differing_columns().names == ("gene1",)
    one = samples(cells, "condition", layer="raw", genes=["gene1"])
    np.testing.assert_array_equal(one["X"].values[:, 0], cells.layers["raw"][cells.obs["condition"] == "ctrl", 1])
    assert samples(cells, "condition", obsm="X_pca")["Y"].names == ("X_pca[0]", "X_pca[1]")
    assert ta.compare(**one, rng=0).test.pvalue <= 0.05


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"by": "sex"}, "obs has no column 'sex'"),
        ({"by": "donor"}, r"has 12 values. Pass the two to compare as values=\('d0', 'd1'\)"),
        ({"by": "condition", "values": ("ctrl", "old")}, "No cell has"),
        ({"by": "condition", "obsm": "X_umap"}, "obsm has no 'X_umap'"),
        ({"by": "condition", "layer": "log"}, "layers has no 'log'. It has 'raw'"),
        ({"by": "condition", "genes": ["gene9"]}, "var_names does not contain 'gene9'"),
        ({"by": "condition", "obsm": "X_pca", "layer": "raw"}, "cannot be combined with `layer` or `genes`"),
    ],
)
def test_what_is_wrong_is_said(cells, options, message):
    with pytest.raises(ValueError, match=message):
        samples(cells, **options)
    with pytest.raises(TypeError, match="must be an AnnData object"):
        samples(cells.to_df(), **options)
