"""Of which of the six dimensions a test tells."""

import pytest

from assay.models import Category
from execution_engine.language.parse import parse
from execution_engine.language.tree import OF_CATEGORY, dimension_of
from execution_engine.metrics.definition import Dimension
from execution_engine.metrics.registry import METRICS


def test_every_dimension_has_metrics_that_tell_of_it() -> None:
    assert {metric.dimension for metric in METRICS.values()} == set(Dimension)


def test_categories_that_are_of_one_dimension_are_categories() -> None:
    assert set(OF_CATEGORY) == set(Category.values) - {"column", "custom", "metric"}


@pytest.mark.parametrize(
    ("category", "assertion", "dimension"),
    [
        ("custom", "completeness(email) >= 0.99", "completeness"),
        ("custom", "row_count() >= 100", "completeness"),
        ("custom", "row_count() / row_count(dataset='raw.trips') >= 0.99", "completeness"),
        ("custom", "distinct_count(id) / row_count() = 1", "uniqueness"),
        ("custom", "1 - distinct_count(id) / row_count() <= 1 %", "uniqueness"),
        ("column", "compliance(\"status in ('a', 'b')\") >= 0.99", "validity"),
        ("column", "min(fare) >= 0", "validity"),
        ("custom", "abs(mean(fare) - mean(mean(fare), last=7)) <= 1", "accuracy"),
        ("custom", "mean(row_count(), last=7) > 1", "completeness"),
        ("custom", "age(created) < 4h", "timeliness"),
        ("custom", "keys_found(id, datacenter='phx') / distinct_count(id) >= 1", "consistency"),
        ("custom", "row_count() = row_count(datacenter='phx')", "consistency"),
        ("custom", "referential_integrity(id, 'raw.trips') = 1", "consistency"),
        ("custom", "query('select 1') = 1", "accuracy"),
        ("metric", "sum(fare) > 1", "accuracy"),
        ("duplicates", "completeness(id) = 1", "uniqueness"),
        ("freshness", "freshness(complete=0.999) < 4h", "timeliness"),
        ("novelty", "novelty() <= 1", "accuracy"),
        ("custom", "completeness(email) >= 0.99 by city", "completeness"),
    ],
)
def test_a_test_tells_of_the_dimension_of_what_it_asks_for(category: str, assertion: str, dimension: str) -> None:
    assert dimension_of(category, parse(assertion)) == dimension
