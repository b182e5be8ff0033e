"""A Spark of its own, with the settings of the service, that runs what it is told; started by ``guard_sandbox``."""

import json
import os
import sys
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from execution_engine.engines.spark.session import SparkOptions, start_session

QUICKER = {  # thousands of statements over a few rows: no code is worth compiling
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.codegen.wholeStage": "false",
}
MAX_TEXT = 20_000  # characters of what a statement gave


def start(scratch: Path) -> SparkSession:
    """The session, with the table ``secret`` in its catalog."""
    conf = {"spark.sql.warehouse.dir": str(scratch / "warehouse"), **QUICKER}
    session = start_session(SparkOptions(master="local[2]", conf=conf))
    add_secret(session, scratch)
    return session


def add_secret(session: SparkSession, scratch: Path) -> None:
    """A table that no user was given, and no other; it is written anew if a statement before dropped it."""
    for table in session.catalog.listTables():
        if table.name != "secret":
            session.sql(f"drop {'view' if table.isTemporary else 'table'} if exists `{table.name}`")
    if not session.catalog.tableExists("secret"):
        session.sql("create database if not exists default")
        session.sql(f"create or replace temporary view told as select '{os.environ['CANARY_TABLE']}' as value")
        session.table("told").write.mode("overwrite").parquet(str(scratch / "catalog" / "secret"))
        session.sql(f"create table secret using parquet location '{scratch / 'catalog' / 'secret'}'")
        session.catalog.dropTempView("told")


def prepare(session: SparkSession, scratch: Path) -> SparkSession:
    """A session beside ``session`` with settings and views of its own, so that no statement meets another's."""
    own = session.newSession()
    for table, name in (("trips", "trips"), ("zones", "zones"), ("trips", "guarded_trips"), ("zones", "guarded_zones")):
        own.read.parquet(str(next(scratch.glob(f"data-*/{table}.parquet")))).createOrReplaceTempView(name)
    return own


def state(session: SparkSession) -> str:
    """The settings and the catalog."""
    tables = sorted(f"{table.namespace} {table.name}" for table in session.catalog.listTables())
    return json.dumps([dict(session.conf.getAll), tables, session.catalog.currentDatabase()], sort_keys=True)


def run(session: SparkSession, sql: str) -> dict[str, Any]:
    """What the statement gave: its rows as text, or Spark's error."""
    try:
        return {"ended": "gave rows", "text": str(session.sql(sql).limit(20).collect())[:MAX_TEXT]}
    except Exception as error:  # whatever a hostile statement makes Spark or py4j raise is what we want to see
        return {"ended": "refused by Spark", "text": str(error)[:MAX_TEXT]}


def main() -> None:
    """Answers each line of stdin, a JSON text with ``sql``, by one on the first stdout."""
    scratch = Path(sys.argv[1])
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    session = start(scratch)
    own = prepare(session, scratch)
    before = state(own)
    print(json.dumps({"ended": "ready"}), file=answers, flush=True)
    for line in sys.stdin:
        asked = json.loads(line)
        told = run(own, asked["sql"])
        told["changed"] = state(own) != before
        if asked["fresh"] or told["changed"]:
            add_secret(session, scratch)
            own = prepare(session, scratch)
            before = state(own)
        print(json.dumps(told), file=answers, flush=True)


if __name__ == "__main__":
    main()
