"""States of one table kept in a folder, which need no server.

A file holds the states of many metrics, over one partition or over a union of some; what lies where stands at its end.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from hashlib import blake2s
from mmap import ACCESS_READ, mmap
from os import SEEK_END
from pathlib import Path
from uuid import uuid4

from execution_engine.metrics.spec import MetricSpec
from execution_engine.metrics.states.states import UnableToReadState
from execution_engine.own_files import write_whole
from execution_engine.parts.incremental import Prints, Rollup

MOST_ROLLUPS = 2  # of one metric; each is as large as all its partitions' states
_ENDING = ".states"
_LENGTH = 8  # bytes, the last of a file: how long is the table of what lies where, which stands before them


@dataclass(frozen=True, kw_only=True)
class StatesFile:
    """The states of many metrics, over one partition or over a union of some; what lies where stands at its end.

    ``places``: where the state of each metric, by its text, begins, and how long it is, in bytes.
    """

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
class StateFolder:
    """A folder of files for each partition, named by its key and fingerprint, and one for unions."""

    folder: Path

    def parts(self, specs: Sequence[MetricSpec], prints: Prints) -> dict[MetricSpec, dict[str, bytes]]:
        """Of each metric the states of those partitions that are known with these fingerprints, by key."""
        states: dict[MetricSpec, dict[str, bytes]] = defaultdict(dict)
        for key, print_ in prints.items():
            files = _files(self._part(key, print_))
            for spec in specs:
                if file := next((file for file in files if spec.text in file.places), None):
                    with suppress(UnableToReadState):
                        states[spec][key] = bytes(file.load(spec))
        return dict(states)

    def rollups(self, specs: Sequence[MetricSpec]) -> dict[MetricSpec, list[Rollup]]:
        """Of each metric the states over several partitions, the newest first."""
        files = _files(self._unions)
        return {
            spec: [
                Rollup(prints=file.prints, load=partial(file.load, spec)) for file in files if spec.text in file.places
            ]
            for spec in specs
        }

    def save_parts(self, prints: Prints, states: Mapping[MetricSpec, Mapping[str, bytes]]) -> None:
        """Keep the states of partitions, of each metric by key."""
        of_keys: dict[str, dict[MetricSpec, bytes]] = defaultdict(dict)
        for spec, by_key in states.items():
            for key, state in by_key.items():
                of_keys[key][spec] = state
        for key, of_key in of_keys.items():
            _write(self._part(key, prints[key]), {key: prints[key]}, of_key.items())

    def save_rollups(self, prints: Prints, states: Iterable[tuple[MetricSpec, bytes]]) -> None:
        """Keep the states over all these partitions, and only the newest few of each metric."""
        _write(self._unions, prints, states)
        kept: Counter[str] = Counter()
        for file in _files(self._unions):
            if all(kept[text] >= MOST_ROLLUPS for text in file.places):
                file.path.unlink(missing_ok=True)
            kept.update(file.places.keys())

    @property
    def _unions(self) -> Path:
        return self.folder / "unions"

    def _part(self, key: str, print_: str) -> Path:
        return self.folder / "parts" / blake2s(f"{key}={print_}".encode(), digest_size=16).hexdigest()


def _write(folder: Path, prints: Prints, states: Iterable[tuple[MetricSpec, bytes]]) -> None:
    """Write a file of these states, each of which is let go before the next is made."""

    def pieces() -> Iterator[bytes]:
        places, start = {}, 0
        for spec, state in states:
            places[spec.text] = start, len(state)
            start += len(state)
            yield state
        index = json.dumps({"prints": dict(prints), "places": places}).encode()
        yield index + len(index).to_bytes(_LENGTH, "little")

    write_whole(folder / f"{uuid4().hex}{_ENDING}", pieces())


def _files(folder: Path) -> list[StatesFile]:
    """Those of a folder, the newest first; what is no such file, or is cut off, is left out."""
    files = []
    for path in folder.glob(f"*{_ENDING}"):
        with suppress(OSError, ValueError, KeyError):  # removed meanwhile, or damaged
            with path.open("rb") as content:
                content.seek(-_LENGTH, SEEK_END)
                length = int.from_bytes(content.read(), "little")
                content.seek(-length - _LENGTH, SEEK_END)
                index = json.loads(content.read(length))
            file = StatesFile(path=path, prints=index["prints"], places=index["places"])
            files.append((path.stat().st_mtime_ns, file))
    return [file for _, file in sorted(files, key=lambda dated: dated[0], reverse=True)]
