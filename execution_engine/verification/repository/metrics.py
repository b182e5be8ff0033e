"""Metrics of earlier runs, by the date of the data and by tags."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time
from typing import Protocol

from execution_engine.exact import Number

Tags = tuple[tuple[str, str], ...]


@dataclass(frozen=True, kw_only=True)
class ResultKey:
    """Which data was measured: the instant it stands for, and tags such as region=eu."""

    at: datetime
    tags: Tags = ()

    @classmethod
    def of(cls, at: date | datetime, **tags: str) -> "ResultKey":
        """The key of a day or an instant; one without a zone is in UTC."""
        instant = at if isinstance(at, datetime) else datetime.combine(at, time())
        instant = instant if instant.tzinfo else instant.replace(tzinfo=UTC)
        return cls(at=instant.astimezone(UTC), tags=tuple(sorted(tags.items())))


@dataclass(frozen=True, kw_only=True)
class StoredMetrics:
    """The values of one run, by the texts of their metrics."""

    key: ResultKey
    values: Mapping[str, Number]


class MetricsRepository(Protocol):
    """Keeps the metrics of runs; those of one key are those saved last."""

    def save(self, stored: StoredMetrics) -> None:
        """Keep the metrics of one run."""
        ...

    def load(self) -> list[StoredMetrics]:
        """Every run, in the order of its date."""
        ...


@dataclass(frozen=True, kw_only=True)
class InMemoryRepository:
    """Keeps them as long as the object lives."""

    kept: dict[ResultKey, StoredMetrics] = field(default_factory=dict)

    def save(self, stored: StoredMetrics) -> None:
        """Keep the metrics of one run."""
        self.kept[stored.key] = merged(self.kept.get(stored.key), stored)

    def load(self) -> list[StoredMetrics]:
        """Every run, in the order of its date."""
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
