"""What a sample holds: a table, images, rows of numbers, or features of one of these."""

from .alignment import align, check_comparable
from .base import Content
from .features import Features
from .images import Images
from .rows import Rows
from .table import Table

__all__ = ["Content", "Features", "Images", "Rows", "Table", "align", "check_comparable"]
