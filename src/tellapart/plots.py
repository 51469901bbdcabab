"""Pictures of results with matplotlib, one function each."""

from .report.plots import *  # noqa: F403
