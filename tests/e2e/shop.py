"""A shop whose orders land every hour, and what its people do: through commands, and over HTTP with a token."""

import json
import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import requests

from deploy.local.fleet import Fleet, FleetSize
from deploy.local.programs import UnableToStart
from tests.integration.alerting.receivers import Received

SIZE = FleetSize(datacenters=(), sweep_every=0.2)  # those of the catalog follow it
USER, PASSWORD = "ann", "of this test alone"
LIMIT = 240.0  # seconds; the first scan starts Spark
CATALOG = """
datasets:
  - name: shop.orders
    owner: ola@example.com
    tier: 2
    columns: {{id: bigint, email: string, hour: string}}
    partition: {{column: hour, granularity: hour}}
    replicas: [{{datacenter: sea, storage: parquet, location: {location}}}]
    slas: {{freshness: 5m}}
    sustain: 0h
    grace: 0h
tests:
  - {{dataset: shop.orders, name: reachable, assertion: completeness(email) >= 99 %}}
"""


def environment(receiver: Received) -> dict[str, str]:
    """Notices go to the receiver on this machine; Spark is small."""
    return {
        "ASSAY_WEBHOOK_URL": receiver.url,
        "ASSAY_WEBHOOK_PRIVATE": "true",
        "ASSAY_SPARK_MASTER": "local[1]",
        "ASSAY_SPARK_MEMORY": "768m",
        "ASSAY_JITTER_SECONDS": "0",
    }


@dataclass(kw_only=True)
class Shop:
    """The shop's lake, its service, and who is told."""

    folder: Path
    service: Fleet
    receiver: Received
    http: requests.Session = field(default_factory=requests.Session)

    def open(self) -> None:
        """The catalog is synced, and somebody may log in."""
        self.table.mkdir(parents=True)
        catalog = self.folder / "catalog.yaml"
        catalog.write_text(CATALOG.format(location=self.table))
        self.service.assay("sync", str(catalog))
        assert self.service.serve_catalog() == ("sea",)
        assert self.service.serve_catalog() == ()
        self.service.assay(
            "createsuperuser", "--noinput", f"--username={USER}", "--email=", DJANGO_SUPERUSER_PASSWORD=PASSWORD
        )

    def log_in(self) -> None:
        """A token, got as every client gets it."""
        answer = requests.post(f"{self.service.web_url}/api/v1/auth/login", auth=(USER, PASSWORD), timeout=30)
        assert answer.status_code == 200, answer.text
        self.http.headers["Authorization"] = f"Bearer {answer.json()['token']}"

    def land(self, hour: str, *, without_email: int = 0) -> None:
        """An hour's hundred orders; replaced in one step."""
        emails = [None] * without_email + ["someone@example.com"] * (100 - without_email)
        place = self.table / f"hour={hour}"
        place.mkdir(exist_ok=True)
        unfinished = place / "_unfinished.parquet"
        pq.write_table(pa.table({"id": list(range(100)), "email": pa.array(emails, pa.string())}), unfinished)
        os.replace(unfinished, place / "part-0.parquet")

    def run(self, hour: str) -> str:
        """What a run of the test by hand, worked by the service, says: its outcome."""
        told = self.service.assay("run", "shop.orders", "--window", hour, "--fail-on", "never", "--json")
        (outcome,) = [run["outcome"] for run in json.loads(told)["runs"] if run["data_test"] == "reachable"]
        return str(outcome)

    def gate(self, hour: str) -> bool:
        """Whether the command lets a pipeline read the hour."""
        try:
            self.service.assay("gate", "shop.orders", "--window", hour)
        except UnableToStart:
            return False
        return True

    def incidents(self) -> list[dict[str, Any]]:
        """The incidents, the newest first."""
        return sorted(self._get("incidents")["results"], key=lambda each: -each["id"])

    def rerun(self, incident: int) -> None:
        """Its owner has the tests run again."""
        answer = self.http.post(f"{self.service.web_url}/api/v1/incidents/{incident}/rerun", json={}, timeout=30)
        assert answer.status_code == 200, answer.text

    def told(self) -> list[str]:
        """The events that the receiver was told of, in order."""
        return [notice["event"] for body in self.receiver.bodies for notice in json.loads(body)["notices"]]

    def until(self, is_so: Callable[[], bool]) -> None:
        """Return once it is so."""
        deadline = time.monotonic() + LIMIT
        while not is_so():
            assert time.monotonic() < deadline, self._logs()
            time.sleep(0.2)

    @property
    def table(self) -> Path:
        """The folder of the orders."""
        return self.folder / "lake" / "orders"

    def _get(self, path: str) -> Any:
        answer = self.http.get(f"{self.service.web_url}/api/v1/{path}", timeout=30)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def _logs(self) -> str:
        logs = sorted(self.service.logs.glob("*.log"))
        return "\n".join(f"--- {log.stem}\n{log.read_text(errors='replace')[-2000:]}" for log in logs)


def ended(hours_ago: int) -> str:
    """The key of the hour that began so long ago."""
    return f"{datetime.now(UTC) - timedelta(hours=hours_ago):%Y-%m-%d-%H}"


def spoil_and_mend(shop: Shop, hour: str) -> None:
    """The loop: orders without emails become an incident, are told of, mended, run again and resolved."""
    begun = len(shop.told())
    shop.land(hour, without_email=40)
    assert shop.run(hour) == "broken"
    shop.until(lambda: bool(shop.incidents()) and shop.incidents()[0]["resolved_at"] is None)
    incident = shop.incidents()[0]
    assert (incident["dataset"], incident["category"]) == ("shop.orders", "custom")
    assert not shop.gate(hour)
    shop.until(lambda: shop.told()[begun:] == ["opened"])
    shop.land(hour)
    shop.rerun(incident["id"])
    shop.until(lambda: shop.incidents()[0]["resolved_at"] is not None)
    assert (shop.incidents()[0]["id"], shop.incidents()[0]["resolution"]) == (incident["id"], "auto")
    shop.until(lambda: shop.told()[begun:] == ["opened", "recovered"])
    assert shop.gate(hour)
