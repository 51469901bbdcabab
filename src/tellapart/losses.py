"""MMD² and t as losses for any training loop."""

from .stats.losses import FeatureMatchingMMD, MMDLoss, TStatisticLoss

__all__ = ["FeatureMatchingMMD", "MMDLoss", "TStatisticLoss"]
