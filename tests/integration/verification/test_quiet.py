"""What ``assay verify`` leaves to the terminal when Spark runs in its own process, as it does for users."""

import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from assay.exit_codes import ExitCode

COMMAND = "import sys; from assay.cli import run; sys.exit(run(sys.argv[1:]))"
MISTAKES = 'checks:\n  - row_count() = 2\n  - compliance("cast(city as int) > 1") = 1\n  - mean(city) > 1\n'


def test_nothing_that_spark_or_java_prints_reaches_the_terminal(tmp_path: Path) -> None:
    pq.write_table(pa.table({"city": ["rome", "oslo"]}), tmp_path / "rides.parquet")
    (tmp_path / "checks.yaml").write_text(MISTAKES)
    done = subprocess.run(
        [sys.executable, "-c", COMMAND, "verify", "rides.parquet", "--checks", "checks.yaml"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(entry for entry in sys.path if entry)},
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (ExitCode.UNABLE, "")
