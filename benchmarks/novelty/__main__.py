"""``python -m benchmarks.novelty [--tables flights weather …] [--docs]``: exits with 1 where ours misses its aim.

Tables that are not named keep what an earlier run found of them.
"""

import argparse
import json

from rich.console import Console

from benchmarks.cache import home
from benchmarks.engine.machine import machine
from benchmarks.engine.report import DOCS, between_markers
from test_generator.challenge.injector import ErrorKind

from .cost import flights_columns, hardest_columns, profile_cost
from .race import as_json, from_json, race
from .report import markdown, missed
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
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--docs", action="store_true", help="write the tables into docs/benchmarks.md")
    given = parser.parse_args()
    console, path = Console(width=160), home() / "novelty.json"
    earlier = [from_json(each) for each in json.loads(path.read_text())] if path.exists() else []
    on, found = machine(), [each for each in earlier if each.table not in given.tables]
    for name in given.tables:
        batches = TABLES[name]()
        every = EVERY.get(name) or max(1, len(batches.tables) // SPOILT)
        kinds = tuple(ErrorKind) if name in EVERY else SIX
        console.print(f"{name}: {sizes(len(batches.tables), every)} with errors")
        found += race(batches, every, kinds, 1000 * given.seed)
        path.write_text(json.dumps([as_json(each) for each in found], indent=1))
    costs = [profile_cost("flights", flights_columns()), profile_cost("as many values as rows", hardest_columns())]
    text = markdown(sorted(found, key=lambda each: list(TABLES).index(each.table)), on, given.seed, costs)
    console.print(text, soft_wrap=True, markup=False)
    if given.docs:
        DOCS.write_text(between_markers(DOCS.read_text(), "novelty", text))
    failures = missed(found)
    console.print(*failures, sep="\n")
    raise SystemExit(bool(failures))


if __name__ == "__main__":
    main()
