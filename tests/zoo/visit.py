"""Each table is put into a catalogue as it is, all its types allow is asked of it, and the answers are judged."""

import json
import shutil
from collections.abc import Iterable, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import yaml

from assay.command_line.cli import run as assay
from execution_engine.metrics.expressions import written
from tests.zoo.questions import of_column, of_pairs, of_table
from tests.zoo.tables import DAYS, Specimen

ARROW = {
    "bigint": pa.int64(),
    "double": pa.float64(),
    "boolean": pa.bool_(),
    "string": pa.string(),
    "timestamp": pa.timestamp("us", tz="UTC"),
    "decimal(12,2)": pa.decimal128(12, 2),
}
AS_PANDAS_WRITES = {"escape": '"', "multiLine": "true"}  # quotes are doubled, and texts hold line breaks
MOST_CLAUSES = 12  # of one assertion: the language bounds its operands


@dataclass(kw_only=True)
class Sighting:
    """What was seen of one table."""

    name: str
    rows: int
    columns: int
    quoted: int  # columns whose names stand between backticks, as they hold a dot, a space, a quote or another letter
    tests: int = 0
    clauses: int = 0
    faults: list[str] = field(default_factory=list)


def visit(specimens: Iterable[Specimen], home: Path, days: Sequence[str] = DAYS[:1]) -> list[Sighting]:
    """The sightings of these tables, onboarded together in the catalogue of ``home``; every tenth as CSV."""
    known = {f"zoo.t{at}": (specimen, "csv" if at % 10 == 9 else "parquet") for at, specimen in enumerate(specimens)}
    sightings = {
        dataset: Sighting(
            name=each.name,
            rows=len(each.frame),
            columns=len(each.types),
            quoted=sum(written(column) != column for column in each.types),
        )
        for dataset, (each, _) in known.items()
    }
    for day in days:
        entries = [_entry(home, dataset, each, storage) for dataset, (each, storage) in known.items()]
        asked = {dataset: _tests(dataset, each, day) for dataset, (each, _) in known.items()}
        catalog = {"datasets": entries, "tests": [test for tests in asked.values() for test in tests]}
        (home / "catalog.yaml").write_text(yaml.safe_dump(catalog, sort_keys=False, allow_unicode=True))
        code, told = _command("sync", str(home / "catalog.yaml"))
        assert code == 0, told
        for dataset, sighting in sightings.items():
            _judge(sighting, dataset, day, asked[dataset])
    return list(sightings.values())


def _entry(home: Path, dataset: str, specimen: Specimen, storage: str) -> dict[str, Any]:
    folder = home / dataset
    shutil.rmtree(folder, ignore_errors=True)
    for day in DAYS:
        place = folder / f"visited_on={day}"
        place.mkdir(parents=True)
        if storage == "csv":
            specimen.day(day).to_csv(place / "part-0.csv", index=False, date_format="%Y-%m-%dT%H:%M:%SZ")
        else:
            schema = pa.schema([(column, ARROW[kind]) for column, kind in specimen.types.items()])
            table = pa.Table.from_pandas(specimen.day(day), schema=schema, preserve_index=False)
            pq.write_table(table, place / "part-0.parquet")
    options = AS_PANDAS_WRITES if storage == "csv" else {}
    return {
        "name": dataset,
        "owner": "keeper@example.com",
        "tier": 3,
        "columns": specimen.types,
        "partition": {"column": "visited_on", "granularity": "day", "first": DAYS[0]},
        "replicas": [{"datacenter": "here", "storage": storage, "location": dataset, "options": options}],
    }


def _tests(dataset: str, specimen: Specimen, day: str) -> list[dict[str, Any]]:
    rows = specimen.day(day)
    groups = {"table": list(of_table(rows, specimen.types)), "pairs": list(of_pairs(rows, specimen.types))}
    for at, (column, kind) in enumerate(specimen.types.items()):
        groups[f"c{at}"] = list(of_column(column, rows[column], kind)) if len(rows) else []
    return [
        {"dataset": dataset, "name": f"{name}.{part}", "assertion": "\nand ".join(clauses[part : part + MOST_CLAUSES])}
        for name, clauses in groups.items()
        for part in range(0, len(clauses), MOST_CLAUSES)
    ]


def _judge(sighting: Sighting, dataset: str, day: str, asked: list[dict[str, Any]]) -> None:
    code, told = _command("run", dataset, "--window", day, "--json", "--fail-on", "never")
    if code not in (0, 3) or not told.startswith("{"):
        sighting.faults.append(f"assay run ended with {code}: {told[-400:]}")
        return
    assertions = {test["name"]: test["assertion"] for test in asked}
    for run in json.loads(told)["runs"]:
        sighting.tests += 1
        sighting.clauses += assertions.get(run["data_test"], "").count("\nand ") + 1
        if run["data_test"] in assertions and run["outcome"] != "held":
            seen = f"{run['data_test']} {run['outcome']}: {run['sentence']}"
            sighting.faults.append(f"{seen}\n{assertions[run['data_test']]}")


def _command(*arguments: str) -> tuple[int, str]:
    out, err = StringIO(), StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = assay(list(arguments))
    assert "Traceback" not in err.getvalue(), err.getvalue()[-2000:]
    return code, out.getvalue() or err.getvalue()
