"""What is reported on: tables with whatever may go wrong in them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd

from tellapart.criticism import Notice
from tellapart.criticism.slices import Slice
from tellapart.twosample.rules import Condition

QUICK = {"rng": 0, "permutations": 99}
#: Of tests that learn.
LEARNING = {**QUICK, "stability": 1, "learning": {"steps": 20}}
EVIL = "<script>alert(1)</script>"


def people(n, shift, rng):
    frame = pd.DataFrame({f"noise {k}": rng.normal(size=n) for k in range(4)})
    frame["age"] = np.rint(rng.normal(40 + 8 * shift, 10, n))
    frame["town"] = rng.choice(["Ulm", "Bonn", "Bad Königshofen im Grabfeld", "</script><b>x"], n)
    frame["joined"] = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 500, n) + 100 * shift, unit="D")
    frame["member"] = rng.random(n) < 0.5 + 0.4 * shift
    frame[EVIL] = rng.normal(size=n) + 3 * shift
    frame["a very long name of a column " * 3] = rng.integers(0, 3, n)
    frame.loc[rng.random(n) < 0.2, "age"] = np.nan
    return frame


def with_slices(c):
    """The comparison with slices, notices and items whose texts are hostile."""
    rng = np.random.default_rng(0)
    slices = tuple(
        Slice(text, conditions, 0.04, 0.11, 20, 60, pvalue, rng.permutation(len(c.x)), rng.permutation(len(c.y)))
        for text, conditions, pvalue in (
            (f"age > 45 and {EVIL} is 'a'", (Condition("age", ">", 45.0), Condition(EVIL, "is", "a")), 0.01),
            ("town is not 'Ulm'", (Condition("town", "is not", "Ulm"),), 0.4),
        )
    )
    noticed = (
        Notice("disjoint ranges", ("since",), f"since: 2023 and 2024 do not overlap {EVIL}; it is left out.", True),
        Notice("duplicated rows", (), "3 rows of X occur twice.", False, 3),
    )
    items = tuple(np.array([f"{EVIL} item {k}" for k in range(len(part))], object) for part in (c.x, c.y))
    return replace(c, slices=slices, noticed=noticed, items=items)
