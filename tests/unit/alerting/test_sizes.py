"""How large a fault is: what share of the rows a cause touches, and what share explains the move of a value."""

from typing import Any

import pytest

from alerting.inhibition.sizes import BrokenResult, holds_at, size_of
from execution_engine.language.parse import parse
from execution_engine.language.past import EXPECTED, NOVEL
from execution_engine.metrics.spec import MetricSpec

RATIO = "row_count() / row_count(dataset='raw.a') between 0.99 and 1.01"
PAIRS = "1 - distinct_count(id) / row_count() <= 0.01"


def size(category: str, assertion: str, operands: dict[str, float] | None = None, **findings: Any) -> Any:
    return size_of(BrokenResult(category=category, tree=parse(assertion), operands=operands or {}, findings=findings))


def rows(own: float, above: float) -> dict[str, float]:
    return {"row_count()": own, "row_count(dataset='raw.a')": above}


@pytest.mark.parametrize(
    ("category", "assertion", "operands", "touched"),
    [
        ("completeness", RATIO, rows(50, 100), 0.5),
        ("completeness", RATIO, rows(0, 100), 1),
        ("completeness", RATIO, rows(200, 100), 0.5),  # half of the rows are there twice
        ("completeness", RATIO, rows(5, 0), 0),  # nothing says how many there should be
        ("completeness", "unpartitioned_rows() = 0", {"unpartitioned_rows()": 6}, 0),
        ("consistency", "keys_found(id, datacenter='phx') / distinct_count(id) >= 0.99", {}, 0),
        ("duplicates", PAIRS, {"distinct_count(id)": 98, "row_count()": 100}, 0.02),
        ("duplicates", "uniqueness(id) >= 0.99", {"uniqueness(id)": 0.9}, 0.1),
        ("duplicates", "query('select 1') = 0", {"query('select 1')": 1}, 0),
        ("custom", "completeness(email) >= 0.9", {"completeness(email)": 0.5}, 0.4),
        ("custom", "completeness(email) >= 0.9", {"completeness(email)": 0.0}, 1),  # of no row it is known
        ("custom", "ratio_of(city, 'SF') <= 0.3", {"ratio_of(city, 'SF')": 1.0}, 1),
        ("custom", "mean(fare) <= 40", {"mean(fare)": 50}, 0.2),
        ("custom", "max(fare) <= 40", {"max(fare)": 4e6}, 0),  # one row can do that
        ("custom", "query('select 3') = 0", {"query('select 3')": 3}, 0),
    ],
)
def test_a_cause_touches_the_share_of_the_rows_that_its_result_tells(
    category: str, assertion: str, operands: dict[str, float], touched: float
) -> None:
    assert size(category, assertion, operands).touched == pytest.approx(touched)


@pytest.mark.parametrize(
    ("detail", "touched"),
    [
        ({"rows": 0, "expected": None}, 1),
        ({"rows": 25, "expected": 100}, 0.75),
        ({"rows": 25, "expected": None}, 0),
        ({"rows": 25}, 0),  # measured by an earlier version
    ],
)
def test_a_late_window_lacks_the_rows_that_are_not_there_yet(detail: dict[str, Any], touched: float) -> None:
    assert size("freshness", "freshness(complete=0.9) < 4h", **{"freshness()": detail}).touched == touched


@pytest.mark.parametrize(
    ("assertion", "value", "moved"),
    [
        ("row_count() >= 1000", 500, 0.5),
        ("row_count() <= 1000", 2000, 0.5),
        ("mean(fare) <= 100", 159, 0.371),
        ("1000 <= row_count()", 500, 0.5),
        ("completeness(email) >= 0.99", 0.97, 0.02),  # a share moves by the share that is touched, however small it is
        ("compliance('x > 0') <= 0.01", 0.03, 0.02),
        ("query('select 1') = 0", 7, 1),
        ("mean(delta) >= 5", -5, 1),
        ("row_count() != 0", 0, 1),
        ("row_count() > 10 and mean(fare) < 9", 5, 1),  # several comparisons: not known
        ("row_count() >= 10 by city", 5, 1),
    ],
)
def test_a_value_moved_by_the_share_of_the_rows_that_would_bring_it_back(
    assertion: str, value: float, moved: float
) -> None:
    names = (
        "row_count()",
        "mean(fare)",
        "completeness(email)",
        "compliance('x > 0')",
        "query('select 1')",
        "mean(delta)",
    )
    assert size("custom", assertion, dict.fromkeys(names, value)).moved == pytest.approx(moved, abs=0.001)


def expected(metric: str, value: float, low: float | None, high: float | None) -> dict[str, Any]:
    return {"metric": metric, "value": value, "low": low, "high": high}


@pytest.mark.parametrize(
    ("metric", "found", "moved", "touched"),
    [
        ("row_count()", (500, 950, 1050), 0.474, 0.5),
        ("row_count()", (500, 950, None), 0.474, 0.474),
        ("completeness(email)", (0.9, 0.98, 1), 0.08, 0.09),
        ("max(fare)", (900, 40, 60), 0.933, 0),
    ],
)
def test_an_anomaly_moved_as_far_as_to_its_band(
    metric: str, found: tuple[float, float, float | None], moved: float, touched: float
) -> None:
    assertion = f"anomaly({metric}, last=28) <= 1"
    of_it = size("anomaly", assertion, expected=[expected(metric, *found)])
    assert (of_it.moved, of_it.touched) == (pytest.approx(moved, abs=0.001), pytest.approx(touched, abs=0.001))


def statistic(name: str, value: Any, usual: Any, **more: Any) -> dict[str, Any]:
    return {"column": None, "statistic": name, "value": value, "expected": usual, "low": None, "high": None} | more


@pytest.mark.parametrize(
    ("causes", "moved", "touched"),
    [
        ([statistic("rows", 500, 1000, shown="count", low=950, high=1050)], 0.474, 0.5),
        ([statistic("share of zeros", 0.3, 0.1, shown="share")], 0.2, 0.2),
        ([statistic("rows", 980, 1000), statistic("mean", 10, 20, column="fare")], 0.5, 0.5),  # all must come back
        ([statistic("1 % quantile", 10, 20, column="fare")], 0.5, 0),
        ([statistic("type", "string", "double", column="fare")], 1, 0),
        ([statistic("rows outside the 3 known values", 20, 0.0, column="city")], 1, 0),
        ([], 1, 0),
    ],
)
def test_novelty_moved_as_far_as_the_statistic_that_moved_most(
    causes: list[dict[str, Any]], moved: float, touched: float
) -> None:
    of_it = size("novelty", "novelty() <= 1", novelty=[{"causes": causes}])
    assert (of_it.moved, of_it.touched) == (pytest.approx(moved, abs=0.001), pytest.approx(touched, abs=0.001))


def test_a_schema_that_drifted_touches_every_row_of_its_columns_alone() -> None:
    drift = {"gone": ["Fare"], "changed": {"city": "int"}}
    findings: dict[str, Any] = {"schema_drift()": drift}
    of_it = size("schema", "schema_drift(of='others') = 0", **findings)
    assert (of_it.touched, of_it.columns) == (1, {"fare", "city"})
    assert size("schema", "novelty(method='schema') <= 1", novelty=[{"causes": []}]).touched == 0
    broken = [{"causes": [{"column": "City"}, {"column": None}]}]
    assert size("schema", "novelty(method='schema') <= 1", novelty=broken).columns == {"city"}


@pytest.mark.parametrize(
    ("assertion", "reads"),
    [
        ("mean(Fare) <= 100", (frozenset({"fare"}),)),
        ("correlation(a, b) >= 0.5", (frozenset({"a", "b"}),)),
        ("row_count() >= 10", (frozenset(),)),
        ("mean(fare, where='a > 1') <= 100", ()),
        ("query('select 1') = 0", ()),
    ],
)
def test_a_value_reads_the_columns_that_its_metrics_name(assertion: str, reads: tuple[frozenset[str], ...]) -> None:
    names = ("mean(Fare)", "correlation(a, b)", "row_count()", "mean(fare, where='a > 1')", "query('select 1')")
    assert size("custom", assertion, dict.fromkeys(names, 0.1)).reads == reads


MEAN = MetricSpec(name="mean", columns=("fare",))
BAND = {"metric": "mean(fare)", "value": 60, "low": 20, "high": 40}


@pytest.mark.parametrize(
    ("assertion", "operands", "findings", "holds"),
    [
        ("mean(fare) <= 40", {"mean(fare)": 60}, {}, True),
        ("mean(fare) <= 20", {"mean(fare)": 60}, {}, False),
        ("mean(fare) <= 40 and row_count() > 9", {"mean(fare)": 60, "row_count()": 5}, {}, False),
        ("mean(fare) <= 2 * mean(mean(fare), last=7)", {"mean(mean(fare), last=7)": 16, "mean(fare)": 60}, {}, True),
        ("row_count() > 9", {"row_count()": 5}, {}, None),
        ("mean(fare) <= 40 by city", {}, {}, None),
        ("anomaly(mean(fare), last=28) <= 1", {}, {EXPECTED: [BAND]}, True),
        ("anomaly(mean(fare), last=28) <= 1", {}, {EXPECTED: [BAND | {"low": None, "high": 25}]}, False),
        ("anomaly(mean(fare), last=28) <= 1", {}, {EXPECTED: [BAND | {"low": 31.5, "high": None}]}, False),
        ("anomaly(mean(fare), last=28) <= 1", {}, {EXPECTED: [BAND | {"low": 31.0, "high": 31.0}]}, True),
        ("anomaly(row_count(), last=28) <= 1", {}, {EXPECTED: [BAND | {"metric": "row_count()"}]}, None),
        ("novelty(last=28) <= 1", {}, {NOVEL: [{"causes": [{"low": 20, "high": 40}]}]}, True),
        ("novelty(last=28) <= 1", {}, {NOVEL: [{"causes": [{"low": 20, "high": 40}] * 2}]}, None),
    ],
)
def test_whether_an_assertion_would_hold_at_another_value_is_told_where_one_metric_decides_it(
    assertion: str, operands: dict[str, float], findings: dict[str, Any], holds: bool | None
) -> None:
    result = BrokenResult(category="custom", tree=parse(assertion), operands=operands, findings=findings)
    assert holds_at(result, MEAN, 31.0) is holds
