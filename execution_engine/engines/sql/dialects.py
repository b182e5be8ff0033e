"""What databases do otherwise than each other, in one table; all else is said to them alike.

The statements for Trino and BigQuery are checked as texts (``tests/integration/engines/test_warehouses.py``)
and were not tried on a server.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

CONNECT_SECONDS = 5
MYSQL, POSTGRESQL = frozenset({"mysql", "mariadb"}), "postgresql"


@dataclass(frozen=True, kw_only=True)
class SqlDialect:
    """One database; the defaults are those of one of which nothing is known. ``{}`` stands for a column's SQL."""

    sqlglot: str = ""  # its name there, where that is another
    driver: str = ""  # in the URL, where SQLAlchemy's default is another
    extra: str = ""  # of Assay, which brings the driver
    # Of each session: it only reads, all of a scan in one snapshot; an instant is shown, compared and sampled as UTC,
    # whatever zone the server is in; and in PostgreSQL a backslash in a text is a letter.
    session: tuple[str, ...] = ()
    connect: Mapping[str, object] = field(default_factory=lambda: {"connect_timeout": CONNECT_SECONDS})
    has_savepoints: bool = True
    compares_own_types: bool = False  # a column with values of its own type alone
    literals: bool = True  # SQLAlchemy writes texts as the database reads them; else sqlglot does
    collation: str = ""  # what stands behind a text so that it is compared by its bytes
    is_nan: str = ""  # of a floating-point number; empty: there is no NaN
    # The hash of a key: of its texts and numbers, and of these together; empty: none is known
    text_key: str = ""
    number_key: str = ""  # where it is another
    rank: str = ""
    rank_is_binary: bool = False

    def in_session(self, deadline_seconds: float) -> tuple[str, ...]:
        """The statements of a new session."""
        return tuple(statement.format(deadline_seconds=deadline_seconds) for statement in self.session)


_MYSQL = SqlDialect(
    sqlglot="mysql",
    extra="mysql",
    session=("set time_zone = '+00:00'", "set session transaction read only"),
    text_key="hex({})",  # in hexadecimal, as a text has other bytes in another session's character set
    number_key="cast({} as char)",
    rank="md5(concat_ws(',', {}))",
)
DIALECTS: Mapping[str, SqlDialect] = MappingProxyType(
    {
        "sqlite": SqlDialect(rank_is_binary=True),
        "mysql": _MYSQL,
        "mariadb": _MYSQL,
        "mssql": SqlDialect(sqlglot="tsql"),
        POSTGRESQL: SqlDialect(
            sqlglot="postgres",
            driver="postgresql+psycopg",
            extra="postgres",
            session=(
                "set timezone = 'UTC'",
                "set default_transaction_read_only = on",
                "set default_transaction_isolation = 'repeatable read'",
                "set standard_conforming_strings = on",
                "set statement_timeout = '{deadline_seconds:g}s'",
            ),
            compares_own_types=True,
            collation=' COLLATE "C"',
            is_nan="{} = 'NaN'",
            text_key="md5(cast({} as text))",
            rank="decode(md5(concat_ws(',', {})), 'hex')",
            rank_is_binary=True,
        ),
        "trino": SqlDialect(
            extra="trino",
            connect={
                "request_timeout": 6 * CONNECT_SECONDS,
                "timezone": "UTC",
                "legacy_prepared_statements": False,
                "max_attempts": 1,
            },
            has_savepoints=False,
            compares_own_types=True,
            is_nan="is_nan({})",
            text_key="to_hex(md5(to_utf8(cast({} as varchar))))",
            rank="to_hex(md5(to_utf8(concat_ws(',', {}))))",
        ),
        "bigquery": SqlDialect(
            extra="bigquery",
            connect={},
            has_savepoints=False,
            compares_own_types=True,
            literals=False,
            is_nan="is_nan({})",
            text_key="to_hex(md5(cast({} as string)))",
            rank="to_hex(md5(array_to_string([{}], ',')))",
        ),
    }
)
_PLAIN = SqlDialect()


def dialect_of(name: str) -> SqlDialect:
    """The database that SQLAlchemy calls so."""
    return DIALECTS.get(name, _PLAIN)
