"""11: thirty-two processes report failures of three datasets at one instant.

Staged: the race of tests/integration/incident_manager/racing.py, on a MariaDB of its own. Asserted: I3, and one
opening of each incident; no report is lost.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.cache import ROOT
from deploy.local.fleet import assay
from tests.e2e.set_ups import environment
from tests.faults.experiment import Alone, Finding, Scale
from tests.servers import mariadb

RACE = "tests.integration.incident_manager.racing"


def run(scale: Scale) -> Finding:
    """So many rounds."""
    with mariadb() as server, tempfile.TemporaryDirectory(prefix="faults-") as place:
        given = environment(Path(place), {"ASSAY_DATABASE_URL": server.url, "ASSAY_BROKER_URL": ""})
        subprocess.run([assay(), "migrate"], env=given, check=True, capture_output=True)
        given["PYTHONPATH"] = os.pathsep.join([str(ROOT / "platform"), str(ROOT)])
        command = [sys.executable, "-m", RACE, str(scale.of(1000, quick=5))]
        done = subprocess.run(command, env=given, cwd=ROOT, check=True, capture_output=True, text=True)
    found = json.loads(done.stdout.splitlines()[-1])
    figures = [
        ("rounds of 32 processes", f"{found['rounds']:,}"),
        ("results a second", f"{found['results'] / found['seconds']:.0f}"),
        ("transactions tried again; given back", f"{found['retried']:,}; {found['given_back']:,}"),
    ]
    return Finding(violations={"I3": found["wrong"]}, figures=figures)


EXPERIMENT = Alone(number=11, title="failures reported at one instant", run=run, minutes=15)
