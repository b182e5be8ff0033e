"""Every metric of one table gives what numpy, scipy and pandas give, by every way a scan can take."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from execution_engine.engines.protocol import Part, Table, Unit
from execution_engine.engines.spark import sources
from execution_engine.engines.spark.engine import SparkEngine
from execution_engine.engines.spark.failures import is_connect
from execution_engine.engines.spark.measures import frequencies
from execution_engine.metrics.definition import MetricKind
from execution_engine.metrics.registry import METRICS
from execution_engine.metrics.states.group_values import GroupValues
from tests.integration.engines.many_types import Rows, frame_of, null_rows, random_rows, write
from tests.integration.engines.metric_cases import EXACT
from tests.integration.engines.references import as_text, differences, requests_of, scan, under

PARTS: Mapping[str, Rows] = {"random": random_rows(700), "nulls": null_rows(5), "empty": [], "one": random_rows(1, 3)}
FRAMES = {key: frame_of(rows) for key, rows in PARTS.items()}

COUNTED = [each for each in EXACT if METRICS[each.spec.name].kind is MetricKind.GROUPING]
CLAUSES = {
    "key < 20": lambda rows: [key is not None and key < 20 for key in rows["key"]],
    "x is null or flag": lambda rows: [
        x is None or flag is True for x, flag in zip(rows["x"], rows["flag"], strict=True)
    ],
    "name = 'O''Hara' -- and so on": lambda rows: [name == "O'Hara" for name in rows["name"]],
    "false": lambda rows: [False] * len(rows),
}
SOME = [each for each in EXACT if set(each.spec.columns) <= {"id", "x", "y", "key", "name", "special", "at", "until"}]
GROUPED = [each for each in SOME if not {"id", "name", "at", "until"} & set(each.spec.columns)]


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Table:
    return write(tmp_path_factory.mktemp("many"), PARTS)


@pytest.mark.parametrize("key", PARTS)
def test_a_small_part_is_measured_in_one_job(spark_engine: SparkEngine, many: Table, key: str) -> None:
    assert differences(EXACT, scan(spark_engine, many, EXACT, key), FRAMES[key]) == []


@pytest.mark.parametrize("key", PARTS)
def test_keys_that_are_pulled_count_alike(
    spark_engine: SparkEngine, many: Table, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(frequencies, "LISTED_ROWS", 0)
    assert differences(EXACT, scan(spark_engine, many, EXACT, key), FRAMES[key]) == []


def test_a_large_part_is_measured_by_several_selects(
    spark_engine: SparkEngine, many: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sources, "SMALL_BYTES", 0)
    assert differences(EXACT, scan(spark_engine, many, EXACT, "random"), FRAMES["random"]) == []


def test_keys_that_are_too_many_to_pull_are_grouped_by_spark(
    spark_engine: SparkEngine, many: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(frequencies, "LISTED_ROWS", 0)
    monkeypatch.setattr(frequencies, "PULLED_ROWS", 0)
    measured = scan(spark_engine, many, COUNTED, "random")
    assert differences(COUNTED, measured, FRAMES["random"]) == []


@pytest.mark.parametrize("small", [True, False])
def test_a_where_leaves_rows_out(
    spark_engine: SparkEngine, many: Table, monkeypatch: pytest.MonkeyPatch, *, small: bool
) -> None:
    """Of a large part by masks: each statistic is gathered once for each combination of clauses."""
    if not small:
        monkeypatch.setattr(sources, "SMALL_BYTES", 0)
    cases = [under(each, clause, met) for clause, met in CLAUSES.items() for each in SOME]
    assert differences(cases, scan(spark_engine, many, cases, "random"), FRAMES["random"]) == []


@pytest.mark.parametrize("by", [("flag",), ("address.city", "day")])
def test_each_group_is_measured_as_if_it_were_the_table(
    spark_engine: SparkEngine, many: Table, by: tuple[str, ...]
) -> None:
    cases = [replace(each, spec=replace(each.spec, by=by)) for each in GROUPED]
    rows = FRAMES["random"]
    groups = dict(iter(rows.groupby([rows[name].map(as_text) for name in by], dropna=False)))
    measured = scan(spark_engine, many, cases, "random")
    for each, found in zip(cases, measured, strict=True):
        values = GroupValues.from_bytes(found.state or b"").groups
        expected = {
            tuple(None if part is None or part != part else part for part in key): each.expected(part)
            for key, part in groups.items()
        }
        assert {key: pytest.approx(value, nan_ok=True) for key, value in values.items()} == expected, each.spec.text


def test_parts_that_share_a_job_are_measured_apart(spark_engine: SparkEngine, many: Table) -> None:
    cases = [each for each in EXACT if METRICS[each.spec.name].merges(each.spec)]
    units = [Unit(table=many, part=Part(keys=(key,)), requests=requests_of(cases)) for key in PARTS]
    for key, report in zip(PARTS, spark_engine.scan_all(units), strict=True):
        assert differences(cases, [report.measured[str(at)] for at in range(len(cases))], FRAMES[key]) == []


@pytest.mark.parametrize("statistics", [True, False])
def test_footers_tell_what_the_rows_tell(spark_engine: SparkEngine, tmp_path: Path, *, statistics: bool) -> None:
    table = write(tmp_path, PARTS, statistics=statistics)
    columns = ("id", "key", "large")
    cases = [
        each
        for each in EXACT
        if each.spec.name in ("row_count", "completeness", "min", "max") and set(each.spec.columns) <= set(columns)
    ]
    report = spark_engine.scan(table, Part(keys=("random",)), requests_of(cases))
    assert differences(cases, list(report.measured.values()), FRAMES["random"]) == []
    assert is_connect(spark_engine.session) or report.spark_jobs == (0 if statistics else 1)
