"""States of one table kept in a folder: for notebooks, pipelines and benchmarks that have no server."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2s
from mmap import ACCESS_READ, mmap
from pathlib import Path

from execution_engine.metrics.spec import MetricSpec
from execution_engine.metrics.states.states import UnableToReadState

from .incremental import Prints
from .state_store import write_whole

MOST_ROLLUPS = 2  # of one metric; each is as large as all its partitions' states


@dataclass(frozen=True, kw_only=True)
class StoredRollup:
    """A state over several partitions, in a file."""

    prints: Prints
    path: Path

    def load(self) -> memoryview:
        """The state, mapped rather than read; UnableToReadState where the file is gone."""
        try:
            with self.path.open("rb") as file:
                return memoryview(mmap(file.fileno(), 0, access=ACCESS_READ))
        except (OSError, ValueError) as error:  # an empty file cannot be mapped
            raise UnableToReadState(f"{self.path} cannot be read: {error}") from error


@dataclass(frozen=True, kw_only=True)
class StateFolder:
    """A file for each metric and partition, named by the metric, the key and the fingerprint."""

    folder: Path

    def parts(self, spec: MetricSpec, prints: Prints) -> dict[str, bytes]:
        """The states of those partitions that are known with these fingerprints, by key."""
        paths = {key: self._part(spec, key, print_) for key, print_ in prints.items()}
        return {key: path.read_bytes() for key, path in paths.items() if path.exists()}

    def rollups(self, spec: MetricSpec) -> Sequence[StoredRollup]:
        """The states over several partitions, the newest first."""
        told = sorted(self._of(spec).glob("*.json"), key=lambda path: path.stat().st_mtime_ns, reverse=True)
        return [StoredRollup(prints=json.loads(path.read_text()), path=path.with_suffix(".union")) for path in told]

    def save_parts(self, spec: MetricSpec, prints: Prints, states: Mapping[str, bytes]) -> None:
        """Keep the states of partitions, by key."""
        for key, state in states.items():
            write_whole(self._part(spec, key, prints[key]), state)

    def save_rollup(self, spec: MetricSpec, prints: Prints, state: bytes) -> None:
        """Keep the state over all these partitions, and only the newest few."""
        name = _digest("\n".join(f"{key}={print_}" for key, print_ in sorted(prints.items())))
        write_whole(self._of(spec) / f"{name}.union", state)
        write_whole(self._of(spec) / f"{name}.json", json.dumps(dict(prints)).encode())
        for old in self.rollups(spec)[MOST_ROLLUPS:]:
            old.path.with_suffix(".json").unlink(missing_ok=True)
            old.path.unlink(missing_ok=True)

    def _of(self, spec: MetricSpec) -> Path:
        return self.folder / f"{spec.name}-{_digest(spec.text)}"

    def _part(self, spec: MetricSpec, key: str, print_: str) -> Path:
        return self._of(spec) / f"{_digest(f'{key}={print_}')}.state"


def _digest(text: str) -> str:
    return blake2s(text.encode(), digest_size=16).hexdigest()
