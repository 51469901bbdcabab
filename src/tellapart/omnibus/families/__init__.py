"""Families of statistics, one file each."""

from .base import Family, FeatureBlock
from .cells import CellFamily
from .columns import ColumnFamily
from .components import ComponentFamily
from .given import GivenFamily
from .kernel import KernelFamily
from .pairs import PairFamily
from .patches import PatchFamily
from .spectral import SpectralFamily

__all__ = ["FAMILIES", "Family", "FeatureBlock", "SpectralFamily"]

#: All families, in the order in which they are fitted, scored and combined.
FAMILIES: tuple[type[Family], ...] = (
    KernelFamily,
    PatchFamily,
    GivenFamily,
    ColumnFamily,
    PairFamily,
    ComponentFamily,
    CellFamily,
)
