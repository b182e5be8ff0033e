from execution_engine.engines.gathering import Keyed
from execution_engine.engines.spark.measures.frequencies import PULLED_BYTES, batches
from execution_engine.metrics.definition import Grouping

TRIP, CITY, DAY = (Grouping(columns=(name,)) for name in ("trip", "city", "day"))


def keyed(grouping: Grouping, count: int) -> list[Keyed]:
    return [Keyed(grouping=grouping, where=f"fare > {at}") for at in range(count)]


def test_a_hundred_clauses_of_a_grouping_cost_one_pull() -> None:
    assert list(batches(keyed(TRIP, 100), 10**7)) == [keyed(TRIP, 100)]


def test_groupings_are_pulled_together_as_far_as_the_driver_has_room() -> None:
    wanted = [*keyed(TRIP, 2), *keyed(CITY, 2), *keyed(DAY, 2)]
    assert list(batches(wanted, PULLED_BYTES // 16)) == [wanted[:4], wanted[4:]]
    assert list(batches(wanted, PULLED_BYTES)) == [wanted[:2], wanted[2:4], wanted[4:]]
