"""The standard tests of business metrics, and what may be told of their sources."""

from dataclasses import replace
from typing import Any

import pytest

from assay.catalog.profile import (
    COMPUTED,
    BusinessMetricDefinition,
    DatasetProfile,
    PartitionProfile,
    ReplicaProfile,
    ServedTable,
)
from assay.time.windows import Granularity
from execution_engine.language.parse import parse
from test_generator.business_metrics import UnableToDefine, completed
from test_generator.generation.standard import business_metric_tests
from tests.unit.test_generator.profiles import dataset

DAILY = PartitionProfile(column="datestr", granularity=Granularity.DAY)


def metric(canonical: str = "sum(fare, dataset='raw.rides')", **more: Any) -> DatasetProfile:
    """A business metric of tier 1 whose definition is complete."""
    definition = BusinessMetricDefinition(expression="sum(fare)", canonical=canonical, sources=("raw.rides",), **more)
    home = ReplicaProfile(datacenter="sea", storage=COMPUTED, location="")
    return DatasetProfile(
        namespace="business",
        name="takings",
        owner="mia",
        tier=1,
        replicas=(home,),
        partition=DAILY,
        business_metric=definition,
    )


def written(of: DatasetProfile) -> dict[str, tuple[str, str]]:
    """The assertion and the severity of each test, by its name; each can be read."""
    tests = business_metric_tests(of).tests
    assert all(parse(test.definition.assertion) and test.category == "metric" for test in tests)
    return {test.name: (test.definition.assertion, test.definition.severity) for test in tests}


def test_a_metric_is_there_in_time_and_in_its_band_and_the_band_is_soft() -> None:
    assert written(metric()) == {
        "value": ("has_value() = 1", "hard"),
        "freshness": ("sources_freshness() < 4h", "hard"),
        "band": ("anomaly(value(), last=60) <= 1", "soft"),
    }


def test_the_band_is_that_of_the_strategy_that_is_named() -> None:
    band = {"strategy": "batch_normal", "last": 30, "std_devs": 2.5}
    assert written(metric(band=band))["band"][0] == (
        "anomaly(value(), last=30, strategy='batch_normal', std_devs=2.5) <= 1"
    )


def test_the_parts_of_a_sum_add_up_by_each_dimension_and_in_each_served_table() -> None:
    served = (ServedTable(dataset="mart.by city", column="fare sum", dimension="city"),)
    found = written(metric(dimensions=("city", "ship-to"), served=served, tolerance=0.05))
    assert {name: text for name, (text, _) in found.items() if name.startswith("dimension:")} == {
        "dimension:city": ("sum(fare, where='city is not null', dataset='raw.rides') / value() between 0.95 and 1.05"),
        "dimension:ship-to": (
            "sum(fare, where='`ship-to` is not null', dataset='raw.rides') / value() between 0.95 and 1.05"
        ),
        "dimension:city@mart.by city": (
            "sum(`fare sum`, where='city is not null', dataset='mart.by city') / value() between 0.95 and 1.05"
        ),
    }


def test_the_parts_of_several_sums_are_put_in_parentheses() -> None:
    of = metric("sum(fare, dataset='raw.rides') - sum(tip, dataset='raw.rides')", dimensions=("city",))
    assert written(of)["dimension:city"][0].startswith("(sum(fare, where='city is not null'")


def test_the_parts_of_a_mean_are_a_gap_with_its_reason_that_no_metadata_mends() -> None:
    found = business_metric_tests(metric("mean(fare, dataset='raw.rides')", dimensions=("city",)))
    (gap,) = found.gaps
    assert (gap.category, gap.mendable) == ("metric", False)
    assert "its parts by city do not add up" in gap.reason
    assert len(found.tests) == 3


@pytest.mark.parametrize(("granularity", "time_zone"), [(Granularity.MONTH, "UTC"), (Granularity.DAY, "Asia/Tokyo")])
def test_a_source_whose_partitions_do_not_tile_those_of_the_first_is_refused(
    granularity: Granularity, time_zone: str
) -> None:
    other = replace(dataset("raw.other"), partition=replace(DAILY, granularity=granularity, time_zone=time_zone))
    known = {"raw.rides": replace(dataset("raw.rides"), partition=DAILY), "raw.other": other}
    of = metric()
    assert of.business_metric
    told = replace(of, business_metric=replace(of.business_metric, sources=("raw.rides", "raw.other")))
    with pytest.raises(UnableToDefine, match=r"the partitions of raw\.other do not tile those of raw\.rides"):
        completed(told, known.get)


def test_a_metric_of_a_metric_is_refused() -> None:
    with pytest.raises(UnableToDefine, match=r"raw\.rides is a business metric itself"):
        completed(metric(), {"raw.rides": metric()}.get)
