"""Java that starts quickly: each Spark of a test loads its classes from an archive (Java's class data sharing).

``python -m tests.java`` makes the archive, unless it is there. Java passes over one that another Java has made.
"""

import os
import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

from execution_engine.engines.spark.session import find_java

ARCHIVE = Path(sys.prefix) / f"spark-{version('pyspark')}.jsa"
ROOT = Path(__file__).parents[1]
SCENE = """
import sys
from pathlib import Path
from execution_engine.engines.spark.engine import SparkEngine
from execution_engine.engines.protocol import SparkOptions
from tests.integration.engines.trips import measure, metric, write_trips

engine = SparkEngine(SparkOptions(master="local[2]"))
table = write_trips(Path(sys.argv[1]))
measure(engine, table, metric("row_count"), metric("mean", "fare"), metric("bloom_filter", "trip_id"))
engine.close()
"""
# Java that lives for minutes and reads small files gains nothing from its second compiler: 40 % less of the processor
QUICK = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
SAYS_NOTHING = "-Xlog:cds=off -Xlog:cds+dynamic=off"


def options() -> str:
    """Java's own, as Spark reads them from ``SPARK_SUBMIT_OPTS``."""
    return f'{QUICK} -XX:SharedArchiveFile="{ARCHIVE}" {SAYS_NOTHING}' if ARCHIVE.exists() else QUICK


def make() -> None:
    """Start Spark once, measure a small table, and keep the classes that this took: 180 MB."""
    with tempfile.TemporaryDirectory(dir=sys.prefix) as folder:
        made = Path(folder) / "made.jsa"
        own = {
            "JAVA_HOME": str(find_java(os.environ).home),
            "PYTHONPATH": os.pathsep.join([str(ROOT / "platform"), str(ROOT)]),
            "SPARK_SUBMIT_OPTS": f'{QUICK} -XX:ArchiveClassesAtExit="{made}" {SAYS_NOTHING}',
        }
        # the end of what is captured is the end of Java, which outlives Python
        done = subprocess.run(
            [sys.executable, "-c", SCENE, folder], env=os.environ | own, capture_output=True, text=True
        )
        if done.returncode == 0 and made.exists():
            made.replace(ARCHIVE)
        else:  # such as Java out of a Python wheel, which lacks the archive that this one would build on
            print(f"This Java makes no archive of classes: each Spark takes longer to start. {done.stderr[-500:]}")


if __name__ == "__main__" and not ARCHIVE.exists():
    make()
