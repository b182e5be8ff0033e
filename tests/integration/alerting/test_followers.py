"""Who follows a dataset hears of its incidents, at once or by the digest of the week."""

from datetime import datetime, timedelta
from pathlib import Path

import pytest

from alerting.alerts.services import notified_addresses
from alerting.models import Alert, Notice
from assay import clock
from assay.accounts import follow, unfollow
from assay.config import config
from assay.models import Dataset, DataTest, Member, Round
from tests.factories import DAY, HOUR, day
from tests.integration.story import advance, due, fail, feed, hushed, new_table, new_test, result, settle, start, told
from tests.integration.web.people import member

pytestmark = pytest.mark.django_db

MONDAY = day("2026-03-09")  # due on Tuesday at 06:00 UTC
NEXT_MONDAY = MONDAY.start + timedelta(days=7, hours=6)


@pytest.fixture
def paid() -> DataTest:
    """A test of ada's table, which fails as soon as it is due."""
    start(due(MONDAY))
    return new_test(dataset=new_table(owner="ada", team="trips"), sustain=timedelta())


def follower(name: str, *datasets: Dataset, at_once: bool) -> Member:
    user = member(name)
    for dataset in datasets:
        follow(user, dataset)
    Member.objects.filter(user=user).update(hears_at_once=at_once)
    return user.member


def tell_digests_at(instant: datetime) -> list[str]:
    """The bodies of the digests that people, and not teams, are told on a day."""
    Round.objects.filter(name="digest").delete()
    Round.objects.create(name="digest", due_at=instant)
    settle()
    return list(Notice.objects.filter(event="digest", key__startswith="follows").values_list("body", flat=True))


def test_a_follower_hears_at_once_and_of_the_end_as_the_owner_does(paid: DataTest) -> None:
    follower("fay", paid.dataset, at_once=True)
    fail(paid, MONDAY)
    advance(due(MONDAY) + HOUR)
    assert (told("opened"), told("followed")) == (["ada"], ["fay"])
    assert f"You follow {paid.dataset};" in Notice.objects.get(event="followed").body
    result(paid, MONDAY, "held", due(MONDAY) + DAY)
    settle()
    assert told("recovered") == ["ada", "fay"]


def test_who_no_longer_hears_at_once_or_may_not_read_it_hears_of_the_end_alone(paid: DataTest) -> None:
    for name in ("fay", "gus", "hal"):
        follower(name, paid.dataset, at_once=True)
    fail(paid, MONDAY)
    advance(due(MONDAY) + HOUR)
    Dataset.objects.update(readers="user:fay\nuser:gus")
    Member.objects.filter(user__username="fay").update(hears_at_once=False)
    reached = notified_addresses(Alert.objects.get())
    assert [who for who, places in reached.items() if places] == ["ada", "gus"]
    result(paid, MONDAY, "held", due(MONDAY) + DAY)
    settle()
    assert told("recovered") == ["ada", "fay", "gus", "hal"]


def test_an_owner_or_a_reader_of_the_data_who_also_follows_is_told_once(paid: DataTest) -> None:
    feed(paid.dataset, new_table(owner="eve"))
    for name in ("ada", "eve"):
        follower(name, paid.dataset, at_once=True)
    fail(paid, MONDAY)
    advance(due(MONDAY) + HOUR)
    assert (told("opened"), told("downstream"), told("followed")) == (["ada"], ["eve"], [])
    assert hushed("followed") == [("ada", "already told"), ("eve", "already told")]


def test_who_may_not_read_it_was_shut_out_or_no_longer_follows_hears_nothing(paid: DataTest) -> None:
    for name in ("fay", "gus", "hal"):
        follower(name, paid.dataset, at_once=True)
    paid.dataset.readers = "user:gus\nuser:hal"
    paid.dataset.save()
    gus, hal = (Member.objects.get(user__username=name).user for name in ("gus", "hal"))
    gus.is_active = False
    gus.save()
    unfollow(hal, paid.dataset)
    fail(paid, MONDAY)
    advance(due(MONDAY) + HOUR)
    assert (told("followed"), hushed("followed")) == ([], [])


def test_a_follower_is_reached_by_their_own_route(
    paid: DataTest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "routes.yaml").write_text(
        "default: {channels: {email: all@x.org}}\nowners: {fay: {channels: {webhook: fay}}}"
    )
    monkeypatch.setenv("ASSAY_ROUTES", str(tmp_path / "routes.yaml"))
    monkeypatch.setenv("ASSAY_WEBHOOK_URL", "https://hooks.example.org/")
    config.cache_clear()
    follower("fay", paid.dataset, at_once=True)
    follower("gus", paid.dataset, at_once=True)
    fail(paid, MONDAY)
    advance(due(MONDAY) + HOUR)
    config.cache_clear()
    rows = Notice.objects.filter(event="followed").exclude(channel="log")
    assert set(rows.values_list("recipient", "channel", "address")) == {
        ("fay", "webhook", "fay"),
        ("gus", "webhook", ""),
    }


def test_the_digest_tells_of_the_week_of_what_one_follows_once(paid: DataTest) -> None:
    healed, own, hidden, quiet = (new_test(dataset=new_table(owner=who), sustain=timedelta()) for who in "bfbb")
    own.dataset.owner, hidden.dataset.readers = "fay", "role:admin"
    for test in (own, hidden):
        test.dataset.save()
    follower("fay", *(test.dataset for test in (paid, healed, own, hidden, quiet)), at_once=False)
    follower("gus", paid.dataset, at_once=True)
    follower("hal", quiet.dataset, at_once=False)
    for test in (paid, healed, own, hidden):
        fail(test, MONDAY)
    advance(due(MONDAY) + HOUR)
    result(healed, MONDAY, "held", due(MONDAY) + DAY)
    settle()
    assert told("followed") == ["gus"]
    clock.simulate(NEXT_MONDAY)
    (body,) = tell_digests_at(NEXT_MONDAY)
    assert tell_digests_at(NEXT_MONDAY) == [body]
    opened, ended = body.split("Incidents that ended\n")
    assert f"- [tier 2] {paid.dataset}: custom since 2026-03-10 06:00 UTC" in opened
    assert f"- [tier 2] {healed.dataset}: custom from 2026-03-10 06:00 to 2026-03-11 06:00 UTC, auto" in ended
    assert (opened.count("[tier"), ended.count("[tier")) == (1, 1)


def test_without_an_incident_there_is_no_digest_of_what_one_follows(paid: DataTest) -> None:
    follower("fay", paid.dataset, at_once=False)
    clock.simulate(NEXT_MONDAY)
    assert tell_digests_at(NEXT_MONDAY) == []
