"""Whatever a user has, as a checked `Sample`: every complaint about input data is made here."""

from .sample import Display, Sample, as_pair, as_sample

__all__ = ["Display", "Sample", "as_pair", "as_sample"]
