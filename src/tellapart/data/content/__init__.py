"""What a sample holds: a table, images, rows of numbers, or features of one of these."""

from .alignment import Deviation, Layout, align, align_rows_to, align_to, check_comparable, name_columns
from .base import Content
from .features import Features
from .images import Images
from .rows import Rows
from .table import Table

__all__ = [
    "Content",
    "Deviation",
    "Features",
    "Images",
    "Layout",
    "Rows",
    "Table",
    "align",
    "align_rows_to",
    "align_to",
    "check_comparable",
    "name_columns",
]
