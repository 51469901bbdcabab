"""Imported first by packages that need torch: the error names the extra, and not only the library."""

from .extras import need_torch

need_torch("This part of tellapart (kernels, learned tests, losses, generative models)")
