"""Estimators of MMD² and its variance, null distributions, and losses: all from the engine's engine."""
