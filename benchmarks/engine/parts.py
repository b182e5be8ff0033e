"""What is measured: each part some races, by the heading they are shown under."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from benchmarks.data.history import history
from benchmarks.data.small import small_tables
from benchmarks.data.trips import trips

from . import environments
from .environments import OWN, Environment
from .race import Course, Race, race

SIZES = {"10k": 10_000, "1M": 1_000_000, "10M": 10_000_000}
FEW_ROWS = 100_000
MANY_ROWS = 10_000_000
REPEATS, OF_MANY_ROWS, OF_A_DAY = 5, 3, 15  # a round takes minutes with many rows, and with a day a second
HOMES = {
    "cuallee": environments.CUALLEE,
    "duckdb_alone": environments.DUCKDB,
    "polars_alone": environments.POLARS,
    "great_expectations": environments.GREAT_EXPECTATIONS,
    "soda": environments.SODA,
}
FOUR_HUNDRED = ("g", "ours", "g_400", "ours_400")
SMALL = ("small_by_hand", "small_one_by_one", "small_together")
SMALL_WAYS = ("small_without_kernels", "small_together", "small_in_process")
HISTORY = (
    "history_by_hand",
    "history_anew",
    "history_merged",
    "history_window",
    "history_keys_by_hand",
    "history_keys_anew",
    "history_keys_merged",
)
DAY = ("day_scanned", "history_scan_merged")
DAY_LIMITS = {"history_scan_merged": 1.1}  # × the CPU of the day's own scan, whatever lies before the day


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What the caller wants measured; ``repeats`` of None: as many rounds as the race needs."""

    sizes: Sequence[str]
    only: Sequence[str]
    repeats: int | None


Races = Iterator[tuple[str, Race]]


def suite(asked: Asked) -> Races:
    """The engine and Spark by hand on the forty checks, at each size."""
    yield from _forty(asked, [name for name in asked.only if name not in HOMES])


def peers(asked: Asked) -> Races:
    """The same of those who need an environment of their own, each beside g."""
    yield from _forty(asked, [name for name in asked.only if name in HOMES])


def _forty(asked: Asked, names: Sequence[str]) -> Races:
    for size in asked.sizes:
        for environment, group in grouped(names).items():
            yield f"40 checks, {size} rows", race(environment, group, _course(SIZES[size], asked))


def four_hundred(asked: Asked) -> Races:
    """Forty checks under ten where-clauses, against forty and against one select; on large tables."""
    for size in [size for size in asked.sizes if SIZES[size] > FEW_ROWS]:
        yield f"400 checks, {size} rows", race(OWN, FOUR_HUNDRED, _course(SIZES[size], asked, hurry=False))


def small(asked: Asked) -> Races:
    """A thousand tables of ten thousand rows, five checks each: by hand, and each way to read them together."""
    course = Course(
        path=str(small_tables()), rows=0, repeats=asked.repeats or REPEATS, warm_ups=2, spoilt=False, hurry=False
    )
    yield "5 checks of each small table", race(OWN, SMALL, course)
    yield "5 checks of each small table, with and without kernels", race(OWN, SMALL_WAYS, course)


def incremental(asked: Asked) -> Races:
    """A day of a hundred thousand rows added to a history: its own cost first, then beside the history anew."""
    for size in [size for size in asked.sizes if SIZES[size] > FEW_ROWS]:
        course = _onto(SIZES[size], repeats_of(SIZES[size], asked))
        often = replace(course, repeats=asked.repeats or OF_A_DAY, warm_ups=3, limits=DAY_LIMITS)
        yield f"a day alone and onto {size} rows", race(OWN, DAY, often)
        yield f"40 checks, a day onto {size} rows", race(OWN, HISTORY, course)


PARTS: Mapping[str, Callable[[Asked], Races]] = {  # what needs an hour is last
    "suite": suite,
    "small": small,
    "incremental": incremental,
    "peers": peers,
    "four_hundred": four_hundred,
}


def grouped(names: Sequence[str]) -> dict[Environment, list[str]]:
    """Who runs where: each environment with its contenders, and g before them to divide by."""
    found: dict[Environment, list[str]] = {}
    for name in names:
        group = found.setdefault(HOMES.get(name, OWN), ["g"])
        group += [] if name == "g" else [name]
    return found


def repeats_of(rows: int, asked: Asked) -> int:
    """How many rounds are counted."""
    return asked.repeats or (OF_MANY_ROWS if rows >= MANY_ROWS else REPEATS)


def _course(rows: int, asked: Asked, hurry: bool = True) -> Course:
    """A short query is compiled by Java over several runs, so that it warms up longer."""
    warm_ups = 3 if rows < FEW_ROWS else 1
    return Course(path=str(trips(rows)), rows=rows, repeats=repeats_of(rows, asked), warm_ups=warm_ups, hurry=hurry)


def _onto(rows: int, repeats: int) -> Course:
    """The history and the day."""
    return Course(path=str(history(rows)), rows=rows + 100_000, repeats=repeats, spoilt=False, hurry=False)
