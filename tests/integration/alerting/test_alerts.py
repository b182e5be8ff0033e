"""Alerts: who is woken, when, and who is spared because something else explains it."""

from datetime import timedelta
from itertools import pairwise

import pytest

from alerting.models import Alert, Notice, Silence
from alerting.waivers import WaiverScope
from assay.models import Category, Dataset, DataTest
from execution_engine.models import Run
from incident_manager.models import Incident
from incident_manager.services import annotate, force_resolve
from tests.factories import DAY, HOUR, day
from tests.integration.story import (
    advance,
    due,
    fail,
    feed,
    hushed,
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

MONDAY, TUESDAY = day("2026-03-09"), day("2026-03-10")
MINUTE = timedelta(minutes=1)
GRACE = timedelta(hours=1)  # of tier 2
NOW = timedelta(0)


def chain(length: int, category: str = Category.FRESHNESS) -> list[DataTest]:
    """Tests without a sustain period on tables that feed each other, each with an owner of its own."""
    tables = [new_table(owner=f"owner-{n}") for n in range(length)]
    for upstream, downstream in pairwise(tables):
        feed(upstream, downstream)
    return [new_test(dataset=table, category=category, sustain=NOW) for table in tables]


def test_an_alert_shows_at_once_while_its_notice_waits_for_the_grace() -> None:
    test = new_test(sustain=NOW)
    start(due(MONDAY))
    fail(test, MONDAY)
    assert Alert.objects.get().opened_at == due(MONDAY)
    advance(due(MONDAY) + GRACE - MINUTE)
    assert told("opened") == []
    advance(due(MONDAY) + GRACE)
    assert told("opened") == ["ada"]
    assert Notice.objects.get().sent_at == due(MONDAY) + GRACE


def test_a_second_test_that_fails_while_its_incident_is_open_is_told_once_too() -> None:
    first = new_test(sustain=NOW, name="rides")
    second = new_test(dataset=first.dataset, sustain=NOW, name="paid")
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
    first = new_test(sustain=NOW, name="rides")
    second = new_test(dataset=first.dataset, sustain=NOW, name="paid")
    start(due(MONDAY))
    fail(first, MONDAY)
    result(second, MONDAY, "broken", due(MONDAY) + MINUTE)
    advance(due(MONDAY) + 2 * DAY)
    (said,) = Notice.objects.filter(alert__dataset=first.dataset)
    assert said.subject.startswith("rides and 1 more test fail for 2026-03-09: ")
    assert "- paid for 2026-03-09 in sea: broken" in said.body


def test_what_is_resolved_within_the_grace_is_told_to_nobody() -> None:
    test = new_test(sustain=NOW)
    start(due(MONDAY))
    fail(test, MONDAY)
    result(test, MONDAY, "held", due(MONDAY) + 30 * MINUTE)
    advance(due(MONDAY) + DAY)
    assert (told("opened"), told("recovered")) == ([], [])
    assert hushed("opened") == [("ada", "resolved within grace")]


def test_recovery_is_told_to_all_who_were_told_and_only_to_them() -> None:
    upstream, downstream = chain(2, Category.DUPLICATES)
    start(due(MONDAY))
    fail(upstream, MONDAY)
    advance(due(MONDAY) + GRACE)
    assert (told("opened"), told("downstream")) == (["owner-0"], ["owner-1"])
    result(upstream, MONDAY, "held", due(MONDAY) + 5 * HOUR)
    assert told("recovered") == ["owner-0", "owner-1"]
    assert downstream.dataset.alerts.count() == 0


def test_an_owner_is_told_once_however_many_windows_fail() -> None:
    test = new_test(sustain=NOW)
    start(due(MONDAY))
    for offset in range(3):
        fail(test, day(f"2026-03-{9 + offset:02d}"))
    advance(due(MONDAY) + 4 * DAY)
    assert told("opened") == ["ada"]


def test_a_chain_of_three_tables_that_is_late_by_ten_hours_wakes_one_owner() -> None:
    tests = chain(3)
    start(due(MONDAY))
    for test in tests:
        fail(test, MONDAY)
    for test in tests:
        result(test, MONDAY, "held", due(MONDAY) + 10 * HOUR)
    advance(due(MONDAY) + 2 * DAY)
    assert told("opened") == ["owner-0"]
    assert hushed("opened") == [("owner-1", "inhibited by its cause"), ("owner-2", "inhibited by its cause")]
    assert Incident.objects.count() == 3
    assert open_incidents() == []


def test_an_inhibited_alert_has_its_incident_linked_to_its_cause_which_lists_it() -> None:
    root, effect = chain(2)
    start(due(MONDAY))
    fail(root, MONDAY)
    silent = fail(effect, MONDAY)
    advance(due(MONDAY) + 2 * HOUR)
    cause = Incident.objects.get(dataset=root.dataset)
    assert silent.alert is not None
    silent.alert.refresh_from_db()
    assert silent.alert.cause == cause.alert
    assert effect.dataset.full_name in Notice.objects.get(event="opened", channel="log", suppressed="").body


def test_trouble_upstream_on_another_window_silences_nobody() -> None:
    root, effect = chain(2)
    start(due(MONDAY))
    fail(root, MONDAY)
    fail(effect, day("2026-03-10"))
    advance(due(MONDAY) + 2 * DAY)
    assert told("opened") == ["owner-0", "owner-1"]


def test_inhibition_ends_at_the_eta_of_the_cause_and_only_whoever_does_not_know_is_told() -> None:
    root, effect = chain(2)
    start(due(MONDAY))
    incident = fail(root, MONDAY)
    fail(effect, MONDAY)
    annotate(incident, author="owner-0", eta=due(MONDAY) + 5 * HOUR, now=due(MONDAY))
    Dataset.objects.filter(pk=effect.dataset.pk).update(owner="owner-2")  # told of nothing so far
    Alert.objects.filter(dataset=effect.dataset).update(owner="owner-2")
    advance(due(MONDAY) + 5 * HOUR - MINUTE)
    assert told("opened") == ["owner-0"]
    advance(due(MONDAY) + 5 * HOUR)
    assert told("updated") == ["owner-0", "owner-2"]
    assert hushed("opened") == [("owner-2", "already told")]  # as the owner of a direct downstream


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
    copy = new_test(dataset=root.dataset, category=Category.FRESHNESS, sustain=NOW, datacenter="phx")
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


def test_freshness_is_resolved_while_completeness_still_fails() -> None:
    table = new_table()
    freshness = new_test(dataset=table, category=Category.FRESHNESS, sustain=NOW)
    completeness = new_test(dataset=table, category=Category.COMPLETENESS, sustain=NOW)
    start(due(MONDAY))
    fail(freshness, MONDAY)
    fail(completeness, MONDAY)
    advance(due(MONDAY) + 2 * HOUR)
    assert told("opened") == ["ada"]
    result(freshness, MONDAY, "held", due(MONDAY) + 3 * HOUR)
    result(completeness, MONDAY, "broken", due(MONDAY) + 3 * HOUR + 5 * MINUTE)
    advance(due(MONDAY) + 4 * HOUR)
    assert told("opened") == ["ada", "ada"]
    assert [incident.category for incident in open_incidents()] == [Category.COMPLETENESS]


def test_notices_wait_while_their_cause_only_warns_at_most_for_their_own_sustain() -> None:
    table = new_table()
    freshness = new_test(dataset=table, category=Category.FRESHNESS, sustain=24 * HOUR)
    completeness = new_test(dataset=table, category=Category.COMPLETENESS, sustain=3 * HOUR)
    start(due(MONDAY))
    scheduled(freshness, MONDAY, "broken")
    scheduled(completeness, MONDAY, "broken")
    result(completeness, MONDAY, "broken", due(MONDAY) + 3 * HOUR)
    advance(due(MONDAY) + 6 * HOUR - MINUTE)
    assert told("opened") == []
    advance(due(MONDAY) + 6 * HOUR)
    assert told("opened") == ["ada"]


def test_an_alert_of_two_tests_waits_for_the_longer_of_their_sustain_periods() -> None:
    table = new_table()
    freshness = new_test(dataset=table, category=Category.FRESHNESS, sustain=24 * HOUR)
    short, long = (new_test(dataset=table, category=Category.COMPLETENESS, sustain=hours * HOUR) for hours in (1, 3))
    start(due(MONDAY))
    for test in (freshness, short, long):
        scheduled(test, MONDAY, "broken")
    result(short, MONDAY, "broken", due(MONDAY) + HOUR)  # fails; with the grace it could be told an hour later
    advance(due(MONDAY) + 4 * HOUR - MINUTE)
    assert told("opened") == []
    advance(due(MONDAY) + 4 * HOUR)
    assert told("opened") == ["ada"]


def test_a_silence_holds_notices_back_until_its_end() -> None:
    test = new_test(sustain=NOW)
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


def test_who_was_told_of_a_false_positive_hears_that_it_was_one() -> None:
    test = new_test(sustain=NOW)
    start(due(MONDAY))
    incident = fail(test, MONDAY)
    advance(due(MONDAY) + GRACE)
    force_resolve(incident, scope=WaiverScope.WINDOW, reason="twins", author="ada", now=due(MONDAY) + GRACE)
    settle()
    assert (told("withdrawn"), told("recovered")) == (["ada"], [])
    assert "false positive" in Notice.objects.get(event="withdrawn").body
