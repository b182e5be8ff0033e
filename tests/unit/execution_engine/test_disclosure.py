"""What a test may tell of data."""

import pytest

from assay.access import Owned
from assay.names import name_key
from execution_engine.disclosure import Privacy, objection, told
from execution_engine.metrics.spec import MetricSpec

TRIPS = Privacy(
    owned=Owned(name="raw.trips", owner="rita", team="rides"), upstreams=frozenset({name_key("app.orders")})
)
PEOPLE = Privacy(
    owned=Owned(name="raw.people", owner="rita", team="rides"),
    sensitive=frozenset({"salary", "email"}),
    primary_key=("email",),
)
PAY = Privacy(owned=Owned(name="hr.pay", owner="hanna", team="hr", readers=("team:hr",)))
ORDERS = Privacy(owned=Owned(name="app.orders", owner="ola", team="shop", readers=("team:shop",)))
KNOWN = {one.owned.name: one for one in (TRIPS, PEOPLE, PAY, ORDERS)}


def asked(own: Privacy, name: str, *columns: str, dataset: str | None = None, **more: object) -> str | None:
    """The objection to a metric."""
    return objection(own, MetricSpec(name=name, columns=columns, **more), dataset, KNOWN.get)  # type: ignore[arg-type]


def query(own: Privacy, text: str) -> str | None:
    """The objection to a query."""
    return asked(own, "query", arguments=(text,))


@pytest.mark.parametrize("name", ["min", "max", "mean", "sum", "stddev", "histogram", "age"])
def test_a_metric_made_of_values_is_not_taken_of_a_sensitive_column(name: str) -> None:
    assert "sensitive" in (asked(PEOPLE, name, "Salary") or "")
    assert asked(PEOPLE, name, "fare") is None
    assert asked(TRIPS, name, "salary") is None


def test_quantiles_samples_and_groups_are_made_of_values_too() -> None:
    assert asked(PEOPLE, "quantile", "salary", arguments=(0.5,))
    assert asked(PEOPLE, "approx_quantile", "salary", arguments=(0.5,))
    assert asked(PEOPLE, "sample", "email")
    assert asked(PEOPLE, "row_count", by=("email",))


ODD = Privacy(
    owned=Owned(name="raw.odd", owner="rita", team="rides"), sensitive=frozenset({"pay.slip", "home address"})
)


@pytest.mark.parametrize("column", ["`pay.slip`", "pay.slip", "`Home Address`", "`home address`.street"])
def test_a_sensitive_column_of_any_name_is_hidden_with_the_fields_below_it(column: str) -> None:
    assert f"would show values of {column}" in (asked(ODD, "max", column) or "")
    assert asked(ODD, "row_count", by=(column,))
    assert told(MetricSpec(name="max", columns=(column,)), ODD.sensitive, {"note": "9", "rows": 3}) == {"rows": 3}


def test_what_stands_beside_a_sensitive_column_may_be_told() -> None:
    assert asked(ODD, "max", "pay") is None
    assert asked(ODD, "max", "address.home") is None
    assert query(ODD, "select max(`pay.slip`) from raw.odd")
    assert query(ODD, "select max(`pay slip`) from raw.odd") is None


@pytest.mark.parametrize("name", ["completeness", "distinct_count", "uniqueness", "min_length", "key_digest"])
def test_how_many_there_are_may_be_told(name: str) -> None:
    assert asked(PEOPLE, name, "email") is None


@pytest.mark.parametrize(
    "text",
    [
        "select max(salary) from raw.people",
        "select max(`SALARY`) from raw.people",
        "select max(p.salary) from raw.people p",
        "select max(length(email)) from raw.people",
        "select count(*) from (select * from raw.people)",
        "select count(*) from (select p.* from raw.people p)",
        "select max(a) from raw.people as p(a, b)",
        "select max(struct(*).salary) from raw.people",
        "with x as (select salary as s from raw.people) select max(s) from x",
        "select max(fare) from raw.trips where fare = (select min(salary) from raw.people)",
    ],
)
def test_a_query_comes_by_no_sensitive_column(text: str) -> None:
    assert query(TRIPS, text)
    assert query(PEOPLE, text)


def test_a_query_over_the_other_columns_is_allowed() -> None:
    assert query(PEOPLE, "select count(*) from raw.people where fare > 1") is None
    assert query(TRIPS, "select max(salary) from raw.trips") is None


def test_another_dataset_is_asked_only_where_its_readers_are_all_there_are() -> None:
    text = "select cast(max(salary) as int) from hr.pay"
    assert "readers" in (query(TRIPS, text) or "")
    assert "readers" in (asked(TRIPS, "max", "amount", dataset="hr.pay") or "")
    assert "readers" in (asked(TRIPS, "row_count", dataset="hr.pay") or "")
    assert asked(TRIPS, "referential_integrity", "id", arguments=("hr.pay", "id"))
    assert query(PAY, text) is None


def test_what_feeds_a_dataset_is_counted_by_its_tests_whoever_its_readers_are() -> None:
    assert asked(TRIPS, "row_count", dataset="app.orders") is None
    assert asked(TRIPS, "max", "amount", dataset="app.orders")
    assert asked(TRIPS, "row_count", dataset="app.orders", where="amount > 5")
    assert query(TRIPS, "select count(*) from app.orders")


def test_a_detail_of_a_sensitive_column_keeps_its_numbers_only() -> None:
    found = {"missing": 2, "lost": [{"email": "ada@example.com"}], "note": "ada@example.com comes twice"}
    assert told(MetricSpec(name="keys_found", columns=("Email",)), PEOPLE.sensitive, found) == {"missing": 2}
    assert told(MetricSpec(name="keys_found", columns=("id",)), PEOPLE.sensitive, found) == found
    assert told(MetricSpec(name="keys_found", columns=("email",)), frozenset(), found) == found
