"""Metrics of earlier runs, kept in a file or in memory, and states of tables that grow by deltas."""

import fcntl
import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time
from decimal import Decimal
from hashlib import blake2s
from pathlib import Path
from typing import Protocol

from execution_engine.engines.gathering import from_state
from execution_engine.engines.protocol import Measured, failed
from execution_engine.exact import Number, number_of, to_json
from execution_engine.metrics.spec import MetricSpec
from execution_engine.metrics.states.states import UnableToReadState, from_bytes
from execution_engine.outcome import Reason
from execution_engine.own_files import write_whole
from execution_engine.parts.incremental import union

Tags = tuple[tuple[str, str], ...]


@dataclass(frozen=True, kw_only=True)
class ResultKey:
    """Which data was measured. Runs are compared with the earlier runs of the same tags.

    ``at`` is the instant that the data stands for, with its zone; ``tags`` are sorted pairs of texts.
    """

    at: datetime
    tags: Tags = ()

    @classmethod
    def of(cls, at: date | datetime, **tags: str) -> "ResultKey":
        """The key of a day, which stands for its first instant, or of an instant; in UTC without a zone."""
        instant = at if isinstance(at, datetime) else datetime.combine(at, time())
        instant = instant if instant.tzinfo else instant.replace(tzinfo=UTC)
        return cls(at=instant.astimezone(UTC), tags=tuple(sorted(tags.items())))


@dataclass(frozen=True, kw_only=True)
class StoredMetrics:
    """The metrics of one run, as repositories keep them: numbers by the texts of their metrics."""

    key: ResultKey
    values: Mapping[str, Number]


class MetricsRepository(Protocol):
    """What ``use_repository`` takes: an object with these two methods, such as one of your own."""

    def save(self, stored: StoredMetrics) -> None:
        """Keeps the metrics of one run; those of an earlier run of the same key stay, but for values that are new."""
        ...

    def load(self) -> list[StoredMetrics]:
        """Returns every run, in the order of the dates, as a list."""
        ...


@dataclass(frozen=True, kw_only=True)
class InMemoryRepository:
    """Keeps the metrics of runs as long as the object lives."""

    kept: dict[ResultKey, StoredMetrics] = field(default_factory=dict)

    def save(self, stored: StoredMetrics) -> None:
        """Keeps the metrics of one run until the object is gone."""
        self.kept[stored.key] = merged(self.kept.get(stored.key), stored)

    def load(self) -> list[StoredMetrics]:
        """Returns every run, in the order of the dates, as a list."""
        return ordered(self.kept)


def merged(before: StoredMetrics | None, stored: StoredMetrics) -> StoredMetrics:
    """Both, the newer values winning: a second run of other checks adds to the first."""
    return stored if before is None else StoredMetrics(key=stored.key, values={**before.values, **stored.values})


def ordered(runs: Mapping[ResultKey, StoredMetrics]) -> list[StoredMetrics]:
    """By date, then by tags."""
    return sorted(runs.values(), key=lambda stored: (stored.key.at, stored.key.tags))


def series(runs: Iterable[StoredMetrics], metric: str, key: ResultKey) -> list[tuple[datetime, Number]]:
    """The values of a metric before the date of ``key`` under the same tags, in the order of ``runs``."""
    return [
        (stored.key.at, stored.values[metric])
        for stored in runs
        if stored.key.tags == key.tags and stored.key.at < key.at and metric in stored.values
    ]


# A repository in one file of JSON lines: each run is one line, appended at once.


class UnableToReadRepository(ValueError):
    """A line of the file of a ``FileRepository`` is no run. The message names the file and the line."""


@dataclass(frozen=True)
class FileRepository:
    """Keeps the metrics of runs in a file of JSON lines, one line for each run; the first ``save`` makes it.

    Lines are only ever added, and of several with one key the later win. Several processes may write at once.
    """

    path: Path | str

    def save(self, stored: StoredMetrics) -> None:
        """Appends one line under a lock. The line is on disk when this returns."""
        path = Path(self.path)
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("ab") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            file.truncate(_confirmed(path.read_bytes()))
            values = {name: to_json(value) for name, value in stored.values.items()}
            run = {"at": stored.key.at.isoformat(), "tags": dict(stored.key.tags), "values": values}
            file.write((json.dumps(run, sort_keys=True) + "\n").encode())
            file.flush()
            os.fsync(file.fileno())

    def load(self) -> list[StoredMetrics]:
        """Returns every run, in the order of the dates; UnableToReadRepository: a line is no run."""
        path = Path(self.path)
        content = path.read_bytes() if path.exists() else b""
        runs: dict[ResultKey, StoredMetrics] = {}
        for number, line in enumerate(content[: _confirmed(content)].splitlines(), start=1):
            try:
                run = json.loads(line)
                values = {
                    str(name): number_of(Decimal(value)) if isinstance(value, str) else float(value)
                    for name, value in run["values"].items()
                }
                key = ResultKey.of(datetime.fromisoformat(run["at"]), **run["tags"])
            except (ValueError, KeyError, TypeError, AttributeError, ArithmeticError) as error:
                raise UnableToReadRepository(
                    f"{path}:{number}: it is no run of metrics ({error!r}); mend or delete the line"
                ) from None
            runs[key] = merged(runs.get(key), StoredMetrics(key=key, values=values))
        return ordered(runs)


def _confirmed(content: bytes) -> int:
    """How many bytes were written whole; what a crash left behind the last line's end never counted."""
    return content.rfind(b"\n") + 1


# Metrics of a table that grows by deltas: each delta is read once, its states are kept and added up.

NO_STATE = "{}: it does not add up over deltas; say Check(…, on='delta'), give the whole table, or take one that does"
_MISSING = (
    "{}: earlier deltas ({}, the last of {:%Y-%m-%d %H:%M} UTC) were verified without it: "
    "verify them again with this check, or say Check(…, on='delta')"
)
_AT = "%Y%m%dT%H%M%S.%f"


class DeltaStates(Protocol):
    """What ``Verification.add_up`` takes: ``key`` is the delta, its instant and tags, ``spec`` the metric."""

    def note(self, key: ResultKey) -> None:
        """Keeps that there was this delta, whatever was measured of it."""
        ...

    def add_up(self, key: ResultKey, spec: MetricSpec, delta: Measured) -> Measured:
        """Returns the metric over all deltas up to this one, whose state it keeps; a failure where it has none."""
        ...


@dataclass(frozen=True)
class FolderOfStates:
    """Keeps the states of the metrics of a table that grows, for ``Verification.add_up``, in a folder.

    The state of each metric over each delta is a file of its own. Beside them stands which deltas there were. The
    methods are those that ``Verification.run`` calls: ``key`` is the delta, its instant and tags, ``spec`` the metric.
    """

    path: Path | str

    def save(self, key: ResultKey, spec: MetricSpec, state: bytes) -> None:
        """Keeps the state of one metric over one delta. A state of the same key is replaced, in one step."""
        write_whole(self._folder(key, spec) / f"{_stem(key)}.state", [state])

    def before(self, key: ResultKey, spec: MetricSpec) -> list[bytes]:
        """Returns the states of a metric over all deltas before ``key`` under the same tags, the oldest first."""
        paths = sorted(self._folder(key, spec).glob("*.state"))
        return [path.read_bytes() for path in paths if path.name < f"{_stem(key)}.state"]

    def note(self, key: ResultKey) -> None:
        """Keeps that there was this delta, whatever was measured of it."""
        write_whole(self._deltas(key) / f"{_stem(key)}.delta", [])

    def missing(self, key: ResultKey, spec: MetricSpec) -> list[datetime]:
        """Returns the instants, in UTC and without a zone, of the earlier deltas of which the metric has no state."""
        noted = {path.name.removesuffix(".delta") for path in self._deltas(key).glob("*.delta")}
        state_stems = {path.name.removesuffix(".state") for path in self._folder(key, spec).glob("*.state")}
        return [datetime.strptime(stem, _AT) for stem in sorted(noted - state_stems) if stem < _stem(key)]

    def add_up(self, key: ResultKey, spec: MetricSpec, delta: Measured) -> Measured:
        """Returns the metric over all deltas up to this one, whose state it keeps; a failure where it has none."""
        if delta.failure is not None:
            return delta
        if delta.state is None or spec.by:
            return failed(Reason.INVALID, NO_STATE.format(spec.text))
        try:
            parts = [from_bytes(spec, part) for part in [*self.before(key, spec), delta.state]]
            summed = from_state(spec, union(spec, parts))
        except UnableToReadState as error:
            return failed(Reason.INVALID, f"{spec.text}: a state in {self.path} cannot be added: {error}")
        self.save(key, spec, delta.state)
        missing = self.missing(key, spec)
        return failed(Reason.INVALID, _MISSING.format(spec.text, len(missing), missing[-1])) if missing else summed

    def _deltas(self, key: ResultKey) -> Path:
        return Path(self.path) / _hash(repr(key.tags)) / "deltas"

    def _folder(self, key: ResultKey, spec: MetricSpec) -> Path:
        return Path(self.path) / _hash(repr(key.tags)) / _hash(spec.text)


def _stem(key: ResultKey) -> str:
    return key.at.strftime(_AT)


def _hash(text: str) -> str:
    return blake2s(text.encode(), digest_size=12).hexdigest()
