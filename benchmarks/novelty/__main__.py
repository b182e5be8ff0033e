"""``python -m benchmarks.novelty [--tables flights …] [--contenders ours …] [--docs]``.

Tables and contenders that are not named keep what an earlier run found. Exits with 1 where ours misses its aim.
"""

import argparse
import json

from rich.console import Console

from benchmarks.cache import home
from benchmarks.engine.machine import machine
from benchmarks.engine.report import DOCS, between_markers
from test_generator.challenge.injector import ErrorKind

from .contenders import CONTENDERS
from .cost import flights_columns, hardest_columns, profile_cost
from .race import Found, as_json, from_json, race
from .report import markdown, missed
from .shared import shared_cost
from .tables import TABLES
from .trials import SIX, sizes

SPOILT = 30  # batches of a table with errors, about; of the first two, every sixth and third with errors of all kinds
EVERY = {"flights": 6, "weather": 3}


def main() -> None:
    """Print and write what was found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--tables", nargs="*", choices=TABLES, default=list(TABLES), help="none: only write what was found before"
    )
    parser.add_argument("--contenders", nargs="+", choices=CONTENDERS, default=list(CONTENDERS))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--docs", action="store_true", help="write the tables into docs/benchmarks.md")
    given = parser.parse_args()
    console, path = Console(width=160), home() / "novelty.json"
    earlier = [from_json(each) for each in json.loads(path.read_text())] if path.exists() else []
    on, asked = machine(), {(table, contender) for table in given.tables for contender in given.contenders}
    found = [each for each in earlier if (each.table, each.contender) not in asked]
    for name in given.tables:
        batches = TABLES[name]()
        every = EVERY.get(name) or max(1, len(batches.tables) // SPOILT)
        kinds = tuple(ErrorKind) if name in EVERY else SIX
        console.print(f"{name}: {sizes(len(batches.tables), every)} with errors")
        found += race(batches, every, kinds, 1000 * given.seed, given.contenders)
        path.write_text(json.dumps([as_json(each) for each in found], indent=1))
    made = {"flights": flights_columns, "as many values as rows": hardest_columns} if given.docs else {}
    costs = [profile_cost(name, table()) for name, table in made.items()]
    scanned = shared_cost() if given.docs else []
    text = markdown(sorted(found, key=_place), on, given.seed, costs, scanned)
    console.print(text, soft_wrap=True, markup=False)
    if given.docs:
        DOCS.write_text(between_markers(DOCS.read_text(), "novelty", text))
    failures = missed(found, scanned)
    console.print(*failures, sep="\n")
    raise SystemExit(bool(failures))


def _place(found: Found) -> tuple[int, int]:
    return list(TABLES).index(found.table), list(CONTENDERS).index(found.contender)


if __name__ == "__main__":
    main()
