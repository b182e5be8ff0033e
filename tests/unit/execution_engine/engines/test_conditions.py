import pytest

from execution_engine.engines.spec_check import check_spec
from execution_engine.guard import UnableToAllow, read_condition
from execution_engine.metrics.definition import ColumnKind
from execution_engine.metrics.spec import MetricSpec
from execution_engine.outcome import Reason

COLUMNS = {"city": ColumnKind.TEXT, "fare": ColumnKind.NUMERIC, "flag": None, "odd": ColumnKind.ANY}


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("city = 'rome'", ("city",)),
        ("fare > 1 and fare < 2 -- cheap", ("fare",)),
        ("(fare > 1) or (city is null)", ("fare", "city")),
        ("place.x = 1", ("place",)),
        ("status in ('a', 'b') and city rlike '^[a-z]+$'", ("status", "city")),
        ("case when fare > 1 then true else false end", ("fare",)),
        ("`odd name` is not null", ("odd name",)),
        ("at >= timestamp'2013-01-01 05:00:00'", ("at",)),
        ("true", ()),
    ],
)
def test_a_condition_names_its_columns(text: str, columns: tuple[str, ...]) -> None:
    assert read_condition(text).columns == columns


@pytest.mark.parametrize(
    "text",
    [
        *("", "-- nothing", "1 = 1) or (1 = 1", "1 = 1); drop table x; select (1", "1 = 1) union select (1"),
        *("1 = 1) group by (city", "fare > (select max(fare) from trips)"),
        *("exists (select 1 from text.`/etc/passwd`)", "city = '${env:HOME}'"),
        *("reflect('java.lang.System', 'getenv', 'HOME') = 'x'", "JAVA_METHOD('a', 'b') = 'x'", "fare > 1 /*"),
        "city = 'rome",
        "a" * 5000,
        "(" * 1000 + "1" + ")" * 1000,
        "city = '\0'",
    ],
)
def test_what_is_not_one_condition_is_refused(text: str) -> None:
    with pytest.raises(UnableToAllow):
        read_condition(text)


@pytest.mark.parametrize(
    ("spec", "reason"),
    [
        (MetricSpec(name="row_count"), None),
        (MetricSpec(name="mean", columns=("FARE",), where="City = 'rome'"), None),
        (MetricSpec(name="nope"), Reason.INVALID),
        (MetricSpec(name="mean"), Reason.INVALID),
        (MetricSpec(name="mean", columns=("city",)), Reason.INVALID),
        (MetricSpec(name="mean", columns=("fair",)), Reason.UNKNOWN_COLUMN),
        (MetricSpec(name="row_count", where="fair > 1"), Reason.UNKNOWN_COLUMN),
        (MetricSpec(name="compliance"), Reason.INVALID),
        (MetricSpec(name="quantile", columns=("fare",), arguments=("x",)), Reason.INVALID),
        (MetricSpec(name="query", arguments=("select 1",)), None),
    ],
)
def test_a_spec_is_checked_before_data_is_read(spec: MetricSpec, reason: Reason | None) -> None:
    failure = check_spec(spec, COLUMNS, "raw.trips", engine="spark")
    assert (failure.reason if failure else None) is reason


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        (
            MetricSpec(name="non_negative", columns=("city",)),
            "needs a numeric column: column city of raw.trips is text",
        ),
        (MetricSpec(name="mean", columns=("flag",)), "needs a numeric column: column flag of raw.trips is of another"),
        (MetricSpec(name="min_length", columns=("fare",)), "needs a text column: column fare of raw.trips is numeric"),
        (MetricSpec(name="pattern_match", columns=("Fare",), arguments=("a",)), "cast(Fare as string) rlike"),
    ],
    ids=lambda given: given.text if isinstance(given, MetricSpec) else "",
)
def test_a_column_of_another_kind_is_told_with_how_to_mend_it(spec: MetricSpec, said: str) -> None:
    failure = check_spec(spec, COLUMNS, "raw.trips", engine="spark")
    assert failure is not None
    assert (failure.reason, said in failure.detail) == (Reason.INVALID, True), failure.detail


def test_a_column_of_unknown_kind_is_taken() -> None:
    assert check_spec(MetricSpec(name="mean", columns=("odd",)), COLUMNS, "raw.trips", engine="sql") is None
