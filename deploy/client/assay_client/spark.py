"""Spark asks Assay before each ``spark.sql``: in Python alone, without jars, for classic sessions and Connect."""

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from types import TracebackType
from typing import Any, Literal

from .client import AssayClient
from .queries import Asker, AssayWarning, DataIsBad

OnBad = Literal["warn", "raise"]


class Watch:
    """A session that is watched until ``undo``, or until the end of a ``with`` block."""

    def __init__(self, spark: Any, asker: Asker, on_bad: OnBad) -> None:
        self._spark, self._asker, self._on_bad = spark, asker, on_bad
        self._before: Callable[..., Any] = spark.sql
        self._had_own = "sql" in vars(spark)
        spark.sql = self._watched()

    def undo(self) -> None:
        """``spark.sql`` is as it was; to call it again does nothing. Of several watches undo the last one first."""
        if vars(self._spark).get("sql") is not self._sql:
            return
        if self._had_own:
            self._spark.sql = self._before
        else:
            del self._spark.sql

    def __enter__(self) -> "Watch":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.undo()

    def _watched(self) -> Callable[..., Any]:
        before = self._before

        @wraps(before)
        def sql(sqlQuery: str, *args: Any, **more: Any) -> Any:  # noqa: N803 – Spark's own name
            answer, lines = self._asker.ask(sqlQuery)
            if answer is not None and answer.status == "bad" and self._on_bad == "raise":
                raise DataIsBad("; ".join(lines), mend="Mend the data, or undo the watch to read it as it is.")
            for line in lines:
                warnings.warn(AssayWarning(line), stacklevel=2)
            return before(sqlQuery, *args, **more)

        self._sql = sql
        return sql


def watch(spark: Any, client: AssayClient | None = None, *, on_bad: OnBad = "warn", fail_closed: bool = False) -> Watch:
    """From now on ``spark.sql`` asks first: of each table that is not good it warns with AssayWarning.

    Where data is ``bad`` and ``on_bad="raise"``, it raises DataIsBad, and the query does not run. That Assay gives no
    answer is a warning and breaks no query, unless ``fail_closed``: then it raises AssayError. Without a client it
    makes one from ASSAY_URL and ASSAY_TOKEN that waits ten seconds at most.

    Only ``sql`` of this session object is watched, neither ``table`` nor ``read``, and tables that the catalog does not
    know, such as temporary views, are passed over.
    """
    if on_bad not in ("warn", "raise"):
        raise ValueError(f"on_bad={on_bad!r}: write 'warn' or 'raise'")
    return Watch(spark, Asker(client, fail_closed=fail_closed), on_bad)


@contextmanager
def watched(
    spark: Any, client: AssayClient | None = None, *, on_bad: OnBad = "warn", fail_closed: bool = False
) -> Iterator[Watch]:
    """The same for the length of a ``with`` block or, as a decorator, of each call."""
    with watch(spark, client, on_bad=on_bad, fail_closed=fail_closed) as watching:
        yield watching
