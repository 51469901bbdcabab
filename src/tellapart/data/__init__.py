"""Whatever a user has, as checked rows: every error in input data is reported here.

`read` takes anything and gives a `Source`; `match` and `Encoding` make numbers of two of them:

>>> import pandas as pd
>>> x = read(pd.DataFrame({"age": [30, 40], "town": ["Ulm", "Bonn"]}), "X")
>>> y = read(pd.DataFrame({"age": [50, 60], "town": ["Ulm", "Ulm"]}), "Y")
>>> x, y = match(x, y)
>>> sample = Encoding.fit(x, y).encode(x)
>>> sample.values.shape, sample.shown.row(1)
((2, 3), ['40', 'Bonn'])

`as_sample`, `as_pair` and `as_points` do all of it at once and give tensors, for what computes with torch.
"""

from typing import TYPE_CHECKING

from .._util.lazy_names import lazy_names
from .encoding import Encoding
from .lazy import Lazy, Points, TensorPoints, check_unchanged, compact, in_memory, reindex, take_rows
from .matching import match
from .open import open_samples
from .read import open_lazy, read, read_pair
from .sample import Display, Kind, Sample
from .source import Source

if TYPE_CHECKING:
    from .tensors import as_pair, as_points, as_sample

__all__ = [
    "Display",
    "Encoding",
    "Kind",
    "Lazy",
    "Points",
    "Sample",
    "Source",
    "TensorPoints",
    "as_pair",
    "as_points",
    "as_sample",
    "check_unchanged",
    "compact",
    "in_memory",
    "match",
    "open_lazy",
    "open_samples",
    "read",
    "read_pair",
    "reindex",
    "take_rows",
]

#: With torch, when they are first used.
__getattr__ = lazy_names(__name__, dict.fromkeys(("as_pair", "as_points", "as_sample"), "tensors"))
