import pytest

from execution_engine.metrics.definition import Expressions, Kind, MetricDefinition
from execution_engine.metrics.registry import DEFINITIONS, METRICS, SIGNATURES
from execution_engine.metrics.spec import MetricSpec

PLAIN = Expressions(quote=lambda name: f"<{name}>", translate=str)
FILTERED = Expressions(quote=lambda name: f"<{name}>", translate=str, where="w -- w")


def test_every_metric_is_called_by_a_name_of_its_own() -> None:
    assert len(METRICS) == len(SIGNATURES) == len(DEFINITIONS)


@pytest.mark.parametrize("metric", DEFINITIONS, ids=lambda metric: metric.name)
def test_aggregates_alone_have_sql_and_inputs_are_metrics(metric: MetricDefinition) -> None:
    assert (metric.sql is not None) == (metric.kind is Kind.AGGREGATE)
    assert set(metric.inputs) <= set(METRICS)


@pytest.mark.parametrize(
    ("spec", "plain", "filtered"),
    [
        (MetricSpec(name="row_count"), "count(1)", "count(case when (\nw -- w\n) then 1 end)"),
        (MetricSpec(name="max", columns=("a",)), "max(<a> * 1e0)", "max(case when (\nw -- w\n) then <a> * 1e0 end)"),
        (
            MetricSpec(name="completeness", columns=("a",)),
            "count(<a>) * 1e0 / nullif(count(1), 0)",
            "count(case when (\nw -- w\n) then <a> end) * 1e0 / nullif(count(case when (\nw -- w\n) then 1 end), 0)",
        ),
    ],
)
def test_a_where_narrows_what_an_aggregate_sees(spec: MetricSpec, plain: str, filtered: str) -> None:
    sql = METRICS[spec.name].sql
    assert sql is not None
    assert sql(spec, PLAIN) == plain
    assert sql(spec, FILTERED) == filtered
