"""Types that a catalog declares, which of them have room for the values of which, and names with a dot."""

from decimal import Decimal

import pyarrow as pa
import pytest

from execution_engine.engines.column_types import expressions, holds, read_type, spark_type, with_fields
from execution_engine.engines.spec_check import check_spec, settled
from execution_engine.metrics.definition import ColumnKind
from execution_engine.metrics.spec import MetricSpec

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


@pytest.mark.parametrize(
    ("declared", "read"),
    [
        *[("bigint", "bigint"), ("BIGINT ", "bigint"), ("integer", "int"), ("decimal", "decimal(10,0)")],
        ("numeric(12, 2)", "decimal(12,2)"),
        ("varchar(20)", "string"),
        ("timestamp_ltz", "timestamp"),
        ("array< double >", "array<double>"),
        ("map<string,array<int>>", "map<string,array<int>>"),
        ("struct<date:date,`odd ``name`:int>", "struct<`date`:date,`odd ``name`:int>"),
    ],
)
def test_a_type_is_written_anew(declared: str, read: str) -> None:
    assert spark_type(declared) == read


@pytest.mark.parametrize(
    "declared",
    [
        *("", "integers", "double precision", "int not null", "int comment 'x'", "int, x int"),
        *("int) as x, (select max(salary) from hr.pay", "string default current_user()"),
        "bigint generated always as (java_method('java.lang.System', 'exit', 1))",
        *("int /* */", "int -- x", "decimal(39,2)", "decimal(2,3)", "decimal(-1)", "struct<a`:int>", "struct<>"),
        *("array<int", "\uff49nt", "int\0"),
        "array<" * 400 + "int" + ">" * 400,
        "string" * 1000,
    ],
)
def test_what_is_no_type_is_not_pasted_anywhere(declared: str) -> None:
    assert spark_type(declared) is None


@pytest.mark.parametrize(
    ("type_", "fields"),
    [
        ("int", {}),
        ("struct<b:int,c:string>", {"a.b": "int", "a.c": "string"}),
        ("struct<b:struct<c:decimal(10,2)>>", {"a.b": "struct<c:decimal(10,2)>", "a.b.c": "decimal(10,2)"}),
        ("struct<`b c`:int,`d``e`:int>", {"a.`b c`": "int", "a.`d``e`": "int"}),
        ("array<struct<b:int>>", {}),
        ("struct<b:map<string,int>,c:int>", {"a.b": "map<string,int>", "a.c": "int"}),
        ("struct<>", {}),
    ],
)
def test_the_fields_of_a_struct_are_columns(type_: str, fields: dict[str, str]) -> None:
    assert with_fields({"a": type_, "z": "int"}) == {"a": type_} | fields | {"z": "int"}


def test_a_column_whose_name_has_a_dot_is_not_a_field() -> None:
    write = expressions({"address": "struct<city:string>", "address.city": "string", "a`b": "int"})
    assert (write.column("address.city"), write.column("a`b")) == ("`address`.`city`", "`a``b`")


COLUMNS = ("id", "item", "item.one", "`item.one`", "`order.id`", "`order id`")


@pytest.mark.parametrize(
    ("column", "meant"),
    [
        *[("item.one", "item.one"), ("`item.one`", "`item.one`"), ("order.id", "`order.id`")],
        *[("Order.Id", "`Order.Id`"), ("item.two", "item.two"), ("order.no", "order.no"), ("id", "id")],
    ],
)
def test_a_name_with_a_dot_is_a_field_unless_no_column_begins_so(column: str, meant: str) -> None:
    spec = settled(MetricSpec(name="row_count", columns=(column,), by=(column,)), COLUMNS)
    assert (spec.columns, spec.by) == ((meant,), (meant,))


@pytest.mark.parametrize(
    ("condition", "meant"),
    [
        ("item.one > 1", "item.one > 1"),
        ("order.id > 1 and item.one < 2", "`order.id` > 1 AND `item`.`one` < 2"),
        *[("order.id", "`order.id`"), ("id > 0.5", "id > 0.5"), ("order.id > ", "order.id > ")],
    ],
)
def test_so_it_is_in_conditions(condition: str, meant: str) -> None:
    spec = MetricSpec(name="compliance", arguments=(condition,), where=condition)
    found = settled(spec, COLUMNS)
    assert (found.arguments, found.where) == ((meant,), meant)


def test_a_text_that_is_no_condition_stays_as_it_is() -> None:
    spec = MetricSpec(name="query", arguments=("select order.id from order",))
    assert settled(spec, COLUMNS) == spec


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        (MetricSpec(name="completeness", columns=("item.on",)), "has no column item.on; did you mean item.one?"),
        (MetricSpec(name="completeness", columns=("order.no",)), "has no column order.no; did you mean `order.id`?"),
        (MetricSpec(name="row_count", where="order.no > 1"), "has no column order.no; did you mean `order.id`?"),
        (MetricSpec(name="row_count", where="`order idd` > 1"), "has no column `order idd`; did you mean `order id`?"),
    ],
)
def test_the_name_that_is_suggested_can_be_pasted(spec: MetricSpec, told: str) -> None:
    failure = check_spec(spec, dict.fromkeys(COLUMNS, ColumnKind.ANY), "shop.orders", engine="spark")
    assert failure is not None
    assert told in failure.detail
