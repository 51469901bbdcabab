"""What a sample holds: a table, images, rows of numbers, or features of one of these."""

from .alignment import Deviation, ReferenceColumns, align, align_rows_to, align_to, check_comparable, name_columns
from .base import Content
from .features import Features
from .images import Images
from .rows import Rows
from .table import TableContent

__all__ = [
    "Content",
    "Deviation",
    "Features",
    "Images",
    "ReferenceColumns",
    "Rows",
    "TableContent",
    "align",
    "align_rows_to",
    "align_to",
    "check_comparable",
    "name_columns",
]
