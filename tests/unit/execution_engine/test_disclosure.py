"""What a test may tell of data."""

import pytest

from assay.access import Owned
from assay.catalog.profile import DatasetProfile
from assay.database.name_keys import name_key
from execution_engine.disclosure import Privacy, objection, others_of, privacy_of, redact_detail
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
    assert redact_detail(MetricSpec(name="max", columns=(column,)), ODD.sensitive, {"note": "9", "rows": 3}) == {
        "rows": 3
    }


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
        *("select max(salary) from raw.people", "select max(`SALARY`) from raw.people"),
        *("select max(p.salary) from raw.people p", "select max(length(email)) from raw.people"),
        *("select count(*) from (select * from raw.people)", "select count(*) from (select p.* from raw.people p)"),
        *("select max(a) from raw.people as p(a, b)", "select max(struct(*).salary) from raw.people"),
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
    assert query(TRIPS, "select count(*) from (select * from raw.trips)") is None


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
    assert redact_detail(MetricSpec(name="keys_found", columns=("Email",)), PEOPLE.sensitive, found) == {"missing": 2}
    assert redact_detail(MetricSpec(name="keys_found", columns=("id",)), PEOPLE.sensitive, found) == found
    assert redact_detail(MetricSpec(name="keys_found", columns=("email",)), frozenset(), found) == found


def test_an_objection_says_what_whose_and_whom_to_ask() -> None:
    assert asked(TRIPS, "row_count", dataset="hr.pay") == (
        "hr.pay is shown to its readers only (team:hr), and raw.trips to others too: "
        "limit the readers of raw.trips likewise, or ask hanna"
    )
    assert asked(PEOPLE, "max", "salary") == (
        "max(salary) would show values of salary, which is sensitive: ask how many rows meet a "
        'condition, such as compliance("…"), instead'
    )
    assert asked(PEOPLE, "correlation", "salary", "Email", where="x" * 300) is None
    assert query(PEOPLE, "select max(salary) from raw.people") == (
        'a query may not name sensitive columns, nor all columns, of what it reads (salary): use compliance("…")'
    )


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("select max(`SALARY`) from raw.people", "SALARY"),
        ("select * from raw.people", "*"),
        ("select max(a) from raw.people as p(a, b)", "p"),
        ("select from where", "it cannot be read"),
        ("delete from raw.people", "it cannot be read"),
        ("select 'a", "it cannot be read"),
    ],
)
def test_a_query_is_told_how_it_comes_by_a_sensitive_column(text: str, found: str) -> None:
    assert f"of what it reads ({found}): use" in (query(PEOPLE, text) or "")


def test_all_rows_may_be_counted_and_tables_renamed() -> None:
    assert query(PEOPLE, "select count(*) from raw.people") is None
    assert query(PEOPLE, "select COUNT(*) from raw.people p") is None
    assert query(PEOPLE, "select count(p.fare) from raw.people as p") is None
    assert query(PEOPLE, "select max(*) from raw.people")
    assert query(PEOPLE, "select max(a) from (select fare from raw.people) as p(a)") is None


def test_what_another_dataset_hides_is_hidden_from_tests_of_this_one() -> None:
    assert asked(TRIPS, "max", "email", dataset="raw.people")
    assert asked(TRIPS, "max", "fare", dataset="raw.people") is None
    assert asked(PEOPLE, "max", "email", dataset="raw.trips") is None
    assert asked(PEOPLE, "max", "email", dataset="raw.unknown")
    assert asked(TRIPS, "sample_size", arguments=("raw.people",))
    assert asked(TRIPS, "sample_size", arguments=("raw.trips",)) is None


def test_a_group_by_a_sensitive_column_is_refused_whatever_is_counted() -> None:
    assert asked(PEOPLE, "completeness", "fare", by=("Salary",)) == (
        "completeness(fare) by Salary would show values of Salary, which is sensitive: ask how many rows meet a "
        'condition, such as compliance("…"), instead'
    )
    assert asked(PEOPLE, "completeness", "salary", by=("city",)) is None


def test_groups_of_what_feeds_a_dataset_are_not_counted() -> None:
    assert asked(TRIPS, "row_count", dataset="app.orders", by=("city",))
    assert asked(TRIPS, "row_count", dataset="raw.trips") is None
    assert asked(PAY, "max", "amount", dataset="hr.pay") is None


@pytest.mark.parametrize(
    ("spec", "datasets"),
    [
        (MetricSpec(name="row_count"), ("x.y",)),
        (MetricSpec(name="referential_integrity", columns=("id",), arguments=("a.b",)), ("x.y", "a.b")),
        (MetricSpec(name="referential_integrity", columns=("id",), arguments=("x.y",)), ("x.y",)),
        (
            MetricSpec(name="query", arguments=("select 1 from b.c join a.b using (x) join b.c d",)),
            ("x.y", "b.c", "a.b"),
        ),
        (MetricSpec(name="query", arguments=("nonsense (",)), ("x.y",)),
    ],
)
def test_the_datasets_that_a_metric_reads_are_named_once(spec: MetricSpec, datasets: tuple[str, ...]) -> None:
    assert others_of(spec, "x.y") == datasets
    assert others_of(spec, None) == tuple(name for name in datasets if name != "x.y" or "x.y" in spec.arguments)


DETAIL = {"note": "ada", "rows": 3, "share": 0.5, "all": True, "lost": ["ada"]}
NUMBERS = {"rows": 3, "share": 0.5, "all": True}


@pytest.mark.parametrize(
    ("spec", "shown"),
    [
        (MetricSpec(name="max", columns=("email",)), NUMBERS),
        (MetricSpec(name="max", columns=("id",)), DETAIL),
        (MetricSpec(name="schema_match", arguments=("email string",)), DETAIL),
        (MetricSpec(name="schema_drift"), DETAIL),
        (MetricSpec(name="compliance", arguments=("x",)), NUMBERS),
        (MetricSpec(name="row_count", by=("city",)), DETAIL),
        (MetricSpec(name="row_count", by=("email",)), NUMBERS),
        (MetricSpec(name="sample", columns=("id",)), NUMBERS),
        (MetricSpec(name="sample_found", columns=("id",)), NUMBERS),
        (MetricSpec(name="sample_size", columns=("id",)), NUMBERS),
    ],
)
def test_a_detail_is_told_whole_where_it_quotes_nothing_sensitive(spec: MetricSpec, shown: dict[str, object]) -> None:
    assert redact_detail(spec, PEOPLE.sensitive, DETAIL) == shown
    assert redact_detail(spec, frozenset(), DETAIL) == DETAIL


def test_the_privacy_of_a_profile_is_what_its_metadata_says() -> None:
    plain = Privacy(owned=TRIPS.owned)
    assert (plain.sensitive, plain.primary_key, plain.upstreams) == (frozenset(), (), frozenset())
    profile = DatasetProfile(namespace="raw", name="trips", owner="ann", tier=2, replicas=())
    assert privacy_of(profile).upstreams == frozenset()
