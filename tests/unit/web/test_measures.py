"""The heading of a chart says what its values measure."""

import pytest

from assay.models import Dataset, DataTest, Revision
from execution_engine.language.parse import parse
from execution_engine.language.serialise import to_json
from web.rendering.measures import measure_of


@pytest.mark.parametrize(
    ("name", "assertion", "text"),
    [
        ("rows", "row_count() >= 1000", "The number of rows, by day"),
        ("paid", "completeness(fare) >= 0.98", "The share of rows with fare, by day"),
        ("usual", "anomaly(row_count(), last=60) <= 1", "The number of rows, by day"),
        ("by city", "row_count() > 0 by city", "Share of the groups by city that hold, by day"),
        ("both", "row_count() > mean(fare)", "both, by day"),
        ("freshness", "freshness() < 4h", "Time until it is complete, by day"),
        ("completeness:raw.trips", "row_count() > 0", "Rows, as a share of those in raw.trips, by day"),
        ("consistency-count:dca>phx", "row_count() > 0", "Rows in phx, as a share of those in dca, by day"),
        ("duplicates:whole", "row_count() > 0", "Share of the rows that are duplicates"),
    ],
)
def test_a_chart_names_the_metric_its_columns_and_its_partitions(name: str, assertion: str, text: str) -> None:
    is_standard = name.partition(":")[0] in ("freshness", "completeness", "consistency-count", "duplicates")
    test = DataTest(
        name=name,
        origin="generated" if is_standard else "user",
        category="freshness" if name == "freshness" else "custom",
        dataset=Dataset(granularity="day", partition_column="day"),
        revision=Revision(tree=to_json(parse(assertion))),
    )
    assert measure_of(test) == text
