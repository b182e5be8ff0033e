"""What of an ORC file Arrow reads as Spark does: its columns by name, and days since the calendar of now."""

from collections.abc import Mapping

import pyarrow as pa
import pyarrow.compute as pc

from .language import UnableToTell

FIRST_DAY = -141_427  # 15 October 1582, in days since 1970: Java counts those before it by another calendar
BY_POSITION = "_col"  # what the names of all columns begin with that Hive wrote without their names


def own_names(schema: pa.Schema, types: Mapping[str, pa.DataType]) -> dict[str, str]:
    """The file's own names of the columns of a table, by these in lower case; UnableToTell of other types."""
    names: dict[str, str] = {}
    for own_name, type_ in zip(schema.names, schema.types, strict=True):
        name = own_name.lower()
        if name not in types:
            continue
        if name in names:
            raise UnableToTell(f"{name} is written in several ways")
        if type_ != types[name]:
            raise UnableToTell(f"{name} has several types")
        names[name] = own_name
    if len(names) < len(types) and all(name.startswith(BY_POSITION) for name in schema.names):
        raise UnableToTell("a file has no names of its columns")
    return names


def check_days(rows: pa.RecordBatch) -> None:
    """Raises UnableToTell where a day lies before the calendar of now."""
    for name, column in zip(rows.schema.names, rows.columns, strict=True):
        if pa.types.is_date32(column.type):
            first = pc.min(column.cast(pa.int32())).as_py()
            if first is not None and first < FIRST_DAY:
                raise UnableToTell(f"{name} has days of an old calendar")
