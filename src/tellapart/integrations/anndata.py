"""Two samples from the cells of an AnnData object."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._util.errors import InputError, InputTypeError
from ..data.arrays import Array, as_array
from ..data.limits import check_memory
from ..data.sample import Sample


def samples(
    adata: Any,
    by: str,
    values: Sequence[Any] | None = None,
    *,
    obsm: str | None = None,
    layer: str | None = None,
    genes: Sequence[str] | None = None,
    groups: str | None = None,
    strata: str | None = None,
    max_memory: int | None = None,
) -> dict[str, Any]:
    """Return the cells of two conditions as arguments of `tellapart.two_sample_test` and `tellapart.compare`.

    Cells of the same donor are not independent. Pass the donor as ``groups``: donors are then permuted as a whole, and
    the p-value refers to donors rather than to cells.

    Parameters
    ----------
    adata : anndata.AnnData
        Annotated data (requires the extra ``anndata``).
    by : str
        Column of ``adata.obs`` that contains the conditions.
    values : sequence of two values, optional
        The two conditions to compare, X and Y. By default, ``by`` must have exactly two values.
    obsm : str, optional
        Key of the embedding to compare, such as ``"X_pca"``.
    layer : str, optional
        Name of the layer of expression values to compare. By default, ``adata.X`` is compared.
    genes : sequence of str, optional
        Genes to compare. By default all. Cannot be combined with ``obsm``.
    groups : str, optional
        Column of ``adata.obs`` with group labels, such as donors.
    strata : str, optional
        Column of ``adata.obs`` with strata, such as batches. Cells are permuted only within strata.
    max_memory : int, optional
        Maximum number of bytes of the dense cells. By default, the free memory.

    Returns
    -------
    arguments : dict
        Keyword arguments: ``X``, ``Y``, and ``groups`` and ``strata`` if given.

    Examples
    --------
    >>> import anndata, numpy as np, pandas as pd, tellapart as ta
    >>> from tellapart.integrations.anndata import samples
    >>> obs = pd.DataFrame({"condition": ["ctrl", "stim"] * 100, "donor": [f"d{k // 10}" for k in range(200)]})
    >>> obs.index = obs.index.astype(str)
    >>> adata = anndata.AnnData(np.random.default_rng(0).normal(size=(200, 3)), obs)
    >>> adata.X[1::2, 2] += 1
    >>> ta.two_sample_test(**samples(adata, "condition", strata="donor"), rng=0).differing_columns().names[0]
    '2'
    """
    if not all(hasattr(adata, name) for name in ("obs", "obsm", "layers", "var_names")):
        raise InputTypeError("wrong-type", f"`adata` must be an AnnData object, got {type(adata).__name__}.")
    if obsm is not None and (layer is not None or genes is not None):
        raise InputError(
            "conflicting-arguments", "`obsm` selects an embedding and cannot be combined with `layer` or `genes`."
        )
    labels = _column(adata, by)
    chosen = list(dict.fromkeys(labels.tolist())) if values is None else list(values)
    if len(chosen) != 2:
        raise InputError(
            "wrong-number-of-samples",
            f"obs[{by!r}] has {len(chosen)} values.",
            "Pass the two to compare as {values}.",
            values=tuple(chosen[:2]),
        )
    rows = [np.flatnonzero(labels == value) for value in chosen]
    for value, positions in zip(chosen, rows, strict=True):
        if not len(positions):
            raise InputError("unknown-value", f"No cell has obs[{by!r}] == {value!r}.")
    cells, names = _numbers(adata, obsm, layer, genes)
    check_memory(8.0 * sum(map(len, rows)) * cells.shape[1], "adata", max_memory, "Choose {genes}.", genes=...)
    x, y = (Sample(_dense(cells[part]), names) for part in rows)
    order = np.concatenate(rows)
    given = {"groups": groups, "strata": strata}
    return {"X": x, "Y": y} | {
        name: _column(adata, column)[order] for name, column in given.items() if column is not None
    }


def _column(adata: Any, name: str) -> Any:
    if name not in adata.obs:
        raise InputError(
            "unknown-column", f"obs has no column {name!r}. It has {', '.join(map(repr, adata.obs.columns))}."
        )
    return np.asarray(adata.obs[name])


def _numbers(adata: Any, obsm: str | None, layer: str | None, genes: Sequence[str] | None) -> tuple[Any, Any]:
    """Return all cells (dense or sparse) and the names of their columns."""
    if obsm is not None:
        if obsm not in adata.obsm:
            raise InputError("unknown-member", f"obsm has no {obsm!r}. It has {', '.join(map(repr, adata.obsm))}.")
        cells = adata.obsm[obsm]
        cells = np.asarray(cells) if hasattr(cells, "columns") else cells
        return cells, tuple(f"{obsm}[{k}]" for k in range(cells.shape[1]))
    if layer is not None and layer not in adata.layers:
        raise InputError("unknown-member", f"layers has no {layer!r}. It has {', '.join(map(repr, adata.layers))}.")
    cells = adata.X if layer is None else adata.layers[layer]
    names = list(map(str, adata.var_names))
    if genes is None:
        return cells, tuple(names)
    unknown = sorted(set(genes) - set(names))
    if unknown:
        raise InputError("unknown-column", f"var_names does not contain {', '.join(map(repr, unknown[:5]))}.")
    return cells[:, [names.index(gene) for gene in genes]], tuple(genes)


def _dense(cells: Any) -> Array:
    values = as_array(cells.toarray() if hasattr(cells, "toarray") else cells, "adata")
    if not np.isfinite(values).all():
        raise InputError("non-finite-values", "adata has NaN or infinite values.")
    return np.ascontiguousarray(values, np.float32 if values.itemsize <= 4 else np.float64)
