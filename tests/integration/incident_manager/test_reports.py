"""Users' reports: joined, confirmed, rejected, fixed, forgotten, and what each step leaves in rows and notices."""

from datetime import datetime, timedelta
from typing import Any

import pytest

from alerting.models import Notice
from assay.models import Dataset, DataTest, LineageEdge, Scope
from assay.time.windows import Window
from execution_engine.models import Run
from incident_manager.models import Entry, Episode, Incident, Report, ReportState, Resolution, SpoiltWindow
from incident_manager.reports import likely_troubles, open_incidents_for, remind_report
from incident_manager.services import (
    UnableToDecideReport,
    confirm_report,
    fix_report,
    gate,
    look_up,
    reject_report,
    reply,
    report,
)
from tests.factories import (
    DAY,
    HOUR,
    NOW,
    DatasetFactory,
    DataTestFactory,
    IncidentFactory,
    ReportFactory,
    SpoiltWindowFactory,
    StandingFactory,
    day,
)
from tests.integration.incident_manager.spoilt import entries, fails, incident_of
from tests.integration.story import due, fail, feed, new_table, new_test, settle, start, told

pytestmark = pytest.mark.django_db

SUNDAY, MONDAY, TUESDAY, WEDNESDAY = (day(f"2026-03-{n:02d}") for n in (8, 9, 10, 11))

BOTH = Window(start=MONDAY.start, end=TUESDAY.end)
UNHEARD = "No channel but the log reaches ada: tell them yourself."
SECOND = timedelta(seconds=1)


def reported(window: Window = MONDAY) -> Report:
    """A report on a table that nothing is known to be wrong with."""
    start(due(MONDAY))
    return report(dataset=new_table(), window=window, reporter="eve", description="fares are zero", now=due(MONDAY))


def test_an_upstream_incident_is_offered_and_swallows_no_report() -> None:
    start(due(MONDAY))
    test = new_test(sustain=timedelta(0))
    known = fail(test, MONDAY)
    consumer = new_table()
    feed(test.dataset, consumer)
    row = report(dataset=consumer, window=MONDAY, reporter="eve", description="city is always null", now=due(MONDAY))
    assert (row.state, list(row.joined.all())) == (ReportState.OPEN, [])
    assert gate(datasets=[consumer], window=MONDAY, now=due(MONDAY)).decision == "warn"
    settle()
    (notice,) = Notice.objects.filter(event="reported", channel="log")
    assert f"- incident {known.pk}: custom of {test.dataset}" in notice.body
    assert f"It may be one of these open incidents: {known.pk} (custom of {test.dataset})." in reply(row)


def test_an_upstream_incident_is_offered_to_those_alone_who_read_its_broken_column() -> None:
    start(due(MONDAY))
    test = new_test(assertion="completeness(fare) >= 1", sustain=timedelta(0))
    known = fail(test, MONDAY)
    prices, places, middle, below = (new_table() for _ in range(4))
    edges = ((test.dataset, prices, {"price": ["fare"]}), (test.dataset, places, {"place": ["city"]}))
    for upstream, downstream, columns in (*edges, (test.dataset, middle, {"fee": ["fare"]}), (middle, below, {})):
        LineageEdge.objects.create(upstream=upstream, downstream=downstream, columns=columns)
    offered = {
        table: [trouble.incident for trouble in likely_troubles(table, MONDAY, datacenter="", saw="values wrong")]
        for table in (prices, places, below)
    }
    assert offered == {prices: [known], places: [], below: [known]}
    rows = [
        report(dataset=table, window=MONDAY, reporter="eve", description="odd", now=due(MONDAY)) for table in offered
    ]
    assert list(open_incidents_for(rows).values()) == [[known], [], [known]]


def test_an_incident_of_another_category_swallows_no_report() -> None:
    start(due(MONDAY))
    test = new_test(sustain=timedelta(0))
    fail(test, MONDAY)
    row = report(dataset=test.dataset, window=MONDAY, reporter="eve", description="late", saw="late", now=due(MONDAY))
    assert (row.state, list(row.joined.all())) == (ReportState.OPEN, [])


def test_the_owner_hears_of_a_report_that_is_known_already() -> None:
    start(due(MONDAY))
    test = new_test(sustain=timedelta(0))
    known = fail(test, MONDAY)
    report(dataset=test.dataset, window=MONDAY, reporter="eve", description="fares are zero", now=due(MONDAY))
    settle()
    assert told("reported") == ["ada"]
    (notice,) = Notice.objects.filter(event="reported", channel="log")
    assert f"It was added to incident {known.pk}, which a test found." in notice.body


def test_an_unconfirmed_report_warns_at_the_gate_and_spoils_nothing() -> None:
    row = reported()
    answer = gate(datasets=[row.dataset], window=MONDAY, now=due(MONDAY))
    found = look_up(dataset=row.dataset, window=MONDAY, now=due(MONDAY))
    assert (answer.decision, found.failed, found.quality.status) == ("warn", False, "reported")


@pytest.fixture
def row(fares: DataTest) -> Report:
    """Of ``raw.trips``, by eve, now."""
    return made(fares.dataset)


def test_a_confirmed_report_is_hard_and_whoever_reported_it_hears(row: Report) -> None:
    confirm_report(row, author="ada", now=NOW + HOUR)
    saved = Report.objects.get()
    assert (saved.state, saved.decided_at, saved.decided_by) == ("confirmed", NOW + HOUR, "ada")
    assert (saved.next_step_at, saved.closed_at) == (None, None)
    assert SpoiltWindow.objects.get().severity == "hard"
    assert entries(saved.incident) == [("confirmed", "ada", "", NOW + HOUR)]
    assert [notice.recipient for notice in notices("confirmed")] == ["eve"]


@pytest.mark.parametrize("how", ["rejected", "fixed"])
def test_a_decided_report_is_closed_with_its_incident_and_its_windows(row: Report, how: str) -> None:
    other = SpoiltWindowFactory.create(window=TUESDAY)
    at = NOW + HOUR
    if how == "rejected":
        reject_report(row, author="ada", now=at, reason="as planned")
    else:
        fix_report(row, author="ada", now=at)
    saved = Report.objects.get()
    assert (saved.state, saved.closed_at, saved.decided_by, saved.next_step_at) == (how, at, "ada", None)
    spoilt = SpoiltWindow.objects.get(incident=saved.incident)
    assert (spoilt.healed_at, spoilt.how) == (at, how)
    assert saved.incident is not None
    assert (saved.incident.resolved_at, saved.incident.resolution, saved.incident.open_key) == (at, how, None)
    assert [each.closed_at for each in Episode.objects.filter(incident=saved.incident)] == [at]
    other.refresh_from_db()
    assert other.healed_at is None
    said = Resolution(how).label.lower() + (": as planned" if how == "rejected" else "")
    assert entries(saved.incident) == [(how, "ada", "", at), ("resolved", "ada", said, at)]


@pytest.mark.parametrize(
    ("place", "healed", "kind", "window", "joins"),
    [
        ("", False, "detected", MONDAY, True),
        ("sea", False, "detected", MONDAY, True),
        ("phx", False, "detected", MONDAY, False),
        ("", True, "detected", MONDAY, False),
        ("", False, "reported", MONDAY, False),
        ("", False, "detected", TUESDAY, False),
    ],
)
def test_a_report_joins_only_what_tests_found_unhealed_on_its_windows_and_copies(
    place: str, healed: bool, kind: str, window: Window, joins: bool
) -> None:
    trips = DatasetFactory.create()
    incident = IncidentFactory.create(dataset=trips, kind=kind)
    SpoiltWindowFactory.create(
        incident=incident, dataset=trips, datacenter=place, window=window, healed_at=NOW if healed else None
    )
    row = made(trips, datacenter="sea")
    assert (list(row.joined.all()) == [incident], row.state) == (joins, "joined" if joins else "open")
    assert (row.closed_at, row.incident is None) == (NOW if joins else None, joins)


def test_a_second_report_of_the_same_fault_joins_the_first_which_grows_by_what_is_new(row: Report) -> None:
    assert row.incident is not None
    assert (row.incident.category, row.datacenter) == ("custom", "")
    second = made(row.dataset, BOTH, reporter="bob", description="too", now=NOW + HOUR)
    assert (second.state, second.incident, list(second.joined.all())) == ("joined", None, [row.incident])
    assert [each.window for each in SpoiltWindow.objects.order_by("pk")] == [MONDAY, TUESDAY]
    assert entries(row.incident) == [("report joined", "bob", f"{second.saw}: too", NOW + HOUR)]
    elsewhere = made(row.dataset, WEDNESDAY, reporter="bob")
    assert (elsewhere.state, elsewhere.joined.count()) == ("open", 0)


def made(dataset: Dataset, window: Window = MONDAY, **more: Any) -> Report:
    given = {"reporter": "eve", "description": "fares are zero", "now": NOW, **more}
    return report(dataset=dataset, window=window, **given)


def notices(step: str) -> list[Notice]:
    return list(Notice.objects.filter(key__contains=f":{step}:").order_by("pk"))


def test_a_report_is_a_softly_spoilt_incident_of_its_owner_who_reads_of_which_data(fares: DataTest) -> None:
    row = made(fares.dataset, BOTH, saw="rows twice", datacenter="phx")
    (said,) = notices("new")
    assert said.key == f"report:{row.pk}:new:reported:log:ada"
    assert (said.event, said.recipient, said.created_at) == ("reported", "ada", NOW)
    assert said.subject == f"Report {row.pk} on raw.trips: is it bad?"
    assert said.body == (
        "eve reports about raw.trips, 2026-03-09 – 2026-03-10:\n\nfares are zero\n\n"
        "All reports: http://127.0.0.1:8000/reports\nPlease confirm, reject or fix it.\n"
    )
    assert said.facts == {"report": row.pk, "dataset": "raw.trips", "window": BOTH.text, "state": "open"}
    incident, saved = Incident.objects.get(), Report.objects.get()
    assert (saved.state, saved.incident, saved.created_at, saved.closed_at) == ("open", incident, NOW, None)
    assert (saved.next_step_at, saved.window, saved.datacenter) == (NOW + 7 * DAY, BOTH, "phx")
    assert (incident.kind, incident.open_key, incident.category) == ("reported", f"report:{row.pk}", "duplicates")
    assert (incident.owner, incident.team, incident.tier, incident.detected_at) == ("ada", "trips", 2, NOW)
    spoilt = SpoiltWindow.objects.get()
    assert (spoilt.datacenter, spoilt.window, spoilt.dataset) == ("phx", BOTH, fares.dataset)
    assert (spoilt.severity, spoilt.spoilt_at, spoilt.healed_at) == ("soft", NOW, None)
    assert [(each.opened_at, each.closed_at) for each in Episode.objects.all()] == [(NOW, None)]
    entry = Entry.objects.get()
    assert (entry.event, entry.actor, entry.text, entry.at) == ("reported", "eve", "rows twice: fares are zero", NOW)


def test_the_team_reads_that_nobody_has_answered_and_the_owner_where_there_is_none() -> None:
    rows = [made(DatasetFactory.create(team=team)) for team in ("lines", "")]
    for row in rows:
        remind_report(row, NOW + 7 * DAY)
    assert [(said.recipient, said.subject.partition(": ")[2]) for said in notices("team")] == [
        ("lines", "nobody has answered"),
        ("ada", "nobody has answered"),
    ]
    assert {(said.created_at, said.body.splitlines()[-1]) for said in notices("team")} == {
        (NOW + 7 * DAY, "Nobody has answered this report for a week.")
    }


@pytest.mark.parametrize(
    ("at", "state"), [(NOW + 30 * DAY - SECOND, "open"), (NOW + 30 * DAY, "withdrawn"), (NOW + 31 * DAY, "withdrawn")]
)
def test_a_report_that_nobody_answers_is_withdrawn_after_thirty_days(fares: DataTest, at: datetime, state: str) -> None:
    row = made(fares.dataset)
    remind_report(row, at)
    saved = Report.objects.get()
    assert (saved.state, saved.closed_at) == (state, at if state == "withdrawn" else None)
    assert saved.next_step_at == (NOW + 30 * DAY if state == "open" else None)
    spoilt = SpoiltWindow.objects.get()
    assert (spoilt.healed_at, spoilt.how) == ((at, "withdrawn") if state == "withdrawn" else (None, ""))
    ends = [("assay", "withdrawn: nobody confirmed it", at)] if state == "withdrawn" else []
    assert [line[1:] for line in entries(saved.incident) if line[0] == "resolved"] == ends


@pytest.mark.parametrize("state", ["rejected", "fixed", "joined", "withdrawn", "confirmed"])
def test_what_was_decided_needs_no_reminder(fares: DataTest, state: str) -> None:
    row = ReportFactory.create(dataset=fares.dataset, state=state, next_step_at=NOW)
    remind_report(row, NOW + 40 * DAY)
    row.refresh_from_db()
    assert (row.state, row.next_step_at, row.closed_at) == (state, None, None)
    assert not Notice.objects.exists()


@pytest.mark.parametrize(
    ("decide", "state", "states"),
    [
        (confirm_report, "confirmed", "open"),
        (reject_report, "fixed", "open or confirmed"),
        (fix_report, "rejected", "open or confirmed"),
        (fix_report, "withdrawn", "open or confirmed"),
    ],
)
def test_what_was_decided_cannot_be_decided_again(fares: DataTest, decide: Any, state: str, states: str) -> None:
    row = ReportFactory.create(dataset=fares.dataset, state=state)
    with pytest.raises(UnableToDecideReport) as refused:
        decide(row, author="ada", now=NOW)
    assert str(refused.value) == f"Report {row.pk} is {state}: this needs one that is {states}."


@pytest.mark.parametrize("decide", [reject_report, fix_report])
def test_what_was_confirmed_can_still_be_rejected_or_fixed(fares: DataTest, decide: Any) -> None:
    row = made(fares.dataset)
    other = made(DatasetFactory.create())
    confirm_report(row, author="ada", now=NOW)
    found = decide(row, author="bob", now=NOW + HOUR)
    assert (found.decided_by, found.decided_at) == ("bob", NOW + HOUR)
    (said,) = notices(found.state)
    label = ReportState(found.state).label.lower()
    assert said.body.endswith(f"\n\nbob says: {label}.\n")
    assert said.subject == f"Report {row.pk} on raw.trips: {found.state}"
    assert said.created_at == NOW + HOUR
    assert Report.objects.get(pk=other.pk).state == "open"
    assert SpoiltWindow.objects.get(incident=other.incident).severity == "soft"


def test_whoever_joined_a_report_hears_once_what_was_decided(fares: DataTest) -> None:
    row = made(fares.dataset)
    for who in ("bob", "eve", "bob"):
        made(fares.dataset, reporter=who)
    fix_report(row, author="ada", now=NOW)
    assert [said.recipient for said in notices("fixed")] == ["eve", "bob"]


def test_the_missing_test_runs_on_every_partition_that_the_report_touches(fares: DataTest) -> None:
    part = Window(start=SUNDAY.start + HOUR, end=MONDAY.start + HOUR)
    row = made(fares.dataset, part)
    made(fares.dataset, Window(start=MONDAY.start, end=TUESDAY.end), reporter="bob")
    confirm_report(row, author="ada", now=NOW, offered=fares)
    saved = Report.objects.get(pk=row.pk)
    assert (saved.offered, saved.next_step_at) == (fares, NOW + timedelta(minutes=15))
    runs = list(Run.objects.order_by("window_start"))
    assert [run.window for run in runs] == [SUNDAY, MONDAY, TUESDAY]
    assert {(run.data_test, run.reason, run.requested_at, run.due_at) for run in runs} == {(fares, "manual", NOW, NOW)}
    assert runs[0].slot == f"{fares.pk}:{SUNDAY.text}:manual:report:{row.pk}"


@pytest.mark.parametrize("dataset", [{}, {"partition_column": ""}])
def test_a_missing_test_of_a_whole_table_runs_when_it_is_due(dataset: dict[str, Any]) -> None:
    test = DataTestFactory.create(
        dataset=DatasetFactory.create(**dataset), scope=Scope.PARTITION if dataset else Scope.TABLE
    )
    row = made(test.dataset)
    confirm_report(row, author="ada", now=NOW, offered=test)
    assert Report.objects.get().offered == test
    assert not Run.objects.exists()


@pytest.mark.parametrize(
    ("standings", "is_fixed"),
    [([MONDAY, TUESDAY], True), ([MONDAY], False), ([TUESDAY], False), ([SUNDAY, day("2026-03-11")], False)],
)
def test_a_confirmed_report_is_fixed_once_its_missing_test_passes_on_all_of_it(
    fares: DataTest, standings: list[Window], is_fixed: bool
) -> None:
    row = made(fares.dataset, BOTH)
    confirm_report(row, author="ada", now=NOW, offered=fares)
    for window in standings:
        StandingFactory.create(data_test=fares, window=window)
    for window in (MONDAY, TUESDAY):
        StandingFactory.create(data_test=DataTestFactory.create(dataset=fares.dataset), window=window)
    missing = {MONDAY, TUESDAY} - set(standings)
    for window in missing:
        StandingFactory.create(data_test=fares, window=window, state="WARN")
    remind_report(Report.objects.get(), NOW + HOUR)
    saved = Report.objects.get()
    if is_fixed:
        assert (saved.state, saved.decided_by, saved.next_step_at) == ("fixed", "assay", None)
        assert (saved.closed_at, saved.decided_at) == (NOW + HOUR, NOW + HOUR)
    else:
        assert (saved.state, saved.next_step_at) == ("confirmed", NOW + HOUR + timedelta(minutes=15))


def test_a_report_joins_nothing_upstream_but_by_its_reporters_word(fares: DataTest) -> None:
    middle, reader = DatasetFactory.create(), DatasetFactory.create(owner="bo")
    for upstream, downstream in ((fares.dataset, middle), (middle, reader)):
        LineageEdge.objects.create(upstream=upstream, downstream=downstream)
    incident = incident_of(fares)
    fails(incident, fares)
    below = DataTestFactory.create(dataset=DatasetFactory.create())
    LineageEdge.objects.create(upstream=reader, downstream=below.dataset)
    fails(incident_of(below), below)
    alone = made(reader)
    assert (list(alone.joined.all()), alone.state) == ([], "open")
    assert [
        (trouble.incident, trouble.same) for trouble in likely_troubles(reader, MONDAY, datacenter="", saw="late")
    ] == [(alone.incident, False), (incident, False)]
    row = made(reader, of=incident)
    assert (list(row.joined.all()), row.state) == ([incident], "joined")
    known = Notice.objects.filter(key__startswith=f"report:{row.pk}:known", channel="log").order_by("pk")
    assert list(known.values_list("recipient", flat=True)) == ["bo", "ada"]


def test_a_reporter_is_told_who_hears_of_what_is_new(fares: DataTest) -> None:
    first = made(fares.dataset)
    assert first.incident is not None
    assert reply(first) == f"It is incident {first.incident.pk} now. {UNHEARD}"
    second = made(fares.dataset, reporter="bob")
    assert reply(second) == (
        f"This is known already as incident {first.incident.pk}, which eve reported; "
        "your report was added to it. No channel but the log reaches ada: tell them yourself."
    )
    found = incident_of(fares)
    fails(found, fares, TUESDAY)
    confirm_report(first, author="ada", now=NOW)
    wide = made(fares.dataset, Window(start=SUNDAY.start, end=TUESDAY.end), reporter="bob")
    assert wide.incident is not None
    assert [row.window for row in wide.incident.spoilt_windows.all()] == [SUNDAY]
    assert reply(wide) == (
        f"A part of this is known already as incident {first.incident.pk}, which eve reported and "
        f"incident {found.pk}, which a test found. For the rest: "
        f"It is incident {wide.incident.pk} now. No channel but the log reaches ada: tell them yourself."
    )


@pytest.mark.parametrize(
    ("second", "joins"),
    [
        ({}, True),
        ({"saw": "values wrong"}, True),  # told by the same tests
        ({"saw": "late"}, False),
        ({"window": TUESDAY}, False),
        ({"datacenter": "phx"}, True),
        ({"dataset": None}, False),
        ({"settled": "rejected"}, False),
        ({"settled": "withdrawn"}, False),
        ({"settled": "confirmed"}, True),
    ],
)
def test_only_the_same_fault_of_the_same_data_that_is_not_settled_is_known(
    fares: DataTest, second: dict[str, Any], joins: bool
) -> None:
    first = made(fares.dataset)
    given = {**second}
    if state := given.pop("settled", ""):
        Report.objects.update(state=state)
    dataset = fares.dataset if "dataset" not in given else DatasetFactory.create()
    given.pop("dataset", None)
    row = made(dataset, given.pop("window", MONDAY), reporter="bob", **given)
    assert (list(row.joined.all()) == [first.incident], row.state == "joined") == (joins, joins)


def test_a_claim_on_one_copy_is_none_on_another(fares: DataTest) -> None:
    made(fares.dataset, datacenter="phx")
    assert made(fares.dataset, datacenter="sea").state == "open"
    assert made(fares.dataset, datacenter="phx").state == "joined"


def test_a_claim_grows_by_what_is_new_at_once_unless_it_is_confirmed(fares: DataTest) -> None:
    first = made(fares.dataset)
    wide = made(fares.dataset, Window(start=SUNDAY.start, end=TUESDAY.end), now=NOW + HOUR)
    assert (wide.state, wide.closed_at) == ("joined", NOW + HOUR)
    assert first.incident is not None
    windows = first.incident.spoilt_windows.order_by("pk")
    assert [(row.window, row.spoilt_at, row.severity) for row in windows] == [
        (MONDAY, NOW, "soft"),
        (SUNDAY, NOW + HOUR, "soft"),
        (TUESDAY, NOW + HOUR, "soft"),
    ]
    SpoiltWindow.objects.filter(window_start=TUESDAY.start).update(healed_at=NOW)
    assert made(fares.dataset, TUESDAY).state == "open"
