"""How a user's word ends incidents, and reports in all their steps: which rows it reaches, and every text."""

from datetime import datetime, timedelta
from typing import Any

import pytest

from alerting.models import Alert, Flip, Notice, Standing, Waiver
from alerting.state import WaiverKind
from alerting.waivers import WaiverScope as Reach
from assay.models import Category, Dataset, DataTest, LineageEdge, Scope
from assay.time.windows import Window
from execution_engine.models import Run
from incident_manager.incidents.users import end_piece
from incident_manager.models import Ending, Entry, Incident, Report, ReportState, Resolution, SpoiltWindow
from incident_manager.reports import likely_troubles, remind_report, reply
from incident_manager.services import (
    UnableToDecide,
    UnableToResolve,
    accept,
    confirm_report,
    fix_report,
    force_resolve,
    reject_report,
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
    RunFactory,
    SpoiltWindowFactory,
    StandingFactory,
    day,
)

pytestmark = pytest.mark.django_db

UNHEARD = "No channel but the log reaches ada: tell them yourself."

SUNDAY, MONDAY, TUESDAY = day("2026-03-08"), day("2026-03-09"), day("2026-03-10")
BOTH = Window(start=MONDAY.start, end=TUESDAY.end)
SECOND = timedelta(seconds=1)


@pytest.fixture
def fares() -> DataTest:
    """A test of each partition of trips, ada's of the team trips."""
    trips = DatasetFactory.create(name="trips", datacenters=("sea", "phx"))
    row: DataTest = DataTestFactory.create(dataset=trips, name="fares")
    return row


def incident_of(test: DataTest, **more: Any) -> Incident:
    row: Incident = IncidentFactory.create(**{"dataset": test.dataset, "category": test.category, **more})
    return row


def fails(incident: Incident, test: DataTest, window: Window = MONDAY, **more: Any) -> SpoiltWindow:
    """A window that has failed and is spoilt."""
    run = RunFactory.create(data_test=test, window=window, outcome="broken", excess=0.5)
    StandingFactory.create(
        data_test=test,
        window=window,
        window_key="table" if test.scope == Scope.TABLE else window.text,
        state="FAIL",
        last_outcome="broken",
        excess=0.5,
        last_run=run,
    )
    given = {"whole_table": test.scope == Scope.TABLE, **more}
    row: SpoiltWindow = SpoiltWindowFactory.create(incident=incident, data_test=test, window=window, **given)
    return row


def entries(incident: Incident) -> list[tuple[str, str, str, datetime]]:
    """The timeline after the incident's first line."""
    rows = Entry.objects.filter(incident=incident).order_by("pk")
    return [(row.event, row.actor, row.text, row.at) for row in rows][1:]


def test_a_forced_incident_ends_with_a_waiver_for_each_window(fares: DataTest) -> None:
    incident, other = incident_of(fares), DataTestFactory.create(dataset=fares.dataset)
    first, second = fails(incident, fares), fails(incident, fares, TUESDAY)
    healed = fails(incident, fares, SUNDAY, healed_at=NOW - DAY, how="auto")
    untested = SpoiltWindowFactory.create(incident=incident)
    fails(incident_of(other, open_key="x"), other)
    ended = force_resolve(incident, scope=Reach.WINDOW, reason="twins", author="bob", now=NOW)
    assert (ended.resolved_at, ended.resolution) == (NOW, "forced")
    ending = Ending.objects.get()
    assert (ending.incident, ending.kind, ending.scope, ending.reason) == (incident, "forced", "window", "twins")
    assert (ending.author, ending.said_at, ending.ended_at) == ("bob", NOW, NOW)
    assert set(SpoiltWindow.objects.filter(ending=ending)) == {first, second, untested}
    assert set(SpoiltWindow.objects.filter(healed_at=NOW).values_list("pk", "how")) == {
        (row.pk, "forced") for row in (first, second, untested)
    }
    healed.refresh_from_db()
    assert (healed.how, healed.ending) == ("auto", None)
    waivers = Waiver.objects.order_by("window_start")
    assert [(row.data_test, row.window, row.excess) for row in waivers] == [
        (fares, MONDAY, 0.5),
        (fares, TUESDAY, 0.5),
    ]
    said = {(row.kind, row.reason, row.author, row.starts_at, row.ends_at) for row in waivers}
    assert said == {("forced", "twins", "bob", NOW, None)}
    lines = entries(incident)
    assert lines[0] == ("forced", "bob", "twins (scope window)", NOW)
    assert {line[2] for line in lines[1:-1]} == {f"{MONDAY.text}: false positive", f"{TUESDAY.text}: false positive"}
    assert [line[:2] for line in lines[1:]] == [("healed", "bob")] * 3 + [("resolved", "bob")]
    assert {line[3] for line in lines} == {NOW}


def test_a_word_on_a_test_reaches_its_later_windows_and_the_whole_table_beside_it(fares: DataTest) -> None:
    table = DataTestFactory.create(dataset=fares.dataset, scope=Scope.TABLE)
    incident = incident_of(fares)
    fails(incident, fares)
    of_table = fails(incident, table, Window(start=SUNDAY.start, end=MONDAY.end))
    later = StandingFactory.create(data_test=fares, window=TUESDAY, state="WARN", last_outcome="broken", excess=0.5)
    RunFactory.create(data_test=fares, window=TUESDAY, outcome="broken", excess=0.5)
    force_resolve(incident, scope=Reach.TEST, reason="twins", author="bob", now=NOW)
    assert Standing.objects.get(pk=later.pk).waiver is not None
    assert set(Waiver.objects.values_list("data_test", "ends_at")) == {
        (fares.pk, NOW + 14 * DAY),
        (table.pk, NOW + 14 * DAY),
    }
    of_table.refresh_from_db()
    assert (of_table.healed_at, of_table.how) == (NOW, "forced")
    assert {flip.at for flip in Flip.objects.all()} == {NOW}


def test_a_whole_table_that_holds_needs_no_waiver(fares: DataTest) -> None:
    table = DataTestFactory.create(dataset=fares.dataset, scope=Scope.TABLE)
    incident = incident_of(fares)
    fails(incident, fares)
    fails(incident, table)
    RunFactory.create(data_test=table, outcome="held", requested_at=NOW - SECOND)
    accept(incident, reason="lost", author="bob", now=NOW)
    assert [row.data_test for row in Waiver.objects.all()] == [fares]
    assert Incident.objects.get(pk=incident.pk).resolution == "accepted"


@pytest.mark.parametrize(
    ("own", "effect", "more", "is_ended"),
    [
        ("", "", {}, True),
        ("", "phx", {}, True),
        ("phx", "phx", {}, True),
        ("phx", "dca", {}, False),
        ("phx", "", {}, False),
        ("", "", {"window": TUESDAY}, False),
        ("", "", {"is_silent": False}, False),
        ("", "", {"has_cause": False}, False),
        ("", "", {"other": True}, False),
        ("", "", {"kind": "forced"}, False),
    ],
)
def test_rows_that_are_accepted_as_lost_end_what_the_incident_explains_of_them(
    fares: DataTest, own: str, effect: str, more: dict[str, Any], is_ended: bool
) -> None:
    incident = incident_of(fares)
    fails(incident, fares, datacenter=own)
    dataset = DatasetFactory.create() if more.get("other") else fares.dataset
    late = DataTestFactory.create(dataset=dataset, category=Category.FRESHNESS)
    silent = incident_of(late)
    cause = incident.alert if more.get("has_cause", True) else None
    inhibited_at = NOW if more.get("is_silent", True) else None
    Alert.objects.filter(incident=silent).update(cause=cause, inhibited_at=inhibited_at)
    spoilt = fails(silent, late, more.get("window", MONDAY), datacenter=effect)
    if more.get("kind") == "forced":
        force_resolve(incident, scope=Reach.WINDOW, reason="twins", author="bob", now=NOW)
    else:
        accept(incident, reason="lost", author="bob", now=NOW)
    spoilt.refresh_from_db()
    silent.refresh_from_db()
    assert (spoilt.how, silent.resolution) == (("accepted", "accepted") if is_ended else ("", ""))
    assert (Waiver.objects.filter(data_test=late).count() == 1) is is_ended


def test_an_incident_of_an_ended_effect_is_left_as_it_was(fares: DataTest) -> None:
    incident = incident_of(fares)
    fails(incident, fares)
    late = DataTestFactory.create(dataset=fares.dataset, category=Category.FRESHNESS)
    ended = incident_of(late, open_key=None, resolved_at=NOW - DAY, resolution="auto")
    Alert.objects.filter(incident=ended).update(cause=incident.alert, inhibited_at=NOW)
    spoilt = fails(ended, late)
    accept(incident, reason="lost", author="bob", now=NOW)
    spoilt.refresh_from_db()
    assert spoilt.healed_at is None
    assert {row.kind for row in Waiver.objects.all()} == {WaiverKind.ACCEPTED}


@pytest.mark.parametrize(
    ("more", "reason", "text"),
    [
        ({}, " ", "A reason is missing: say why, so that people who ask next month can know."),
        (
            {"resolved_at": NOW, "resolution": "auto", "open_key": None},
            "twins",
            "Incident {pk} has ended at 2026-03-10 12:00 UTC already.",
        ),
        (
            {"kind": "reported"},
            "twins",
            "Incident {pk} was reported by a user: reject or fix its report instead.",
        ),
    ],
)
def test_what_cannot_be_ended_by_a_word_says_why(fares: DataTest, more: dict[str, Any], reason: str, text: str) -> None:
    incident = incident_of(fares, **more)
    for end in (accept, lambda one, **given: force_resolve(one, scope=Reach.TEST, **given)):
        with pytest.raises(UnableToResolve) as refused:
            end(incident, reason=reason, author="bob", now=NOW)
        assert str(refused.value) == text.format(pk=incident.pk)
    assert not Ending.objects.exists()


def test_an_ending_goes_on_with_the_earliest_windows_and_counts_them_at_its_end(
    fares: DataTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("incident_manager.incidents.users.AT_ONCE", 2)
    incident = incident_of(fares)
    windows = [day(f"2026-02-{n:02d}") for n in (3, 1, 2, 5, 4)]
    rows = {window: fails(incident, fares, window) for window in windows}
    table = DataTestFactory.create(dataset=fares.dataset, scope=Scope.TABLE)
    whole = fails(incident, table)
    accept(incident, reason="lost", author="bob", now=NOW)

    def left() -> set[int]:
        return set(SpoiltWindow.objects.filter(healed_at=None).values_list("pk", flat=True))

    assert left() == {whole.pk, *(rows[window].pk for window in (windows[0], windows[3], windows[4]))}
    ending = Ending.objects.get()
    assert ending.ended_at is None
    Ending.objects.update(epoch=1)
    end_piece(Ending.objects.get(), NOW + HOUR)
    assert left() == {whole.pk, rows[windows[3]].pk}
    assert Ending.objects.get().ended_at is None
    end_piece(Ending.objects.get(), NOW + 2 * HOUR)
    assert left() == set()
    assert Ending.objects.get().ended_at == NOW + 2 * HOUR
    how = Resolution.ACCEPTED.label.lower()
    assert [line[2:] for line in entries(incident)[1:]] == [
        (f"6 windows: {how}", NOW + 2 * HOUR),
        (how, NOW + 2 * HOUR),
    ]
    assert Incident.objects.get(pk=incident.pk).resolved_at == NOW + 2 * HOUR


def made(dataset: Dataset, window: Window = MONDAY, **more: Any) -> Report:
    given = {"reporter": "eve", "description": "fares are zero", "now": NOW, **more}
    return report(dataset=dataset, window=window, **given)


def notices(step: str) -> list[Notice]:
    return list(Notice.objects.filter(key__contains=f":{step}:").order_by("pk"))


def test_its_owner_reads_what_is_reported_of_which_data(fares: DataTest) -> None:
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
    assert row.incident is not None
    assert (row.incident.category, row.incident.detected_at) == ("duplicates", NOW)
    spoilt = SpoiltWindow.objects.get()
    assert (spoilt.datacenter, spoilt.window, spoilt.dataset) == ("phx", BOTH, fares.dataset)
    assert entries(row.incident) == []
    assert Entry.objects.get().text == "rows twice: fares are zero"


def test_the_team_reads_that_nobody_has_answered_and_the_owner_where_there_is_none() -> None:
    rows = [made(DatasetFactory.create(team=team)) for team in ("lines", "")]
    for row in rows:
        remind_report(row, NOW + 7 * DAY)
    assert [(said.recipient, said.subject.partition(": ")[2]) for said in notices("team")] == [
        ("lines", "nobody has answered"),
        ("ada", "nobody has answered"),
    ]
    assert {said.created_at for said in notices("team")} == {NOW + 7 * DAY}


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
    with pytest.raises(UnableToDecide) as refused:
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
    [
        ([MONDAY, TUESDAY], True),
        ([MONDAY], False),
        ([TUESDAY], False),
        ([SUNDAY, day("2026-03-11")], False),
    ],
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
    ] == [
        (alone.incident, False),
        (incident, False),
    ]
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
