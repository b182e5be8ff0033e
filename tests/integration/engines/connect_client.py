"""``python connect_client.py ROOT PORT``: scans a table before, while and after its Connect server is gone."""

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

from execution_engine.engines.protocol import SparkOptions
from execution_engine.engines.spark.engine import SparkEngine
from tests.integration.engines.trips import measure, metric, write_trips

JAVA_STARTS = "SPARK_SUBMIT_OPTS"
SERVER = Path(__file__).with_name("connect_server.py")


def start(port: str) -> subprocess.Popen[str]:
    command = [sys.executable, str(SERVER), port]
    # a Connect client sets variables for its children that a server must not see; how its Java starts is none of them
    clean = {name: value for name, value in os.environ.items() if not name.startswith("SPARK_") or name == JAVA_STARTS}
    server = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=clean, start_new_session=True
    )
    if server.stdout is None or server.stdout.readline() != "ready\n":
        raise SystemExit("the Connect server did not start")
    return server


def stop(server: subprocess.Popen[str], port: str) -> None:
    os.killpg(server.pid, signal.SIGKILL)  # the JVM too, which may outlive its parent for a moment
    server.wait()
    while is_listening(port):
        time.sleep(0.05)


def is_listening(port: str) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", int(port))) == 0


def main(root: str, port: str) -> None:
    engine = SparkEngine(SparkOptions(remote=f"sc://127.0.0.1:{port}"))
    table = write_trips(Path(root))
    for up in (True, False, True):
        server = start(port) if up else None
        (rows,) = measure(engine, table, metric("distinct_count", "city"))  # which no footer holds
        print(rows.failure or rows.value, flush=True)
        if server is not None:
            stop(server, port)


if __name__ == "__main__":
    main(*sys.argv[1:])
