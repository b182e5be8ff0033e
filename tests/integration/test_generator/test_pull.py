"""The scheduled read of a catalog: its row, the audit, who is told of what it refuses, and when the next one is."""

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from alerting.models import Notice
from alerting.tasks import tell_of_pull
from assay import clock
from assay.config import config
from assay.models import AuditEntry, Dataset, Pull
from assay.queue.drain import bring_back
from assay.scheduler.beat import begin_pulling
from assay.time.durations import UnableToReadCadence, next_time
from test_generator.pulls import pull
from test_generator.services import pull_due
from tests.factories import DAY, HOUR, NOW, DatasetFactory
from web.doctor import pulled

pytestmark = pytest.mark.django_db

QUARTER = timedelta(minutes=15)
SECOND = timedelta(seconds=1)


@pytest.fixture
def catalog(db: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A catalog of one table, that is read every quarter of an hour as the source ``ours``, and next at noon."""
    path = write(tmp_path / "catalog.yaml", "trips")
    monkeypatch.setattr(config(), "catalog_path", path)
    monkeypatch.setattr(config(), "catalog_source", "ours")
    clock.simulate(NOW)
    begin_pulling(NOW)
    return path


def write(path: Path, *names: str, tier: int = 1, owner: str = "ada") -> Path:
    path.write_text(
        "datasets:\n"
        + "".join(
            f"  - {{name: raw.{name}, owner: {owner}, tier: {tier}, "
            f"replicas: [{{datacenter: sea, storage: parquet, location: /sea/{name}}}]}}\n"
            for name in names
        )
    )
    return path


def read(at: datetime) -> Pull:
    clock.simulate(at)
    Pull.objects.update(due_at=at)
    assert pull_due() == 1
    return Pull.objects.get()


def test_a_read_is_noted_and_due_again_after_the_cadence(catalog: Path) -> None:
    clock.simulate(NOW - SECOND)
    assert pull_due() == 0
    clock.simulate(NOW)
    assert pull_due() == 1
    row = Pull.objects.get()
    told = (row.due_at, row.read_at, row.failing_since, row.fault, row.tell_at, row.told_since)
    assert told == (NOW + QUARTER, NOW, None, "", None, None)
    assert (row.lease_until, row.attempts, row.epoch) == (None, 0, 1)
    found = Dataset.objects.get()
    assert (found.full_name, found.source, found.created_at) == ("raw.trips", "ours", NOW)


def test_only_what_a_read_has_changed_is_audited(catalog: Path) -> None:
    for number in range(5):
        DatasetFactory.create(namespace="left", name=f"t{number:02}", source="ours")
    DatasetFactory.create(namespace="left", name="kept", source="other")
    names = ("trips", *(f"r{number}" for number in range(11)))
    left = [f"left.t{number:02}" for number in range(5)]
    read(NOW)
    write(catalog, *names)
    read(NOW + HOUR)
    read(NOW + 2 * HOUR)
    write(catalog, *names, owner="rita")
    read(NOW + 3 * HOUR)
    write(catalog, *names[1:], owner="rita")
    read(NOW + 4 * HOUR)
    rows = AuditEntry.objects.order_by("pk")
    assert {(row.actor, row.via, row.action, row.object_kind, row.object_id) for row in rows} == {
        ("assay", "pull", "catalog.synced", "catalog", "ours")
    }
    full = [f"raw.{name}" for name in names]
    beside: dict[str, list[str]] = {"templates": [], "bindings": []}
    assert [(row.before, row.after) for row in rows] == [
        (None, {"created": ["raw.trips"], "changed": [], "missing": left, **beside}),
        (None, {"created": full[1:], "changed": [], "missing": [], **beside}),
        (None, {"created": [], "changed": full, "missing": [], **beside}),
        (None, {"created": [], "changed": [], "missing": ["raw.trips"], **beside}),
    ]


def test_a_refused_read_leaves_everything_and_says_since_when_it_fails(catalog: Path) -> None:
    read(NOW)
    write(catalog, "trips", "rides", tier=9)
    row = read(NOW + HOUR)
    assert "tier: found 9" in row.fault
    told = (row.due_at, row.read_at, row.failing_since, row.tell_at)
    assert told == (NOW + HOUR + QUARTER, NOW, NOW + HOUR, NOW + HOUR)
    row = read(NOW + 2 * HOUR)
    assert (row.read_at, row.failing_since, row.tell_at) == (NOW, NOW + HOUR, NOW + HOUR)
    assert (row.lease_until, row.attempts) == (None, 0)
    assert (Dataset.objects.count(), AuditEntry.objects.count()) == (1, 1)


def test_on_call_that_knows_of_the_failing_is_told_once_it_is_over(catalog: Path) -> None:
    write(catalog, "trips", tier=9)
    read(NOW)
    Pull.objects.update(tell_at=None, told_since=NOW)
    row = read(NOW + HOUR)
    assert (row.failing_since, row.tell_at, row.told_since) == (NOW, None, NOW)
    write(catalog, "trips")
    row = read(NOW + 2 * HOUR)
    assert (row.failing_since, row.fault, row.read_at) == (None, "", NOW + 2 * HOUR)
    assert (row.tell_at, row.told_since) == (NOW + 2 * HOUR, NOW)


def test_a_failing_that_ends_before_on_call_was_told_is_told_to_nobody(catalog: Path) -> None:
    write(catalog, "trips", tier=9)
    assert read(NOW).tell_at == NOW
    write(catalog, "trips")
    assert read(NOW + HOUR).tell_at is None


@pytest.mark.parametrize("wrong", ["another source's", "a test of none"])
def test_whatever_a_sync_refuses_is_a_failed_read(catalog: Path, tmp_path: Path, wrong: str) -> None:
    if wrong == "another source's":
        DatasetFactory.create(name="trips", source="other")
        assert "raw.trips belongs to the source 'other'" in read(NOW).fault
    else:
        (tmp_path / "_delta_log").mkdir()
        catalog.write_text(catalog.read_text().replace("/sea/trips", str(tmp_path)))
        assert "raw.trips in sea: " in read(NOW).fault
    assert not Dataset.objects.filter(source="ours").exists()


def test_a_row_goes_once_the_settings_name_no_catalog(catalog: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config(), "catalog_path", None)
    pull(Pull.objects.get(), NOW)
    assert not Pull.objects.exists()
    assert not Dataset.objects.exists()


@pytest.mark.logs_a_failure
def test_a_read_has_a_quarter_of_an_hour_until_another_may_try(catalog: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config(), "catalog_every", "never")
    assert (pull_due(), pull_due()) == (1, 0)
    lease_until = Pull.objects.get().lease_until
    assert lease_until is not None
    assert QUARTER - timedelta(minutes=1) < lease_until - clock.database_now() <= QUARTER


def again(quarters: int) -> None:
    clock.simulate(NOW + quarters * QUARTER)
    assert pull_due() == 1
    tell_of_pull()


def subjects() -> list[str]:
    return list(Notice.objects.order_by("pk").values_list("subject", flat=True))


@pytest.mark.parametrize("wrong", ["tier 9", "too much gone", "no file"])
def test_what_is_refused_leaves_the_catalog_as_it_was_and_is_told_once(
    catalog: Path, client: Client, admin_user: Any, wrong: str
) -> None:
    names = [f"t{number}" for number in range(12)]
    write(catalog, *names)
    pull_due()
    match wrong:
        case "no file":
            catalog.unlink()
        case "too much gone":
            write(catalog, *names[:3])
        case _:
            write(catalog, *names, tier=9)
    for quarter in (1, 2, 3):
        again(quarter)
    assert Dataset.objects.filter(missing_since__isnull=True, tier=1).count() == 12
    assert subjects() == ["Assay cannot read the catalog"]
    assert Notice.objects.get().recipient == config().on_call
    found = pulled()
    assert (found.is_well, "2026-03-10 12:15" in found.found, "2026-03-10 13:00" in found.mend) == (False, True, True)
    client.force_login(admin_user)
    assert "has refused it since" in client.get("/").content.decode()


def test_once_it_is_right_again_it_is_read_and_on_call_hears_of_it_once(
    catalog: Path, client: Client, admin_user: Any
) -> None:
    write(catalog, "trips", tier=9)
    again(0)
    write(catalog, "trips", tier=2)
    for quarter in (1, 2):
        again(quarter)
    assert Dataset.objects.get().tier == 2
    assert subjects() == ["Assay cannot read the catalog", "Assay reads the catalog again"]
    assert pulled().is_well
    client.force_login(admin_user)
    assert "it is refused" not in client.get("/").content.decode()


def test_where_nothing_is_named_nothing_is_read(catalog: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config(), "catalog_path", None)
    begin_pulling(NOW)
    assert (Pull.objects.exists(), pull_due()) == (False, 0)


@pytest.mark.parametrize(
    ("cadence", "after"),
    [("15m", NOW + QUARTER), ("1d", NOW + DAY), ("0 * * * *", NOW + HOUR)],
)
def test_a_catalog_is_read_every_so_long_or_by_a_cron_line(cadence: str, after: datetime) -> None:
    assert next_time(cadence, NOW) == after


@pytest.mark.parametrize("cadence", ["", "0s", "often", "* * *", "99 * * * *", "0 0 30 2 *"])
def test_what_is_no_cadence_is_refused(cadence: str) -> None:
    with pytest.raises(UnableToReadCadence, match="neither a length of time"):
        next_time(cadence, NOW)


def test_a_read_that_a_clock_put_off_for_a_year_comes_when_its_cadence_has_it(catalog: Path) -> None:
    clock.simulate(NOW + 366 * DAY)
    assert pull_due() == 1
    clock.simulate(NOW)
    bring_back(NOW)
    assert Pull.objects.get().due_at == NOW + QUARTER
    bring_back(NOW + QUARTER / 3)
    assert Pull.objects.get().due_at == NOW + QUARTER
