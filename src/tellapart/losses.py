"""MMD² and t as losses for any training loop."""

from ._util import needs_torch  # noqa: F401
from .stats.losses import FeatureMatchingMMD, MMDLoss, TStatisticLoss

__all__ = ["FeatureMatchingMMD", "MMDLoss", "TStatisticLoss"]
