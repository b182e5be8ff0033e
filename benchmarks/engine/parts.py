"""What is measured: each part some races, by the heading they are shown under."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from benchmarks.data.history import history
from benchmarks.data.small import small_tables
from benchmarks.data.trips import trips
from benchmarks.engine import environments
from benchmarks.engine.environments import OWN, Environment
from benchmarks.engine.race import Course, Race, race

SIZES = {"10k": 10_000, "1M": 1_000_000, "10M": 10_000_000}
FEW_ROWS = 100_000
HOMES = {
    "cuallee": environments.CUALLEE,
    "duckdb_alone": environments.DUCKDB,
    "polars_alone": environments.POLARS,
    "great_expectations": environments.GREAT_EXPECTATIONS,
    "soda": environments.SODA,
}
FOUR_HUNDRED = ("g", "ours", "g_400", "ours_400")
SMALL = ("small_by_hand", "small_one_by_one", "small_together")
HISTORY = (
    "history_by_hand",
    "history_anew",
    "history_merged",
    "history_window",
    "day_scanned",
    "history_scan_merged",
    "history_keys_by_hand",
    "history_keys_anew",
    "history_keys_merged",
)


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What the caller wants measured."""

    sizes: Sequence[str]
    only: Sequence[str]
    repeats: int


Races = Iterator[tuple[str, Race]]


def suite(asked: Asked) -> Races:
    """Everyone on the forty checks, at each size."""
    for size in asked.sizes:
        for environment, names in grouped(asked.only).items():
            yield f"40 checks, {size} rows", race(environment, names, _course(SIZES[size], asked))


def four_hundred(asked: Asked) -> Races:
    """Forty checks under ten where-clauses, against forty and against one select; on large tables."""
    for size in [size for size in asked.sizes if SIZES[size] > FEW_ROWS]:
        yield f"400 checks, {size} rows", race(OWN, FOUR_HUNDRED, _course(SIZES[size], asked, hurry=False))


def small(asked: Asked) -> Races:
    """A thousand tables of ten thousand rows, five checks each."""
    course = Course(path=str(small_tables()), rows=0, repeats=asked.repeats, spoilt=False, hurry=False)
    yield "5 checks of each small table", race(OWN, SMALL, course)


def incremental(asked: Asked) -> Races:
    """A day of a hundred thousand rows added to a history."""
    for size in [size for size in asked.sizes if SIZES[size] > FEW_ROWS]:
        rows = SIZES[size]
        course = Course(path=str(history(rows)), rows=rows + 100_000, repeats=asked.repeats, spoilt=False, hurry=False)
        yield f"40 checks, a day onto {size} rows", race(OWN, HISTORY, course)


PARTS: Mapping[str, Callable[[Asked], Races]] = {
    "suite": suite,
    "four_hundred": four_hundred,
    "small": small,
    "incremental": incremental,
}


def grouped(names: Sequence[str]) -> dict[Environment, list[str]]:
    """Who runs where: each environment with its contenders, and g before them to divide by."""
    found: dict[Environment, list[str]] = {}
    for name in names:
        group = found.setdefault(HOMES.get(name, OWN), ["g"])
        group += [] if name == "g" else [name]
    return found


def _course(rows: int, asked: Asked, hurry: bool = True) -> Course:
    """A short query is compiled by Java over several runs, so that it warms up longer."""
    warm_ups = 3 if rows < FEW_ROWS else 1
    return Course(path=str(trips(rows)), rows=rows, repeats=asked.repeats, warm_ups=warm_ups, hurry=hurry)
