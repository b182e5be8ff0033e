"""A program beside a private MariaDB of the service's settings, gone when it ends."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence

from benchmarks.cache import ROOT
from tests.servers import mariadb

DURABLE = ("--innodb-flush-log-at-trx-commit=1", "--innodb-buffer-pool-size=4G", "--innodb-log-file-size=1G")


def run_beside(module: str, arguments: Sequence[str]) -> int:
    """The exit code of ``python -m module``, whose database is empty and as durable as that of a service."""
    with mariadb(*DURABLE) as server:
        return _run(module, arguments, server.url)


def run_embedded(module: str, arguments: Sequence[str]) -> int:
    """The same on an empty SQLite, as on one machine."""
    return _run(module, arguments, "")


def _run(module: str, arguments: Sequence[str], url: str) -> int:
    with tempfile.TemporaryDirectory(prefix="bench-home-") as home:
        ours = {
            "ASSAY_DATABASE_URL": url,
            "ASSAY_HOME": home,
            "ASSAY_RATES": json.dumps(dict.fromkeys(("read", "write", "gate", "query"), "1000000/m")),
            "ASSAY_LOG_LEVEL": "WARNING",
            "ASSAY_ALLOWED_ROOTS": '["/lake"]',  # where requests say that data lies
            "DJANGO_SETTINGS_MODULE": "assay.settings",
            "PYTHONPATH": f"{ROOT / 'platform'}:{ROOT}",
        }
        return subprocess.run([sys.executable, "-m", module, *arguments], env={**os.environ, **ours}).returncode
