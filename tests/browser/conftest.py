"""A browser, logged in, before the live pages."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from django.contrib.auth.models import User
from playwright.sync_api import Browser, ConsoleMessage, Page, sync_playwright
from pytest_django import Settings
from pytest_django.live_server_helper import LiveServer

from assay.access import Role
from assay.models import Dataset, Member
from tests.browser.scene import Scene, set_scene
from tests.servers import CHROMIUM_ARGUMENTS


@pytest.fixture(scope="session")
def browser(chromium_path: str) -> Iterator[Browser]:
    """The system's Chromium, without a window."""
    # Playwright's loop runs in this thread while the session lasts; Django would take that for an async program.
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium_path, args=CHROMIUM_ARGUMENTS)
        yield browser
        browser.close()
    del os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"]


@pytest.fixture(autouse=True)
def _quick_passwords(settings: Settings) -> None:
    """Passwords of tests need no slow hash."""
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]


@pytest.fixture
def scene(live_server: LiveServer) -> Scene:
    """The company's morning, in the live server's database."""
    return set_scene()


@pytest.fixture
def riders(scene: Scene, tmp_path: Path) -> Dataset:
    """A table of the user's own with 31 days of files, one of which has few rows."""
    for number in range(31):
        key = f"2026-03-{number - 21:02d}" if number > 21 else f"2026-02-{number + 7:02d}"
        folder = tmp_path / f"datestr={key}"
        folder.mkdir()
        count = 12 if key == "2026-03-05" else 90 + number
        pq.write_table(pa.table({"id": range(count), "fare": [2.5] * count}), folder / "part-0.parquet")
    found = Dataset.objects.get(full_name="raw.riders")
    Dataset.objects.filter(pk=found.pk).update(
        owner="grace", columns=[{"name": "fare", "type": "double"}, {"name": "order id", "type": "bigint"}]
    )
    found.replicas.update(location=str(tmp_path))
    return found


@pytest.fixture
def complaints() -> list[str]:
    """What the browser's console said in anger."""
    return []


@pytest.fixture
def time_zone() -> str:
    """The reader's."""
    return "UTC"


@pytest.fixture
def login_page(browser: Browser, complaints: list[str], time_zone: str) -> Iterator[Callable[[str], Page]]:
    """The form of the login at an address, in a browser that keeps nothing of others and complains."""
    opened = []

    def listen(message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            complaints.append(f"{message.text} {message.location}")

    def opens(address: str) -> Page:
        context = browser.new_context(base_url=address, viewport={"width": 1360, "height": 900}, timezone_id=time_zone)
        opened.append(context)
        page = context.new_page()
        page.on("console", listen)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto("/login")
        return page

    yield opens
    for context in opened:
        context.close()


@pytest.fixture
def page(login_page: Callable[[str], Page], live_server: LiveServer) -> Page:
    """A page whose user has logged in through the form."""
    Member.objects.create(user=User.objects.create_user("grace", password="hopper"), role=Role.OPERATOR)
    page = login_page(live_server.url)
    page.get_by_label("Name").fill("grace")
    page.get_by_label("Password").fill("hopper")
    page.get_by_role("button", name="Log in").click()
    page.wait_for_url(f"{live_server.url}/")
    return page


@pytest.fixture
def shots(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where screenshots go."""
    return tmp_path_factory.mktemp("shots")
