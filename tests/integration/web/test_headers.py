"""What every answer tells the browser to forbid, and what a public address over TLS adds."""

import json
import os
import subprocess
import sys

import pytest
from django.contrib.auth.models import User
from django.test import Client

from tests.factories import DatasetFactory

ADDRESSES = ["/", "/login", "/nowhere", "/api/v1/datasets", "/api/schema", "/metrics", "/static/web/charts.js"]
SHOW = """
import json
import django
from django.conf import settings
django.setup()
names = "SESSION_COOKIE_NAME CSRF_COOKIE_NAME SESSION_COOKIE_SECURE CSRF_COOKIE_SECURE SECURE_HSTS_SECONDS".split()
print(json.dumps([getattr(settings, name) for name in names]))
"""


@pytest.mark.parametrize("address", ADDRESSES)
def test_every_answer_forbids_foreign_and_inline_scripts_and_frames(client: Client, user: User, address: str) -> None:
    client.force_login(user)
    headers = client.get(address).headers
    policy = dict(rule.split(" ", 1) for rule in headers["Content-Security-Policy"].split("; "))
    assert policy["default-src"] == "'self'"
    assert {policy[name] for name in ("object-src", "base-uri", "frame-ancestors")} == {"'none'"}
    assert "unsafe" not in headers["Content-Security-Policy"]
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Referrer-Policy"] == "same-origin"
    assert headers["Cross-Origin-Opener-Policy"] == "same-origin"


@pytest.mark.parametrize("address", ["/", "/incidents", "/nowhere", "/api/v1/incidents"])
def test_no_cache_keeps_what_only_some_may_see(client: Client, user: User, address: str) -> None:
    client.force_login(user)
    assert client.get(address).headers["Cache-Control"] == "private, no-store"


def test_a_name_turns_no_text_around_on_a_page_and_the_api_gives_it_as_it_is(client: Client, user: User) -> None:
    client.force_login(user)
    DatasetFactory.create(name="trips", owner="eve\u202egnp\u2069")
    page = client.get("/datasets/raw.trips").content.decode()
    assert "eve\ufffdgnp\ufffd" in page
    assert "\u202e" not in page
    assert client.get("/api/v1/datasets/raw.trips").json()["owner"] == "eve\u202egnp\u2069"


@pytest.mark.parametrize(
    ("public_url", "expected"),
    [
        ("https://assay.example.com", ["__Host-sessionid", "__Host-csrftoken", True, True, 31_536_000]),
        ("http://127.0.0.1:8000", ["sessionid", "csrftoken", False, False, 0]),
    ],
)
def test_a_public_address_over_tls_makes_cookies_secure(public_url: str, expected: list[object]) -> None:
    shown = subprocess.run(
        [sys.executable, "-c", SHOW],
        env={**os.environ, "ASSAY_PUBLIC_URL": public_url, "DJANGO_SETTINGS_MODULE": "assay.settings"},
        check=True,
        capture_output=True,
        text=True,
    )
    assert json.loads(shown.stdout.splitlines()[-1]) == expected


def test_cookies_are_beyond_the_reach_of_scripts(client: Client, user: User) -> None:
    answer = client.post("/login", {"username": "grace", "password": "hopper"})
    assert answer.status_code == 302
    for name in ("sessionid", "csrftoken"):
        assert answer.cookies[name]["httponly"]
        assert answer.cookies[name]["samesite"] == "Lax"
