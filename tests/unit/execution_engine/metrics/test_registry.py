import ast
from dataclasses import fields, replace
from pathlib import Path

import pytest

from execution_engine.engines.column_types import expressions
from execution_engine.engines.spark.measures.gather import aggregates
from execution_engine.language.checking import DatasetSchema, check
from execution_engine.language.parse import parse
from execution_engine.metrics import definitions
from execution_engine.metrics.definition import LAKE, SERVICE, At, Keys, MetricDefinition, MetricKind
from execution_engine.metrics.definitions import shares
from execution_engine.metrics.registry import DEFINITIONS, FILES, METRICS, SIGNATURES, _read
from execution_engine.metrics.spec import MetricSpec
from tests.unit.execution_engine.metrics.metrics_page import DEEQU, PATH, ROOT, Row, example, page

METRICS_FOLDER, CHECKS_FOLDER = "execution_engine/metrics", "execution_engine/verification"
WRITE = expressions({"a": "bigint", "b": "double", "address": "struct<city:string>", "address.city": "string"})


def test_every_file_of_a_metric_has_its_line() -> None:
    files = {path.stem for path in Path(definitions.__file__).parent.glob("*.py")}
    assert sorted(FILES) == sorted(files - {"__init__"})


def test_a_name_is_taken_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shares, "COMPLIANCE", replace(METRICS["compliance"], signature=SIGNATURES["row_count"]))
    with pytest.raises(ValueError, match="there are two metrics row_count, one of them in shares"):
        _read(FILES)


def test_over_no_rows_counts_are_0_and_other_metrics_null() -> None:
    told = {metric.name: metric.over_no_rows(example(metric)) for metric in DEFINITIONS}
    assert {told[name] for name in ("row_count", "distinct_count", "count_distinct", "approx_count_distinct")} == {0}
    others = (
        *("completeness", "in_range", "max", "mean", "stddev", "quantile", "approx_quantile", "entropy", "histogram"),
    )
    assert {told[name] for name in others} == {None}


@pytest.mark.parametrize("metric", DEFINITIONS, ids=lambda metric: metric.name)
def test_what_a_metric_declares_fits_its_kind(metric: MetricDefinition) -> None:
    gathered, counted = metric.kind in (MetricKind.AGGREGATE, MetricKind.SKETCH), metric.kind is MetricKind.GROUPING
    assert (metric.statistics is not None, metric.value is not None) == (gathered, gathered)
    assert (metric.groupings is not None, metric.from_summaries is not None) == (counted, counted)
    assert (LAKE in metric.taken_by) == (metric.kind is MetricKind.COMPOUND)
    assert (SERVICE in metric.taken_by) == (metric.kind in (MetricKind.DERIVED, MetricKind.LAYOUT))


DECLARED = {
    **{"stays_while_missed": "sample", "both_sides": "key_digest", "zero_if_empty": "schema_drift"},
    **{"judges_no_data": "has_value", "waits_for_sla": "freshness sources_freshness", "divides_shares": "row_count"},
    "plain_sql": "age consistent_type correlation max_length min_length pattern_match quantile ratio_of stddev",
    "repeats_break": "distinct_count distinctness unique_value_ratio uniqueness",
    **{"sums_bound": "count_distinct distinct_count row_count", "adds_up": "row_count sum"},
    "tells_values": "age approx_quantile histogram max mean min profile quantile query sample sample_found sample_size "
    "stddev sum unpartitioned_rows value",
    **{"tells_types": "schema_drift schema_match", "of_primary_key": "sample sample_found sample_size"},
}
INPUTS = {
    **{"sample_found": [At.UPSTREAM], "sample_size": [At.UPSTREAM], "value": [At.OPERANDS], "has_value": [At.HERE]},
    **{"sources_freshness": [At.SOURCES], "keys_found": [At.HERE, At.THERE, At.THERE]},
    "freshness": [At.HERE, At.SUPPLIES, At.SUPPLIES, At.SAMPLED, At.SAMPLED],
}


def test_what_values_say_and_what_they_tell_of_the_data_is_declared_of_these_metrics_alone() -> None:
    names = {name for row in (*DECLARED.values(), *INPUTS) for name in row.split()}  # another metric declares its own
    metrics = [metric for metric in DEFINITIONS if metric.name in names]
    flags = {field.name: field.default for field in fields(MetricDefinition) if isinstance(field.default, bool)}
    declared = {
        name: " ".join(sorted(metric.name for metric in metrics if getattr(metric, name) is not usual))
        for name, usual in flags.items()
    }
    assert declared == DECLARED
    assert {metric.name: [each.at for each in metric.inputs] for metric in metrics if metric.inputs} == INPUTS
    assert {metric.name: metric.counts for metric in (*metrics, METRICS["bloom_filter"]) if metric.counts} == {
        **{"distinct_count": Keys.ALL, "count_distinct": Keys.WHOLE, "key_digest": Keys.ALL, "bloom_filter": Keys.ALL}
    }


@pytest.mark.parametrize("metric", DEFINITIONS, ids=lambda metric: metric.name)
def test_every_function_that_a_metric_names_is_there(metric: MetricDefinition) -> None:
    assert all(callable(metric.function_for(whom)) for whom in metric.taken_by)


@pytest.mark.parametrize("metric", DEFINITIONS, ids=lambda metric: metric.name)
def test_every_metric_says_its_formula_and_where_it_comes_from(metric: MetricDefinition) -> None:
    assert metric.formula
    assert metric.source


@pytest.mark.parametrize(
    ("spec", "where", "written"),
    [
        (MetricSpec(name="row_count"), None, ["count(1)"]),
        (MetricSpec(name="row_count"), "w", ["count(case when w then 1 end)"]),
        (MetricSpec(name="max", columns=("a",)), None, ["max(`a`)"]),
        (
            MetricSpec(name="sum", columns=("a",)),
            None,
            ["sum(shiftright(`a`, 42))", "sum((shiftright(`a`, 21) & 2097151))", "sum((`a` & 2097151))"],
        ),
        (MetricSpec(name="max", columns=("b",)), None, ["max(`b`)"]),
        (MetricSpec(name="completeness", columns=("address.city",)), None, ["count(`address`.`city`)", "count(1)"]),
    ],
    ids=lambda given: given.text if isinstance(given, MetricSpec) else "",
)
def test_a_metric_is_written_as_the_aggregates_of_its_statistics(
    spec: MetricSpec, where: str | None, written: list[str]
) -> None:
    statistics = METRICS[spec.name].statistics
    assert statistics is not None
    assert [sql for each in statistics(spec, WRITE).values() for sql in aggregates(each, where)] == written


def test_metrics_that_ask_for_the_same_statistic_ask_for_one() -> None:
    asked = set()
    for name in ("completeness", "mean"):
        statistics = METRICS[name].statistics
        assert statistics is not None
        asked |= set(statistics(MetricSpec(name=name, columns=("a",)), WRITE).values())
    assert len(asked) == 3  # the rows, the values, and their sum


def test_nothing_that_plans_reads_or_judges_knows_a_metric_by_its_name() -> None:
    """By names of two words, as a single one, such as max, means other things too; checks are named like metrics."""
    names = {name for name in METRICS if "_" in name}
    assert [
        f"{path.relative_to(ROOT)}:{node.lineno} {node.value}"
        for package in ("execution_engine", "alerting", "incident_manager")
        for path in sorted((ROOT / package).rglob("*.py"))
        if not path.is_relative_to(ROOT / METRICS_FOLDER) and not path.is_relative_to(ROOT / CHECKS_FOLDER)
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Constant) and node.value in names
    ] == []


def test_the_page_is_what_the_registry_says() -> None:
    assert PATH.read_text() == page(), "make docs writes it anew"


@pytest.mark.parametrize("row", [row for row in DEEQU if row.table == 1], ids=lambda row: row.theirs)
def test_what_the_page_says_to_write_is_accepted(row: Row) -> None:
    home = DatasetSchema(name="raw.trips", columns=None)
    for text in row.write.replace(", …", "").split("; "):
        check(parse(text), home=home, schema_of=lambda _: None, signatures=SIGNATURES, source=text)


@pytest.mark.parametrize("row", DEEQU, ids=lambda row: row.theirs)
def test_every_row_of_the_paper_has_its_metric_and_a_proof(row: Row) -> None:
    assert row.ours
    assert set(row.ours) <= set(METRICS)
    assert (ROOT / row.proof).is_file()
