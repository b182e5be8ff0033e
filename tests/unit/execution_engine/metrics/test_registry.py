import pytest

from execution_engine.engines.columns.spark_sql import expressions
from execution_engine.engines.spark.measures.statistics import aggregates
from execution_engine.metrics.definition import Kind, MetricDefinition
from execution_engine.metrics.registry import DEFINITIONS, METRICS, SIGNATURES
from execution_engine.metrics.spec import MetricSpec

WRITE = expressions({"a": "bigint", "b": "double", "address": "struct<city:string>", "address.city": "string"})


def test_every_metric_is_called_by_a_name_of_its_own() -> None:
    assert len(METRICS) == len(SIGNATURES) == len(DEFINITIONS)


@pytest.mark.parametrize("metric", DEFINITIONS, ids=lambda metric: metric.name)
def test_what_a_metric_declares_fits_its_kind(metric: MetricDefinition) -> None:
    gathered, counted = metric.kind in (Kind.AGGREGATE, Kind.SKETCH), metric.kind is Kind.GROUPING
    assert (metric.statistics is not None, metric.value is not None) == (gathered, gathered)
    assert (metric.groupings is not None, metric.from_summaries is not None) == (counted, counted)
    assert set(metric.inputs) <= set(METRICS)


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
