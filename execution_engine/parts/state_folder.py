"""States of one table kept in a folder: for notebooks, pipelines and benchmarks that have no server.

A file holds the states of many metrics, over one partition or over a union of some; what lies where stands at its end.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import blake2s
from mmap import ACCESS_READ, mmap
from os import SEEK_END
from pathlib import Path
from uuid import uuid4

from execution_engine.metrics.spec import MetricSpec
from execution_engine.metrics.states.states import UnableToReadState

from .incremental import Prints
from .state_store import write_whole

MOST_ROLLUPS = 2  # of one metric; each is as large as all its partitions' states
_ENDING = ".states"
_LENGTH = 8  # bytes, the last of a file: how long is the table of what lies where, which stands before them


@dataclass(frozen=True, kw_only=True)
class StatesFile:
    """``places``: where the state of each metric, by its text, begins, and how long it is, in bytes."""

    path: Path
    prints: Prints
    places: Mapping[str, tuple[int, int]]

    def load(self, spec: MetricSpec) -> memoryview:
        """The state, mapped rather than read; UnableToReadState where it is gone or cut off."""
        start, length = self.places[spec.text]
        try:
            with self.path.open("rb") as file:
                state = memoryview(mmap(file.fileno(), 0, access=ACCESS_READ))[start : start + length]
        except (OSError, ValueError) as error:  # an empty file cannot be mapped
            raise UnableToReadState(f"{self.path} cannot be read: {error}") from error
        if len(state) < length:
            raise UnableToReadState(f"{self.path} is cut off")
        return state


@dataclass(frozen=True, kw_only=True)
class StoredRollup:
    """The state of a metric over several partitions, in such a file."""

    spec: MetricSpec
    file: StatesFile

    @property
    def prints(self) -> Prints:
        """The partitions in it."""
        return self.file.prints

    def load(self) -> memoryview:
        """The state; UnableToReadState where it is gone or cut off."""
        return self.file.load(self.spec)


@dataclass(frozen=True, kw_only=True)
class StateFolder:
    """A folder of files for each partition, named by its key and fingerprint, and one for unions."""

    folder: Path

    def parts(self, specs: Sequence[MetricSpec], prints: Prints) -> dict[MetricSpec, dict[str, bytes]]:
        """Of each metric the states of those partitions that are known with these fingerprints, by key."""
        found: dict[MetricSpec, dict[str, bytes]] = defaultdict(dict)
        for key, print_ in prints.items():
            files = _files(self._part(key, print_))
            for spec in specs:
                if file := next((each for each in files if spec.text in each.places), None):
                    with suppress(UnableToReadState):
                        found[spec][key] = bytes(file.load(spec))
        return dict(found)

    def rollups(self, specs: Sequence[MetricSpec]) -> dict[MetricSpec, list[StoredRollup]]:
        """Of each metric the states over several partitions, the newest first."""
        files = _files(self._unions)
        return {
            spec: [StoredRollup(spec=spec, file=each) for each in files if spec.text in each.places] for spec in specs
        }

    def save_parts(self, prints: Prints, states: Mapping[MetricSpec, Mapping[str, bytes]]) -> None:
        """Keep the states of partitions, of each metric by key."""
        of_keys: dict[str, dict[MetricSpec, bytes]] = defaultdict(dict)
        for spec, some in states.items():
            for key, state in some.items():
                of_keys[key][spec] = state
        for key, of_key in of_keys.items():
            write_whole(_new(self._part(key, prints[key])), _written({key: prints[key]}, of_key.items()))

    def save_rollups(self, prints: Prints, states: Iterable[tuple[MetricSpec, bytes]]) -> None:
        """Keep the states over all these partitions, and only the newest few of each metric."""
        write_whole(_new(self._unions), _written(prints, states))
        kept: Counter[str] = Counter()
        for file in _files(self._unions):
            if all(kept[text] >= MOST_ROLLUPS for text in file.places):
                file.path.unlink(missing_ok=True)
            kept.update(file.places.keys())

    @property
    def _unions(self) -> Path:
        return self.folder / "unions"

    def _part(self, key: str, print_: str) -> Path:
        return self.folder / "parts" / _digest(f"{key}={print_}")


def _written(prints: Prints, states: Iterable[tuple[MetricSpec, bytes]]) -> Iterator[bytes]:
    """The pieces of a file."""
    places, start = {}, 0
    for spec, state in states:
        places[spec.text] = start, len(state)
        start += len(state)
        yield state
    told = json.dumps({"prints": dict(prints), "places": places}).encode()
    yield told + len(told).to_bytes(_LENGTH, "little")


def _new(folder: Path) -> Path:
    return folder / f"{uuid4().hex}{_ENDING}"


def _files(folder: Path) -> list[StatesFile]:
    """Those of a folder, the newest first; what is no such file, or is cut off, is left out."""
    found = []
    for path in folder.glob(f"*{_ENDING}"):
        with suppress(OSError, ValueError, KeyError):  # removed meanwhile, or damaged
            found.append((path.stat().st_mtime_ns, _read(path)))
    return [file for _, file in sorted(found, key=lambda each: each[0], reverse=True)]


def _read(path: Path) -> StatesFile:
    with path.open("rb") as file:
        file.seek(-_LENGTH, SEEK_END)
        length = int.from_bytes(file.read(), "little")
        file.seek(-length - _LENGTH, SEEK_END)
        told = json.loads(file.read(length))
    return StatesFile(path=path, prints=told["prints"], places=told["places"])


def _digest(text: str) -> str:
    return blake2s(text.encode(), digest_size=16).hexdigest()
