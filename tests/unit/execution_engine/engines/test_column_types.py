"""Which types have room for the values of which: a table of cases, and pyarrow's own casts."""

from decimal import Decimal

import pyarrow as pa
import pytest

from execution_engine.engines.columns.column_types import holds, read_type

SAME = (
    ("int", "integer"), ("INT", "int"), ("bigint", "long"), ("string", "varchar(20)"), ("varchar(20)", "string"),
    ("double precision", "double"), ("decimal(10, 2)", "numeric(10,2)"), ("decimal", "decimal(38,9)"),
    ("timestamp", "timestamp_ntz"), ("timestamp", "datetime"), ("timestamp(3)", "timestamp_ltz"),
    ("boolean", "tinyint(1)"), ("tinyint(1)", "tinyint"), ("int(11)", "INTEGER"), ("float(53)", "double"),
    ("character varying(5)", "varchar(5)"), ("array<int>", "array<int>"), ("struct<a:int>", "struct<`A`:int>"),
    ("map<string,int>", "map<string,int>"), ("struct", "struct<a:int>"), ("text", "LONGTEXT"),
)  # fmt: skip
WIDER = (
    ("tinyint", "smallint"), ("int", "bigint"), ("int unsigned", "bigint"), ("float", "double"), ("date", "date"),
    ("decimal(10,2)", "decimal(12,2)"), ("decimal(10,2)", "decimal(12,4)"), ("varchar(10)", "varchar(20)"),
    ("array<int>", "array<bigint>"), ("struct<a:int>", "struct<a:bigint,b:string>"), ("int", "void"),
    ("map<string,float>", "map<string,double>"), ("struct<a:array<int>>", "struct<b:int,a:array<bigint>>"),
)  # fmt: skip
OTHER = (
    ("bigint", "int"), ("double", "float"), ("decimal(10,2)", "decimal(10,3)"), ("decimal(10,2)", "decimal(10,1)"),
    ("varchar(20)", "varchar(10)"), ("int", "string"), ("string", "int"), ("int", "double"), ("int", "decimal(20,0)"),
    ("double", "decimal(20,2)"), ("date", "timestamp"), ("timestamp", "date"), ("date", "string"),
    ("timestamp_ntz", "timestamp_ltz"), ("timestamp with time zone", "timestamp without time zone"),
    ("bigint unsigned", "bigint"), ("boolean", "int"), ("string", "binary"), ("array<int>", "array<string>"),
    ("array<int>", "int"), ("struct<a:int,b:int>", "struct<a:int>"), ("struct<a:int>", "struct<a:string>"),
    ("map<string,int>", "map<int,int>"), ("string", "duration[ns]"), ("string", "time64[us]"),
)  # fmt: skip

NUMBERS = {
    "tinyint": pa.int8(), "smallint": pa.int16(), "int": pa.int32(), "bigint": pa.int64(), "float": pa.float32(),
    "double": pa.float64(), "tinyint unsigned": pa.uint8(), "smallint unsigned": pa.uint16(),
    "int unsigned": pa.uint32(), "bigint unsigned": pa.uint64(), "decimal(4,2)": pa.decimal128(4, 2),
    "decimal(6,2)": pa.decimal128(6, 2), "decimal(6,4)": pa.decimal128(6, 4), "decimal(9,4)": pa.decimal128(9, 4),
    "decimal(18,0)": pa.decimal128(18, 0),
}  # fmt: skip


@pytest.mark.parametrize(("declared", "found"), SAME)
def test_one_type_has_many_names(declared: str, found: str) -> None:
    assert holds(declared, found)


@pytest.mark.parametrize(("declared", "found"), WIDER)
def test_a_wider_type_of_its_kind_holds(declared: str, found: str) -> None:
    assert holds(declared, found)


@pytest.mark.parametrize(("declared", "found"), OTHER)
def test_a_narrower_type_and_one_of_another_kind_do_not(declared: str, found: str) -> None:
    assert not holds(declared, found)


@pytest.mark.parametrize("declared", ["uuid", "", "money of some kind", "decimal(", "struct<a", "x" * 5000])
def test_a_declared_type_that_is_not_known_says_nothing(declared: str) -> None:
    assert declared == "struct<a" or read_type(declared) is None
    assert holds(declared, "struct<b:int>" if "struct" in declared else "bigint")


@pytest.mark.parametrize("found", NUMBERS)
@pytest.mark.parametrize("declared", NUMBERS)
def test_of_one_kind_of_number_that_type_has_room_to_which_pyarrow_casts_its_extremes(
    declared: str, found: str
) -> None:
    if _kind(NUMBERS[declared]) != _kind(NUMBERS[found]):
        assert not holds(declared, found)
    elif not (NUMBERS[found] in _UNSIGNED and NUMBERS[declared] not in _UNSIGNED):  # many say int of what is unsigned
        assert holds(declared, found) == _casts(NUMBERS[declared], NUMBERS[found])


_UNSIGNED = {pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()}


def _kind(type_: pa.DataType) -> str:
    return "whole" if pa.types.is_integer(type_) else "floating" if pa.types.is_floating(type_) else "decimal"


def _casts(declared: pa.DataType, found: pa.DataType) -> bool:
    """Whether pyarrow takes the extreme values there and back unchanged."""
    there = pa.array(_extremes(declared), declared)
    try:
        return bool(there.cast(found).cast(declared).equals(there))
    except pa.ArrowInvalid:
        return False


def _extremes(type_: pa.DataType) -> list[object]:
    if pa.types.is_decimal(type_):
        greatest = Decimal(10**type_.precision - 1).scaleb(-type_.scale)
        return [greatest, -greatest]
    if pa.types.is_floating(type_):
        return [1.1 if type_ == pa.float64() else 0.5, -1.5, 1e38 if type_ == pa.float32() else 1e308]
    if type_ in _UNSIGNED:
        return [0, 2**type_.bit_width - 1]
    return [-(2 ** (type_.bit_width - 1)), 2 ** (type_.bit_width - 1) - 1]
