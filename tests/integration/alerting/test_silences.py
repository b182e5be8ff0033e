"""Silences and alerts that are silent: which rows a word or a result reaches, and in what state it leaves them."""

from datetime import datetime, timedelta
from typing import Any

import pytest

from alerting.inhibition.selectors import decide_again
from alerting.models import Alert, Silence, Standing
from alerting.notices.services import LONGEST, UnableToSilence, end_silence, silence, silences_of
from assay.models import Category, Dataset, DataTest
from tests.factories import DAY, HOUR, NOW, DatasetFactory, DataTestFactory, StandingFactory

pytestmark = pytest.mark.django_db

LATER = NOW + 5 * HOUR
SECOND = timedelta(seconds=1)


def alert(dataset: Dataset, category: str = Category.FRESHNESS, **more: Any) -> Alert:
    """An open alert since now that is decided about in five hours."""
    given = {"owner": dataset.owner, "opened_at": NOW, "next_notice_at": LATER, **more}
    return Alert.objects.create(dataset=dataset, category=category, **given)


def silenced(**given: Any) -> Silence:
    return silence(**{"ends_at": NOW + HOUR, "reason": "Migration.", "author": "grace", "now": NOW, **given})


def decided_at(*rows: Alert) -> list[datetime | None]:
    return [Alert.objects.get(pk=row.pk).next_notice_at for row in rows]


def test_a_silence_is_written_from_now_on_with_all_that_was_said() -> None:
    trips = DatasetFactory.create()
    made = Silence.objects.get(pk=silenced(dataset=trips, category="freshness", owner="ada").pk)
    assert (made.dataset, made.category, made.owner) == (trips, "freshness", "ada")
    assert (made.starts_at, made.ends_at) == (NOW, NOW + HOUR)
    assert (made.author, made.reason) == ("grace", "Migration.")


@pytest.mark.parametrize(
    "given", [{"category": "custom"}, {"owner": "ada"}, {"owner": "ada", "ends_at": NOW + LONGEST}]
)
def test_one_thing_to_match_and_ninety_days_are_enough(given: dict[str, Any]) -> None:
    assert LONGEST == 90 * DAY
    assert silenced(**given).pk == Silence.objects.get().pk


@pytest.mark.parametrize(
    ("given", "field", "text"),
    [
        ({}, "dataset", "Say what to mute: a dataset, a category or an owner."),
        ({"owner": "ada", "reason": " \n"}, "reason", "A reason is missing: say why, for the people who are not told."),
        (
            {"owner": "ada", "ends_at": NOW},
            "ends_at",
            "The end has passed: it is 2026-03-10 12:00 UTC. Name a later one.",
        ),
        (
            {"owner": "ada", "ends_at": NOW + 90 * DAY + SECOND},
            "ends_at",
            "A mute lasts at most 90 days: end it by 2026-06-08 12:00 UTC, and renew it then.",
        ),
    ],
)
def test_a_silence_that_must_not_be_is_refused_and_leaves_nothing(given: dict[str, Any], field: str, text: str) -> None:
    with pytest.raises(UnableToSilence) as refused:
        silenced(**given)
    assert (refused.value.field, str(refused.value)) == (field, text)
    assert not Silence.objects.exists()


@pytest.mark.parametrize(
    ("of_dataset", "category", "reached"),
    [(True, "", ["own", "other category"]), (True, "freshness", ["own"]), (False, "freshness", ["own", "other table"])],
)
def test_the_end_of_a_silence_decides_at_once_of_what_it_may_have_held_back(
    of_dataset: bool, category: str, reached: list[str]
) -> None:
    trips, stops = DatasetFactory.create_batch(2)
    rows = {
        "own": alert(trips),
        "other category": alert(trips, Category.CUSTOM),
        "other table": alert(stops),
        "closed": alert(trips, closed_at=NOW),
        "decided before": alert(trips, next_notice_at=NOW + HOUR - SECOND),
        "never": alert(trips, next_notice_at=None),
    }
    row = silenced(dataset=trips if of_dataset else None, category=category, owner="ada", ends_at=LATER)
    at = NOW + HOUR
    ended = end_silence(row, now=at)
    assert (ended.pk, ended.ends_at, Silence.objects.get().ends_at) == (row.pk, at, at)
    before = dict(zip(rows, (LATER, LATER, LATER, LATER, NOW + HOUR - SECOND, None), strict=True))
    expected = {**before, **dict.fromkeys(reached, at)}
    assert dict(zip(rows, decided_at(*rows.values()), strict=True)) == expected


def test_what_has_ended_cannot_be_ended_again() -> None:
    row = silenced(owner="ada")
    with pytest.raises(UnableToSilence) as refused:
        end_silence(row, now=NOW + HOUR)
    assert str(refused.value) == f"Mute {row.pk} already ended at 2026-03-10 13:00 UTC."
    assert refused.value.field == "ends_at"


def test_the_silences_of_an_alert_match_it_and_last_into_its_time_the_oldest_first() -> None:
    trips, stops = DatasetFactory.create_batch(2)
    found = alert(trips)
    matching = [
        silenced(dataset=trips, now=NOW - DAY, ends_at=NOW + SECOND),
        silenced(category="freshness"),
        silenced(dataset=trips, category="freshness", ends_at=NOW + DAY),
        silenced(owner="anybody"),  # whose turn it is, is decided by recipient
    ]
    silenced(dataset=trips, now=NOW - DAY, ends_at=NOW)
    silenced(dataset=stops)
    silenced(dataset=trips, category="custom")
    assert list(silences_of(found)) == matching


def standing(test: DataTest, **more: Any) -> Standing:
    given = {"state": "FAIL", "last_outcome": "broken", **more}
    row: Standing = StandingFactory.create(data_test=test, **given)
    return row


def silent_alerts(trips: Dataset, stops: Dataset) -> dict[str, Alert]:
    cause = alert(stops, Category.DUPLICATES)
    return {
        "completeness": alert(trips, Category.COMPLETENESS, inhibited_at=NOW, cause=cause),
        "consistency": alert(trips, Category.CONSISTENCY, inhibited_at=NOW, cause=cause),
        "freshness": alert(trips, inhibited_at=NOW, cause=cause),
        "custom": alert(trips, Category.CUSTOM, inhibited_at=NOW, cause=cause),
        "waiting": alert(stops, Category.CUSTOM, inhibited_at=NOW),
        "elsewhere": alert(stops, inhibited_at=NOW, cause=cause),
        "told": alert(trips, inhibited_at=NOW, told_at=NOW),
        "closed": alert(trips, inhibited_at=NOW, closed_at=NOW),
        "loud": alert(trips),
    }


@pytest.mark.parametrize(
    ("category", "was", "now_is", "outcome", "reached"),
    [
        ("freshness", "FAIL", "FAIL", "broken", {"completeness", "consistency", "freshness"}),
        ("custom", "FAIL", "FAIL", "broken", {"custom"}),
        ("completeness", "FAIL", "FAIL", "broken", {"completeness"}),
        ("custom", "FAIL", "PASS", "held", set()),
        ("custom", "WARN", "WARN", "held", set()),
        ("custom", "WARN", "PASS", "held", {"waiting"}),
        ("custom", "WARN", "FAIL", "broken", {"custom", "waiting"}),
        ("custom", "PASS", "WARN", "broken", {"custom"}),
    ],
)
def test_a_new_result_decides_again_of_its_own_silent_alerts_and_of_what_waited_for_a_warning(
    category: str, was: str, now_is: str, outcome: str, reached: set[str]
) -> None:
    trips, stops = DatasetFactory.create_batch(2)
    rows = silent_alerts(trips, stops)
    test = DataTestFactory.create(dataset=trips, category=category)
    decide_again(standing(test, state=now_is, last_outcome=outcome), test, was=was, now=NOW + SECOND)
    found = {name for name, row in rows.items() if decided_at(row) != [LATER]}
    assert found == reached
    assert {decided_at(rows[name])[0] for name in found} <= {NOW + SECOND}
