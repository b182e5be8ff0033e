"""The type check of an assertion, made when the test is written."""

import pytest

from execution_engine.language.check import UnableToCheck, check
from execution_engine.language.parse import parse
from execution_engine.language.schema import DatasetSchema
from execution_engine.metrics.registry import SIGNATURES
from execution_engine.metrics.signature import ColumnKind

TRIPS = DatasetSchema(
    name="dw.trips",
    columns={
        "email": ColumnKind.TEXT,
        "fare": ColumnKind.NUMERIC,
        "trip_id": ColumnKind.NUMERIC,
        "started_at": ColumnKind.TEMPORAL,
        "blob": ColumnKind.ANY,
    },
    datacenters=("sea", "phx"),
)
RAW = DatasetSchema(name="raw.trips", columns=None, datacenters=("sea",))
CITIES = DatasetSchema(name="dw.cities", columns={"city": ColumnKind.TEXT}, datacenters=("sea",), partitioned=False)
KNOWN = {schema.name: schema for schema in (TRIPS, RAW, CITIES)}

ACCEPTED = [
    "freshness(complete=0.999) < 4h",
    "freshness() / 1h < 4",
    "freshness() + 30m < 2 * 4h and freshness() / 4h < 50 %",
    "least(freshness(), 4h) <= coalesce(freshness(dataset='raw.trips'), 1d)",
    "mean(fare) > 0 and mean(blob) > 0 and completeness(started_at, where='fare > 0') >= 99 %",
    "row_count() / row_count(dataset='raw.trips') between 0.99 and 1.01",
    "completeness(anything, dataset='raw.trips') > 0",
    "row_count(dataset='dw.trips', datacenter='phx') > 0",
    "keys_found(trip_id, datacenter='phx') / distinct_count(trip_id) >= 0.99",
    "sample_found('raw.trips') / sample_size('raw.trips') >= 0.99",
    "quantile(fare, 0.99, ago=1mo) < mean(quantile(fare, 0.99), last=1000, min=1000)",
    """query("select count(*) from t where d = '{window.start-7d:date}'") > 0""",
    r"""compliance("email rlike '^[a-z]{2,3}$'") > 0""",
]

REFUSED = [
    ("row_cuont() > 1", "row_cuont()", "there is no metric row_cuont: did you mean row_count?"),
    ("completeness(emial) > 0", "emial", "dw.trips has no column emial: did you mean email?"),
    ("completeness(fare, dataset='dw.cities') > 0", "fare", "dw.cities has no column fare: take one of city"),
    ("mean(email) > 2", "email", "mean needs a numeric column, and email is text: take another"),
    ("completeness() > 1", "completeness()", "completeness takes 1 column, not 0"),
    ("distinct_count() > 1", "distinct_count()", "distinct_count takes 1 or more columns, not 0"),
    ("row_count(fare) > 1", "fare", "row_count takes no columns: leave them out"),
    ("compliance(email) > 1", "email", "compliance takes no columns: leave them out (a text goes in quotes)"),
    ("quantile(fare) > 1", "quantile(fare)", "quantile takes (number) after its columns, not 0 arguments"),
    ("quantile(fare, 'x') > 1", "'x'", "quantile needs a number here, not 'x'"),
    ("row_count(1) > 1", "row_count(1)", "row_count takes no argument after its columns, not 1 arguments"),
    ("freshness(complte=1) < 4h", "complte=1", "freshness has no option complte=: did you mean complete?"),
    ("row_count(n=1) < 4", "n=1", "row_count has no option n=: leave it out"),
    ("freshness(complete='x') < 4h", "complete='x'", "freshness needs a number here, not 'x'"),
    ("freshness(where='x') < 4h", "where='x'", "freshness takes no where=: leave it out"),
    ("row_count(where=' ') > 1", "where=' '", "where= is empty: write a condition on rows, or leave it out"),
    ("freshness() < 4", "freshness() < 4", "a duration is compared with a number: give both a unit, such as 4h"),
    ("1h between 1 and 2h or row_count() > 1", "1h between 1 and 2h", "a duration is compared with a number"),
    ("freshness() + 3 < 4h", "freshness() + 3", "a duration and a number cannot be added or subtracted"),
    ("freshness() * 1h < 4h", "freshness() * 1h", "a duration cannot be multiplied by a duration"),
    ("1 / freshness() < 4", "1 / freshness()", "a number cannot be divided by a duration"),
    ("least(freshness(), 1) < 4h", "least(freshness(), 1)", "least takes numbers or durations, not both"),
    ("row_count() > 'a'", "'a'", "a text cannot be compared or reckoned with"),
    ("1 < 2", "1 < 2", "it measures nothing: compare a metric, such as row_count()"),
    ("row_count(dataset='raw.trps') > 0", "dataset='raw.trps'", "there is no dataset 'raw.trps'"),
    ("sample_size('raw.trps') > 0", "'raw.trps'", "there is no dataset 'raw.trps'"),
    ("row_count(datacenter='phy') > 0", "datacenter='phy'", "dw.trips has no replica in 'phy': did you mean phx?"),
    ("row_count(dataset='raw.trips', datacenter='phx') > 0", "datacenter='phx'", "raw.trips has no replica in 'phx'"),
    ("keys_found(trip_id) > 0", "keys_found(trip_id)", "keys_found needs the other side: give datacenter='…'"),
    ("row_count(ago=1.5d) > 0", "ago=1.5d", "'1.5d' is no step"),
    ("row_count(ago=0d) > 0", "ago=0d", "ago= needs a step of at least one unit, such as 7d"),
    ("row_count(dataset='dw.cities', ago=7d) > 0", "ago=7d", "dw.cities has no partitions: there is no ago"),
    ("mean(row_count(ago=7d), last=7) > 0", "ago=7d", "past windows are counted by last=: leave ago= out"),
    ("mean(row_count(), last=0) > 0", "last=0", "last= is from 1 to 1000, not 0"),
    ("mean(row_count(), last=1001) > 0", "last=1001", "last= is from 1 to 1000, not 1001"),
    ("mean(row_count(), last=7, min=8) > 0", "min=8", "min= is from 1 to last=7, not 8"),
    ("mean(completeness(x), last=7) > 0", "x", "dw.trips has no column x"),
    ("compliance('d = {window.start}') > 0", "'d = {window.start}'", "{window.start} is no template"),
    (
        "row_count(where='d = {window.end+1x:date}') > 0",
        "where='d = {window.end+1x:date}'",
        "{window.end+1x:date} is no",
    ),
]


def problems(text: str, home: DatasetSchema = TRIPS) -> list[tuple[str, str]]:
    """What the check says of each problem, with the text its caret stands under."""
    try:
        check(parse(text), home=home, schema_of=KNOWN.get, signatures=SIGNATURES, source=text)
    except UnableToCheck as refused:
        places = [problem.place for problem in refused.problems]
        under = ["" if place is None else text[place.start : place.end] for place in places]
        return list(zip(under, [problem.message for problem in refused.problems], strict=True))
    return []


@pytest.mark.parametrize("text", ACCEPTED)
def test_an_assertion_that_can_be_evaluated_is_accepted(text: str) -> None:
    assert problems(text) == []


@pytest.mark.parametrize(("text", "under", "message"), REFUSED)
def test_an_assertion_that_cannot_be_evaluated_is_refused_at_its_place(text: str, under: str, message: str) -> None:
    found = problems(text)
    assert [place for place, _ in found] == [under]
    assert found[0][1].startswith(message)


def test_every_problem_is_told_at_once_each_with_its_caret() -> None:
    text = "mean(email) > 2 and row_count(datacenter='xx') > 'a'"
    with pytest.raises(UnableToCheck) as refused:
        check(parse(text), home=TRIPS, schema_of=KNOWN.get, signatures=SIGNATURES, source=text)
    assert str(refused.value) == (
        "Cannot accept the assertion: mean needs a numeric column, and email is text: take another\n"
        f"  {text}\n"
        "       ^^^^^\n"
        "Cannot accept the assertion: dw.trips has no replica in 'xx': take one of phx, sea\n"
        f"  {text}\n"
        "                                ^^^^^^^^^^^^^^^\n"
        "Cannot accept the assertion: a text cannot be compared or reckoned with: "
        "a metric gives a number or a duration\n"
        f"  {text}\n"
        "                                                   ^^^"
    )


def test_one_mistake_is_told_once_however_far_it_reaches() -> None:
    assert len(problems("(freshness() + 3) * 2 - 1 < 4h")) == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("mean(row_count(), last=7) > 0", "dw.cities has no partitions: there are no past windows"),
        ("row_count(ago=7d) > 0", "dw.cities has no partitions: there is no ago"),
        ("compliance('d = {window.start:date}') > 0", "dw.cities has no partitions, so there is no window to fill in"),
    ],
)
def test_a_dataset_without_partitions_has_no_past(text: str, message: str) -> None:
    assert [found for _, found in problems(text, home=CITIES)] == [message]
