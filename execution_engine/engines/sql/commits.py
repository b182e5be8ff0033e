"""Commits of tables in databases: what a server counts, or when it says that a table was written last."""

from datetime import UTC, datetime

from sqlalchemy import Connection, text

from execution_engine.engines.protocol import CommitLog, Table
from execution_engine.vitals.commits import Commit

from .dialects import MYSQL, POSTGRESQL

_COUNTERS = text(  # of a table of partitions those of all of them: it has no rows of its own
    "with wanted as (select c.oid from pg_class c join pg_namespace n on n.oid = c.relnamespace"
    " where c.relname = :name and n.nspname = coalesce(:schema, current_schema()))"
    " select cast(sum(n_tup_ins) as bigint), cast(sum(n_tup_upd) as bigint), cast(sum(n_tup_del) as bigint)"
    " from pg_stat_user_tables where relid in (select oid from wanted"
    " union select part.relid from wanted, pg_partition_tree(wanted.oid) part) having count(*) > 0"
)
_UPDATE_TIME = text(
    "select update_time from information_schema.tables"
    " where table_name = :name and table_schema = coalesce(:schema, database())"
)
_NO_CACHE = text("set session information_schema_stats_expiry = 0")  # MySQL 8 shows times of up to a day ago


def read_commits(connection: Connection, table: Table, mark: str, now: datetime) -> CommitLog:
    """All that has changed since the mark, as one commit; SQLAlchemyError where the server does not answer."""
    names = {"name": table.options.get("table", ""), "schema": table.options.get("schema")}
    dialect = connection.dialect.name
    if dialect == POSTGRESQL:
        counters = connection.execute(_COUNTERS, names).one_or_none()
        return _of_counters(None if counters is None else tuple(counters), mark, now)
    if dialect in MYSQL:
        if dialect == "mysql" and not getattr(connection.dialect, "is_mariadb", False):
            connection.execute(_NO_CACHE)
        return _of_time(connection.execute(_UPDATE_TIME, names).scalar(), mark)
    return CommitLog(mark=mark, fault=f"{dialect} keeps no times of commits and no counters of rows")


def _of_counters(counters: tuple[int, int, int] | None, mark: str, now: datetime) -> CommitLog:
    """What was added and removed since the counters of the mark; where they were set back, from now on."""
    if counters is None:
        return CommitLog(mark=mark, fault="the server counts no rows of a table of this name: it is a view, or is gone")
    new_mark = " ".join(map(str, counters))
    earlier = tuple(map(int, mark.split()))
    if not earlier or new_mark == mark or any(new < old for new, old in zip(counters, earlier, strict=True)):
        return CommitLog(mark=new_mark)
    inserted, updated, deleted = (new - old for new, old in zip(counters, earlier, strict=True))
    return CommitLog(commits=(Commit(at=now, rows_added=inserted + updated, rows_removed=deleted),), mark=new_mark)


def _of_time(written: datetime | None, mark: str) -> CommitLog:
    """One commit where the table was written after the mark; the sessions of an engine are in UTC."""
    if written is None:
        return CommitLog(
            mark=mark,
            fault=""
            if mark
            else "the server does not say when the table was written last: since it started, nobody has",
        )
    at = written.replace(tzinfo=UTC)
    if mark and at <= datetime.fromisoformat(mark):
        return CommitLog(mark=mark)
    return CommitLog(commits=(Commit(at=at),), mark=at.isoformat())
