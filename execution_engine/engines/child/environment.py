"""The environment of a Spark child: what Spark needs and nothing else, so that user SQL finds no secret in it."""

import os
import sys
from collections.abc import Collection, Mapping
from pathlib import Path

NEEDED = (
    "PATH",
    "JAVA_HOME",
    "SPARK_HOME",
    "SPARK_CONF_DIR",
    "SPARK_SUBMIT_OPTS",
    "HADOOP_HOME",
    "HADOOP_CONF_DIR",
    "YARN_CONF_DIR",
    "PYSPARK_PYTHON",
    "LD_LIBRARY_PATH",
    "LANG",
    "LC_ALL",
    "TZ",
)
UTF_8 = "C.UTF-8"


def child_environment(environment: Mapping[str, str], passed: Collection[str], scratch: Path) -> dict[str, str]:
    """The child's own; ``passed`` names the variables more that it may see, for example of an object store."""
    kept = {name: environment[name] for name in (*NEEDED, *passed) if name in environment}
    return (
        {"LANG": UTF_8, "PYSPARK_PYTHON": sys.executable}  # on nodes of a cluster it may lie elsewhere
        | kept
        | {
            "HOME": str(scratch),
            "TMPDIR": str(scratch),
            "SPARK_LOCAL_DIRS": str(scratch),
            "PYTHONPATH": os.pathsep.join(import_path()),
            "PYTHONDONTWRITEBYTECODE": "1",
        }
    )


def import_path() -> list[str]:
    """The folders that this process imports from, so that the child finds the very same code."""
    return [str(Path(entry).absolute()) for entry in sys.path if entry and Path(entry).exists()]
