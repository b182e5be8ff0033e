"""A publication that dies at each of its points: readers see the old data or the new, never a mix, never other data."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from .publisher import KEY, LEAST, NAME
from .readers import READERS, document_of, version_of

ROOT = Path(__file__).parents[3]
GOOD, BAD = LEAST + 10, LEAST - 10  # rows
POINTS = 24  # of a publication with a copy of two files


class Publisher:
    """The process that publishes."""

    def __init__(self, home: Path) -> None:
        words = [sys.executable, "-m", "tests.integration.publish.publisher", str(home)]
        pipe = subprocess.PIPE
        environment = {"PYTHONPATH": f"{ROOT / 'platform'}:{ROOT}", "PATH": "/usr/bin:/bin"}
        self.process = subprocess.Popen(words, stdin=pipe, stdout=pipe, text=True, cwd=ROOT, env=environment)
        self.home, self.to, self.version = home, "", 0

    def __call__(self, *words: object) -> Any:
        """The answer to one line."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(words) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def publish(self, dies_at: int | None = None) -> Any:
        """What came of publishing what lies there."""
        return self("publish", self.to, dies_at)

    def audited(self, rows: int = GOOD) -> str:
        """Write a new version and have it judged."""
        self.version += 1
        self("write", self.version, rows)
        self.publish()  # it is refused, and asks for the runs
        return str(self("judge"))


@pytest.fixture(scope="module")
def publisher(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Publisher]:
    """One process for all pointers."""
    found = Publisher(tmp_path_factory.mktemp("company"))
    yield found
    found.process.kill()
    found.process.wait()


def pointed(pointer: Path) -> int:
    """The version that a reader gets now."""
    document = document_of(pointer)
    assert document is not None
    return version_of(document)[0]


@pytest.mark.parametrize(
    ("kind", "file", "step"),
    [
        ("manifest", f"_PUBLISHED_{KEY}.json", 1),
        ("signal", f"dataset={NAME}/partition={KEY}/signal.parquet", 6),
    ],
)
def test_readers_see_the_old_or_the_new_wherever_a_publication_dies(
    publisher: Publisher, kind: str, file: str, step: int
) -> None:
    pointer = publisher.home / kind / file
    publisher.to = f"{kind}:{publisher.home / kind}"
    points = [*_points(publisher), *_points(publisher)][-POINTS:]  # the first one makes the folders as well
    assert len(points) == POINTS
    words = [sys.executable, str(Path(__file__).with_name("readers.py")), str(pointer)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as readers:
        published = {pointed(pointer)}
        for number in range(0, POINTS, step):
            published |= _die_at(publisher, pointer, number, points[number])
        told, _ = readers.communicate()
    found = json.loads(told)
    assert found["wrong"] == []
    assert {int(version) for version in found["seen"]} <= published
    assert found["fewest_rows"] == GOOD
    assert sum(found["seen"].values()) > 2 * READERS


def _points(publisher: Publisher) -> list[str]:
    """All points of a publication that does not die."""
    assert publisher.audited() == "PASS"
    told = publisher.publish()["told"]
    assert told["published"], told
    return list(told["points"])


def _die_at(publisher: Publisher, pointer: Path, number: int, name: str) -> set[int]:
    """Publish a new version, die at a point, and publish again; the versions that were audited.

    At some points bad data is judged, and refused, first; at some the data is written again after the death.
    """
    old = pointed(pointer)
    if number % 8 == 0:
        assert publisher.audited(rows=BAD) != "PASS"
        assert not publisher.publish()["told"]["published"]
        assert pointed(pointer) == old
    assert publisher.audited() == "PASS"
    audited = {publisher.version}
    died = publisher.publish(number)
    assert (died["died"], died["told"]) == (True, name)
    assert pointed(pointer) in (old, *audited), name
    if number % 6 == 0:
        publisher("write", -publisher.version, GOOD)  # which nobody has judged
        assert not publisher.publish()["told"]["published"]
        assert pointed(pointer) in (old, *audited), name
        assert publisher.audited() == "PASS"
        audited.add(publisher.version)
    again = publisher.publish()["told"]
    assert again.get("published"), (name, again)
    assert pointed(pointer) == publisher.version
    return audited
