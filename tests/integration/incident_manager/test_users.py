"""What users do to incidents, and what that means for tomorrow; many windows are ended in pieces."""

from datetime import timedelta
from threading import Thread
from typing import Any

import pytest
from django.db import connection
from django.db.models import F
from django.test.utils import CaptureQueriesContext

from alerting.models import Alert, Flip, Standing, Waiver
from alerting.state import WaiverKind, WaiverScope
from assay import clock
from assay.models import Category, DataTest, Scope
from assay.queue.claims import work
from assay.time.windows import Window
from execution_engine.models import Run
from incident_manager.incidents.services import heal
from incident_manager.incidents.users import end_piece
from incident_manager.models import Ending, Incident, Resolution, SpoiltWindow
from incident_manager.services import UnableToResolve, accept, force_resolve
from incident_manager.tasks import end
from tests.factories import (
    DAY,
    HOUR,
    NOW,
    DatasetFactory,
    DataTestFactory,
    IncidentFactory,
    RunFactory,
    SpoiltWindowFactory,
    StandingFactory,
    day,
)
from tests.integration.incident_manager.spoilt import entries, fails, incident_of
from tests.integration.story import advance, due, fail, new_test, open_incidents, result, scheduled, settle, start

pytestmark = pytest.mark.django_db

SUNDAY, MONDAY, TUESDAY, WEDNESDAY = (day(f"2026-03-{n:02d}") for n in (8, 9, 10, 11))

NONE = timedelta(0)
SECOND = timedelta(seconds=1)
WINDOWS, PIECE = 30, 12


def failing(excess: float = 0.1) -> tuple[DataTest, Incident]:
    """A test that FAILs on Monday, and its incident."""
    start(due(MONDAY))
    test = new_test(sustain=NONE)
    return test, fail(test, MONDAY, excess=excess)


def force(incident: Incident, scope: WaiverScope) -> None:
    force_resolve(incident, scope=scope, reason="counts twins", author="ada", now=due(MONDAY) + HOUR)
    settle()


def test_the_waiver_of_a_test_ends_and_what_is_still_broken_then_opens_an_incident() -> None:
    test, incident = failing()
    force(incident, WaiverScope.TEST)
    scheduled(test, TUESDAY, "broken", excess=0.1)
    end = due(MONDAY) + HOUR + 14 * DAY
    advance(end)
    assert test.runs.filter(reason="check", window_start=TUESDAY.start, evaluated_at=None).count() == 1
    result(test, TUESDAY, "broken", end + HOUR, excess=0.1)
    assert len(open_incidents()) == 1


def test_a_forced_incident_ends_with_a_waiver_for_each_window(fares: DataTest) -> None:
    incident, other = incident_of(fares), DataTestFactory.create(dataset=fares.dataset)
    first, second = fails(incident, fares), fails(incident, fares, TUESDAY)
    healed = fails(incident, fares, SUNDAY, healed_at=NOW - DAY, how="auto")
    untested = SpoiltWindowFactory.create(incident=incident)
    fails(incident_of(other, open_key="x"), other)
    ended = force_resolve(incident, scope=WaiverScope.WINDOW, reason="twins", author="bob", now=NOW)
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
    assert [(row.data_test, row.window, row.excess) for row in waivers] == [(fares, MONDAY, 0.5), (fares, TUESDAY, 0.5)]
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
    force_resolve(incident, scope=WaiverScope.TEST, reason="twins", author="bob", now=NOW)
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
        force_resolve(incident, scope=WaiverScope.WINDOW, reason="twins", author="bob", now=NOW)
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
        ({"kind": "reported"}, "twins", "Incident {pk} was reported by a user: reject or fix its report instead."),
    ],
)
def test_what_cannot_be_ended_by_a_word_says_why(fares: DataTest, more: dict[str, Any], reason: str, text: str) -> None:
    incident = incident_of(fares, **more)
    for word in (accept, lambda one, **given: force_resolve(one, scope=WaiverScope.TEST, **given)):
        with pytest.raises(UnableToResolve) as refused:
            word(incident, reason=reason, author="bob", now=NOW)
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


@pytest.fixture
def incident() -> Incident:
    """Of a test that is broken on every one of its windows."""
    clock.simulate(NOW)
    dataset = DatasetFactory.create(name="trips")
    test = DataTestFactory.create(dataset=dataset, created_at=NOW - 1000 * DAY)
    found = IncidentFactory.create(dataset=dataset, category=test.category)
    end = NOW.replace(hour=0) - 5 * DAY
    _break(test, found, [Window(start=end - (n + 1) * DAY, end=end - n * DAY) for n in range(WINDOWS)])
    return found


def _break(test: DataTest, incident: Incident, windows: list[Window]) -> None:
    at = NOW - timedelta(hours=30)
    broken = {"data_test": test, "excess": 0.1}
    runs = Run.objects.bulk_create(
        RunFactory.build(**broken, window=window, outcome="broken", requested_at=at, accept_from=at)
        for window in windows
    )
    states = {"state": "FAIL", "last_outcome": "broken", "due_at": at, "since": at}
    Standing.objects.bulk_create(
        StandingFactory.build(**broken, **states, window=window, last_run=run)
        for window, run in zip(windows, runs, strict=True)
    )
    SpoiltWindow.objects.bulk_create(
        SpoiltWindowFactory.build(incident=incident, data_test=test, window=window, spoilt_at=at) for window in windows
    )


def test_a_request_ends_12_windows_and_the_stage_ends_the_others(incident: Incident) -> None:
    accept(incident, reason="source is lost", author="ada", now=NOW)
    assert (Waiver.objects.count(), incident.resolved_at) == (PIECE, None)
    assert work("end", end_piece, limit=1) == 1
    assert (Waiver.objects.count(), Incident.objects.get().resolved_at) == (2 * PIECE, None)
    assert end() == 1
    incident.refresh_from_db()
    assert (Waiver.objects.count(), incident.resolution) == (WINDOWS, "accepted")
    assert not SpoiltWindow.objects.filter(healed_at=None).exists()
    assert not Standing.objects.filter(waiver=None).exists()
    assert end() == 0


def test_a_window_that_is_spoilt_after_the_word_is_no_part_of_it(incident: Incident) -> None:
    accept(incident, reason="source is lost", author="ada", now=NOW)
    test = DataTest.objects.get()
    later = Window(start=NOW.replace(hour=0) - 5 * DAY, end=NOW.replace(hour=0) - 4 * DAY)
    _break(test, incident, [later])
    end()
    incident.refresh_from_db()
    assert incident.resolved_at is None
    assert [row.window for row in SpoiltWindow.objects.filter(healed_at=None)] == [later]
    assert not Ending.objects.filter(ended_at=None).exists()


def test_what_is_being_ended_is_not_ended_twice(incident: Incident) -> None:
    accept(incident, reason="source is lost", author="ada", now=NOW)
    with pytest.raises(UnableToResolve, match=r"ada is ending incident .*: 18 windows are left"):
        force_resolve(incident, scope=WaiverScope.TEST, reason="twins", author="bob", now=NOW)
    assert (Waiver.objects.count(), incident.timeline.filter(actor="bob").count()) == (PIECE, 0)


def test_windows_that_heal_by_themselves_meanwhile_need_no_waiver(incident: Incident) -> None:
    accept(incident, reason="source is lost", author="ada", now=NOW)
    heal(SpoiltWindow.objects.filter(healed_at=None), Resolution.AUTO, now=NOW)
    end()
    assert (Waiver.objects.count(), Incident.objects.get().resolved_at) == (PIECE, NOW)
    assert not Ending.objects.filter(ended_at=None).exists()


def test_waivers_reach_later_windows_of_each_test_of_the_incident(incident: Incident) -> None:
    first = DataTest.objects.get()
    second = DataTestFactory.create(dataset=first.dataset, category=first.category, name="second")
    start = NOW.replace(hour=0) - 1000 * DAY
    _break(second, incident, [Window(start=start, end=start + DAY)])
    SpoiltWindow.objects.filter(data_test=second).update(window_start=start, window_end=start + DAY)
    later = Window(start=NOW.replace(hour=0) - 3 * DAY, end=NOW.replace(hour=0) - 2 * DAY)
    _break(second, incident, [later])
    SpoiltWindow.objects.filter(data_test=second, window_start=later.start).delete()  # broken, not yet an incident
    Standing.objects.filter(data_test=second, window_start=later.start).update(state="WARN")
    force_resolve(incident, scope=WaiverScope.TEST, reason="twins", author="ada", now=NOW)
    end()
    assert Incident.objects.get().resolution == "forced"
    assert Standing.objects.get(data_test=second, window_start=later.start).waiver is not None


def test_its_timeline_counts_the_windows_that_were_ended_and_not_those_that_healed(incident: Incident) -> None:
    accept(incident, reason="source is lost", author="ada", now=NOW)
    heal(SpoiltWindow.objects.filter(healed_at=None)[:5], Resolution.AUTO, now=NOW)
    end()
    assert [row.text for row in incident.timeline.filter(actor="ada", event="healed")] == ["25 windows: accepted"]


@pytest.mark.django_db(transaction=True)
def test_between_two_pieces_every_other_writer_has_its_turn(
    incident: Incident, monkeypatch: pytest.MonkeyPatch
) -> None:
    accept(incident, reason="source is lost", author="ada", now=NOW)
    written: list[int] = []

    def write() -> None:
        try:
            written.append(DataTest.objects.update(name=F("name")))
        finally:
            connection.close()

    def meanwhile(seconds: float) -> None:
        other = Thread(target=write)
        other.start()
        other.join()

    monkeypatch.setattr("incident_manager.tasks.sleep", meanwhile)
    pieces = end()
    has_one_writer = not connection.features.has_select_for_update
    assert (pieces, written) == (2, [1, 1] if has_one_writer else [])


def test_a_window_costs_as_much_however_many_there_are(incident: Incident) -> None:
    with CaptureQueriesContext(connection) as asked:
        force_resolve(incident, scope=WaiverScope.TEST, reason="twins", author="ada", now=NOW)
        end()
    assert len(asked) <= 12 * WINDOWS + 25 * 3  # pieces
    assert incident.timeline.filter(actor="ada").count() == 3  # the word, its windows, the end
    assert Incident.objects.get().resolution == "forced"
