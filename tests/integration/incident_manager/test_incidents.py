"""What a FAIL opens, what joins it and what ends it: stories, and every row, column and line that a step leaves."""

from collections.abc import Callable
from datetime import datetime, timedelta
from threading import Barrier, Thread
from typing import Any

import pytest
from django.db import connection

from alerting.models import Alert, Flip, Standing, Waiver
from alerting.state import WaiverKind
from assay.models import Category, Dataset, DataTest, Revision, Scope
from assay.queue.claims import UnableToFinish, in_transaction
from assay.time.windows import Window
from execution_engine.models import Exclusion, Run
from incident_manager.incidents.services import (
    demand_open,
    handle_flip,
    heal,
    incident_for,
    resolve,
    resolve_healed,
    spoilt_of,
)
from incident_manager.models import Entry, Episode, Incident, Resolution, SpoiltWindow
from incident_manager.reruns import rejudge_revision
from incident_manager.services import UnableToResolve, acknowledge, annotate, rerun
from tests.factories import (
    DAY,
    HOUR,
    NOW,
    DatasetFactory,
    DataTestFactory,
    IncidentFactory,
    RunFactory,
    StandingFactory,
    day,
    revised,
)
from tests.integration.incident_manager.spoilt import entries, incident_of, spoils
from tests.integration.rows import waiver
from tests.integration.story import (
    due,
    fail,
    new_table,
    new_test,
    open_incidents,
    result,
    scheduled,
    settle,
    start,
    state,
)

pytestmark = pytest.mark.django_db

SUNDAY, MONDAY, TUESDAY = day("2026-03-08"), day("2026-03-09"), day("2026-03-10")
NONE = timedelta(0)
SECOND = timedelta(seconds=1)
DUE = MONDAY.end + 6 * HOUR


def test_a_window_that_stays_broken_for_the_sustain_period_opens_one_incident() -> None:
    start(due(MONDAY))
    test = new_test(category=Category.COMPLETENESS)
    scheduled(test, MONDAY, "broken")
    assert (state(test, MONDAY), open_incidents()) == ("WARN", [])
    result(test, MONDAY, "broken", due(MONDAY) + 4 * HOUR)
    assert state(test, MONDAY) == "FAIL"
    (incident,) = open_incidents()
    assert incident.detected_at == due(MONDAY) + 4 * HOUR
    assert [spoilt.window for spoilt in incident.spoilt_windows.all()] == [MONDAY]


def test_a_second_bad_window_joins_the_incident_which_ends_with_the_last_to_heal() -> None:
    start(due(MONDAY))
    test = new_test(sustain=NONE)
    incident = fail(test, MONDAY)
    assert fail(test, TUESDAY) == incident
    result(test, TUESDAY, "held", due(TUESDAY) + HOUR)
    assert open_incidents() == [incident]
    result(test, MONDAY, "held", due(TUESDAY) + 2 * HOUR)
    incident.refresh_from_db()
    assert (incident.resolved_at, incident.open_key) == (due(TUESDAY) + 2 * HOUR, None)
    assert [entry.event for entry in incident.timeline.all()] == [
        "opened",
        "spoilt",
        "spoilt",
        "healed",
        "healed",
        "resolved",
    ]


def test_of_two_ended_incidents_the_later_one_is_opened_again() -> None:
    start(due(MONDAY))
    test = new_test(sustain=NONE)
    first = fail(test, MONDAY)
    result(test, MONDAY, "held", due(MONDAY) + HOUR)
    thursday, friday = day("2026-03-12"), day("2026-03-13")
    second = fail(test, thursday)
    result(test, thursday, "held", due(thursday) + HOUR)
    assert second != first
    assert fail(test, friday) == second
    assert first.episodes.count() == 1


def test_a_window_that_fails_again_under_a_new_revision_is_healed_by_what_that_one_said() -> None:
    start(due(MONDAY))
    test = new_test()
    for at in (due(MONDAY), due(MONDAY) + 4 * HOUR):
        result(test, MONDAY, "broken", at, reason="schedule")
    result(test, MONDAY, "held", due(MONDAY) + 5 * HOUR)
    revised(test, assertion="row_count() >= 110", author="ada", now=due(MONDAY) + 6 * HOUR)
    result(test, MONDAY, "broken", due(MONDAY) + 6 * HOUR, reason="revision")
    result(test, MONDAY, "broken", due(MONDAY) + 10 * HOUR)
    assert [incident.spoilt_windows.count() for incident in open_incidents()] == [2]
    result(test, MONDAY, "held", due(MONDAY) + 9 * HOUR)  # late: it was measured before the last one
    assert state(test, MONDAY) == "WARN"
    assert list(Incident.objects.get().spoilt_windows.order_by("pk").values_list("how", flat=True)) == [
        "auto",
        "withdrawn",
    ]


@pytest.mark.parametrize(
    ("category", "strict", "loose", "is_read_again", "resolution"),
    [
        ("custom", "row_count() >= 100", "row_count() >= 90", False, "redefined"),
        (
            "freshness",
            "freshness() < 6h",
            "freshness() < 9h",
            True,
            "auto",
        ),  # its data has healed it
    ],
)
def test_a_window_that_holds_by_a_looser_assertion_is_redefined_unless_its_data_is_another(
    category: str, strict: str, loose: str, is_read_again: bool, resolution: str
) -> None:
    start(due(MONDAY))
    test = new_test(sustain=NONE, category=category, assertion=strict)
    fail(test, MONDAY)
    revised(test, assertion=loose, author="ada", now=due(MONDAY) + HOUR)
    settle()
    assert (test.runs.get(reason="revision").accept_from is not None) is is_read_again
    value = 0.0 if is_read_again else None
    result(test, MONDAY, "held", due(MONDAY) + HOUR, reason="revision", value=value)
    assert Incident.objects.get().resolution == resolution


def flip(standing: Standing, new: str, *, at: datetime = NOW, **more: Any) -> Flip:
    given = {"old": "WARN", "revision": standing.revision, "window": standing.window, **more}
    window = given.pop("window")
    return Flip.objects.create(
        standing=standing,
        data_test=standing.data_test,
        window_start=window.start,
        window_end=window.end,
        new=new,
        at=at,
        **given,
    )


def healed(rows: dict[str, SpoiltWindow]) -> dict[str, str]:
    """Which of the windows were healed, and how."""
    found = {name: SpoiltWindow.objects.get(pk=row.pk) for name, row in rows.items()}
    return {name: row.how for name, row in found.items() if row.healed_at == NOW}


def test_a_failure_is_written_as_a_spoilt_window_of_a_new_incident(fares: DataTest) -> None:
    run = RunFactory.create(data_test=fares, findings={"partitions": [["a", "b"]]})
    standing = StandingFactory.create(data_test=fares, state="FAIL", sentence="too few", last_run=run)
    one = flip(standing, "FAIL", at=NOW - HOUR)
    handle_flip(one, NOW)
    incident, spoilt = Incident.objects.get(), SpoiltWindow.objects.get()
    assert (incident.dataset, incident.category, incident.kind) == (fares.dataset, "custom", "detected")
    assert (incident.tier, incident.owner, incident.team, incident.detected_at) == (2, "ada", "trips", NOW - HOUR)
    assert incident.open_key == f"{fares.dataset_id}:custom"
    assert incident.alert is not None
    assert (incident.alert.opened_at, incident.alert.owner, incident.alert.category) == (NOW, "ada", "custom")
    assert [(each.opened_at, each.closed_at) for each in Episode.objects.all()] == [(NOW - HOUR, None)]
    assert (spoilt.incident, spoilt.dataset, spoilt.data_test) == (incident, fares.dataset, fares)
    assert (spoilt.datacenter, spoilt.severity, spoilt.whole_table) == ("", "hard", False)
    assert (spoilt.window, spoilt.spoilt_at, spoilt.partitions) == (MONDAY, NOW - HOUR, [["a", "b"]])
    lines = [(row.event, row.actor, row.text, row.at) for row in Entry.objects.order_by("pk")]
    assert lines == [("opened", "assay", "fares fails", NOW), ("spoilt", "assay", f"fares {MONDAY.text}: too few", NOW)]
    left_out = Exclusion.objects.get()
    assert (left_out.dataset, left_out.datacenter, left_out.window) == (fares.dataset, "", MONDAY)
    assert left_out.holder == f"spoilt:{spoilt.pk}"
    assert Flip.objects.get().handled_at == NOW
    one.handled_at = None
    one.save()
    handle_flip(one, NOW + HOUR)
    assert (SpoiltWindow.objects.count(), Entry.objects.count()) == (1, 2)


@pytest.mark.parametrize(
    ("test", "place", "severity", "is_left_out"),
    [
        ({"datacenter": "phx"}, "phx", "hard", True),
        ({"spoils": "phx"}, "phx", "hard", True),
        ({"severity": "soft"}, "", "soft", True),
        ({"scope": Scope.TABLE}, "", "hard", False),
    ],
)
def test_a_window_is_spoilt_where_its_test_looks_as_hard_as_its_revision_says(
    fares: DataTest, test: dict[str, Any], place: str, severity: str, is_left_out: bool
) -> None:
    of = DataTestFactory.create(dataset=fares.dataset, **test)
    standing = StandingFactory.create(data_test=of, state="FAIL")
    handle_flip(flip(standing, "FAIL"), NOW)
    spoilt = SpoiltWindow.objects.get()
    assert (spoilt.datacenter, spoilt.severity, spoilt.partitions) == (place, severity, [])
    assert spoilt.whole_table is not is_left_out
    assert Exclusion.objects.exists() is is_left_out


@pytest.mark.parametrize(
    ("how", "failed_at", "more", "is_reopened"),
    [
        ("auto", NOW, {}, True),
        ("auto", NOW + SECOND, {}, False),
        ("forced", NOW, {}, False),
        ("auto", NOW, {"category": Category.FRESHNESS}, False),
        ("auto", NOW, {"kind": "reported"}, False),
        ("auto", NOW, {"dataset": None}, False),
    ],
)
def test_only_an_incident_that_ended_by_itself_a_period_ago_is_opened_again(
    fares: DataTest, how: str, failed_at: datetime, more: dict[str, Any], is_reopened: bool
) -> None:
    given = {**more, "dataset": DatasetFactory.create()} if "dataset" in more else more
    ended = incident_of(fares, open_key=None, resolved_at=NOW - DAY, resolution=how, **given)
    found = incident_for(fares, failed_at=failed_at, now=failed_at + HOUR)
    assert (found == ended) is is_reopened
    assert (found.resolved_at, found.resolution, found.open_key) == (None, "", f"{fares.dataset_id}:custom")
    last = Entry.objects.filter(incident=found).order_by("pk").last()
    assert last is not None
    assert (last.event, last.text) == ("reopened" if is_reopened else "opened", "fares fails")
    assert last.at == failed_at + HOUR
    episode = Episode.objects.filter(incident=found, closed_at=None).get()
    assert episode.opened_at == failed_at
    if is_reopened:
        assert found.detected_at == NOW - 5 * HOUR
        assert (found.alert_id != ended.alert_id, Alert.objects.filter(closed_at=None).count()) == (True, 2)


def test_an_open_incident_is_joined_whatever_ended_before(fares: DataTest) -> None:
    incident_of(fares, open_key=None, resolved_at=NOW - HOUR, resolution="auto")
    joined = incident_of(fares)
    assert incident_for(fares, failed_at=NOW, now=NOW) == joined
    assert entries(joined) == []


def windows_of(test: DataTest, incident: Incident) -> dict[str, SpoiltWindow]:
    other = DataTestFactory.create(dataset=test.dataset)
    return {
        "own": spoils(incident, test),
        "other window": spoils(incident, test, TUESDAY),
        "longer": spoils(incident, test, Window(start=MONDAY.start, end=TUESDAY.end)),
        "later start": spoils(incident, test, Window(start=MONDAY.start + HOUR, end=MONDAY.end)),
        "other test": spoils(incident, other),
        "no test": spoils(incident, None),
        "healed": spoils(incident, test, healed_at=NOW - DAY, how="auto"),
    }


@pytest.mark.parametrize(
    ("new", "kind", "how"),
    [
        ("FAIL", WaiverKind.FORCED, "forced"),
        ("WARN", WaiverKind.ACCEPTED, "accepted"),
        ("UNTESTED", None, "withdrawn"),
        ("PASS", None, "auto"),
        ("FAIL", None, ""),
    ],
)
def test_a_flip_heals_its_own_window_as_it_says(fares: DataTest, new: str, kind: WaiverKind | None, how: str) -> None:
    incident = incident_of(fares)
    rows = windows_of(fares, incident)
    for outcome, at in (("broken", DUE), ("broken", DUE + 5 * HOUR), ("held", DUE + 6 * HOUR)):
        RunFactory.create(data_test=fares, outcome=outcome, measured_at=at, due_at=DUE)
    standing = StandingFactory.create(
        data_test=fares, state=new, due_at=DUE, waiver=waiver(fares, kind=kind) if kind else None
    )
    handle_flip(flip(standing, new, waived=kind is not None), NOW)
    assert healed(rows) == ({"own": how} if how else {})
    said = "false positive" if how == "forced" else how
    assert entries(incident) == ([("healed", "assay", f"{MONDAY.text}: {said}", NOW)] if how else [])


def test_a_waiver_that_is_gone_and_a_retired_test_heal_nothing(fares: DataTest) -> None:
    incident = incident_of(fares)
    rows = {"own": spoils(incident, fares)}
    standing = StandingFactory.create(data_test=fares, state="FAIL")
    handle_flip(flip(standing, "FAIL", waived=True), NOW)
    DataTest.objects.update(retired_at=NOW)
    one = flip(standing, "UNTESTED")
    handle_flip(one, NOW)
    assert healed(rows) == {}
    one.refresh_from_db()
    assert one.handled_at == NOW


def test_flips_of_a_standing_are_handled_in_the_order_in_which_they_came(fares: DataTest) -> None:
    standing = StandingFactory.create(data_test=fares, state="FAIL")
    other = StandingFactory.create(data_test=fares, window=TUESDAY, state="FAIL")
    first = flip(standing, "UNTESTED")
    done = flip(standing, "FAIL", handled_at=NOW - DAY, window=SUNDAY)
    second = flip(standing, "FAIL")
    later = flip(standing, "UNTESTED")
    elsewhere = flip(other, "FAIL")
    handle_flip(second, NOW)
    handled = {row.pk: row.handled_at for row in Flip.objects.all()}
    assert handled == {first.pk: NOW, done.pk: NOW - DAY, second.pk: NOW, later.pk: None, elsewhere.pk: None}
    assert [row.window for row in SpoiltWindow.objects.all()] == [MONDAY]
    with pytest.raises(UnableToFinish):  # whoever had claimed it meanwhile has lost it
        handle_flip(first, NOW)


def test_the_spoilt_window_of_a_whole_table_moves_with_its_standing(fares: DataTest) -> None:
    table = DataTestFactory.create(dataset=fares.dataset, scope=Scope.TABLE)
    incident = incident_of(fares)
    rows = [spoils(incident, table), spoils(incident, table, healed_at=NOW), spoils(incident, fares)]
    run = RunFactory.create(data_test=table, findings={"partitions": [["2026-03-10", "2026-03-11"]]})
    standing = StandingFactory.create(data_test=table, window=TUESDAY, state="FAIL", last_run=run)
    assert list(spoilt_of(table, SUNDAY)) == rows[:1]
    handle_flip(flip(standing, "FAIL"), NOW)
    found = [SpoiltWindow.objects.get(pk=row.pk) for row in rows]
    assert [row.window for row in found] == [TUESDAY, MONDAY, MONDAY]
    assert found[0].partitions == [["2026-03-10", "2026-03-11"]]
    assert SpoiltWindow.objects.count() == 3


def test_healed_windows_enter_histories_again_and_each_incident_ends_with_its_last(
    fares: DataTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("incident_manager.incidents.services.MOST_NOTED", 1)
    one, other = incident_of(fares), incident_of(DataTestFactory.create())
    rows = {"monday": spoils(one, fares), "tuesday": spoils(one, fares, TUESDAY), "other": spoils(other, None)}
    left = spoils(one, fares, SUNDAY)
    before = spoils(one, fares, day("2026-03-07"), healed_at=NOW - DAY, how="auto")
    for row in (*rows.values(), left):
        Exclusion.objects.create(
            dataset=row.dataset, holder=f"spoilt:{row.pk}", window_start=row.window_start, window_end=row.window_end
        )
    heal([*rows.values(), before], Resolution.FORCED, now=NOW, actor="ada")
    assert healed(rows) == dict.fromkeys(rows, "forced")
    assert [each.holder for each in Exclusion.objects.all()] == [f"spoilt:{left.pk}"]
    before.refresh_from_db()
    assert (before.healed_at, before.how) == (NOW - DAY, "auto")
    said = "false positive"
    assert entries(one) == [
        ("healed", "ada", f"{MONDAY.text}: {said}", NOW),
        ("healed", "ada", f"2 more windows: {said}", NOW),
    ]
    one.refresh_from_db()
    other.refresh_from_db()
    assert (one.resolved_at, other.resolved_at, other.resolution) == (None, NOW, "forced")
    assert entries(other)[-1] == ("resolved", "ada", said, NOW)


def test_an_incident_that_ends_closes_its_episode_and_alert_and_has_what_it_explained_run_again(
    fares: DataTest,
) -> None:
    cause, effect = incident_of(fares), incident_of(reader := DataTestFactory.create(), owner="bob")
    retold = incident_of(DataTestFactory.create())
    Episode.objects.create(incident=cause, opened_at=NOW - 9 * DAY, closed_at=NOW - 8 * DAY)
    Alert.objects.filter(incident=effect).update(cause=cause.alert, inhibited_at=NOW - HOUR)
    Alert.objects.filter(incident=retold).update(cause=cause.alert)
    spoils(effect, reader)
    spoils(effect, reader, SUNDAY, healed_at=NOW - DAY)
    spoils(effect, None, TUESDAY)
    spoils(retold, DataTestFactory.create())
    resolve(cause, Resolution.FIXED, now=NOW, actor="ada", text="all well")
    assert (cause.resolved_at, cause.resolution, cause.open_key) == (NOW, "fixed", None)
    closed = Episode.objects.filter(incident=cause).order_by("pk").values_list("closed_at", flat=True)
    assert list(closed) == [NOW, NOW - 8 * DAY]
    assert Episode.objects.get(incident=effect).closed_at is None
    assert entries(cause) == [("resolved", "ada", f"{Resolution.FIXED.label.lower()}: all well", NOW)]
    alerts = {row.pk: row for row in Alert.objects.all()}
    assert cause.alert_id is not None
    assert (alerts[cause.alert_id].closed_at, alerts[cause.alert_id].closing) == (NOW, "fixed")
    released = {incident.pk: alerts[incident.alert_id or 0].release_after for incident in (cause, effect, retold)}
    assert released == {cause.pk: None, effect.pk: NOW, retold.pk: None}
    run = Run.objects.get()
    assert (run.data_test, run.window, run.reason) == (reader, MONDAY, "trigger")
    assert (run.requested_at, run.due_at) == (NOW, NOW)
    assert run.slot == f"{reader.pk}:{MONDAY.text}:trigger:resolved:{cause.pk}:{NOW.isoformat()}"
    assert entries(effect) == [("cause resolved", "assay", f"incident {cause.pk} has ended", NOW)]
    assert entries(retold) == []
    resolve(cause, Resolution.AUTO, now=NOW + DAY)
    assert len(entries(cause)) == 1


def test_an_incident_is_resolved_as_its_windows_were_healed_and_not_before(fares: DataTest) -> None:
    incident = incident_of(fares)
    assert not resolve_healed(incident, NOW)
    first, last = spoils(incident, fares, healed_at=NOW, how="withdrawn"), spoils(incident, fares, TUESDAY)
    spoils(incident_of(DataTestFactory.create()), None)
    assert not resolve_healed(incident, NOW)
    SpoiltWindow.objects.filter(pk=last.pk).update(healed_at=NOW, how="auto")
    assert resolve_healed(incident, NOW, actor="ada", text="at last")
    assert entries(incident) == [("resolved", "ada", f"{Resolution.AUTO.label.lower()}: at last", NOW)]
    assert Incident.objects.get(pk=incident.pk).resolution == "auto"
    assert first.how == "withdrawn"
    with pytest.raises(UnableToResolve) as refused:
        demand_open(incident)
    assert str(refused.value) == f"Incident {incident.pk} has ended at 2026-03-10 12:00 UTC already."


def test_an_annotation_is_one_line_that_names_all_it_gives(fares: DataTest) -> None:
    incident = incident_of(fares)
    other = incident_of(DataTestFactory.create())
    silent = Alert.objects.create(
        dataset=fares.dataset, category="custom", owner="ada", opened_at=NOW, cause=incident.alert
    )
    annotate(incident, author="ada", now=NOW, root_cause="late upload", backfill="half done", text="on it")
    annotate(incident, author="bob", now=NOW + HOUR, root_cause="", eta=NOW + DAY)
    annotate(incident, author="eve", now=NOW + 2 * HOUR, text="thanks")
    assert (incident.root_cause, incident.backfill, incident.eta) == ("", "half done", NOW + DAY)
    assert entries(incident) == [
        ("annotated", "ada", "root cause: late upload; backfill: half done; on it", NOW),
        ("annotated", "bob", f"root cause: ; eta: {NOW + DAY}", NOW + HOUR),
        ("annotated", "eve", "thanks", NOW + 2 * HOUR),
    ]
    silent.refresh_from_db()
    assert silent.next_notice_at == NOW + HOUR
    other.refresh_from_db()
    assert (other.root_cause, other.eta) == ("", None)


def test_an_incident_is_acknowledged_once(fares: DataTest) -> None:
    incident, other = incident_of(fares), incident_of(DataTestFactory.create())
    acknowledge(incident, author="ada", now=NOW)
    again = acknowledge(incident, author="bob", now=NOW + HOUR)
    assert (again.acknowledged_by, again.acknowledged_at) == ("ada", NOW)
    assert entries(incident) == [("acknowledged", "ada", "", NOW)]
    other.refresh_from_db()
    assert other.acknowledged_at is None


def test_a_rerun_asks_for_the_windows_of_live_tests_that_are_still_spoilt(
    fares: DataTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    incident = incident_of(fares)
    retired = DataTestFactory.create(dataset=fares.dataset, retired_at=NOW)
    unrevised = DataTestFactory.create(dataset=fares.dataset)
    DataTest.objects.filter(pk=unrevised.pk).update(revision=None)
    for row in (spoils(incident, fares), spoils(incident, fares, TUESDAY), spoils(incident, fares, SUNDAY)):
        assert row.healed_at is None
    spoils(incident, fares, day("2026-03-01"), healed_at=NOW)
    for test in (retired, unrevised, None):
        spoils(incident, test)
    spoils(incident_of(DataTestFactory.create()), fares, day("2026-03-02"))
    rerun(incident, author="ada", now=NOW)
    assert set(Run.objects.values_list("data_test", "window_start")) == {
        (fares.pk, window.start) for window in (SUNDAY, MONDAY, TUESDAY)
    }
    found = {(run.reason, run.requested_at, run.due_at, run.accept_from) for run in Run.objects.all()}
    assert found == {("manual", NOW, NOW, NOW)}
    assert Run.objects.filter(slot=f"{fares.pk}:{MONDAY.text}:manual:ada:{NOW.isoformat()}").exists()
    monkeypatch.setattr("incident_manager.incidents.users.MOST_RERUN", 2)
    some = rerun(incident, author="bob", now=NOW + HOUR)
    assert [run.window for run in some] == [TUESDAY, MONDAY]
    assert entries(incident) == [
        ("rerun", "ada", "3 windows", NOW),
        ("rerun", "bob", "2 windows, the newest of 3: run it again for more", NOW + HOUR),
    ]


def next_revision(test: DataTest, number: int = 2) -> Revision:
    """The newest revision of a test, which nobody has looked at yet."""
    older = test.revision
    assert older is not None
    test.revision = Revision.objects.create(
        data_test=test,
        number=number,
        assertion=older.assertion,
        tree=older.tree,
        severity="hard",
        schedule="partition",
        sustain=HOUR,
        catch_up="all",
        created_at=NOW,
    )
    test.save()
    return test.revision


def states(rows: dict[str, Standing]) -> dict[str, str]:
    return {name: Standing.objects.get(pk=row.pk).state for name, row in rows.items()}


def test_a_new_revision_has_what_an_older_one_left_in_trouble_or_waived_run_again(fares: DataTest) -> None:
    older = fares.revision
    word = waiver(fares)
    newest = next_revision(fares)
    windows = iter(day(f"2026-02-{n:02d}") for n in range(1, 9))

    def stands(state: str, **more: Any) -> Standing:
        row: Standing = StandingFactory.create(
            **{"data_test": fares, "revision": older, "window": next(windows), "state": state, **more}
        )
        return row

    wanted = [stands("WARN"), stands("FAIL"), stands("UNKNOWN"), stands("PASS", waiver=word)]
    stands("PASS")
    stands("PENDING")
    stands("FAIL", revision=newest)
    stands("FAIL", data_test=DataTestFactory.create(dataset=fares.dataset))
    spoilt = {"own": spoils(incident_of(fares), fares, wanted[0].window)}
    rejudge_revision(newest, NOW)
    runs = list(Run.objects.order_by("window_start"))
    assert [run.window for run in runs] == [row.window for row in wanted]
    assert {(run.data_test, run.revision, run.reason, run.requested_at, run.due_at) for run in runs} == {
        (fares, newest, "revision", NOW, NOW)
    }
    assert runs[0].slot.endswith(":revision:r2")
    assert Waiver.objects.get().ended_at == NOW
    assert Revision.objects.get(pk=newest.pk).rejudged_at == NOW
    assert healed(spoilt) == {}


def test_a_revision_that_was_overtaken_has_nothing_run(fares: DataTest) -> None:
    older = next_revision(fares)
    StandingFactory.create(data_test=fares, revision=older, state="FAIL")
    next_revision(fares, 3)
    rejudge_revision(older, NOW)
    assert not Run.objects.exists()
    assert Revision.objects.get(pk=older.pk).rejudged_at == NOW


def test_a_window_before_the_declared_columns_is_healed_and_left_untested(fares: DataTest) -> None:
    rows = {
        name: StandingFactory.create(data_test=fares, window=window, state="FAIL")
        for name, window in (("before", SUNDAY), ("since", MONDAY))
    }
    incident = incident_of(fares)
    spoilt = {"before": spoils(incident, fares, SUNDAY), "since": spoils(incident, fares)}
    DataTest.objects.filter(pk=fares.pk).update(judges_from=MONDAY.start)
    rejudge_revision(next_revision(DataTest.objects.get(pk=fares.pk)), NOW)
    assert states(rows) == {"before": "UNTESTED", "since": "FAIL"}
    assert healed(spoilt) == {"before": "redefined"}
    assert [run.window for run in Run.objects.all()] == [MONDAY]
    flipped = Flip.objects.get()
    assert (flipped.new, flipped.at) == ("UNTESTED", NOW)


def test_a_deadline_that_moved_into_the_future_takes_back_what_was_late(fares: DataTest) -> None:
    late = DataTestFactory.create(dataset=fares.dataset, category=Category.FRESHNESS)
    young = Window(start=TUESDAY.start - 16 * HOUR, end=TUESDAY.start + 8 * HOUR)  # due at 14:00
    rows = {
        name: StandingFactory.create(data_test=late, window=window, state="FAIL")
        for name, window in (("young", young), ("old", SUNDAY))
    }
    incident = incident_of(late)
    spoilt = {"young": spoils(incident, late, young), "old": spoils(incident, late, SUNDAY)}
    newest = next_revision(late)
    rejudge_revision(newest, NOW)
    assert states(rows) == {"young": "PENDING", "old": "FAIL"}
    assert healed(spoilt) == {"young": "redefined"}
    row = Standing.objects.get(pk=rows["young"].pk)
    assert (row.due_at, row.since, row.revision) == (NOW + 2 * HOUR, NOW, newest)
    assert dict(Run.objects.values_list("window_start", "due_at")) == {young.start: NOW + 2 * HOUR, SUNDAY.start: NOW}


@pytest.mark.parametrize("more", [{"category": Category.CUSTOM}, {"scope": Scope.TABLE}])
def test_only_the_freshness_of_partitions_waits_for_its_deadline(fares: DataTest, more: dict[str, Any]) -> None:
    test = DataTestFactory.create(**{"dataset": fares.dataset, "category": Category.FRESHNESS, **more})
    StandingFactory.create(data_test=test, window=TUESDAY, state="FAIL")
    rejudge_revision(next_revision(test), NOW)
    assert [run.due_at for run in Run.objects.all()] == [NOW]
    assert Standing.objects.get().state == "FAIL"


def test_what_a_retired_test_found_is_withdrawn(fares: DataTest) -> None:
    other = DataTestFactory.create(dataset=fares.dataset)
    given = {"next_check_at": NOW + HOUR, "next_age_at": NOW + HOUR}
    rows = {
        name: StandingFactory.create(data_test=test, state=state, window=window, **given)
        for name, test, state, window in (
            ("failed", fares, "FAIL", MONDAY),
            ("pending", fares, "PENDING", TUESDAY),
            ("sound", fares, "PASS", SUNDAY),
            ("other", other, "FAIL", MONDAY),
        )
    }
    incident = incident_of(fares)
    spoilt = {
        "monday": spoils(incident, fares),
        "tuesday": spoils(incident, fares, TUESDAY),
        "other": spoils(incident, other),
    }
    DataTest.objects.filter(pk=fares.pk).update(retired_at=NOW)
    assert fares.revision is not None
    rejudge_revision(fares.revision, NOW)
    assert states(rows) == {"failed": "UNTESTED", "pending": "PENDING", "sound": "PASS", "other": "FAIL"}
    assert healed(spoilt) == {"monday": "withdrawn", "tuesday": "withdrawn"}
    ages = set(Standing.objects.filter(data_test=fares).values_list("next_check_at", "next_age_at"))
    assert ages == {(None, None)}
    assert Standing.objects.get(data_test=other).next_check_at == NOW + HOUR
    assert not Run.objects.exists()


def test_a_dataset_without_an_alert_ends_its_incident_all_the_same() -> None:
    dataset: Dataset = DatasetFactory.create()
    incident = IncidentFactory.create(dataset=dataset)
    Incident.objects.update(alert=None)
    incident.refresh_from_db()
    resolve(incident, Resolution.WITHDRAWN, now=NOW)
    assert Incident.objects.get().resolution == "withdrawn"
    assert Alert.objects.get().closed_at is None


def at_once(*bodies: Callable[[], None]) -> None:
    """Run each body in its own thread, transaction and connection, all starting together."""
    barrier = Barrier(len(bodies))

    def run(body: Callable[[], None]) -> None:
        barrier.wait()
        try:
            in_transaction(body)
        finally:
            connection.close()

    threads = [Thread(target=run, args=(body,)) for body in bodies]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


@pytest.mark.django_db(transaction=True)
def test_two_tests_that_fail_at_once_share_one_incident_and_one_alert() -> None:
    table = new_table()
    tests = [new_test(dataset=table, sustain=timedelta(0)) for _ in range(4)]
    found: list[Incident] = []
    at_once(
        *(lambda test=test: found.append(incident_for(test, failed_at=due(MONDAY), now=due(MONDAY))) for test in tests)
    )
    assert len(found) == 4
    assert (Incident.objects.count(), Alert.objects.count()) == (1, 1)
    assert {incident.pk for incident in found} == {Incident.objects.get().pk}
