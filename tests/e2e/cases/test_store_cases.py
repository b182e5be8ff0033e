"""A table in an object store that is away, whose keys expire, or whose objects are replaced while they are read."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow.fs import S3FileSystem

from assay.catalog.profile import ReplicaProfile
from assay.config import config
from execution_engine import storage
from execution_engine.engines.child.engine import ChildEngine
from execution_engine.outcome import Reason
from tests.e2e.cases.people import told
from tests.e2e.scenario import Scenario, custom, dataset, incidents, runs, state
from tests.integration.engines.stored import SECRET, settings, store, stores
from tests.integration.kernels.proxy import Proxy, before

pytestmark = [pytest.mark.django_db, pytest.mark.timeout(300)]

MONDAY, VOLUME = "2026-03-09", "raw.trips/volume"
ENOUGH = custom("raw.trips", "volume", "sum(fare) >= 1000")


@dataclass(frozen=True, kw_only=True)
class Company:
    """A scenario whose trips lie in a store, and what stands before it."""

    scenario: Scenario
    owner: S3FileSystem
    proxy: Proxy

    def write(self, rows: int, fare: float = 10.0) -> None:
        """Replace the trips of Monday, in two objects."""
        for part, ids in enumerate((range(rows // 2), range(rows // 2, rows))):
            trips = pa.table({"id": pa.array(ids, pa.int64()), "fare": [fare] * len(ids)})
            pq.write_table(trips, f"lake/trips/datestr={MONDAY}/part-{part}.parquet", filesystem=self.owner)


@pytest.fixture
def company(scenario: Scenario, tmp_path: Path) -> Iterator[Company]:
    """Spark in a child reads the store through a proxy, with a key from a file."""
    (tmp_path / "key").write_text("k")
    with store() as owner, before(config().object_stores[0].endpoint, owner) as proxy:
        named = stores(proxy.endpoint, access_key=f"file:{tmp_path / 'key'}")
        engine = ChildEngine()
        with settings(ASSAY_STORES=named, LAKE_SECRET=SECRET), storage.using(engine):
            place = ReplicaProfile(datacenter="sea", storage="parquet", location="s3://lake/trips")
            scenario.catalog(dataset("raw.trips", replicas=(place,), novelty=False), custom=[ENOUGH])
            yield Company(scenario=scenario, owner=owner, proxy=proxy)
        engine.close()


def test_a_store_that_is_away_is_tried_again_and_opens_no_incident(company: Company) -> None:
    company.write(100)
    company.scenario.until("2026-03-10 05:59")
    company.proxy.begin(lambda _: (503, "SlowDown"))
    company.scenario.until("2026-03-10 06:01")
    (away,) = runs(VOLUME, MONDAY)
    assert (away.outcome, away.error_reason, away.transient) == ("error", Reason.STORE_UNREACHABLE.value, True)
    assert (state(VOLUME, MONDAY), incidents()) == ("PENDING", [])
    company.proxy.begin()
    company.scenario.until("2026-03-10 06:30")
    assert (state(VOLUME, MONDAY), runs(VOLUME, MONDAY)[-1].outcome) == ("PASS", "held")
    company.scenario.until("2026-03-10 12:00")
    assert (incidents(), told("unknown")) == ([], [])


def test_keys_that_expire_between_two_checks_neither_heal_an_incident_nor_keep_it_from_healing(
    company: Company,
) -> None:
    company.write(20)
    company.scenario.until("2026-03-10 10:30")
    (incident,) = incidents("raw.trips")
    assert (state(VOLUME, MONDAY), incident.resolved_at) == ("FAIL", None)
    company.proxy.begin(lambda _: (400, "ExpiredToken"))
    company.write(100)
    company.scenario.until("2026-03-10 11:30")
    incident.refresh_from_db()
    assert (state(VOLUME, MONDAY), incident.resolved_at) == ("FAIL", None)
    company.proxy.begin()
    company.scenario.until("2026-03-10 12:30")
    incident.refresh_from_db()
    assert (state(VOLUME, MONDAY), incident.resolved_at is not None) == ("PASS", True)


def test_objects_that_are_replaced_while_they_are_read_give_the_value_of_no_mixture(company: Company) -> None:
    company.write(20)
    company.scenario.until("2026-03-10 05:59")
    readings: list[str] = []

    def replace_both(_: int) -> None:
        """Before the fourth reading of bytes: both footers, and one of the objects as a whole, were read by then."""
        if re.match(r"GET .*\.parquet ", company.proxy.request):
            readings.append(company.proxy.request)
            if len(readings) == 4:
                company.write(20, fare=99.0)

    company.proxy.begin(replace_both)
    company.scenario.until("2026-03-10 06:30")
    assert len(readings) >= 4
    seen = runs(VOLUME, MONDAY)
    assert {run.value for run in seen if run.outcome != "error"} <= {200, 1980}
    assert (seen[-1].value, state(VOLUME, MONDAY), incidents()) == (1980, "PASS", [])
