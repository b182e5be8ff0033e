"""The scheduled read of a catalog: as a sync, kept as it was where it is refused, and told once."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from alerting.models import Notice
from alerting.tasks import tell_of_pull
from assay import clock
from assay.config import config
from assay.models import Dataset, Pull
from assay.queue.drain import bring_back
from assay.scheduler.beat import begin_pulling
from assay.time.durations import UnableToReadCadence, next_time
from test_generator.tasks import pull
from web.doctor import pulled

NOW = datetime(2026, 3, 10, 12, tzinfo=UTC)
QUARTER = timedelta(minutes=15)


def write(path: Path, names: int, tier: int = 1) -> None:
    path.write_text(
        "datasets:\n"
        + "".join(
            f"  - {{name: raw.t{number}, owner: ada, tier: {tier}, "
            f"replicas: [{{datacenter: sea, storage: parquet, location: /sea/t{number}}}]}}\n"
            for number in range(names)
        )
    )


@pytest.fixture
def catalog(db: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A catalog of twelve tables, which is read every quarter of an hour from noon on."""
    path = tmp_path / "catalog.yaml"
    write(path, 12)
    monkeypatch.setattr(config(), "catalog_path", path)
    clock.simulate(NOW)
    begin_pulling(NOW)
    return path


def again(quarters: int) -> None:
    clock.simulate(NOW + quarters * QUARTER)
    assert pull() == 1
    tell_of_pull()


def subjects() -> list[str]:
    return list(Notice.objects.order_by("pk").values_list("subject", flat=True))


@pytest.mark.parametrize("wrong", ["tier 9", "too much gone", "no file"])
def test_what_is_refused_leaves_the_catalog_as_it_was_and_is_told_once(
    catalog: Path, client: Client, admin_user: Any, wrong: str
) -> None:
    pull()
    catalog.unlink() if wrong == "no file" else write(catalog, *((3,) if wrong == "too much gone" else (12, 9)))
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
    write(catalog, 12, tier=9)
    pull()
    tell_of_pull()
    write(catalog, 12, tier=2)
    for quarter in (1, 2):
        again(quarter)
    assert Dataset.objects.filter(tier=2).count() == 12
    assert subjects() == ["Assay cannot read the catalog", "Assay reads the catalog again"]
    assert pulled().is_well
    client.force_login(admin_user)
    assert "it is refused" not in client.get("/").content.decode()


def test_where_nothing_is_named_nothing_is_read(catalog: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config(), "catalog_path", None)
    begin_pulling(NOW)
    assert (Pull.objects.exists(), pull()) == (False, 0)


@pytest.mark.parametrize(
    ("cadence", "after"),
    [("15m", NOW + QUARTER), ("1d", NOW + timedelta(days=1)), ("0 * * * *", NOW + timedelta(hours=1))],
)
def test_a_catalog_is_read_every_so_long_or_by_a_cron_line(cadence: str, after: datetime) -> None:
    assert next_time(cadence, NOW) == after


@pytest.mark.parametrize("cadence", ["", "0s", "often", "* * *", "99 * * * *", "0 0 30 2 *"])
def test_what_is_no_cadence_is_refused(cadence: str) -> None:
    with pytest.raises(UnableToReadCadence, match="neither a length of time"):
        next_time(cadence, NOW)


def test_a_read_that_a_clock_put_off_for_a_year_comes_when_its_cadence_has_it(catalog: Path) -> None:
    clock.simulate(NOW + timedelta(days=366))
    assert pull() == 1
    clock.simulate(NOW)
    bring_back(NOW)
    assert Pull.objects.get().due_at == NOW + QUARTER
    bring_back(NOW + QUARTER / 3)
    assert Pull.objects.get().due_at == NOW + QUARTER
