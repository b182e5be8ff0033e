"""The type check of an assertion, made when the test is written."""

import pytest

from assay.time.windows import Granularity
from execution_engine.language.checking import DatasetSchema, UnableToCheck, check, nearest
from execution_engine.language.parse import parse
from execution_engine.language.templates import misfit
from execution_engine.language.tree import Span
from execution_engine.metrics.definition import ColumnKind
from execution_engine.metrics.registry import GROUPABLE, SIGNATURES

TRIPS = DatasetSchema(
    name="dw.trips",
    columns={
        "email": ColumnKind.TEXT,
        "fare": ColumnKind.NUMERIC,
        "trip_id": ColumnKind.NUMERIC,
        "started_at": ColumnKind.TEMPORAL,
        "blob": ColumnKind.ANY,
        "address": ColumnKind.ANY,
        "address.city": ColumnKind.TEXT,
        "`item.one`": ColumnKind.NUMERIC,
        "`address.zip`": ColumnKind.TEXT,
        "`order id`": ColumnKind.TEXT,
    },
    datacenters=("sea", "phx"),
    granularity=Granularity.DAY,
)
RAW = DatasetSchema(name="raw.trips", columns=None, datacenters=("sea",))
CITIES = DatasetSchema(name="dw.cities", columns={"city": ColumnKind.TEXT}, datacenters=("sea",), partitioned=False)
KNOWN = {schema.name: schema for schema in (TRIPS, RAW, CITIES)}

ACCEPTED = [
    "mean(`item.one`) > 0 and mean(item.one) > 0 and completeness(address.city) > 0 by `order id`, `address.zip`",
    *("freshness(complete=0.999) < 4h", "freshness() / 1h < 4"),
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
    "mean(row_count(), last=4, every=7d) > last(row_count(), last=3) and lag(row_count(), 1, every=1mo) > 0",
    "completeness(email) >= 0.99 and quantile(fare, 0.5) > 0 by blob for 95 % of groups",
    "distinct_count(trip_id) = row_count(dataset='dw.trips') by email, fare",
    "abs(row_count() / mean(row_count(), last=7) - 1) < 15 % and row_count(ago=7d) > 0 by email for 100 % of groups",
    "completeness(address.city) > 0.9 and completeness(blob.of.it) > 0 by address.city, blob.kind",
    "referential_integrity(trip_id, 'dw.cities', to='city') = 1 and accuracy(fare, 'raw.trips', on='trip_id') > 99 %",
    "schema_match('email string') = 1 and histogram(fare, bins=10) > 3 and ratio_of(email, 'x') < 1 %",
    """age(started_at, "timestamp '{window.end:datetime}'") < 4h and predictability(email, fare, score='f1') > 0.5""",
    "mean(row_count(), last=1) > lag(row_count(), 1000)",
    "mean(row_count(), last=7, min=1) > mean(row_count(), last=7, min=7)",
    "row_count() > 0 by email for 0.1 % of groups",
    "freshness() * 2 < 4h and 2 * freshness() < 4h and freshness() / 2 < 4h and -freshness() < 4h",
    "abs(row_count()) * 2 / 3 > 5 % and row_count() = 3",
]

FULL_NAME = "write its full name, such as 'raw.trips', once it is in the catalog"
UNIT = "give both a unit, such as 4h or 400s"
STEPS = "write a whole number and m, h, d, w, mo or y, such as 7d or -1mo."
REFUSED = [  # what stands between the marks is underlined; an ellipsis stands for the end of a message
    ("mean(«`item.on`») > 0", "dw.trips has no column `item.on`: did you mean `item.one`?"),
    ("mean(«address.zip») > 0", "dw.trips has no column address.zip: did you mean `address.zip`?"),
    ("row_count() > 0 by «order_id»", "dw.trips has no column order_id: did you mean `order id`?"),
    ("max_length(«`item.one`») > 0", "max_length needs a text column, and `item.one` is numeric…"),
    ("«mean('item.one')» > 0", "mean takes 1 column, not 0: a column stands without quotes, `item.one`"),
    ("«completeness('city')» > 0", "completeness takes 1 column, not 0: a column stands without…"),
    ("max_length(«address.citi») > 0", "dw.trips has no column address.citi: did you mean address.city?"),
    ("mean(«address.city») > 0", "mean needs a numeric column, and address.city is text: take another"),
    ("row_count() > 0 by «email.host»", "dw.trips has no column email.host…"),
    ("accuracy(fare, «'raw.tripz'», on='trip_id') > 0", "there is no dataset 'raw.tripz'…"),
    ("age(«email», 'now()') > 4h", "age needs a temporal column, and email is text: take another"),
    ("«row_cuont()» > 1", "there is no metric row_cuont: did you mean row_count?"),
    ("completeness(«emial») > 0", "dw.trips has no column emial: did you mean email?"),
    ("completeness(«fare», dataset='dw.cities') > 0", "dw.cities has no column fare: take one of city"),
    ("mean(«email») > 2", "mean needs a numeric column, and email is text: take another"),
    ("«completeness()» > 1", "completeness takes 1 column, not 0"),
    ("«distinct_count()» > 1", "distinct_count takes 1 or more columns, not 0"),
    ("row_count(«fare») > 1", "row_count takes no columns: leave them out"),
    ("compliance(«email») > 1", "compliance takes no columns: leave them out (a text goes in quotes)"),
    ("«quantile(fare)» > 1", "quantile takes (number) after its columns, not 0 arguments"),
    ("quantile(fare, «'x'») > 1", "quantile needs a number here, not 'x'"),
    ("«row_count(1)» > 1", "row_count takes no argument after its columns, not 1 arguments"),
    ("freshness(«complte=1») < 4h", "freshness has no option complte=: did you mean complete?"),
    ("row_count(«n=1») < 4", "row_count has no option n=: leave it out"),
    ("freshness(«complete='x'») < 4h", "freshness needs a number here, not 'x'"),
    ("freshness(«where='x'») < 4h", "freshness takes no where=: leave it out"),
    ("row_count(«where=' '») > 1", "where= is empty: write a condition on rows, or leave it out"),
    ("«freshness() < 4»", f"a duration is compared with a number: {UNIT}"),
    ("«1h between 1 and 2h» or row_count() > 1", "a duration is compared with a number…"),
    ("«freshness() + 3» < 4h", "a duration and a number cannot be added or subtracted…"),
    ("«freshness() * 1h» < 4h", "a duration cannot be multiplied by a duration: multiply durations by numbers only"),
    ("«1 / freshness()» < 4", "a number cannot be divided by a duration: multiply durations by numbers only"),
    ("«least(freshness(), 1)» < 4h", "least takes numbers or durations, not both…"),
    (
        "«'fare'» > max(fare)",
        "a text is no column: give fare to a metric, without these quotes, such as completeness(fa…",
    ),
    ("«'order id'» > max(fare)", "a text is no column: give `order id` to a metric, without these quotes, such as…"),
    ("mean(fare) > «'`order id`'»", "a text is no column: give `order id` to a metric, without these…"),
    ("row_count() > «'a'»", "a text cannot be compared or reckoned with…"),
    ("«1 < 2»", "it measures nothing: compare a metric, such as row_count()"),
    ("row_count(«dataset='raw.trps'») > 0", f"there is no dataset 'raw.trps': {FULL_NAME}"),
    ("sample_size(«'raw.trps'») > 0", f"there is no dataset 'raw.trps': {FULL_NAME}"),
    ("row_count(«datacenter='phy'») > 0", "dw.trips has no replica in 'phy': did you mean phx?"),
    ("row_count(dataset='raw.trips', «datacenter='phx'») > 0", "raw.trips has no replica in 'phx'…"),
    ("«keys_found(trip_id)» > 0", "keys_found needs the other side: give datacenter='…'"),
    ("row_count(«ago=1.5d») > 0", f"'1.5d' is no step: {STEPS}"),
    ("row_count(«ago=0d») > 0", "ago= needs a step of at least one unit, such as 7d"),
    ("row_count(dataset='dw.cities', «ago=7d») > 0", "dw.cities has no partitions: there is no ago"),
    ("mean(row_count(«ago=7d»), last=7) > 0", "past windows are counted from this one: leave ago= out"),
    ("mean(row_count(), «last=0») > 0", "last= is from 1 to 1000, not 0"),
    ("mean(row_count(), «last=1001») > 0", "last= is from 1 to 1000, not 1001"),
    ("mean(row_count(), last=7, «min=8») > 0", "min= is from 1 to last=7, not 8"),
    ("lag(row_count(), «0») > 0", "lag is from 1 to 1000, not 0"),
    ("mean(row_count(), last=4, «every=0d») > 0", "every= needs a step of at least one unit, such as 7d"),
    ("mean(row_count(), last=4, «every=36h») > 0", "36h is no whole number of days, which the partitions…"),
    (
        "row_count(«ago=36h») > 0",
        "36h is no whole number of days, which the partitions are: take 1d or 1mo, or multiples",
    ),
    ("mean(completeness(«x»), last=7) > 0", "dw.trips has no column x…"),
    ("row_count() > 0 by «emial»", "dw.trips has no column emial: did you mean email?"),
    ("row_count() > 0 by email, fare, «email»", "by names email twice: keep one"),
    (
        "row_count() > 0 by email for «0 %» of groups",
        "the share of the groups is above 0 % and up to 100 %: leave it out for all",
    ),
    ("row_count() > 0 by email for «101 %» of groups", "the share of the groups is above 0 % and up to 100 %…"),
    ("«freshness()» < 4h by email", f"freshness cannot be measured by group; these can: {', '.join(GROUPABLE)}"),
    ("«query('select 1')» > 4 by email", "query cannot be measured by group…"),
    ("mean(«query('select 1')», last=7) > 4 by email", "query cannot be measured by group…"),
    (
        "row_count() = row_count(«dataset='raw.trips'») by email",
        "groups are those of dw.trips: leave dataset= out, or test the whole without by",
    ),
    ("«row_count() > 1h» by email", "a duration is compared with a number…"),
    ("«1 < 2 by email»", "it measures nothing…"),
    ("compliance(«'d = {window.start}'») > 0", "{window.start} is no template…"),
    ("row_count(«where='d = {window.end+1x:date}'») > 0", "{window.end+1x:date} is no…"),
    ("«mean('trip_id')» > 0", "mean takes 1 column, not 0: a column stands without quotes, trip_id"),
    ("«correlation(fare)» > 0", "correlation takes 2 columns, not 1"),
    ("«mean(fare, trip_id)» > 0", "mean takes 1 column, not 2"),
    ("row_count(«fare», email) > 0", "row_count takes no columns: leave them out"),
    ("compliance(«1») > 1", "compliance needs a text in quotes here, not 1"),
    ("histogram(fare, «x=1») > 4", "histogram has no option x=: take one of bins"),
    ("mean(row_count(), last=7, «min=0») > 0", "min= is from 1 to last=7, not 0"),
    ("lag(row_count(), «1001») > 0", "lag is from 1 to 1000, not 1001"),
    ("«freshness() - 3» < 4h", f"a duration and a number cannot be added or subtracted: {UNIT}"),
    ("«greatest(freshness(), 1)» < 4h", "greatest takes numbers or durations, not both: give all a unit, such as 4h"),
]


def problems(text: str, home: DatasetSchema = TRIPS) -> list[tuple[str, str]]:
    """What the check says of each problem, with the text its caret stands under."""
    try:
        check(parse(text), home=home, schema_of=KNOWN.get, signatures=SIGNATURES, source=text, groupable=GROUPABLE)
    except UnableToCheck as refused:
        places = [problem.place for problem in refused.problems]
        under = ["" if place is None else text[place.start : place.end] for place in places]
        return list(zip(under, [problem.message for problem in refused.problems], strict=True))
    return []


@pytest.mark.parametrize("text", ACCEPTED)
def test_an_assertion_that_can_be_evaluated_is_accepted(text: str) -> None:
    assert problems(text) == []


@pytest.mark.parametrize(("marked", "message"), REFUSED)
def test_an_assertion_that_cannot_be_evaluated_is_refused_at_its_place(marked: str, message: str) -> None:
    before, rest = marked.split("«")
    under, after = rest.split("»")
    ((place, reason),) = problems(before + under + after)
    assert place == under
    assert reason == message or (message.endswith("…") and reason.startswith(message[:-1]))


def test_every_problem_is_told_at_once_each_with_its_caret() -> None:
    text = "mean(email) > 2 and row_count(datacenter='xx') > 'a'"
    with pytest.raises(UnableToCheck) as refused:
        check(parse(text), home=TRIPS, schema_of=KNOWN.get, signatures=SIGNATURES, source=text, groupable=GROUPABLE)
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


def test_groups_are_made_of_eight_columns_at_most() -> None:
    columns = ", ".join(f"c{i}" for i in range(9))
    assert problems(f"row_count(dataset='raw.trips') > 0 by {columns}", home=RAW) == [
        ("c8", "by takes up to 8 columns, not 9: leave some out")
    ]


def test_a_fault_beyond_the_signature_is_told_under_the_call() -> None:
    text = "quantile(fare, 2) > 0 and row_count() > 0"
    with pytest.raises(UnableToCheck, match="q is from 0 to 1") as refused:
        check(
            parse(text),
            home=TRIPS,
            schema_of=KNOWN.get,
            signatures=SIGNATURES,
            source=text,
            fault_of=lambda spec: "q is from 0 to 1" if spec.name == "quantile" else None,
        )
    assert [problem.place for problem in refused.value.problems] == [Span(start=0, end=17)]


def test_groups_by_eight_columns_are_made_and_none_are_known_without_metrics() -> None:
    columns = ", ".join(f"c{i}" for i in range(8))
    assert problems(f"row_count() > 0 by {columns}", home=RAW) == []
    text = "row_count() > 0 by email"
    with pytest.raises(UnableToCheck, match="row_count cannot be measured by group; these can: none"):
        check(parse(text), home=TRIPS, schema_of=KNOWN.get, signatures=SIGNATURES, source=text)


@pytest.mark.parametrize(
    ("name", "known", "told"),
    [
        ("emial", ("fare", "email"), ": did you mean email?"),
        ("x", ("fare", "email"), ": take one of email, fare"),
        ("x", (), ""),
        ("abcde", ("abcxx",), ": did you mean abcxx?"),
        ("abcdef", ("abcxxx",), ": take one of abcxxx"),
    ],
)
def test_the_nearest_name_is_suggested_or_all_are_told(name: str, known: tuple[str, ...], told: str) -> None:
    assert nearest(name, known) == told


@pytest.mark.parametrize(
    ("granularity", "fitting", "not_fitting", "hint"),
    [
        (
            Granularity.HOUR,
            ("1h", "36h", "1d", "1w", "1mo"),
            ("30m", "60m"),
            "hours, which the partitions are: take 1h or 1d",
        ),
        (Granularity.DAY, ("1d", "1w", "1mo", "1y"), ("24h", "30m"), "days, which the partitions are: take 1d or 1mo"),
        (Granularity.WEEK, ("1w", "7d", "14d"), ("1d", "8d", "1mo", "24h"), "weeks, which the partitions are: take 1w"),
        (Granularity.MONTH, ("1mo", "1y"), ("1d", "4w", "30d"), "months, which the partitions are: take 1mo or 1y"),
    ],
)
def test_a_step_leads_from_partition_to_partition(
    granularity: Granularity, fitting: tuple[str, ...], not_fitting: tuple[str, ...], hint: str
) -> None:
    assert [misfit(step, granularity, "ago") for step in fitting] == [None] * len(fitting)
    assert [misfit(step, granularity, "ago") for step in not_fitting] == [
        f"{step} is no whole number of {hint}, or multiples" for step in not_fitting
    ]


def test_a_step_is_at_least_one_unit_and_of_unknown_partitions_any_will_do() -> None:
    assert misfit("30m", None, "ago") is None
    for step in ("0d", "-1d"):
        assert misfit(step, None, "every") == "every= needs a step of at least one unit, such as 7d"


def test_earlier_runs_are_a_past_too() -> None:
    home = DatasetSchema(name="dw.cities", columns=None, partitioned=False, earlier_runs=True)
    assert problems("mean(row_count(), last=7) > 0", home=home) == []
    assert not DatasetSchema(name="x", columns=None).earlier_runs
    assert DatasetSchema(name="x", columns=None).partitioned
    assert (DatasetSchema(name="x", columns=None).datacenters, TRIPS.kind_of("no")) == ((), None)
