"""What earlier runs have measured, in memory and in a file."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from pathlib import Path

import pytest

from execution_engine.verification import (
    FileRepository,
    InMemoryRepository,
    MetricsRepository,
    ResultKey,
    StoredMetrics,
    UnableToReadRepository,
)
from execution_engine.verification.repository import series

Make = Callable[[Path], MetricsRepository]
KINDS: list[Make] = [lambda folder: InMemoryRepository(), lambda folder: FileRepository(folder / "a" / "metrics.jsonl")]


def saved(day: int, size: float, metric: str = "row_count()", **tags: str) -> StoredMetrics:
    return StoredMetrics(key=ResultKey.of(date(2026, 3, day), **tags), values={metric: size})


@pytest.mark.parametrize("make", KINDS)
def test_a_series_has_the_days_before_under_the_same_tags_in_their_order(make: Make, tmp_path: Path) -> None:
    repository = make(tmp_path)
    for stored in (saved(3, 30, city="rome"), saved(1, 10, city="rome"), saved(2, 20, city="oslo"), saved(2, 7)):
        repository.save(stored)
    found = series(repository.load(), "row_count()", ResultKey.of(date(2026, 3, 3), city="rome"))
    assert [value for _, value in found] == [10]


@pytest.mark.parametrize("make", KINDS)
def test_a_second_run_of_a_day_replaces_and_adds(make: Make, tmp_path: Path) -> None:
    repository = make(tmp_path)
    for stored in (saved(1, 10), saved(1, 11), saved(1, 0.5, metric="mean(fare)")):
        repository.save(stored)
    (only,) = repository.load()
    assert only.values == {"row_count()": 11, "mean(fare)": 0.5}


def test_a_line_that_a_crash_cut_off_never_counted(tmp_path: Path) -> None:
    repository = FileRepository(tmp_path / "metrics.jsonl")
    repository.save(saved(1, 10))
    with Path(repository.path).open("a") as file:
        file.write('{"at": "2026-03-02T00')
    assert len(repository.load()) == 1
    repository.save(saved(3, 30))
    assert [stored.values["row_count()"] for stored in repository.load()] == [10, 30]


def test_a_line_that_is_no_run_is_named(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    FileRepository(path).save(saved(1, 10))
    path.write_text(path.read_text() + "[]\n")
    with pytest.raises(UnableToReadRepository, match=r"metrics\.jsonl:2: it is no run"):
        FileRepository(path).load()


def test_many_writers_lose_nothing(tmp_path: Path) -> None:
    repository = FileRepository(tmp_path / "metrics.jsonl")
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: repository.save(saved(1 + number % 28, 1, run=str(number))), range(100)))
    assert len(repository.load()) == 100
