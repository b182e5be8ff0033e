"""Somebody finds out why a table is bad, says when it will be mended, and watches it heal: `assay up`, at real time.

The real program in a home of its own, with Spark; the files are mended in the middle.
"""

import os
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.request import urlopen

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import requests
from playwright.sync_api import Page, expect

from deploy.local.programs import free_port
from tests.browser.hands import Hands, Mouse, hands_of
from tests.e2e.processes import assay
from tests.servers import running

SOURCE, COPY = "raw.fahrten", "mart.fahrten_köln"
USER, PASSWORD = "grace", "of this test alone"
LIMIT = 60_000  # milliseconds; the first scan starts Spark
CATALOG = """
datasets:
  - name: raw.fahrten
    owner: ola@example.com
    tier: 2
    columns: {{id: bigint, hour: string}}
    primary_key: [id]
    partition: {{column: hour, granularity: hour}}
    replicas: [{{datacenter: sea, storage: parquet, location: {folder}/raw}}]
    slas: {{freshness: 5m}}
    sustain: 0h
    grace: 0h
  - name: mart.fahrten_köln
    owner: ann@example.com
    tier: 2
    columns: {{id: bigint, hour: string}}
    primary_key: [id]
    partition: {{column: hour, granularity: hour}}
    replicas: [{{datacenter: sea, storage: parquet, location: {folder}/mart}}]
    slas: {{freshness: 5m}}
    sustain: 0h
    grace: 0h
lineage:
  - {{upstream: raw.fahrten, downstream: mart.fahrten_köln, one_to_one: true}}
"""


@dataclass(kw_only=True)
class Home:
    """A home that `assay up` serves, and the files of its two tables."""

    folder: Path
    address: str
    http: requests.Session

    def land(self, hour: str, *, twice: int = 0) -> None:
        """An hour of both tables, of which some rows may be there twice; each file is replaced in one step."""
        ids = [*range(500), *range(twice)]
        for place in ("raw", "mart"):
            folder = self.folder / place / f"hour={hour}"
            folder.mkdir(parents=True, exist_ok=True)
            pq.write_table(pa.table({"id": ids}), folder / "_unfinished.parquet")
            os.replace(folder / "_unfinished.parquet", folder / "part-0.parquet")

    def find(self, hour: str) -> None:
        """Ask for a run of both tests of duplicates, and wait until both are incidents, one by the other."""
        for name in (SOURCE, COPY):
            (test,) = [each for each in self._get(f"data-tests?dataset={name}") if each["name"] == "duplicates"]
            body = {"data_test": str(test["id"]), "window": hour}
            asked = self.http.post(f"{self.address}/api/v1/runs", json=body, timeout=30)
            assert asked.status_code == 201, asked.text
        deadline = time.monotonic() + LIMIT / 1000
        while [each["dataset"] for each in self._get("incidents") if each["resolved_at"] is None and each["cause"]] != [
            COPY
        ]:
            assert time.monotonic() < deadline, self._get("incidents")
            time.sleep(0.2)

    def _get(self, path: str) -> list[dict[str, object]]:
        answer = self.http.get(f"{self.address}/api/v1/{path}", timeout=30)
        assert answer.status_code == 200, answer.text
        return list(answer.json()["results"])


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    """The service of a stranger's two tables."""
    folder = tmp_path_factory.mktemp("fahrten")
    given = {name: value for name, value in os.environ.items() if not name.startswith(("ASSAY_", "DJANGO_"))}
    given |= {"ASSAY_HOME": str(folder / "home"), "ASSAY_SPARK_MASTER": "local[1]", "ASSAY_SPARK_MEMORY": "768m"}
    (folder / "catalog.yaml").write_text(CATALOG.format(folder=folder), encoding="utf-8")
    (folder / "raw").mkdir()
    (folder / "mart").mkdir()
    by_env = {"DJANGO_SUPERUSER_PASSWORD": PASSWORD}
    for command in (
        ["sync", str(folder / "catalog.yaml")],
        ["createsuperuser", "--noinput", f"--username={USER}", "--email="],
    ):
        done = subprocess.run([assay(), *command], env=given | by_env, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    port = free_port()
    address = f"http://127.0.0.1:{port}"
    with (
        pytest.MonkeyPatch.context() as patch,
        requests.Session() as http,
    ):
        for name in [name for name in os.environ if name.startswith(("ASSAY_", "DJANGO_"))]:
            patch.delenv(name)
        for name, value in given.items():
            patch.setenv(name, value)
        with running([assay(), "up", "--port", str(port)], ready=lambda: answers(address)):
            token = requests.post(f"{address}/api/v1/auth/login", auth=(USER, PASSWORD), timeout=30)
            http.headers["Authorization"] = f"Bearer {token.json()['token']}"
            yield Home(folder=folder, address=address, http=http)


def answers(address: str) -> bool:
    """Whether the pages are there."""
    try:
        return bool(urlopen(f"{address}/login").status == 200)
    except OSError:
        return False


@pytest.fixture(params=["mouse", "keyboard"])
def hands(request: pytest.FixtureRequest, login_page: Callable[[str], Page], home: Home) -> Hands:
    """Those of somebody before the form of the login; nothing else opens a page from here on."""
    return hands_of(request.param, login_page(home.address))


def test_the_cause_of_a_bad_table_is_found_told_of_and_seen_to_heal(
    home: Home, hands: Hands, complaints: list[str]
) -> None:
    page = hands.page
    hour = f"{datetime.now(UTC) - timedelta(hours=2 if isinstance(hands, Mouse) else 3):%Y-%m-%d-%H}"
    home.land(hour, twice=40)
    home.find(hour)
    log_in(hands)
    on_page(page, "Catalogue")
    hands.write("Find", "köln")
    expect(page.locator("#matrix tbody tr")).to_have_count(1)
    expect(page.locator("#found")).to_have_text("1 dataset found.")
    hands.press("link", COPY)
    on_page(page, f"{COPY} Bad")
    expect(page.locator("#use .verdict")).to_contain_text("Nobody knows")  # of the last hour
    hands.press("link", "7 hours")
    expect(page.locator("#use .verdict")).to_contain_text("No")
    reason = page.locator("#use .reasons a").first.inner_text()
    hands.press("link", reason)
    on_page(page, "7.4 % of the rows are duplicates")
    hands.press("link", f"duplicates of {SOURCE}")
    expect(page.locator("#head")).to_contain_text(f"Duplicates of {SOURCE}")
    hands.write("Root cause", "Der Lader lief zweimal.")
    hands.write("Expected repair (UTC)", f"{datetime.now(UTC) + timedelta(hours=5):%Y-%m-%dT%H:%M}")
    hands.press("button", "Save")
    expect(page.locator("main > .flash")).to_have_text("Saved.")
    expect(page.locator("#head")).to_contain_text("Der Lader lief zweimal.")
    home.land(hour)
    hands.press("button", "Run again now")
    expect(page.locator("main > .flash")).to_contain_text("on the way")
    expect(page.locator("#head")).to_contain_text("Resolved", timeout=LIMIT)
    expect(page.get_by_role("status").filter(has_text="Resolved")).to_have_count(1)
    hands.press("link", COPY)  # which reads it
    expect(page.get_by_role("heading", level=1)).to_contain_text(f"{COPY} Good", timeout=LIMIT)
    assert complaints == []
    assert hands.took(clicks=13, keys=112), hands


def log_in(hands: Hands) -> None:
    """By the form."""
    hands.write("Name", USER)
    hands.write("Password", PASSWORD)
    hands.press("button", "Log in")


def on_page(page: Page, title: str) -> None:
    """Wait until the page with this heading is there."""
    expect(page.get_by_role("heading", level=1)).to_contain_text(title)
