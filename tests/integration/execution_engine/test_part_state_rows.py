"""States of partitions are kept by dataset, datacenter, metric and fingerprint: rows of others are never taken."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from assay.models import Dataset, Scope
from execution_engine.metrics.spec import MetricSpec
from execution_engine.models import PartState
from execution_engine.parts.part_states import MOST_UNIONS, PartStates
from execution_engine.selectors import keeping_states
from tests.factories import NOW, DatasetFactory, DataTestFactory

pytestmark = pytest.mark.django_db

KEYS, NULLS = MetricSpec(name="distinct_count", columns=("id",)), MetricSpec(name="completeness", columns=("id",))
MONDAY, TUESDAY = "2026-03-09", "2026-03-10"


@pytest.fixture
def trips() -> Dataset:
    dataset: Dataset = DatasetFactory.create(datacenters=("sea", "phx"))
    return dataset


def states(dataset: Dataset, datacenter: str = "sea") -> PartStates:
    return PartStates(dataset=dataset, datacenter=datacenter)


def test_a_state_is_found_for_its_own_table_place_metric_and_data_alone(trips: Dataset) -> None:
    states(trips).save_parts({MONDAY: "f", TUESDAY: "f"}, {KEYS: {MONDAY: b"monday", TUESDAY: b"tuesday"}})
    assert states(trips).parts([KEYS], {MONDAY: "f"}) == {KEYS: {MONDAY: b"monday"}}
    assert states(trips).parts([KEYS], {MONDAY: "rewritten", TUESDAY: "f"}) == {KEYS: {TUESDAY: b"tuesday"}}
    assert states(trips, "phx").parts([KEYS], {MONDAY: "f"}) == {}
    assert states(trips).parts([NULLS], {MONDAY: "f"}) == {}
    assert states(DatasetFactory.create()).parts([KEYS], {MONDAY: "f"}) == {}


def test_a_new_state_takes_the_place_of_its_own_older_one_alone(trips: Dataset) -> None:
    others = (states(trips, "phx"), KEYS), (states(trips), NULLS), (states(DatasetFactory.create()), KEYS)
    for kept, spec in (*others, (states(trips), KEYS)):
        kept.save_parts({MONDAY: "f", TUESDAY: "f"}, {spec: {MONDAY: b"old", TUESDAY: b"old"}})
    states(trips).save_parts({MONDAY: "g"}, {KEYS: {MONDAY: b"new"}})
    assert states(trips).parts([KEYS], {MONDAY: "g", TUESDAY: "f"}) == {KEYS: {MONDAY: b"new", TUESDAY: b"old"}}
    assert states(trips).parts([KEYS], {MONDAY: "f"}) == {}
    for kept, spec in others:
        assert kept.parts([spec], {MONDAY: "f", TUESDAY: "f"}) == {spec: {MONDAY: b"old", TUESDAY: b"old"}}


def test_metrics_that_miss_other_partitions_lose_no_state_to_each_other(trips: Dataset) -> None:
    prints = {MONDAY: "f", TUESDAY: "f"}
    states(trips).save_parts(prints, {spec: {MONDAY: b"old", TUESDAY: b"old"} for spec in (KEYS, NULLS)})
    states(trips).save_parts(prints, {KEYS: {MONDAY: b"new"}, NULLS: {TUESDAY: b"new"}})
    assert states(trips).parts([KEYS, NULLS], prints) == {
        KEYS: {MONDAY: b"new", TUESDAY: b"old"},
        NULLS: {MONDAY: b"old", TUESDAY: b"new"},
    }


def test_states_of_many_metrics_are_read_and_kept_in_as_many_statements_as_those_of_one(trips: Dataset) -> None:
    prints = {MONDAY: "f", TUESDAY: "f"}

    def statements(count: int, datacenter: str) -> list[int]:
        specs = [MetricSpec(name="completeness", columns=(f"c{at}",)) for at in range(count)]
        kept, taken = states(trips, datacenter), []
        asks: tuple[Callable[[], Any], ...] = (
            lambda: kept.save_parts(prints, {spec: {MONDAY: b"m", TUESDAY: b"t"} for spec in specs}),
            *(partial(kept.save_rollups, {MONDAY: f"{at}"}, [(spec, b"u") for spec in specs]) for at in range(3)),
            lambda: kept.parts(specs, prints),
            lambda: kept.rollups(specs),
        )
        for ask in asks:
            with CaptureQueriesContext(connection) as asked:
                ask()
            taken.append(len(asked))
        return taken

    assert statements(40, "sea") == statements(1, "phx")


def test_only_the_newest_unions_stay_and_those_of_others_with_the_partitions(trips: Dataset) -> None:
    states(trips, "phx").save_rollups({MONDAY: "f"}, [(KEYS, b"of phx")])
    states(trips).save_rollups({MONDAY: "f"}, [(NULLS, b"of nulls")])
    states(trips).save_parts({MONDAY: "f"}, {KEYS: {MONDAY: b"monday"}})
    for number in range(MOST_UNIONS + 2):
        states(trips).save_rollups({MONDAY: f"f{number}"}, [(KEYS, f"union {number}".encode())])
    assert [union.load() for union in states(trips).rollups([KEYS])[KEYS]] == [b"union 3", b"union 2"]
    assert [union.prints for union in states(trips).rollups([KEYS])[KEYS]] == [{MONDAY: "f3"}, {MONDAY: "f2"}]
    assert [union.load() for union in states(trips, "phx").rollups([KEYS])[KEYS]] == [b"of phx"]
    assert [union.load() for union in states(trips).rollups([NULLS])[NULLS]] == [b"of nulls"]
    assert states(trips).parts([KEYS], {MONDAY: "f"}) == {KEYS: {MONDAY: b"monday"}}


def test_states_are_kept_for_tables_with_a_live_test_of_the_whole_of_them(trips: Dataset) -> None:
    other = DataTestFactory.create(scope=Scope.TABLE).dataset
    DataTestFactory.create(dataset=trips)  # of partitions
    retired = DataTestFactory.create(dataset=trips, scope=Scope.TABLE, retired_at=NOW)
    assert keeping_states({trips.pk, other.pk}) == {other.pk}
    retired.retired_at = None
    retired.save()
    assert keeping_states({trips.pk, other.pk}) == {trips.pk, other.pk}
    assert not PartState.objects.exists()
