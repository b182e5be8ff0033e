"""While the database is away, whoever asks is told to ask again later, and a process starts all the same."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from django.db import InterfaceError, OperationalError
from rest_framework.test import APIClient

from assay.database.storage_errors import is_unavailable
from tests.integration.web.test_problems import demand_problem

ASK = """
import django, json, sys
django.setup()
from django.conf import settings
from django.test import Client
client = Client(raise_request_exception=False, HTTP_HOST="127.0.0.1")
client.cookies[settings.SESSION_COOKIE_NAME] = "x" * 32
answers = [client.get(path) for path in sys.argv[1:]]
print(json.dumps([[answer.status_code, answer.headers.get("Retry-After")] for answer in answers]))
"""


def test_a_server_that_is_not_there_is_503_with_the_time_to_wait() -> None:
    environ = {**os.environ, "ASSAY_DATABASE_URL": "mysql://assay@127.0.0.1:1/assay", "PYTHONPATH": "platform:."}
    environ |= {"DJANGO_SETTINGS_MODULE": "assay.settings", "ASSAY_SECRET_KEY": "x" * 50}
    paths = ["/api/v1/datasets", "/api/v1/quality?dataset=raw.trips", "/"]
    done = subprocess.run([sys.executable, "-c", ASK, *paths], env=environ, capture_output=True, check=True)
    assert json.loads(done.stdout.splitlines()[-1]) == [[503, "5"]] * len(paths)


def test_a_connection_that_breaks_is_a_problem_of_its_own(api: APIClient, monkeypatch: pytest.MonkeyPatch) -> None:
    def away(*_: Any, **__: Any) -> None:
        raise OperationalError(2013, "Lost connection to server during query")

    monkeypatch.setattr("django.db.models.query.QuerySet._fetch_all", away)
    answer = api.get("/api/v1/datasets")
    assert answer.headers["Retry-After"] == "5"
    demand_problem(answer, 503)


@pytest.mark.parametrize(
    ("error", "is_away"),
    [
        (OperationalError(2002, "cannot connect"), True),
        (OperationalError(1040, "too many connections"), True),
        (InterfaceError(0, ""), True),
        (OperationalError(1054, "no such column"), False),
        (OperationalError("no such table: x"), False),
        (ValueError("x"), False),
        (None, False),
    ],
)
def test_only_what_passes_is_worth_a_retry(error: BaseException | None, is_away: bool) -> None:
    assert is_unavailable(error) is is_away


ROOT = Path(__file__).parents[3]

FIRST_REQUEST = """
import io, sys
from web.wsgi import application
from django.conf import settings

known = set(sys.modules)
asked = b'{"datasets": ["lake.trips"], "window": "2026-03-09"}'
environ = {
    "REQUEST_METHOD": "POST", "PATH_INFO": "/api/v1/gate", "HTTP_HOST": "localhost", "SERVER_NAME": "localhost",
    "SERVER_PORT": "80", "REMOTE_ADDR": "127.0.0.1", "wsgi.url_scheme": "http", "wsgi.input": io.BytesIO(asked),
    "wsgi.errors": sys.stderr, "CONTENT_LENGTH": str(len(asked)), "CONTENT_TYPE": "application/json",
}
answer = b"".join(application(environ, lambda status, headers, error=None: print(status)))
print(*sorted(name for name in set(sys.modules) - known if name.split(".")[0] in ("web", "rest_framework", "alerting")))
"""


def first_request(home: Path, *, url: str = "") -> list[str]:
    """The status of a first request, and the modules of ours and of the REST framework that were imported for it."""
    ours = {"ASSAY_HOME": str(home), "ASSAY_DATABASE_URL": url, "PYTHONPATH": f"{ROOT / 'platform'}:{ROOT}"}
    done = subprocess.run(
        [sys.executable, "-c", FIRST_REQUEST], env={**os.environ, **ours}, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()[-2:]


def test_nothing_is_left_to_import_for_the_first_request(tmp_path: Path) -> None:
    assert first_request(tmp_path) == ["401 Unauthorized", ""]


def test_a_database_that_does_not_answer_keeps_no_process_from_starting(tmp_path: Path) -> None:
    assert first_request(tmp_path, url="mysql://nobody@127.0.0.1:1/assay")[0].startswith("401")
