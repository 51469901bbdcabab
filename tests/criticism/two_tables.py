"""Two tables to compare, with a known difference or none."""

from __future__ import annotations

import numpy as np
import pandas as pd


def tables(n=300, seed=0, income=1.0, towns=(0.5, 0.3, 0.2)):
    """Two tables; in the second, income is stretched and towns have other shares."""
    rng = np.random.default_rng(seed)
    parts = []
    for stretch, shares in ((1.0, (0.5, 0.3, 0.2)), (income, towns)):
        parts.append(
            pd.DataFrame(
                {
                    "age": rng.normal(40, 10, n).round(),
                    "income": rng.normal(0, 1000, n) * stretch + 3000,
                    "town": rng.choice(["Ulm", "Bonn", "Köln"], n, p=shares),
                    "since": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 1000, n), "D"),
                }
            )
        )
    return parts
