"""Alerts: who is woken and when, who is spared by what explains it, and the rows and notices that are made of it."""

from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest

from alerting.alerts.services import (
    alert_facts,
    close_alert,
    decide_alert,
    decide_now,
    decide_soon,
    downstream_of,
    last_decision,
    open_alert,
    release_after,
    terms,
    update_alert,
)
from alerting.alerts.texts import facts_of, failing, message, text_of
from alerting.inhibition.rules import AlertAction, Decision, Spot, Why
from alerting.inhibition.selectors import around, measured_at
from alerting.models import Alert, Notice, Silence, Standing
from alerting.notices.messages import BrokenWindow, InhibitedAlert
from alerting.notices.policy import Address, Event
from alerting.notices.services import silence
from assay.models import Category, DataChange, Dataset, DataTest
from execution_engine.models import Run
from incident_manager.models import Incident
from tests.factories import (
    DAY,
    HOUR,
    NOW,
    DatasetFactory,
    DataTestFactory,
    LineageEdgeFactory,
    NoticeFactory,
    RunFactory,
    StandingFactory,
    day,
)
from tests.integration.rows import columns, waiver
from tests.integration.story import (
    advance,
    due,
    fail,
    feed,
    new_table,
    new_test,
    open_incidents,
    result,
    scheduled,
    settle,
    start,
    told,
)

pytestmark = pytest.mark.django_db

SUNDAY, MONDAY, TUESDAY = day("2026-03-08"), day("2026-03-09"), day("2026-03-10")
MINUTE = timedelta(minutes=1)
GRACE = timedelta(hours=1)  # of tier 2
AT_ONCE = timedelta(0)
SECOND = timedelta(seconds=1)
T0 = NOW - 5 * HOUR


def chain(length: int, category: str = Category.FRESHNESS) -> list[DataTest]:
    """Tests without a sustain period on tables that feed each other, each with an owner of its own."""
    tables = [new_table(owner=f"owner-{n}") for n in range(length)]
    for upstream, downstream in pairwise(tables):
        feed(upstream, downstream)
    return [new_test(dataset=table, category=category, sustain=AT_ONCE) for table in tables]


def test_a_second_test_that_fails_while_its_incident_is_open_is_told_once_too() -> None:
    first = new_test(sustain=AT_ONCE, name="rides")
    second = new_test(dataset=first.dataset, sustain=AT_ONCE, name="paid")
    start(due(MONDAY))
    fail(first, MONDAY)
    advance(due(MONDAY) + GRACE)
    result(second, MONDAY, "broken", due(MONDAY) + 3 * HOUR)
    advance(due(MONDAY) + 3 * HOUR + GRACE - MINUTE)
    assert (len(open_incidents()), told("also fails")) == (1, [])
    advance(due(MONDAY) + 3 * HOUR + GRACE)
    assert told("also fails") == ["ada"]
    said = Notice.objects.get(event="also fails")
    assert said.subject == f"paid fails for 2026-03-09 too: {first.dataset.full_name} (custom, tier 2)"
    result(second, MONDAY, "broken", due(MONDAY) + 9 * HOUR)
    result(second, TUESDAY, "broken", due(TUESDAY))
    advance(due(TUESDAY) + 2 * GRACE)
    assert told("also fails") == ["ada"]


def test_tests_that_fail_before_the_first_message_are_all_in_it() -> None:
    first = new_test(sustain=AT_ONCE, name="rides")
    second = new_test(dataset=first.dataset, sustain=AT_ONCE, name="paid")
    start(due(MONDAY))
    fail(first, MONDAY)
    result(second, MONDAY, "broken", due(MONDAY) + MINUTE)
    advance(due(MONDAY) + 2 * DAY)
    (said,) = Notice.objects.filter(alert__dataset=first.dataset)
    assert said.subject.startswith("rides and 1 more test fail for 2026-03-09: ")
    assert "- paid for 2026-03-09 in sea: broken" in said.body


def test_once_the_cause_is_resolved_its_effects_run_again_and_only_a_later_result_releases_them() -> None:
    root, effect = chain(2)
    start(due(MONDAY))
    fail(root, MONDAY)
    fail(effect, MONDAY)
    resolved = due(MONDAY) + 3 * HOUR
    result(root, MONDAY, "held", resolved)
    assert Run.objects.filter(data_test=effect, reason="trigger", evaluated_at=None).count() == 1
    advance(resolved + 2 * GRACE)
    assert told("opened") == ["owner-0"]
    result(effect, MONDAY, "broken", resolved + 3 * HOUR, reason="trigger")
    advance(resolved + 4 * HOUR)
    assert told("opened") == ["owner-0", "owner-1"]


def test_a_cause_that_lasts_elsewhere_holds_its_effects_back_after_it_has_left_their_windows() -> None:
    root, effect = chain(2)
    copy = new_test(dataset=root.dataset, category=Category.FRESHNESS, sustain=AT_ONCE, datacenter="phx")
    start(due(MONDAY))
    for test in (root, copy, effect):
        fail(test, MONDAY)
    left = due(MONDAY) + 3 * HOUR
    result(root, MONDAY, "held", left)
    result(effect, MONDAY, "broken", left + 5 * MINUTE)
    advance(left + GRACE)
    assert told("opened") == ["owner-0"]
    advance(left + 5 * MINUTE + GRACE)
    assert told("opened") == ["owner-0", "owner-1"]


def test_a_silence_holds_notices_back_until_its_end() -> None:
    test = new_test(sustain=AT_ONCE)
    start(due(MONDAY))
    Silence.objects.create(
        dataset=test.dataset, starts_at=MONDAY.end, ends_at=due(MONDAY) + 8 * HOUR, author="ada", reason="move"
    )
    fail(test, MONDAY)
    advance(due(MONDAY) + 8 * HOUR - MINUTE)
    assert told("opened") == []
    advance(due(MONDAY) + 8 * HOUR)
    assert told("opened") == ["ada"]


def test_late_results_that_leave_no_failure_withdraw_what_was_told() -> None:
    test = new_test(sustain=4 * HOUR)
    start(due(MONDAY))
    scheduled(test, MONDAY, "broken")
    result(test, MONDAY, "broken", due(MONDAY) + 4 * HOUR)
    advance(due(MONDAY) + 6 * HOUR)
    late = result(test, MONDAY, "held", due(MONDAY) + 7 * HOUR, settled=False)
    Run.objects.filter(pk=late.pk).update(measured_at=due(MONDAY) + 2 * HOUR)
    settle()
    assert Incident.objects.get().resolution == "withdrawn"
    assert (told("opened"), told("withdrawn"), told("recovered")) == (["ada"], ["ada"], [])


@pytest.fixture
def trips() -> Dataset:
    """A table of tier 2: its owner hears after an hour."""
    dataset: Dataset = DatasetFactory.create(name="trips")
    return dataset


def alert(dataset: Dataset, category: str = "custom", **more: Any) -> Alert:
    """An open alert since four hours that is decided about in two."""
    given = {"owner": dataset.owner, "opened_at": NOW - 4 * HOUR, "next_notice_at": NOW + 2 * HOUR, **more}
    return Alert.objects.create(dataset=dataset, category=category, **given)


def decided_at(rows: dict[str, Alert]) -> dict[str, datetime | None]:
    return {name: Alert.objects.get(pk=row.pk).next_notice_at for name, row in rows.items()}


def fails(test: DataTest, **more: Any) -> Standing:
    """A window that has failed for an hour, broken for five."""
    given = {"state": "FAIL", "since": NOW - HOUR, "broken_since": T0, "last_outcome": "broken", **more}
    row: Standing = StandingFactory.create(data_test=test, **given)
    return row


def test_an_alert_is_opened_once_and_what_waits_for_it_is_decided_again(trips: Dataset) -> None:
    rows = {"waiting": alert(DatasetFactory.create(), inhibited_at=NOW), "loud": alert(DatasetFactory.create())}
    made = open_alert(dataset=trips, category="custom", owner="bob", now=NOW)
    given = columns(made, "dataset", "category", "owner", "opened_at", "next_notice_at", "open_key")
    assert given == (trips.pk, "custom", "bob", NOW, NOW, f"{trips.pk}:custom")
    assert decided_at(rows) == {"waiting": NOW, "loud": NOW + 2 * HOUR}
    Alert.objects.filter(pk=rows["waiting"].pk).update(next_notice_at=None)
    assert open_alert(dataset=trips, category="custom", owner="eve", now=NOW + HOUR) == made
    assert columns(made, "owner", "opened_at") == ("bob", NOW)
    assert decided_at(rows)["waiting"] is None
    other = open_alert(dataset=trips, category="custom", owner="bob", now=NOW, key="report:7")
    assert (other != made, other.open_key) == (True, "report:7")


def test_an_alert_is_closed_once_and_the_others_of_its_dataset_are_looked_at_after_the_grace(trips: Dataset) -> None:
    row = alert(trips, open_key="k")
    soon = NOW + HOUR
    rows = {
        "other": alert(trips, "freshness"),
        "sooner": alert(trips, "duplicates", next_notice_at=soon - SECOND),
        "never": alert(trips, "consistency", next_notice_at=None),
        "told": alert(trips, "completeness", told_at=NOW),
        "closed": alert(trips, closed_at=NOW, next_notice_at=None),
        "elsewhere": alert(DatasetFactory.create()),
    }
    close_alert(row, how="forced", now=NOW)
    assert columns(row, "closed_at", "closing", "open_key", "next_notice_at") == (NOW, "forced", None, None)
    later = NOW + 2 * HOUR
    assert decided_at(rows) == {
        "other": soon, "sooner": soon - SECOND, "never": soon, "told": later, "closed": None, "elsewhere": later
    }  # fmt: skip
    close_alert(row, how="accepted", now=NOW + DAY)
    assert columns(row, "closed_at", "closing") == (NOW, "forced")


@pytest.mark.parametrize(
    ("how", "event", "title"),
    [
        ("auto", "recovered", "fares holds again for 2026-03-09: raw.trips (custom, tier 2)"),
        ("forced", "withdrawn", "fares for 2026-03-09 ended (false positive): raw.trips (custom, tier 2)"),
        ("accepted", "withdrawn", "fares for 2026-03-09 ended (accepted): raw.trips (custom, tier 2)"),
        ("withdrawn", "withdrawn", "fares for 2026-03-09 withdrawn: raw.trips (custom, tier 2)"),
    ],
)
def test_who_was_told_hears_how_it_ended(trips: Dataset, how: str, event: str, title: str) -> None:
    row = alert(trips)
    named = {"tests": ["fares"], "partitions": ["2026-03-09"]}
    NoticeFactory.create(alert=row, channel="log", key=f"alert:{row.pk}:opened:log:ada", facts=named)
    close_alert(row, how=how, now=NOW)
    said = Notice.objects.get(event=event)
    assert (said.subject, said.recipient, said.created_at, said.suppressed) == (title, "ada", NOW, "")
    assert "2026-03-10 12:00 UTC" in said.body
    assert said.facts["event"] == event


def test_when_the_repair_is_expected_decides_again_of_what_is_silent_until_then(trips: Dataset) -> None:
    cause = alert(trips)
    rows = {
        "effect": alert(DatasetFactory.create(), cause=cause),
        "closed": alert(DatasetFactory.create(), cause=cause, closed_at=NOW),
        "other": alert(DatasetFactory.create()),
    }
    update_alert(cause, eta=NOW + DAY, now=NOW)
    assert columns(cause, "eta", "next_notice_at") == (NOW + DAY, NOW + 2 * HOUR)
    assert decided_at(rows) == {"effect": NOW, "closed": NOW + 2 * HOUR, "other": NOW + 2 * HOUR}
    assert set(Alert.objects.exclude(pk=cause.pk).values_list("eta")) == {(None,)}


def test_an_open_alert_is_released_at_the_end_of_its_cause(trips: Dataset) -> None:
    row, closed, other = alert(trips), alert(trips, closed_at=NOW), alert(trips)
    for each in (row, closed):
        release_after(each, NOW + HOUR)
    assert columns(row, "release_after", "next_notice_at") == (NOW + HOUR, NOW + HOUR)
    for each in (closed, other):
        assert columns(each, "release_after", "next_notice_at") == (None, NOW + 2 * HOUR)


@pytest.mark.parametrize(
    ("known", "more", "then"),
    [
        (NOW + HOUR, {}, NOW),
        (None, {}, NOW),
        (NOW - SECOND, {}, NOW - SECOND),
        (NOW + HOUR, {"closed_at": NOW}, NOW + HOUR),
    ],
)
def test_an_alert_is_decided_about_at_the_earlier_instant(
    trips: Dataset, known: datetime | None, more: dict[str, Any], then: datetime
) -> None:
    row, other = alert(trips, next_notice_at=known, **more), alert(trips)
    decide_soon(row, NOW)
    assert (columns(row, "next_notice_at"), columns(other, "next_notice_at")) == ((then,), (NOW + 2 * HOUR,))


def test_the_plan_of_its_notices_rests_on_all_that_is_known_of_an_alert(trips: Dataset) -> None:
    for owner in ("eve", "bob", "bob"):
        feed(trips, DatasetFactory.create(owner=owner))
    feed(DatasetFactory.create(owner="upstream"), trips)
    cause, twin = alert(DatasetFactory.create()), alert(trips, "freshness")
    row = alert(trips, cause=cause, owner="ada", closed_at=NOW, closing="forced")
    for of, who, event in (
        (row, "ada", "opened"), (row, "eve", "downstream"), (row, "joe", "updated"),
        (cause, "kim", "opened"), (twin, "lee", "opened"),
    ):  # fmt: skip
        NoticeFactory.create(alert=of, recipient=who, event=event)
    silence(dataset=trips, owner="ada", ends_at=NOW + HOUR, reason="move", author="ada", now=NOW - HOUR)
    silence(dataset=trips, ends_at=NOW + DAY, reason="move", author="ada", now=NOW)
    decision = Decision(action=AlertAction.NOTIFY, why=Why.NO_CAUSE)
    facts = alert_facts(row, decision, twin=twin)
    assert (facts.incident_key, facts.twin_key) == (f"alert:{row.pk}", f"alert:{twin.pk}")
    assert (facts.opened_at, facts.grace, facts.decision) == (NOW - 4 * HOUR, HOUR, decision)
    assert facts.owner == (Address(recipient="ada", channel="log"),)
    assert facts.downstream == tuple(Address(recipient=who, channel="log") for who in ("bob", "eve"))
    assert facts.addressees == {Address(recipient=who, channel="email") for who in ("ada", "eve")}
    assert (set(facts.cause_recipients), set(facts.twin_recipients)) == ({"kim"}, {"lee"})
    assert [(one.start, one.end, one.recipient) for one in facts.silences] == [
        (NOW - HOUR, NOW + HOUR, "ada"),
        (NOW, NOW + DAY, None),
    ]
    assert (facts.closed_at, facts.withdrawn) == (NOW, True)
    plain = alert_facts(alert(trips), decision)
    assert (plain.cause_recipients, plain.twin_recipients, plain.twin_key) == (frozenset(), frozenset(), "")
    assert (plain.withdrawn, alert_facts(alert(trips, closing="auto"), decision).withdrawn) == (False, False)


def test_between_two_looks_an_alert_is_silent_while_it_is_inhibited_and_nobody_was_told(trips: Dataset) -> None:
    notify = Decision(action=AlertAction.NOTIFY, why=Why.NO_CAUSE)
    assert last_decision(alert(trips)) == notify
    assert last_decision(alert(trips, inhibited_at=NOW, told_at=NOW)) == notify
    silent = Decision(action=AlertAction.INHIBIT, why=Why.CAUSE_FAILED, until=NOW + 2 * HOUR)
    assert last_decision(alert(trips, inhibited_at=NOW)) == silent


def test_an_alert_stands_on_the_failing_windows_of_its_dataset_and_category(trips: Dataset) -> None:
    test = DataTestFactory.create(dataset=trips)
    later, first = fails(test, window=TUESDAY), fails(test, window=MONDAY)
    second = fails(DataTestFactory.create(dataset=trips))
    fails(test, window=SUNDAY, state="WARN")
    fails(test, window=day("2026-03-07"), waiver=waiver(test))
    fails(DataTestFactory.create(dataset=trips, category=Category.FRESHNESS))
    fails(DataTestFactory.create(dataset=trips, retired_at=NOW))
    fails(DataTestFactory.create())
    assert failing(alert(trips)) == [first, second, later]


def test_a_notice_says_of_each_window_what_its_newest_run_found(trips: Dataset) -> None:
    fares = DataTestFactory.create(dataset=trips, name="fares", datacenter="sea")
    copy = DataTestFactory.create(dataset=trips, name="copy", datacenter="phx", spoils="phx")
    run = RunFactory.create(data_test=fares, findings={"lost_keys": 1234.0})
    fails(fares, sentence="too few", value=0.5, last_run=run)
    fails(copy, sentence="", value=0.25, last_run=RunFactory.create(data_test=copy, findings={"lost_keys": "many"}))
    row = alert(trips, owner="bob", eta=NOW + DAY)
    down = DatasetFactory.create(name="down")
    for n, found in enumerate(({"lost_keys": 5}, {"lost_keys": 6}, {}, {"lost_keys": 7})):
        late = DataTestFactory.create(dataset=down, name="abcd"[n])
        last_run = RunFactory.create(data_test=late, findings=found)
        fails(late, sentence="" if n == 1 else f"s{n}", value=2.5, last_run=last_run)
    alert(down, cause=row, inhibited_at=NOW)
    alert(down, "freshness", cause=row, inhibited_at=NOW)
    alert(down, "duplicates", cause=row)
    alert(down, "duplicates", cause=row, inhibited_at=NOW, closed_at=NOW)
    alert(down, "duplicates", cause=alert(trips), inhibited_at=NOW)
    text = text_of(row)
    assert (text.dataset, text.category, text.tier, text.owner) == ("raw.trips", "custom", 2, "bob")
    assert (text.failed_at, text.eta) == (NOW - 4 * HOUR, NOW + DAY)
    assert text.url is not None
    assert text.url.endswith("/datasets/raw.trips")
    at: dict[str, Any] = {"window": MONDAY, "partition": "2026-03-09"}
    assert text.windows == (
        BrokenWindow(test="fares", **at, value="too few", lost_keys=1234, datacenter=fares.spoilt_datacenter),
        BrokenWindow(test="copy", **at, value="0.25; row_count() >= 100", datacenter="phx"),
    )
    assert (text.tests, text.partitions) == (("fares", "copy"), ("2026-03-09",))
    assert text.inhibited == (
        InhibitedAlert(
            dataset="raw.down",
            category="custom",
            value="a: s0; b: 2.5; row_count() >= 100; c: s2; and 1 more",
            lost_keys=18,
        ),
        InhibitedAlert(dataset="raw.down", category="freshness", value=""),
    )
    facts = facts_of(row, Event.OPENED, text)
    assert list(facts.pop("links")) == ["Acknowledge", "Mute"]
    assert facts == {
        "event": "opened",
        "alert": row.pk,
        "dataset": "raw.trips",
        "category": "custom",
        "tier": 2,
        "failed_at": "2026-03-10T08:00:00+00:00",
        "eta": "2026-03-11T12:00:00+00:00",
        "tests": ["fares", "copy"],
        "partitions": ["2026-03-09"],
        "windows": [MONDAY.text, MONDAY.text],
        "inhibited": ["raw.down custom", "raw.down freshness"],
        "url": text.url,
    }
    assert facts_of(row, Event.OPENED, text_of(alert(down)))["eta"] is None


@pytest.mark.parametrize(
    ("category", "value", "share"),
    [
        ("completeness", 0.5, 0.5),
        ("consistency", 0.0, 0.0),
        ("completeness", 1.0, None),
        ("completeness", -0.1, None),
        ("custom", 0.5, None),
    ],
)
def test_the_share_of_rows_that_are_there_is_told_of_missing_rows_alone(
    trips: Dataset, category: str, value: float, share: float | None
) -> None:
    fails(DataTestFactory.create(dataset=trips, category=category), value=value)
    (window,) = text_of(alert(trips, category)).windows
    assert window.share == share


def test_of_windows_that_are_bad_alike_the_newest_leads(trips: Dataset) -> None:
    test = DataTestFactory.create(dataset=trips)
    for key in ("2026-03-08", "2026-03-09"):
        fails(test, window=day(key), value=12.0, excess=0.5)
    assert text_of(alert(trips)).headline.startswith("The number of rows is 12 on 2026-03-09")


def test_the_owner_of_a_downstream_reads_which_of_theirs_read_it(trips: Dataset) -> None:
    for name, owner in (("stops", "bob"), ("lines", "eve")):
        feed(trips, DatasetFactory.create(name=name, owner=owner))
    row = alert(trips)
    said = message(Event.DOWNSTREAM, text_of(row), recipient="bob", alert=row, now=NOW)
    assert said.body.startswith("raw.trips has failed custom since")
    assert message(Event.OPENED, text_of(row), recipient="ada", alert=row, now=NOW).title.startswith("custom fails")


def test_what_readers_alone_may_see_is_told_to_nobody_else(trips: Dataset) -> None:
    Dataset.objects.filter(pk=trips.pk).update(readers=["team-secret"])
    trips.refresh_from_db()
    fails(DataTestFactory.create(dataset=trips), sentence="fares of 12")
    row = alert(trips)
    said = message(Event.OPENED, text_of(row), recipient="stranger", alert=row, now=NOW)
    assert "fares of 12" not in said.body
    assert "only its readers may see its values" in said.body


@pytest.mark.parametrize(
    ("category", "assertion", "readers"),
    [
        (Category.CUSTOM, "completeness(Fare) > 0.99", ["known", "unsaid"]),
        (Category.CUSTOM, "completeness(city) > 0.99", ["joined", "unsaid"]),
        (Category.CUSTOM, "completeness(other) > 0.99", ["unsaid"]),
        (Category.CUSTOM, "row_count() > 10", ["joined", "known", "unsaid"]),
        (Category.CUSTOM, "uniqueness(other) > 0.99", ["joined", "known", "unsaid"]),
        (Category.FRESHNESS, "completeness(fare) > 0.99", ["joined", "known", "unsaid"]),
    ],
)
def test_who_reads_the_broken_column_is_notified_and_whoever_reads_other_columns_alone_is_not(
    trips: Dataset, category: str, assertion: str, readers: list[str]
) -> None:
    edges: dict[str, dict[str, list[str]]] = {"known": {"total": ["fare"]}, "joined": {"": ["city"]}, "unsaid": {}}
    for name, read in edges.items():
        table = DatasetFactory.create(name=name, owner=f"owner of {name}")
        LineageEdgeFactory.create(upstream=trips, downstream=table, columns=read)
    fails(DataTestFactory.create(dataset=trips, category=category, assertion=assertion))
    assert [address.recipient for address in downstream_of(alert(trips, category))] == [
        f"owner of {name}" for name in readers
    ]


def test_around_an_alert_is_all_that_is_broken_in_its_dataset_and_upstream_of_it(trips: Dataset) -> None:
    up, far, down = DatasetFactory.create_batch(3)
    for upstream, downstream in ((far, up), (up, trips), (trips, down)):
        LineageEdgeFactory.create(upstream=upstream, downstream=downstream)
    test = DataTestFactory.create(dataset=trips, datacenter="phx")
    failed = fails(test)
    warned = fails(test, window=TUESDAY, state="WARN", broken_since=None, since=NOW - 9 * HOUR)
    above = fails(DataTestFactory.create(dataset=up, category=Category.DUPLICATES), state="WARN")
    furthest = fails(DataTestFactory.create(dataset=far))
    fails(DataTestFactory.create(dataset=down))
    fails(DataTestFactory.create(dataset=trips, retired_at=NOW))
    fails(test, window=SUNDAY, waiver=waiver(test))
    fails(test, window=day("2026-03-07"), state="UNKNOWN")
    fails(test, window=day("2026-03-06"), state="PASS")
    own = alert(trips, eta=NOW + DAY)
    alert(up, "duplicates", closed_at=NOW)
    alert(down)
    found = around(trips.pk, NOW)
    places = {(trips.pk, "custom"): [failed, warned], (up.pk, "duplicates"): [above], (far.pk, "custom"): [furthest]}
    assert found.standings == places
    assert found.alerts == {(trips.pk, "custom"): own}
    ids: dict[str, dict[str, Any]] = {str(row.pk): {str(above.pk): {}} for row, above in ((trips, up), (up, far))}
    assert found.upstreams == {**ids, str(far.pk): {}}
    trouble = found.troubles[trips.pk, "custom"]
    assert (trouble.dataset, trouble.category, trouble.eta) == (str(trips.pk), "custom", NOW + DAY)
    assert (trouble.since, trouble.failed_at) == (NOW - 9 * HOUR, NOW - HOUR)
    assert trouble.spots == (
        Spot(window=MONDAY, datacenter="phx", failed=True, since=T0),
        Spot(window=TUESDAY, datacenter="phx", failed=False, since=NOW - 9 * HOUR),
    )
    assert found.troubles[up.pk, "duplicates"].spots[0].datacenter is None
    assert (found.troubles[up.pk, "duplicates"].failed_at, found.troubles[far.pk, "custom"].eta) == (None, None)
    assert len({one.id for one in found.troubles.values()}) == 3
    assert found.alert(trouble.id) == own
    assert (found.alert(found.troubles[far.pk, "custom"].id), found.alert(None), found.alert(99)) == (None, None, None)


def test_the_newest_broken_result_says_when_it_was_measured(trips: Dataset) -> None:
    test = DataTestFactory.create(dataset=trips)
    rows = [
        fails(test, window=window, last_run=RunFactory.create(data_test=test, outcome=outcome, measured_at=at))
        for window, outcome, at in (
            (SUNDAY, "broken", NOW - DAY),
            (MONDAY, "broken", NOW - HOUR),
            (TUESDAY, "error", NOW),
            (day("2026-03-11"), "broken", None),
        )
    ]
    without = fails(test, window=day("2026-03-12"))
    assert measured_at([*rows, without], NOW + DAY) == NOW - HOUR
    assert measured_at([rows[2], rows[3], without], NOW + DAY) == NOW + DAY


def test_the_terms_of_a_decision_are_those_of_its_own_tests_and_of_its_former_cause(trips: Dataset) -> None:
    tests = [DataTestFactory.create(dataset=trips, sustain=hours * HOUR) for hours in (1, 3, 2)]
    for test in tests:
        fails(test, last_run=RunFactory.create(data_test=test, outcome="broken", measured_at=NOW - HOUR))
    row = alert(trips)
    found = terms(row, around(trips.pk, NOW))
    assert (found.sustain, found.grace, found.measured_at) == (3 * HOUR, HOUR, NOW - HOUR)
    assert (found.released_at, found.former_id, found.usual_delay) == (None, None, timedelta())
    cause = alert(DatasetFactory.create())
    row.release_after, row.cause = NOW - 2 * HOUR, cause
    released = terms(row, around(trips.pk, NOW))
    assert (released.former_id, released.released_at) == (cause.pk, NOW - 2 * HOUR)


def test_an_alert_that_was_closed_is_decided_about_no_more(trips: Dataset) -> None:
    row = alert(trips, closed_at=NOW)
    decide_alert(row, NOW)
    assert columns(row, "next_notice_at") == (None,)
    assert not Notice.objects.exists()


def test_without_a_failing_window_an_alert_speaks_for_itself(trips: Dataset) -> None:
    row = alert(trips)
    assert decide_now(row, NOW).decision == Decision(action=AlertAction.NOTIFY, why=Why.NO_CAUSE)
    decide_alert(row, NOW)
    assert columns(row, "told_at", "inhibited_at", "cause", "next_notice_at") == (NOW, None, None, None)
    assert Notice.objects.get().created_at == NOW
    decide_alert(row, NOW + HOUR)
    assert columns(row, "told_at") == (NOW,)


def two_of_freshness(trips: Dataset) -> tuple[Alert, Alert]:
    """A late table under a late table: the alerts of both."""
    up = DatasetFactory.create(name="up", owner="eve")
    feed(up, trips)
    for dataset in (up, trips):
        fails(DataTestFactory.create(dataset=dataset, category=Category.FRESHNESS))
    return alert(up, "freshness"), alert(trips, "freshness")


def test_an_alert_is_silent_under_its_cause_since_it_was_first_decided_so(trips: Dataset) -> None:
    cause, row = two_of_freshness(trips)
    decide_alert(row, NOW)
    assert columns(row, "cause", "inhibited_at", "told_at") == (cause.pk, NOW, None)
    decide_alert(row, NOW + HOUR)
    assert columns(row, "cause", "inhibited_at") == (cause.pk, NOW)
    assert set(Notice.objects.filter(alert=row).values_list("suppressed")) <= {("inhibited by its cause",)}


def test_who_was_told_of_a_cause_hears_when_what_it_explained_has_lasted_too_long(trips: Dataset) -> None:
    cause, row = two_of_freshness(trips)
    for who, more in {"eve": {}, "bob": {"event": "downstream"}, "joe": {"event": "updated"}}.items():
        NoticeFactory.create(alert=cause, recipient=who, **more)
    Alert.objects.filter(pk=cause.pk).update(eta=NOW)
    decide_alert(row, NOW)
    said = Notice.objects.filter(event="updated", alert=cause, channel="log").order_by("pk")
    assert [one.recipient for one in said] == ["bob", "eve"]
    assert {one.key for one in said} == {f"alert:{cause.pk}:by{row.pk}:updated:log:{who}" for who in ("bob", "eve")}
    assert {one.created_at for one in said} == {NOW}
    assert all(one.subject.endswith(" fails for 2026-03-09: raw.up (freshness, tier 2)") for one in said)
    assert {(one.facts["event"], one.facts["alert"]) for one in said} == {("updated", cause.pk)}
    assert columns(row, "cause", "inhibited_at") == (cause.pk, None)
    Notice.objects.filter(event="updated", channel="log").delete()
    Alert.objects.filter(pk=row.pk).update(told_at=NOW)
    row.refresh_from_db()
    decide_alert(row, NOW + HOUR)
    assert not Notice.objects.filter(event="updated", channel="log").exists()


def lost_rows(trips: Dataset) -> tuple[Alert, Alert]:
    """Freshness was told; then a pipeline told that Monday's rows are all there are, and Tuesday's are still late."""
    freshness = DataTestFactory.create(dataset=trips, category=Category.FRESHNESS)
    missing = DataTestFactory.create(dataset=trips, category=Category.COMPLETENESS)
    for window in (MONDAY, TUESDAY):
        run = RunFactory.create(
            data_test=freshness, window=window, outcome="broken", measured_at=NOW, findings={"sea": {"rows": 5}}
        )
        fails(freshness, window=window, last_run=run)
        fails(missing, window=window, value=0.5)
    DataChange.objects.create(
        dataset=trips,
        datacenter="sea",
        kind="completed",
        window_start=MONDAY.start,
        window_end=MONDAY.end,
        at=NOW - HOUR,
    )
    known = alert(trips, "freshness", told_at=NOW - HOUR)
    NoticeFactory.create(alert=known, channel="log")
    return known, alert(trips, "completeness")


def test_who_was_told_of_late_rows_hears_which_of_them_are_lost(trips: Dataset) -> None:
    known, row = lost_rows(trips)
    decided = decide_now(row, NOW)
    assert (decided.twin, decided.cause, set(decided.windows)) == (known, None, {MONDAY})
    row.cause = alert(DatasetFactory.create())
    decide_alert(row, NOW)
    said = Notice.objects.get(event="updated")
    assert (said.alert, said.recipient, said.created_at) == (known, "ada", NOW)
    assert said.key == f"alert:{known.pk}:by{row.pk}:updated:log:ada"
    assert said.subject.endswith(" for 2026-03-09: rows of raw.trips are missing (tier 2)")
    assert said.body.startswith("The rows of raw.trips are not late; they are missing: 50 % are there.")
    assert "for 2026-03-09 in sea:" in said.body
    assert "for 2026-03-10" not in said.body
    assert columns(row, "cause", "inhibited_at") == (None, None)
    assert columns(known, "next_notice_at") == (NOW,)
    assert Notice.objects.get(alert=row).suppressed == "already told"


def test_without_a_word_of_the_late_rows_the_lost_ones_are_told_of_by_themselves(trips: Dataset) -> None:
    known, row = lost_rows(trips)
    Notice.objects.filter(alert=known).delete()
    assert decide_now(row, NOW).twin is None
    decide_alert(row, NOW)
    assert not Notice.objects.filter(event="updated").exists()


@pytest.mark.parametrize(
    ("is_cause", "is_renamed", "is_twin"), [(True, False, True), (False, True, True), (False, False, False)]
)
def test_rows_that_come_after_all_are_known_under_what_kept_freshness_silent(
    trips: Dataset, is_cause: bool, is_renamed: bool, is_twin: bool
) -> None:
    late, row = lost_rows(trips)
    Notice.objects.all().delete()
    DataChange.objects.all().delete()
    NoticeFactory.create(alert=row, channel="log")
    if is_cause:
        late.cause = row
    if is_renamed:
        NoticeFactory.create(alert=row, key=f"alert:{row.pk}:by{late.pk}:updated:log:ada", event="updated")
    late.told_at = None
    decided = decide_now(late, NOW)
    assert decided.decision.action is AlertAction.NOTIFY
    assert (decided.twin, decided.windows) == ((row, {MONDAY, TUESDAY}) if is_twin else (None, frozenset()))
