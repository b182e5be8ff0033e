"""A Spark of its own, with the settings of the service, that runs what it is told; started by ``guard_sandbox``."""

import json
import os
import sys
from functools import cache
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from execution_engine.engines.protocol import SparkOptions
from execution_engine.engines.spark.session import start_session

QUICKER = {  # thousands of statements over a few rows: no code is worth compiling
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.codegen.wholeStage": "false",
}
OPEN = {  # as Spark is without our settings, for the controls
    "spark.sql.restrictedMode.enabled": "false",
    "spark.reflect.allowList": ".*",
    "spark.sql.runSQLOnFiles": "true",
    "spark.sql.variable.substitute": "true",
    "spark.sql.scripting.enabled": "true",
}
MAX_TEXT = 200_000  # characters of what a statement gave
MAX_ROWS = 200  # more than the tables have
VIEWS = (("trips", "trips"), ("zones", "zones"), ("trips", "guarded_trips"), ("zones", "guarded_zones"))


def start(scratch: Path, port: int, *, is_open: bool) -> SparkSession:
    """The session, with the table ``secret`` in its catalog."""
    conf = {"spark.sql.warehouse.dir": str(scratch / "warehouse"), **QUICKER, **(OPEN if is_open else {})}
    session = start_session(SparkOptions(conf=conf, java_options=_java_options(scratch, port)))
    add_secret(session, scratch)
    return session


def _java_options(scratch: Path, port: int) -> str:
    """Calls to any machine end at the port, so that they count and go no further; Ivy and Maven stay in the folder."""
    proxies = [f"-D{scheme}.proxyHost=127.0.0.1 -D{scheme}.proxyPort={port}" for scheme in ("http", "https")]
    return " ".join((f"-Duser.home={scratch / 'java'}", *proxies))


def add_secret(session: SparkSession, scratch: Path) -> None:
    """A table that no user was given, and no other; it is written anew, as a statement before may have changed it."""
    session.sql("create database if not exists default")
    for table in session.catalog.listTables():
        session.sql(f"drop {'view' if table.isTemporary else 'table'} if exists `{table.name}`")
    rows = session.createDataFrame([(os.environ["CANARY_TABLE"],)], "value string")
    rows.coalesce(1).write.mode("overwrite").parquet(str(scratch / "catalog" / "secret"))
    session.sql(f"create table secret (value string) using parquet location '{scratch / 'catalog' / 'secret'}'")


def prepare(session: SparkSession, scratch: Path) -> SparkSession:
    """A session beside ``session`` with settings and views of its own, so that no statement meets another's."""
    own = session.newSession()
    for table, name in VIEWS:
        path = str(next(scratch.glob(f"data-*/{table}.parquet")))
        own.read.schema(_schema(session, path)).parquet(path).createOrReplaceTempView(name)
    return own


@cache
def _schema(session: SparkSession, path: str) -> StructType:
    return session.read.parquet(path).schema


def settings(session: SparkSession) -> str:
    """What SET and its like change."""
    return json.dumps([dict(session.conf.getAll), session.catalog.currentDatabase()], sort_keys=True)


def tables(session: SparkSession) -> list[str]:
    """What CREATE, DROP and their like change."""
    return sorted(f"{row.namespace} {row.tableName}" for row in session.sql("show tables").collect())


class Observed:
    """A session, with its settings and catalog as they were at first."""

    def __init__(self, session: SparkSession) -> None:
        self.session = session
        self.settings = settings(session)
        self.tables = tables(session)

    def run(self, sql: str) -> dict[str, Any]:
        """What the statement gave, its rows as text or Spark's error, and what it changed."""
        told: dict[str, Any]
        try:
            told = {"ended": "gave rows", "text": str(self.session.sql(sql).limit(MAX_ROWS).collect())[:MAX_TEXT]}
        except Exception as error:  # whatever a hostile statement makes Spark or py4j raise is what we want to see
            told = {"ended": "refused by Spark", "text": str(error)[:MAX_TEXT]}
        changed = {"setting": settings(self.session) != self.settings, "catalog": tables(self.session) != self.tables}
        return told | changed


def main() -> None:
    """Answers each line of stdin, a JSON text with ``sql`` or ``renew``, by one on the first stdout."""
    scratch, port, kind = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    session = start(scratch, port, is_open=kind == "open")
    own = Observed(prepare(session, scratch))
    print(json.dumps({"ended": "ready"}), file=answers, flush=True)
    for line in sys.stdin:
        asked = json.loads(line)
        if asked.get("renew") == "catalog":
            add_secret(session, scratch)
        if "renew" in asked:
            own = Observed(prepare(session, scratch))
        told = {"ended": "renewed"} if "renew" in asked else own.run(asked["sql"])
        print(json.dumps(told), file=answers, flush=True)


if __name__ == "__main__":
    main()
