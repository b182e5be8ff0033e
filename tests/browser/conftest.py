"""A browser, logged in, before the live pages."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import Browser, ConsoleMessage, Page, sync_playwright
from pytest_django import Settings
from pytest_django.live_server_helper import LiveServer

from assay.access.roles import Role
from assay.models import Member
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
def complaints() -> list[str]:
    """What the browser's console said in anger."""
    return []


@pytest.fixture
def page(browser: Browser, live_server: LiveServer, complaints: list[str]) -> Iterator[Page]:
    """A page whose user has logged in through the form."""
    Member.objects.create(user=User.objects.create_user("grace", password="hopper"), role=Role.OPERATOR)
    context = browser.new_context(base_url=live_server.url, viewport={"width": 1360, "height": 900})
    page = context.new_page()

    def listen(message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            complaints.append(f"{message.text} {message.location}")

    page.on("console", listen)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto("/login")
    page.get_by_label("Name").fill("grace")
    page.get_by_label("Password").fill("hopper")
    page.get_by_role("button", name="Log in").click()
    page.wait_for_url(f"{live_server.url}/")
    yield page
    context.close()


@pytest.fixture
def shots(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where screenshots go."""
    return tmp_path_factory.mktemp("shots")
