"""What may be declared as a column's type: a type of any storage, and nothing else."""

import pytest

from assay.catalog.column_types import is_column_type

TYPES = """
bigint
INT
decimal(10,2)
decimal(38, 18)
varchar(20)
varchar(max)
int unsigned
tinyint(1) unsigned
double precision
timestamp with time zone
timestamp(3) with time zone
timestamp(6) without time zone
character varying(255)
enum('a','b')
set('it''s', 'b')
Enum8('a' = 1, 'b' = 2)
array<string>
array<decimal(10,2)>
map<string,array<int>>
struct<a:int,b:struct<c:string>>
struct<`odd name`:int>
STRUCT<a INT64, b ARRAY<STRING>>
STRUCT(a INTEGER, b VARCHAR)
row(a integer, b array(varchar))
Array(Nullable(String))
LowCardinality(String)
integer[]
integer[3][3]
text[]
interval day to second
bigint not null
user_defined.type
timestamp_ntz(9)
NUMBER(38,0)
string?
union<int,string>
""".strip().splitlines()
NO_TYPES = """
string) || java_method('java.lang.Runtime', 'getRuntime'
string) || java_method(…)
string || 'a'
int; drop table x
int, x int
int) as id, (select 1
string comment 'x'
string generated always as (reflect('java.lang.System', 'exit', 1))
java_method('a', 'b')
array<int> -- x
struct<a:int> /* x */
array<int
array int>
array<>
map<string,>
struct<a`:int>
decimal(10,2
decimal()
decimal(10;2)
(int)
int = 1
'int'
`int`
enum('a' || 'b')
enum(a())
int + 1
cast(a as int)
int @x
$(id)
${env:HOME}
{{7*7}}
<script>alert(1)</script>
int #
""".strip().splitlines()


@pytest.mark.parametrize("text", TYPES)
def test_a_type_of_any_storage_is_one(text: str) -> None:
    assert is_column_type(text)


@pytest.mark.parametrize("text", [*NO_TYPES, "", " ", "array<" * 100 + "int" + ">" * 100, "a" * 5_000])
def test_what_holds_more_than_a_type_is_none(text: str) -> None:
    assert not is_column_type(text)
