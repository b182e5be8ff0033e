import re

import pytest

from execution_engine.guard import UnableToAllow, read_condition, read_query

TABLES = ("trips", "zones")


def is_allowed(text: str) -> bool:
    try:
        read_query(text, TABLES, ("city", "odd name"))
    except UnableToAllow:
        return False
    return True


def doubled(times: int) -> str:
    ctes = [f"x{at + 1} as (select * from x{at} union all select * from x{at})" for at in range(times)]
    return f"with x0 as (select city from trips), {', '.join(ctes)} select count(*) from x{times}"


@pytest.mark.parametrize(
    ("within", "beyond"),
    [
        ("select repeat(city, 1000) from trips", "select repeat(city, 1001) from trips"),
        ("select lpad(city, 10, '0') from trips", "select lpad(city, fare, '0') from trips"),
        ("select size(sequence(1, 10000))", "select size(sequence(1, 10001))"),
        ("select size(sequence(10, -10, -2))", "select size(sequence(1, 10, 0))"),
        ("select size(sequence(1, 100000, 10))", "select size(sequence(1, 100))+ size(sequence(1, 101))"),
        (
            "select sequence(date'2020-01-01', date'2040-01-01', interval 1 month)",
            "select sequence(date'2020-01-01', date'2040-01-01', interval 1 hour)",
        ),
        ("select city like '%a%b%c%' from trips", "select city like '%a%b%c%d%' from trips"),
        (f"select city rlike '{'a' * 200}' from trips", f"select city rlike '{'a' * 201}' from trips"),
        (f"select {'(' * 32}1{')' * 32}", f"select {'(' * 33}1{')' * 33}"),
        (f"select {'+'.join('1' * 190)}", f"select {'+'.join('1' * 210)}"),
        (doubled(3), doubled(6)),
        ("select 1e999", "select 1e9999"),
        ("select `odd name` from trips", "select `other name` from trips"),
        (f"select city as {'a' * 128} from trips", f"select city as {'a' * 129} from trips"),
    ],
)
def test_each_bound_lies_where_it_says(within: str, beyond: str) -> None:
    assert is_allowed(within)
    assert not is_allowed(beyond)


@pytest.mark.parametrize(
    ("join", "allowed"),
    [
        ("join zones z on t.city = z.city", True),
        ("join zones z using (city)", True),
        ("join zones z on t.fare between z.low and z.high", False),
        (", zones z where t.city = z.city", True),
        (", zones z where (t.fare > 1 and (z.city = t.city))", True),
        ("cross join (select max(fare) as most from trips) m", True),
        ("cross join zones z", False),
        ("join zones z on true", False),
        ("join zones z on z.city = 'rome'", False),
        (", zones z where t.city = 'rome' or t.city = z.city", False),
        ("cross join (select max(fare) as most from trips group by city) m", False),
        ("cross join (select city from trips) m", False),
        ("cross join (select max(fare) over () as most from trips) m", False),
    ],
)
def test_a_join_says_which_rows_belong_together(join: str, allowed: bool) -> None:
    assert is_allowed(f"select count(*) from trips t {join}") is allowed


def test_a_view_takes_the_place_of_its_table_and_of_nothing_else() -> None:
    text = "with zones as (select * from raw.trips) select raw.trips.city, trips.fare, 'trips' from raw.trips"
    text += " join zones using (city)"
    query = read_query(text, ("raw.trips",))
    assert query.names == ("raw.trips",)
    assert query.over({"raw.trips": "v1"}) == (
        "WITH `zones` AS (SELECT * FROM `v1` AS `trips`) SELECT `trips`.`city`, `trips`.`fare`, 'trips' "
        "FROM `v1` AS `trips` JOIN `zones` USING (`city`)"
    )


def test_a_condition_names_its_columns_but_not_the_names_of_lambdas() -> None:
    condition = read_condition("exists(tags, x -> x.size > lowest) and place.x = 1 and `odd name` is null")
    assert condition.columns == ("tags", "lowest", "place", "odd name")


@pytest.mark.parametrize(
    ("dialect", "sql"),
    [
        ("mysql", "NOT city IS NULL AND CAST(fare AS SIGNED) > 1 AND city RLIKE '^[a-z]+$'"),
        (
            "postgres",
            'NOT ("city" COLLATE "C") IS NULL AND CAST(TRUNC("Fare") AS INT) > 1 '
            """AND ("city" COLLATE "C") ~ '^[a-z]+(?=(\r\n|[\n\r\u0085\u2028\u2029])?$)'""",
        ),
    ],
)
def test_a_condition_goes_into_the_dialect_of_another_database(dialect: str, sql: str) -> None:
    condition = read_condition("city is not null and cast(fare as int) > 1 and city rlike '^[a-z]+$' -- x")
    assert condition.into(dialect, {"city": "TEXT", "Fare": "NUMERIC(10, 2)"}) == sql


def test_a_column_called_user_is_no_word_of_another_database() -> None:
    assert read_condition("user = 'x'").into("presto") == "\"user\" = 'x'"


@pytest.mark.parametrize(
    ("text", "sql"),
    [
        ("array('a', 'b')[0] = 'a'", "ARRAY['a', 'b'][1] = 'a'"),
        ("tags[0] = 'a' and array(tags[1], 'b')[1] = 'b'", "tags[1] = 'a' AND ARRAY[tags[2], 'b'][2] = 'b'"),
        ("element_at(tags, 1) = 'a'", "tags[1] = 'a'"),
        ("extra['k'] = 1", "extra['k'] = 1"),
    ],
)
def test_an_index_is_that_of_the_same_element_in_another_database(text: str, sql: str) -> None:
    assert read_condition(text).into("presto") == sql


@pytest.mark.parametrize(
    ("text", "column"),
    [("tags[riders] = 'a'", 6), ("array(10, 20, 30)[riders] = 20", 19), ("element_at(tags, -1) = 'a'", 19)],
)
def test_an_index_that_may_mean_another_element_there_is_refused(text: str, column: int) -> None:
    what = "an index that is computed or negative means another element in another database"
    with pytest.raises(UnableToAllow, match=re.escape(f"column {column}: {what}; write it as a number or a text")):
        read_condition(text).into("presto")


def test_what_another_database_has_not_is_refused_and_not_only_logged() -> None:
    says = "mysql has no such expression: Arrays are not supported by MySQL; write it more plainly"
    with pytest.raises(UnableToAllow, match=f"^{says}$"):
        read_condition("array(fare)[0] > 1").into("mysql")


@pytest.mark.parametrize(
    ("text", "dialect", "why"),
    [
        *(("abs(n, 1) = 1", dialect, "number of provided arguments (2)") for dialect in ("postgres", "mysql", "trino")),
        ("abs() = 1", "postgres", "something is missing"),
        ("year() = 1", "postgres", "something is missing"),
    ],
)
def test_arguments_too_many_or_too_few_for_another_database_are_named(text: str, dialect: str, why: str) -> None:
    with pytest.raises(UnableToAllow, match=re.escape(why)):
        read_condition(text).into(dialect)
