"""Metrics of earlier runs, by the date of the data and by tags."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time
from typing import Protocol

from execution_engine.exact import Number

Tags = tuple[tuple[str, str], ...]


@dataclass(frozen=True, kw_only=True)
class ResultKey:
    """Which data was measured. Runs are compared with the earlier runs of the same tags.

    Parameters:
        at: the instant that the data stands for, with its zone.
        tags: pairs of texts, such as ``(("region", "eu"),)``, sorted. ``ResultKey.of`` sorts them.

    Errors: none.

    Example:
        >>> ResultKey(at=datetime(2026, 3, 10, tzinfo=UTC)) == ResultKey.of(date(2026, 3, 10))
        True
    """

    at: datetime
    tags: Tags = ()

    @classmethod
    def of(cls, at: date | datetime, **tags: str) -> "ResultKey":
        """The key of a day or an instant.

        Parameters:
            at: a date, which stands for its first instant in UTC, or a datetime. One without a zone is in UTC.
            tags: texts by names, such as ``region="eu"``.

        Errors:
            TypeError: ``at`` is neither a date nor a datetime.

        Example:
            >>> key = ResultKey.of(date(2026, 3, 10), region="eu")
            >>> key.at.isoformat(), key.tags
            ('2026-03-10T00:00:00+00:00', (('region', 'eu'),))
        """
        instant = at if isinstance(at, datetime) else datetime.combine(at, time())
        instant = instant if instant.tzinfo else instant.replace(tzinfo=UTC)
        return cls(at=instant.astimezone(UTC), tags=tuple(sorted(tags.items())))


@dataclass(frozen=True, kw_only=True)
class StoredMetrics:
    """The metrics of one run, as repositories keep them.

    Parameters:
        key: the data that was measured.
        values: numbers by the texts of their metrics, such as ``{"row_count()": 10}``.

    Errors: none.

    Example:
        >>> stored = StoredMetrics(key=ResultKey.of(date(2026, 3, 10)), values={"row_count()": 10})
    """

    key: ResultKey
    values: Mapping[str, Number]


class MetricsRepository(Protocol):
    """What ``use_repository`` takes: an object with these two methods, such as one of your own.

    Example:
        >>> repository: MetricsRepository = InMemoryRepository()
    """

    def save(self, stored: StoredMetrics) -> None:
        """Keeps the metrics of one run. Those of an earlier run of the same key stay, but for the values that are new.

        Parameters:
            stored: the metrics, with the key they are kept under.

        Errors: those of the place that keeps them, such as OSError.

        Example:
            >>> repository.save(StoredMetrics(key=ResultKey.of(date(2026, 3, 10)), values={"row_count()": 10}))
        """
        ...

    def load(self) -> list[StoredMetrics]:
        """Returns every run, in the order of the dates, as a list.

        Errors: those of the place that keeps them, such as OSError.

        Example:
            >>> [run.values for run in repository.load()]
            [{'row_count()': 10}]
        """
        ...


@dataclass(frozen=True, kw_only=True)
class InMemoryRepository:
    """Keeps the metrics of runs as long as the object lives.

    Parameters:
        kept: the runs it begins with, by their keys; none by default.

    Errors: none.

    Example:
        >>> repository = InMemoryRepository()
        >>> repository.save(StoredMetrics(key=ResultKey.of(date(2026, 3, 10)), values={"row_count()": 10}))
    """

    kept: dict[ResultKey, StoredMetrics] = field(default_factory=dict)

    def save(self, stored: StoredMetrics) -> None:
        """Keeps the metrics of one run until the object is gone.

        Errors: none.

        Example:
            >>> repository.save(StoredMetrics(key=ResultKey.of(date(2026, 3, 11)), values={"row_count()": 12}))
        """
        self.kept[stored.key] = merged(self.kept.get(stored.key), stored)

    def load(self) -> list[StoredMetrics]:
        """Returns every run, in the order of the dates, as a list.

        Errors: none.

        Example:
            >>> [run.values["row_count()"] for run in repository.load()]
            [10, 12]
        """
        return ordered(self.kept)


def merged(before: StoredMetrics | None, stored: StoredMetrics) -> StoredMetrics:
    """Both, the newer values winning: a second run of other checks adds to the first."""
    return stored if before is None else StoredMetrics(key=stored.key, values={**before.values, **stored.values})


def ordered(kept: Mapping[ResultKey, StoredMetrics]) -> list[StoredMetrics]:
    """By date, then by tags."""
    return sorted(kept.values(), key=lambda stored: (stored.key.at, stored.key.tags))


def series(runs: Iterable[StoredMetrics], metric: str, key: ResultKey) -> list[tuple[datetime, Number]]:
    """The values of a metric before the date of ``key`` under the same tags, in the order of ``runs``."""
    return [
        (stored.key.at, stored.values[metric])
        for stored in runs
        if stored.key.tags == key.tags and stored.key.at < key.at and metric in stored.values
    ]
