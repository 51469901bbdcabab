"""Estimators of MMD² and its variance, p-values, null distributions, and losses: all from the engine's sums."""
