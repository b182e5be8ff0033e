"""The types of a frame's columns, as the engine writes them."""

from pyspark.sql import DataFrame
from pyspark.sql.types import ArrayType, DataType, MapType, StructType

from execution_engine.engines.column_types import quote


def types_in(frame: DataFrame) -> dict[str, str]:
    """The columns and their types, as ``DataFrame.dtypes`` but for names of fields, which stand in backticks."""
    return types_of(frame.schema)


def types_of(schema: StructType) -> dict[str, str]:
    """The same of a schema."""
    return {field.name: _text(field.dataType) for field in schema.fields}


def _text(type_: DataType) -> str:
    match type_:
        case StructType():
            return f"struct<{','.join(f'{quote(member.name)}:{_text(member.dataType)}' for member in type_.fields)}>"
        case ArrayType():
            return f"array<{_text(type_.elementType)}>"
        case MapType():
            return f"map<{_text(type_.keyType)},{_text(type_.valueType)}>"
    return type_.simpleString()
