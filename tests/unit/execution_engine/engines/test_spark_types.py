"""The types that a catalog declares."""

import pytest

from execution_engine.engines.columns.column_types import spark_type


@pytest.mark.parametrize(
    ("declared", "read"),
    [
        ("bigint", "bigint"),
        ("BIGINT ", "bigint"),
        ("integer", "int"),
        ("decimal", "decimal(10,0)"),
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
        "",
        "integers",
        "double precision",
        "int not null",
        "int comment 'x'",
        "int, x int",
        "int) as x, (select max(salary) from hr.pay",
        "string default current_user()",
        "bigint generated always as (java_method('java.lang.System', 'exit', 1))",
        "int /* */",
        "int -- x",
        "decimal(39,2)",
        "decimal(2,3)",
        "decimal(-1)",
        "struct<a`:int>",
        "struct<>",
        "array<int",
        "\uff49nt",
        "int\0",
        "array<" * 400 + "int" + ">" * 400,
        "string" * 1000,
    ],
)
def test_what_is_no_type_is_not_pasted_anywhere(declared: str) -> None:
    assert spark_type(declared) is None
