"""Parquet files, and folders of parts."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

from ..._util.errors import InputError, InputFileError
from ..._util.extras import extra
from ..._util.progress import reading_bar
from ..._util.text import printable
from ..arrays import Array, check_exact
from ..content import TableContent
from ..lazy import Lazy, Stored
from ..names import select_columns, unique_names
from ..precision import precision_of
from ..spill import MixedKinds, TableWriter, is_large
from ..stores import Spooled, Stamp, check_stamp, stamp_of, unchanged
from .base import Format, Opened, Request
from .frames import open_frame, table_from_frame

#: Rows that are decoded together.
_BATCH = 65_536
#: Numbers of large files that are decoded together, and bytes that are read together.
_NUMBERS, _BUFFER = 2**20, 2**20
_INDEX = re.compile(r"__index_level_\d+__")
_FEWER = "Give {max_rows} to draw some of its rows or {columns} to take fewer columns."


class Parquet(Format):
    """A Parquet file, or a folder of parts in the order of their names; pandas' index is left out."""

    name = ".parquet"
    tabular = True

    def matches(self, data: Any) -> bool:
        """Whether this is the path of a Parquet file, or of a folder of them."""
        return isinstance(data, Path) and bool(find_parts(data))

    def open(self, request: Request) -> Opened:
        """Read the rows and columns wanted."""
        _, parquet = _libraries()
        options, label = request.options, request.label
        paths = find_parts(request.data)
        with ExitStack() as opened:
            for path in paths:
                opened.enter_context(unchanged(path, f"{label}: the part {path.name}" if len(paths) > 1 else label))
            files = [opened.enter_context(parquet.ParquetFile(part)) for part in paths]
            stored = files[0].schema_arrow.names
            if any(set(file.schema_arrow.names) != set(stored) for file in files):
                raise InputError("parts-differ", f"{label} has parts with different columns. Give all parts the same.")
            names = unique_names(stored)
            index = tuple(filter(_INDEX.fullmatch, stored))
            keep = select_columns(names, label, options.columns, (*index, *(options.drop or ())))
            total = sum(file.metadata.num_rows for file in files)
            wanted = {stored[k] for k in keep}
            # Names may stand for many columns each, and are looked up one by one.
            columns = None if len(keep) == len(names) else [name for name in dict.fromkeys(stored) if name in wanted]
            chosen = tuple(names[k] for k in keep)
            need = _measure(files, total, wanted)
            if total and request.count_rows(total) == total and is_large(need, options.max_memory):
                table = _spill(paths, columns, chosen, request)
                if table is not None:
                    return Opened(table, np.arange(total), total=total)
            request.check_memory(need * request.count_rows(total) / max(1, total), _FEWER, max_rows=..., columns=...)
            numbers = request.choose_rows(total)
            if len(numbers) == total:
                tables = [_restore_categories(file.read(columns=columns)) for file in files]
            else:
                tables = _read_rows(files, columns, numbers)
            data = _concatenate(tables, label)
        return Opened(_make_table(data, chosen, label), numbers, total=total)

    def open_lazy(self, request: Request) -> Lazy | None:
        """Rows that are decoded once, to a temporary file; None where there are columns of text or dates."""
        chunks = Parts.find(find_parts(request.data), request.label)
        return None if chunks is None else Stored(Spooled(chunks, request.label), request.label)


class Parts:
    """Numbers in one or more Parquet files with the same columns."""

    in_file = True

    def __init__(
        self,
        paths: list[Path],
        label: str,
        names: tuple[str, ...],
        rows: int,
        dtype: np.dtype[Any],
        precision: Array,
        stamps: list[Stamp],
    ) -> None:
        self.paths, self.label, self.names, self.dtype, self.precision = paths, label, names, dtype, precision
        self.shape: tuple[int, ...] = (rows, len(names))
        self.stamps = stamps

    @classmethod
    def find(cls, paths: list[Path], label: str) -> Parts | None:
        """The files, if all their columns hold numbers."""
        _, parquet = _libraries()
        paths = [path.absolute() for path in paths]
        schemas, rows = [], 0
        stamps = [stamp_of(path) for path in paths]
        for path in paths:
            with parquet.ParquetFile(path) as file:
                schemas.append(file.schema_arrow)
                rows += int(file.metadata.num_rows)
        names = tuple(name for name in schemas[0].names if not _INDEX.fullmatch(name))
        for path, schema in zip(paths, schemas, strict=True):
            if set(names) - set(schema.names):
                raise InputError(
                    "parts-differ", f"{label} has parts with different columns: {path.name} is unlike {paths[0].name}."
                )
        if not names or not rows or len(set(names)) < len(names) or any(map(_find_categories, schemas)):
            return None
        types = [schema.field(name).type for schema in schemas for name in names]
        if any(map(_has_large_numbers, paths)):
            return None
        if not all(str(kind).startswith(("int", "uint", "float", "double", "halffloat", "bool")) for kind in types):
            return None
        dtypes = [np.dtype(kind.to_pandas_dtype()) for kind in types]
        bits = np.array([precision_of(dtype) for dtype in dtypes]).reshape(len(schemas), -1).min(axis=0)
        return cls(paths, label, names, rows, np.result_type(*dtypes), bits, stamps)

    def with_columns(self, names: tuple[str, ...]) -> Parts:
        """The same files with their columns in this order."""
        order = [self.names.index(name) for name in names]
        return Parts(self.paths, self.label, names, self.shape[0], self.dtype, self.precision[order], self.stamps)

    def blocks(self) -> Iterator[Array]:
        """All rows, some at a time; NaN where a value is missing."""
        _, parquet = _libraries()
        for path, stamp in zip(self.paths, self.stamps, strict=True):
            try:
                file = parquet.ParquetFile(path)
            except FileNotFoundError:
                raise InputFileError("file-not-found", f"{self.label}: the part {path} is not there.") from None
            with file:
                for batch in file.iter_batches(batch_size=_BATCH, columns=list(self.names)):
                    yield np.stack([batch.column(n).to_numpy(zero_copy_only=False) for n in self.names], axis=1)
            check_stamp(path, stamp, f"{self.label}: the part {path.name}" if len(self.paths) > 1 else self.label)


def _has_large_numbers(path: Path) -> bool:
    """Whether there are whole numbers that floats may not tell apart, as far as the file says: all have to be seen."""
    _, parquet = _libraries()
    with parquet.ParquetFile(path) as file:
        found = file.metadata
        places = [k for k, field in enumerate(file.schema_arrow) if str(field.type) in ("int64", "uint64")]
        if found.num_columns != len(file.schema_arrow.names):
            return False
        for group in map(found.row_group, range(found.num_row_groups)):
            for known in (group.column(k).statistics for k in places):
                if known is not None and known.has_min_max and max(-known.min, known.max) > 2**53:
                    return True
    return False


def find_parts(path: Path) -> list[Path]:
    """The Parquet files at a path: itself, or those in the folder, by name; none if it is something else.

    As in pyarrow, names that begin with a point or an underscore are hidden: other programs keep unfinished parts and
    descriptions under such names.
    """
    if not path.is_dir():
        return [path] if path.suffix.lower() == ".parquet" else []
    if any(next(folder.glob("**/*.parquet"), None) for folder in path.glob("*=*") if folder.is_dir()):
        raise InputError(
            "partitioned-folder",
            f"{printable(str(path))} is divided into folders such as 'year=2024' (Hive partitions), which are not read "
            "as one. Give one of these folders, or the table that pyarrow.dataset.dataset(folder, "
            "partitioning='hive').to_table() returns.",
        )
    return sorted(part for part in path.glob("*.parquet") if part.is_file() and part.name[0] not in "._")


def _libraries() -> tuple[Any, Any]:
    what = "Reading Parquet files"
    return extra("pyarrow", group="tables", what=what), extra("pyarrow.parquet", group="tables", what=what)


def _make_table(data: Any, chosen: tuple[str, ...], label: str) -> TableContent:
    """The columns of an Arrow table that are wanted."""
    # A name may stand twice, or be the first part of another's: what came is looked up again.
    came = unique_names(data.schema.names)
    data = data.rename_columns(list(came))
    frame = open_frame(data, label, chosen if set(came) != set(chosen) else None)
    return table_from_frame(frame, label)


def _spill(
    paths: list[Path], columns: list[str] | None, chosen: tuple[str, ...], request: Request
) -> TableContent | None:
    """All rows of large files, batch by batch; None where only the whole can say what a column holds."""
    arrow, parquet = _libraries()
    with ExitStack() as opened:
        # Without these options whole row groups are in memory.
        files = [opened.enter_context(parquet.ParquetFile(p, pre_buffer=False, buffer_size=_BUFFER)) for p in paths]
        rows = sum(file.metadata.num_rows for file in files)
        with reading_bar(request.options.progress, request.label, rows) as advance:
            return _spill_files(arrow, files, columns, chosen, request.label, advance)


def _spill_files(
    arrow: Any,
    files: list[Any],
    columns: list[str] | None,
    chosen: tuple[str, ...],
    label: str,
    advance: Callable[[int], None],
) -> TableContent | None:
    schemas = [file.schema_arrow for file in files]
    if any(arrow.types.is_nested(field.type) for schema in schemas for field in schema):
        return None
    # The types that columns have in all parts together.
    target = _concatenate([schema.empty_table() for schema in schemas], label).schema
    writer = TableWriter(sum(file.metadata.num_rows for file in files), label)
    try:
        for file in files:
            for batch in file.iter_batches(max(1, min(_BATCH, _NUMBERS // len(chosen))), columns=columns):
                table = _restore_categories(arrow.Table.from_batches([batch]))
                writer.append(_make_table(_unify(table, target, label), chosen, label).columns)
                advance(len(batch))
    except MixedKinds:
        return None
    return TableContent(tuple(writer.close().values()))


def _unify(table: Any, target: Any, label: str) -> Any:
    """A batch with the types that its columns have in all parts together, and in their order."""
    arrow, _ = _libraries()
    names = table.schema.names
    if len(set(names)) < len(names):  # then all parts have the same columns
        return table
    table = table.select([name for name in target.names if name in set(names)])
    for name in names:
        own, kind = table.schema.field(name).type, target.field(name).type
        if own == kind or arrow.types.is_dictionary(own):
            continue
        if arrow.types.is_integer(own) and arrow.types.is_floating(kind):
            check_exact(table[name].drop_null().to_numpy(), f"{label}: column {name!r}")
        table = _cast(table, name, kind)
    return table


def _measure(files: list[Any], total: int, wanted: set[str]) -> float:
    """Bytes that the columns wanted take in memory."""
    stored = numbers = 0.0
    for file in files:
        for group in map(file.metadata.row_group, range(file.metadata.num_row_groups)):
            for chunk in map(group.column, range(group.num_columns)):
                # Of lists and structures the path goes on: embedding.list.element.
                if chunk.path_in_schema in wanted or chunk.path_in_schema.split(".")[0] in wanted:
                    stored += chunk.total_uncompressed_size
                    numbers += chunk.num_values
    # A list of a size that its type says takes that much room also where there is none.
    claimed = sum(_claimed_width(field.type) for field in files[0].schema_arrow if field.name in wanted)
    return max(2 * stored, 16 * numbers, 16.0 * total * claimed)


def _claimed_width(kind: Any) -> int:
    """How many values a cell has by its type."""
    inner = sum(_claimed_width(kind.field(k).type) for k in range(kind.num_fields)) or 1
    return int(inner * getattr(kind, "list_size", 1))


def _read_rows(files: list[Any], columns: list[str] | None, numbers: Array) -> list[Any]:
    """Some rows of each Parquet file, in the memory of one batch."""
    arrow, _ = _libraries()
    tables, start = [], 0
    for file in files:
        pieces = []
        for batch in file.iter_batches(batch_size=_BATCH, columns=columns):
            first, last = np.searchsorted(numbers, (start, start + len(batch)))
            if last > first:
                pieces.append(batch.take(arrow.array(numbers[first:last] - start)))
            start += len(batch)
        if pieces:
            tables.append(_restore_categories(arrow.Table.from_batches(pieces)))
    return tables


def _restore_categories(table: Any) -> Any:
    """Numbers that were categories in pandas as such: Parquet keeps that of texts only."""
    for name in _find_categories(table.schema):
        k = table.schema.get_field_index(name)
        if k >= 0 and str(table.schema.field(k).type).startswith(("int", "uint")):
            table = table.set_column(k, name, table.column(k).dictionary_encode())
    return table


def _find_categories(schema: Any) -> list[str]:
    """Columns that pandas says were categories."""
    described = (schema.pandas_metadata or {}).get("columns", ())
    return [str(one["field_name"]) for one in described if one.get("pandas_type") == "categorical"]


def _concatenate(tables: list[Any], label: str) -> Any:
    """The rows of all parts. Where a column has several types of numbers, floats are taken in the coarsest of these."""
    arrow, _ = _libraries()
    first, *others = tables
    if all(other.schema.equals(first.schema) for other in others):
        return arrow.concat_tables(tables)
    names = first.schema.names
    if len(set(names)) < len(names):
        raise InputError(
            "parts-differ", f"{label} has parts with different columns, and several columns of one name. Rename them."
        )
    for name in names:
        kinds = {str(table.schema.field(name).type): table.schema.field(name).type for table in tables}
        floats = [kinds[kind] for kind in ("halffloat", "float", "double") if kind in kinds]
        if len(kinds) == 1 or not floats:
            continue
        for table in tables:
            if arrow.types.is_integer(table.schema.field(name).type):
                check_exact(table[name].drop_null().to_numpy(), f"{label}: column {name!r}")
        if all(arrow.types.is_integer(kind) or arrow.types.is_floating(kind) for kind in kinds.values()):
            tables = [_cast(table, name, floats[0]) for table in tables]
    try:
        return arrow.concat_tables(tables, promote_options="permissive")
    except (arrow.ArrowInvalid, arrow.ArrowTypeError):
        odd = next(name for name in names if len({str(table.schema.field(name).type) for table in tables}) > 1)
        types = dict.fromkeys(str(table.schema.field(odd).type) for table in tables)
        raise InputError(
            "parts-differ", f"{label} has parts with different types in {odd!r}: {', '.join(types)}."
        ) from None


def _cast(table: Any, name: str, kind: Any) -> Any:
    return table.set_column(table.schema.get_field_index(name), name, table[name].cast(kind, safe=False))
