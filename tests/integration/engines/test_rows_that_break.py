"""All rows that break metrics, by the kernels and by Spark, against pandas on tables that nobody here made."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from tempfile import mkdtemp

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from execution_engine.engines.native.rows import write_without_spark
from execution_engine.engines.protocol import BROKEN, WHOLE, RowsRequest, Table, WrittenRows
from execution_engine.engines.spark.engine import SparkEngine
from execution_engine.engines.spark.measures.rows import write_by_spark
from execution_engine.engines.spark.sources import open_source
from execution_engine.metrics.spec import MetricSpec
from tests.integration.engines.trips import metric
from tests.integration.storages import stored
from tests.zoo.tables import Specimen, chosen, specimens

SPECIMENS = list(specimens(["MASS/Cars93", "AER/CPS1985", *chosen(10, 20261127)]))
Writing = Callable[[Table, RowsRequest], WrittenRows]


@pytest.fixture(params=["kernels", "spark"])
def writing(request: pytest.FixtureRequest, spark_engine: SparkEngine) -> Writing:
    def by_kernels(table: Table, rows: RowsRequest) -> WrittenRows:
        written = write_without_spark(table, WHOLE, rows)
        assert written is not None
        return written

    def by_spark(table: Table, rows: RowsRequest) -> WrittenRows:
        return write_by_spark(open_source(spark_engine.session, table, WHOLE), rows)

    return by_kernels if request.param == "kernels" else by_spark


def by_pandas(frame: pd.DataFrame) -> dict[MetricSpec, "pd.Series[bool]"]:
    """For each metric of a table whose row numbers are in ``at``, which rows break it, by pandas."""
    rules = {}
    for name in frame.columns.drop("at"):
        values, column = frame[name], f"`{name}`" if not name.isidentifier() else name
        rules[metric("completeness", column)] = values.isna()
        rules[metric("uniqueness", column)] = values.notna() & values.duplicated(keep=False)
        rules[metric("distinct_count", column)] = values.duplicated(keep=False)
        if values.dtype.kind in "if":
            middle = float(np.nanmedian(values)) if values.notna().any() else 0.0
            rules[metric("in_range", column, arguments=(middle, 1e9))] = (values < middle) | (values > 1e9)
            rules[metric("compliance", arguments=(f"`{name}` <= {middle!r}e0",))] = ~(values <= middle)
        elif pd.api.types.infer_dtype(values) in ("string", "mixed"):
            rules[metric("pattern_match", column, arguments=("^[A-M]",))] = values.notna() & ~values.str.match(
                "^[A-M]", na=False
            )
    return rules


def table_of(specimen: Specimen, folder: Path) -> tuple[Table, pd.DataFrame]:
    """The specimen in two files of small row groups, with the number of each row; dots in names are Spark's alone."""
    plain = [name for name in specimen.frame.columns if "." not in name][:8]
    frame = specimen.frame[plain].assign(at=range(len(specimen.frame)))
    whole, middle = pa.Table.from_pandas(frame, preserve_index=False), len(frame) // 2
    for name, part in (("a", whole.slice(0, middle)), ("b", whole.slice(middle))):
        pq.write_table(part, folder / f"{name}.parquet", row_group_size=20, coerce_timestamps="us")
    return stored(Table(name="zoo", storage="parquet", location=str(folder))), frame


@pytest.mark.parametrize("specimen", SPECIMENS, ids=lambda specimen: specimen.name)
def test_the_rows_are_those_that_pandas_names(specimen: Specimen, writing: Writing, tmp_path: Path) -> None:
    (tmp_path / "table").mkdir()
    table, frame = table_of(specimen, tmp_path / "table")
    rules = by_pandas(frame)
    bad, good = mkdtemp(dir=tmp_path), mkdtemp(dir=tmp_path)
    written = writing(table, RowsRequest(specs=tuple(rules), bad=bad, good=good))
    assert written.failures == {}
    rows = pq.read_table(bad).select(["at", BROKEN]).to_pylist()
    broken = {row["at"]: set(row[BROKEN]) for row in rows}
    expected = {at: {spec.text for spec, flags in rules.items() if flags.iloc[at]} for at in range(len(frame))}
    assert broken == {at: texts for at, texts in expected.items() if texts}
    assert (written.bad, written.good) == (len(rows), len(frame) - len(rows))
    assert sorted(pq.read_table(good)["at"].to_pylist()) == sorted(at for at, texts in expected.items() if not texts)


def test_bad_rows_say_where_they_come_from_and_hide_what_is_sensitive(writing: Writing, tmp_path: Path) -> None:
    pq.write_table(pa.table({"id": [1, 2, 3], "mail": ["a@b", None, "a@b"]}), tmp_path / "people.parquet")
    table = stored(Table(name="people", storage="parquet", location=str(tmp_path / "people.parquet")))
    request = RowsRequest(
        specs=(metric("compliance", arguments=("id < 1",)),),
        bad=mkdtemp(dir=tmp_path),
        limit=2,
        constants={"assay_run": "7"},
        hidden=frozenset({"mail"}),
        hash_key=b"secret",
        row_key=("id",),
    )
    written = writing(table, request)
    rows = pq.read_table(request.bad).to_pylist()
    assert (written.bad, written.is_cut) == (2, True)
    assert [(row["assay_run"], row["assay_key"]) for row in rows] == [("7", str(row["id"])) for row in rows]
    assert [len(row["mail"] or "") for row in rows] == [0 if row["id"] == 2 else 32 for row in rows]
    clash = replace(request, bad=mkdtemp(dir=tmp_path), constants={"mail": "7"})
    assert "rename it" in str(list(writing(table, clash).failures.values()))
    without_key = replace(request, bad=mkdtemp(dir=tmp_path), hash_key=None)
    writing(table, without_key)
    assert "mail" not in pq.read_table(without_key.bad).column_names


@pytest.mark.parametrize("column", ["Straße", "home.street", "place"])
def test_a_sensitive_column_of_any_name_is_hidden(writing: Writing, tmp_path: Path, column: str) -> None:
    streets: list[object] = ["Mill Lane"] if column != "place" else [{"street": "Mill Lane"}]
    pq.write_table(pa.table({"id": [1], column: streets}), tmp_path / "people.parquet")
    table = stored(Table(name="people", storage="parquet", location=str(tmp_path / "people.parquet")))
    hidden = frozenset({"strasse", "home.street", "place.street"})  # as the catalog folds them
    specs = (metric("compliance", arguments=("id < 1",)),)
    request = RowsRequest(specs=specs, bad=mkdtemp(dir=tmp_path), limit=9, hidden=hidden, hash_key=b"secret")
    assert writing(table, request).bad == 1
    assert "Mill Lane" not in str(pq.read_table(request.bad).to_pylist())
