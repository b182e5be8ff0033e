"""What is said of a query before it runs, in a notebook and in Spark alike."""

import re
import threading

from .answers import QueryQuality
from .client import AssayClient
from .transport import AssayError

# statements that read no table of the catalog; what else cannot be read is no reason to let a query pass unseen
COMMANDS = frozenset(
    {
        *("add", "alter", "analyze", "begin", "cache", "clear", "comment", "commit", "declare", "desc", "describe"),
        *("drop", "explain", "grant", "list", "refresh", "reset", "revoke", "rollback", "set", "show", "truncate"),
        *("uncache", "use"),
    }
)
_BEFORE = re.compile(r"(?:\s|--[^\n]*\n?|/\*.*?\*/)*", re.DOTALL)
QUICK = 10.0  # seconds: a query waits no longer for its answer


class AssayWarning(UserWarning):
    """A query reads data that is not good, or Assay could not be asked."""


class DataIsBad(AssayError):
    """A query reads data that is bad, and must not run."""


class Asker:
    """Asks of one query after another, from whatever thread; an error of Assay's is told and not raised."""

    def __init__(self, client: AssayClient | None, *, fail_closed: bool) -> None:
        self._client = client or AssayClient(timeout=QUICK, retries=0)
        self._fail_closed, self._lock = fail_closed, threading.Lock()

    def ask(self, sql: str) -> tuple[QueryQuality | None, tuple[str, ...]]:
        """The answer, None for a statement that reads nothing or where there is none, and a line for each concern.

        Raises AssayError only if it fails closed.
        """
        if is_command(sql):
            return None, ()
        try:
            with self._lock:
                answer = self._client.query_quality(sql)
        except AssayError as error:
            if self._fail_closed:
                raise
            return None, (f"Assay gives no answer: {error}",)
        return answer, concerns(answer)


def is_command(sql: str) -> bool:
    """Whether a statement only sets, shows or drops something."""
    start = _BEFORE.match(sql)
    words = sql[start.end() if start else 0 :].split(maxsplit=1)
    return not words or words[0].rstrip(";").lower() in COMMANDS


def concerns(answer: QueryQuality) -> tuple[str, ...]:
    """A line for each table that the catalog knows and that is not good, with the reason; the worst first as answered.

    Of a table that is read in several ranges the lines stand once.
    """
    lines = [
        f"{table.dataset} is {table.status}: {table.why}"
        for table in answer.tables
        if not table.is_good and table.dataset not in answer.unknown
    ]
    return tuple(dict.fromkeys(lines))
