"""A small table of trips, and short ways to ask for measurements of it."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from execution_engine.engines.protocol import Engine, Measured, MeasurementRequest, Part, Table
from execution_engine.metrics.spec import Literal, MetricSpec
from execution_engine.outcome import Failure
from tests.integration.storages import stored

DAY, OTHER_DAY = "2013-01-01", "2013-01-02"
COLUMNS = ("trip_id", "city", "fare", "riders")
Row = tuple[int, str | None, float | None, int | None]
ROWS: dict[str, list[Row]] = {
    DAY: [(1, "rome", 4.5, 1), (2, "rome", 9.25, 2), (3, None, None, 3), (4, "oslo", 20.0, None), (4, "oslo", 7.0, 1)],
    OTHER_DAY: [(5, "lima", 3.0, 4), (6, "lima", 5.5, 1), (7, "rome", 8.0, 1)],
}


def arrow(rows: list[Row]) -> pa.Table:
    columns = zip(*rows, strict=True)
    return pa.table(dict(zip(COLUMNS, map(list, columns), strict=True)))


def write(folder: Path, table: pa.Table, name: str = "part-0.parquet") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    pq.write_table(table, folder / name)
    return folder / name


def write_trips(root: Path) -> Table:
    for day, rows in ROWS.items():
        write(root / f"datestr={day}", arrow(rows))
    return parquet(root)


def parquet(root: Path, name: str = "raw.trips") -> Table:
    return stored(Table(name=name, storage="parquet", location=str(root), partition_column="datestr"))


def metric(name: str, *columns: str, where: str | None = None, arguments: tuple[Literal, ...] = ()) -> MetricSpec:
    return MetricSpec(name=name, columns=columns, arguments=arguments, where=where)


def measure(engine: Engine, table: Table, *specs: MetricSpec, keys: tuple[str, ...] | None = (DAY,)) -> list[Measured]:
    wanted = [MeasurementRequest(key=str(at), spec=spec) for at, spec in enumerate(specs)]
    report = engine.scan(table, Part(keys=keys), wanted)
    return [report.measured[item.key] for item in wanted]


def measure_one(
    engine: Engine, table: Table, item: MeasurementRequest, keys: tuple[str, ...] | None = (DAY,)
) -> Measured:
    return engine.scan(table, Part(keys=keys), [item]).measured[item.key]


def failed(measured: Measured) -> Failure:
    assert measured.failure is not None, measured
    return measured.failure
