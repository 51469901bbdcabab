"""Null distributions: how a statistic would be distributed if both samples came from one distribution."""

from .stats.nulls import *  # noqa: F403
