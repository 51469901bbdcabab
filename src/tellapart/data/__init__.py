"""Whatever a user has, as a checked `Sample`: every complaint about input data is made here.

`as_sample` takes what is numbers already. Tables, files and images go through `open_source`, `match` and `Encoding`:

>>> import pandas as pd
>>> x = open_source(pd.DataFrame({"age": [30, 40], "town": ["Ulm", "Bonn"]}), "X")
>>> y = open_source(pd.DataFrame({"age": [50, 60], "town": ["Ulm", "Ulm"]}), "Y")
>>> x, y = match(x, y)
>>> sample = Encoding.fit(x, y).encode(x)
>>> sample.values.shape, sample.shown.row(1)
(torch.Size([2, 3]), ['40', 'Bonn'])
"""

from .encoding import Encoding
from .lazy import Lazy, Paired, Points, compact, in_memory, reindex, take_rows
from .opening import check_path, open_source
from .points import as_points, open_lazy
from .sample import Display, Kind, Sample, as_pair, as_sample
from .source import Source, match

__all__ = [
    "Display",
    "Encoding",
    "Kind",
    "Lazy",
    "Paired",
    "Points",
    "Sample",
    "Source",
    "as_pair",
    "as_points",
    "as_sample",
    "check_path",
    "compact",
    "in_memory",
    "match",
    "open_lazy",
    "open_source",
    "reindex",
    "take_rows",
]
