"""``python -m benchmarks.vitals.looks [--tables 900] [--docs]``: what looks at commits cost, the first and the next."""

import argparse
import json
import os
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from shutil import copytree
from tempfile import TemporaryDirectory
from time import process_time

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.engine.machine import machine
from benchmarks.engine.report import DOCS, between_markers

COMMITS = 180
ROWS = pa.table({"id": pa.array(range(100), pa.int64())})
FOLDERS = 100  # of each storage, which the tables share in turn: so far apart that no cache knows one again
COMPANY = 100_000
CORES = 2


def main() -> None:
    """Lay the tables, look twice at each, and say what that comes to for a whole company."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=int, default=300, help="of each storage")
    parser.add_argument("--docs", action="store_true", help="write the table into docs/benchmarks.md")
    options = parser.parse_args()
    with TemporaryDirectory() as folder:
        os.environ |= {"ASSAY_HOME": f"{folder}/home", "DJANGO_SETTINGS_MODULE": "assay.settings"}
        text = _table(Path(folder), options.tables)
    print(text)
    if options.docs:
        DOCS.write_text(between_markers(DOCS.read_text(), "looks", text))


def _table(folder: Path, count: int) -> str:
    import django
    from django.core.management import call_command

    django.setup()
    call_command("migrate", verbosity=0)
    lines = ["| storage | commits | first look, ms | a look that finds nothing, ms |", "|---|---|---|---|"]
    first_all, again_all = [], []
    for storage, lay in LAYOUTS.items():
        lay(folder / storage / "0")
        for number in range(1, min(count, FOLDERS)):
            copytree(folder / storage / "0", folder / storage / str(number))
        first, again = _costs(folder / storage, storage, count)
        first_all.append(first)
        again_all.append(again)
        lines.append(f"| {storage} | {COMMITS} | {first:.1f} | {again:.1f} |")
    minutes = COMPANY * sum(first_all) / len(first_all) / 1000 / 60 / CORES
    later = COMPANY * sum(again_all) / len(again_all) / 1000 / 60 / CORES
    total = (
        f"First looks at {COMPANY:,} such tables, a third of each kind, take {minutes:.0f} minutes of {CORES} cores, "
        f"and looks that find nothing {later:.0f}: CPU of the worker with its SQLite, on {machine()}."
    )
    return "\n".join([*lines, "", total])


def _costs(folder: Path, storage: str, count: int) -> tuple[float, float]:
    """Milliseconds of CPU of a first look and of one that finds nothing, a table."""
    from assay.models import Dataset, Replica
    from execution_engine import heartbeats
    from execution_engine.models import Heartbeat, TableCommit

    now = datetime.now(UTC)
    for number in range(count):
        dataset = Dataset.objects.create(
            namespace=storage, name=str(number), owner="ada", source="bench", created_at=now, changed_at=now
        )
        Replica.objects.create(
            dataset=dataset, datacenter="sea", position=0, storage=storage, location=str(folder / str(number % FOLDERS))
        )
        heartbeats.watch_commits([dataset], now)
    costs = []
    for _ in range(2):
        Heartbeat.objects.filter(dataset__namespace=storage).update(next_look_at=now)
        started, looked_at = process_time(), 0
        while looked_at < count:
            looked_at += heartbeats.look()
        costs.append((process_time() - started) / count * 1000)
    assert TableCommit.objects.filter(dataset__namespace=storage).count() == count * COMMITS
    assert not Heartbeat.objects.exclude(fault="").exists()
    return costs[0], costs[1]


# Tables with a commit a day, as their storages keep them.


def _committed_at(number: int) -> float:
    return (datetime.now(UTC) - timedelta(days=COMMITS - number)).timestamp()


def _lay_iceberg(folder: Path) -> None:
    """One snapshot by pyiceberg, told in its metadata so often."""
    from pyiceberg.catalog.sql import SqlCatalog

    folder.mkdir(parents=True)
    catalog = SqlCatalog("bench", uri=f"sqlite:///{folder}/catalog.db", warehouse=f"file://{folder}")
    catalog.create_namespace("raw")
    table = catalog.create_table("raw.trips", ROWS.schema, location=f"file://{folder}")
    table.append(ROWS)
    place = Path(table.metadata_location.removeprefix("file://"))
    metadata = json.loads(place.read_text())
    (snapshot,) = metadata["snapshots"]
    instants = [(snapshot["snapshot-id"] - COMMITS + 1 + n, int(_committed_at(n + 1) * 1000)) for n in range(COMMITS)]
    metadata["snapshots"] = [{**snapshot, "snapshot-id": id_, "timestamp-ms": ms} for id_, ms in instants]
    metadata["snapshot-log"] = [{"snapshot-id": id_, "timestamp-ms": ms} for id_, ms in instants]
    place.write_text(json.dumps(metadata))


def _lay_delta(folder: Path) -> None:
    """One version by deltalake, and others like it."""
    from deltalake import write_deltalake

    write_deltalake(folder, ROWS)
    log = folder / "_delta_log"
    actions = [json.loads(line) for line in (log / f"{0:020}.json").read_text().splitlines()]
    for version in range(COMMITS):
        own = [action for action in actions if version == 0 or "add" in action or "commitInfo" in action]
        for action in own:
            if "commitInfo" in action:
                action["commitInfo"]["timestamp"] = int(_committed_at(version) * 1000)
        (log / f"{version:020}.json").write_text("\n".join(map(json.dumps, own)))


def _lay_folder(folder: Path) -> None:
    """A file a day, in a folder of its own."""
    for number in range(COMMITS):
        part = folder / f"day={number:03}"
        part.mkdir(parents=True)
        pq.write_table(ROWS, part / "part-0.parquet")
        os.utime(part / "part-0.parquet", (_committed_at(number),) * 2)


LAYOUTS: Mapping[str, Callable[[Path], None]] = {"iceberg": _lay_iceberg, "delta": _lay_delta, "parquet": _lay_folder}

if __name__ == "__main__":
    main()
