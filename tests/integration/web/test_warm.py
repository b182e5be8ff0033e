"""A web process that has just started answers its first request as it answers any other."""

import os
import subprocess
import sys
from pathlib import Path

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
