"""What is reported on: tables with whatever may go wrong in them."""

from __future__ import annotations

import numpy as np
import pandas as pd

QUICK = {"rng": 0, "stability": 1, "permutations": 99, "learning": {"steps": 20}}
EVIL = "<script>alert(1)</script>"


def people(n, shift, rng):
    frame = pd.DataFrame({f"noise {k}": rng.normal(size=n) for k in range(4)})
    frame["age"] = np.rint(rng.normal(40 + 8 * shift, 10, n))
    frame["town"] = rng.choice(["Ulm", "Bonn", "Bad Königshofen im Grabfeld", "</script><b>x"], n)
    frame["joined"] = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 500, n) + 300 * shift, unit="D")
    frame["member"] = rng.random(n) < 0.5 + 0.4 * shift
    frame[EVIL] = rng.normal(size=n) + 3 * shift
    frame["a very long name of a column " * 3] = rng.integers(0, 3, n)
    frame.loc[rng.random(n) < 0.2, "age"] = np.nan
    return frame
