"""Commands where a query belongs are called so, whatever stands behind their first word."""

import pytest

from execution_engine.guard import UnableToAllow, read_condition, read_query


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("show tables", "SHOW"),
        ("describe trips", "DESCRIBE"),
        ("desc trips", "DESC"),
        ("set x = 1", "SET"),
        ("use db", "USE"),
        ("explain select 1", "EXPLAIN"),
        ("cache table trips", "CACHE"),
        ("insert into trips select 1", "INSERT"),
        ("Drop Table trips", "DROP"),
        ("call f()", "CALL"),
        ("add jar 'x'", "ADD JAR"),
        ("execute immediate 'x'", "EXECUTE"),
    ],
)
def test_a_command_is_called_one(text: str, name: str) -> None:
    with pytest.raises(UnableToAllow) as refused:
        read_query(text, ("trips",))
    said = f"line 1, column 1: {name} is a command, not a query; only select … from … can be asked"
    assert str(refused.value) == said


def test_so_is_one_behind_a_query_or_a_condition() -> None:
    with pytest.raises(UnableToAllow, match=r"^line 1, column 11: SHOW is a command"):
        read_query("select 1; show tables", ())
    with pytest.raises(UnableToAllow, match=r"^line 1, column 11: DROP is a command"):
        read_condition("fare > 1; drop table trips")


def test_words_of_commands_are_names_where_no_statement_begins() -> None:
    assert read_condition("show = 1 and comment = 'x' and set = 1").columns == ("show", "comment", "set")
    assert read_query("select desc, comment from trips where load > 1", ("trips",)).names == ("trips",)
