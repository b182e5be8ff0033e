import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from assay.catalog.column_types import Declared
from assay.time.windows import Granularity, Partitioning, Window
from execution_engine.language.parse import parse
from execution_engine.language.tree import History, Operand, operands
from execution_engine.metrics.spec import MetricSpec
from execution_engine.outcome import Reason
from execution_engine.planning.planner import PlannedSource, Planner, UnableToPlan, Want
from execution_engine.scans.ask import flatten

DAILY = Partitioning(granularity=Granularity.DAY)
MONDAY = DAILY.window("2026-03-09")
DUE = datetime(2026, 3, 10, 6, tzinfo=UTC)
TRIPS = PlannedSource(
    name="hive.trips",
    datacenters=("sea", "phx"),
    partitioning=DAILY,
    primary_key=("id",),
    share=0.99,
    upstreams=("raw.events",),
)
EVENTS = PlannedSource(
    name="raw.events", datacenters=("sea", "phx"), partitioning=Partitioning(granularity=Granularity.HOUR), share=0.95
)
ORDERS = PlannedSource(name="mysql.orders", datacenters=("dca",), partitioning=DAILY)
WEEKLY = PlannedSource(name="raw.weekly", datacenters=("sea",), partitioning=Partitioning(granularity=Granularity.WEEK))


def planner(
    *sources: PlannedSource, home: PlannedSource = TRIPS, datacenter: str = "sea", window: Window = MONDAY
) -> Planner:
    catalog = {source.name: source for source in (TRIPS, EVENTS, ORDERS, WEEKLY, *sources)}
    return Planner(home=home, datacenter=datacenter, window=window, accept_from=DUE, source_of=catalog.get)


def operand(text: str) -> Operand:
    return operands(parse(f"{text} >= 0"))[0]


def want(text: str, given: Planner | None = None) -> Want:
    return (given or planner()).want(operand(text))


def shown(wanted: Want) -> str:
    return f"{wanted.spec.text} of {wanted.dataset}@{wanted.datacenter} {wanted.window.start:%m-%d}"


@pytest.mark.parametrize(
    ("text", "expected", "inputs"),
    [
        ("row_count()", "row_count() of hive.trips@sea 03-09", []),
        ("row_count(datacenter='phx')", "row_count() of hive.trips@phx 03-09", []),
        ("row_count(dataset='raw.events')", "row_count() of raw.events@sea 03-09", []),
        ("row_count(dataset='mysql.orders')", "row_count() of mysql.orders@dca 03-09", []),
        ("row_count(ago=7d)", "row_count() of hive.trips@sea 03-02", []),
        ("mean(row_count(), last=7)", "row_count() of hive.trips@sea 03-09", []),
        (
            "keys_found(id, datacenter='phx')",
            "keys_found(id) of hive.trips@sea 03-09",
            [
                "key_digest(id) of hive.trips@sea 03-09",
                "key_digest(id) of hive.trips@phx 03-09",
                "bloom_filter(id) of hive.trips@phx 03-09",
            ],
        ),
        (
            "sample_found('mysql.orders')",
            "sample_found('mysql.orders') of hive.trips@sea 03-09",
            ["sample(id) of mysql.orders@dca 03-09"],
        ),
    ],
)
def test_what_an_operand_needs(text: str, expected: str, inputs: list[str]) -> None:
    found = want(text)
    assert (shown(found), [shown(part) for part in found.inputs]) == (expected, inputs)


def test_a_filter_is_wanted_after_the_digests_of_both_sides() -> None:
    here, there, shipped = want("keys_found(id, where=\"city = 'x'\", exact_keys=10, datacenter='phx')").inputs
    assert shipped.inputs == (here, there)
    assert here.spec == there.spec == MetricSpec(name="key_digest", columns=("id",), where="city = 'x'")
    assert shipped.spec.option("exact_keys") == 10


def test_a_side_compared_with_itself_has_one_digest() -> None:
    assert [part.spec.name for part in want("keys_found(id, datacenter='sea')").inputs] == [
        "key_digest",
        "bloom_filter",
    ]


def test_freshness_needs_its_own_rows_and_the_rows_and_freshness_of_its_upstreams() -> None:
    found = want("freshness(complete=0.9)")
    own, rows, freshness = found.inputs
    assert [shown(part) for part in (own, rows)] == [
        "row_count() of hive.trips@sea 03-09",
        "row_count() of raw.events@sea 03-09",
    ]
    assert freshness.spec.option("complete") == 0.95
    assert freshness.inputs == (rows,)


def test_a_replica_is_measured_against_home() -> None:
    found = want("freshness(complete=0.9)", planner(datacenter="phx"))
    assert [shown(part) for part in found.inputs[:2]] == [
        "row_count() of hive.trips@phx 03-09",
        "row_count() of hive.trips@sea 03-09",
    ]


def test_only_what_is_judged_must_be_new() -> None:
    found = want("freshness(complete=0.9)")
    assert [part.accept_from for part in found.inputs] == [DUE, None, None]
    assert want("row_count(dataset='raw.events')").accept_from == DUE
    assert want("row_count(ago=7d)").accept_from is None


def test_an_upstream_that_says_nothing_about_the_window_is_left_out_of_freshness() -> None:
    home = replace(TRIPS, upstreams=("raw.weekly", "gone.away"))
    assert len(want("freshness()", planner(home=home)).inputs) == 1


def test_a_circle_of_upstreams_ends() -> None:
    events = replace(EVENTS, upstreams=("hive.trips",))
    found = want("freshness()", planner(events))
    assert [shown(part) for part in found.inputs[2].inputs] == ["row_count() of raw.events@sea 03-09"]


@pytest.mark.timeout(30)
def test_lineages_that_fork_and_join_stay_linear() -> None:
    layers = 40  # 2 ** 40 walks would never end
    names = [(f"l{layer}.a", f"l{layer}.b") for layer in range(layers)]
    sources = [
        PlannedSource(name=name, datacenters=("sea",), partitioning=DAILY, upstreams=(*names, ())[layer + 1])
        for layer, pair in enumerate(names)
        for name in pair
    ]
    found = want("freshness()", planner(*sources, home=sources[0]))
    assert len(flatten([found])) == 2 * (2 * layers - 1)


def test_measurements_are_told_apart_by_what_they_build_on() -> None:
    home = replace(TRIPS, datacenters=("sea", "phx", "dca"))
    hashes = {want(f"keys_found(id, datacenter='{other}')", planner(home=home)).spec_hash for other in ("phx", "dca")}
    assert len(hashes) == 2


def test_a_history_is_made_of_the_windows_before() -> None:
    history = operand("mean(row_count(where=\"d = '{window.start:date}'\"), last=2)")
    assert isinstance(history, History)
    past = planner().past(history)
    assert [part.spec.where for part in past] == ["d = '2026-03-07'", "d = '2026-03-08'"]
    assert planner(window=past[1].window).want(history.metric).spec_hash == past[1].spec_hash


@pytest.mark.parametrize(
    ("text", "given", "reason"),
    [
        ("row_count(dataset='raw.weekly')", planner(), "partitions do not align"),
        ("row_count(ago=5h)", planner(), "partitions do not align"),
        ("row_count(ago=3000y)", planner(), "warming up"),
        ("row_count(dataset='no.such')", planner(), "assertion is invalid"),
        ("row_count(datacenter='mars')", planner(), "assertion is invalid"),
        ("sample_found('mysql.orders')", planner(home=replace(TRIPS, primary_key=())), "assertion is invalid"),
        ("row_count()", planner(home=replace(TRIPS, retention_start=MONDAY.end)), "no data"),
        ("row_count(dataset='mysql.orders')", planner(replace(ORDERS, retention_start=MONDAY.end)), "no data"),
    ],
)
def test_what_cannot_be_planned(text: str, given: Planner, reason: str) -> None:
    with pytest.raises(UnableToPlan) as refused:
        want(text, given)
    assert refused.value.failure.reason == reason
    assert refused.value.failure.detail not in ("", "None")


def test_a_whole_table_steps_back_as_a_whole() -> None:
    window = Window(start=MONDAY.start - timedelta(days=30), end=MONDAY.end)
    found = want("row_count(ago=7d)", planner(window=window))
    assert found.window == Window(start=window.start - timedelta(days=7), end=window.end - timedelta(days=7))


def test_inputs_come_before_what_builds_on_them_and_the_strictest_want_counts() -> None:
    loose = want("freshness(complete=0.9)")
    strict = want("row_count(dataset='raw.events')")
    flat = flatten([loose, strict])
    keys = [each.key for each in flat]
    assert all(keys.index(part.key) < keys.index(each.key) for each in flat for part in each.inputs)
    assert next(each for each in flat if each.key == strict.key).accept_from == DUE


KPI = PlannedSource(
    name="kpi.fares",
    datacenters=("sea",),
    partitioning=DAILY,
    expression="sum(fare, dataset='hive.trips') / row_count(dataset='mysql.orders')",
    sources=("hive.trips", "mysql.orders"),
)


@pytest.mark.parametrize(
    ("text", "inputs"),
    [
        ("value()", ["sum(fare) of hive.trips@sea 03-09", "row_count() of mysql.orders@dca 03-09"]),
        ("has_value()", [f"value(of={KPI.expression!r}) of kpi.fares@sea 03-09"]),
        ("sources_freshness()", ["freshness() of hive.trips@sea 03-09", "freshness() of mysql.orders@dca 03-09"]),
    ],
)
def test_a_business_metric_builds_on_its_operands_and_its_sources(text: str, inputs: list[str]) -> None:
    found = want(text, planner(home=KPI))
    assert [re.sub(r"freshness\(.*?\)", "freshness()", shown(each)) for each in found.inputs][: len(inputs)] == inputs


ID, FARE = '["id", "bigint"]', '["fare", "double"]'
TUESDAY = DAILY.window("2026-03-10")
SINCE = MONDAY.start - timedelta(days=1)
DECLARED = (
    Declared(name="id", type="bigint", is_key=True, since=SINCE),
    Declared(name="fare", type="double", is_key=False, since=MONDAY.end),
)


@pytest.mark.parametrize(
    ("text", "window", "meant"),
    [
        ("schema_drift()", MONDAY, f"schema_drift(declared='[{ID}]')"),
        ("schema_drift()", TUESDAY, f"schema_drift(declared='[{ID}, {FARE}]')"),
        ("schema_drift(of='keys')", TUESDAY, f"schema_drift(declared='[{ID}]')"),
        ("schema_drift(declared='a int')", MONDAY, "schema_drift(declared='a int')"),
        ("profile()", MONDAY, "profile(start=1773014400, without='`the mail`, day')"),
        ("profile(fare)", MONDAY, "profile(fare, start=1773014400)"),
        ("profile(without='fare, day', start=5)", MONDAY, "profile(start=5, without='fare, day, `the mail`')"),
    ],
)
def test_a_call_is_meant_as_its_dataset_and_window_say(text: str, window: Window, meant: str) -> None:
    home = replace(TRIPS, declared=DECLARED, unprofiled=("the mail", "day"))
    assert want(text, planner(home=home, window=window)).spec.text == meant


@pytest.mark.parametrize(
    ("text", "declared", "reason", "why"),
    [
        ("schema_drift()", (), Reason.INVALID, "hive.trips declares no columns: add them to its metadata."),
        ("schema_drift(of='keys')", (), Reason.INVALID, "hive.trips declares no columns of its keys: add them"),
        (
            "schema_drift(of='others')",
            DECLARED,
            Reason.NOT_DUE,
            f"{MONDAY.text} began before the columns",
        ),
    ],
)
def test_a_dataset_is_held_to_no_columns_that_it_does_not_declare_yet(
    text: str, declared: tuple[Declared, ...], reason: Reason, why: str
) -> None:
    with pytest.raises(UnableToPlan) as refused:
        want(text, planner(home=replace(TRIPS, declared=declared)))
    failure = refused.value.failure
    assert (failure.reason, failure.detail[: len(why)]) == (reason, why)
