import pytest

from execution_engine.engines.columns.column_types import expressions, with_fields


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
