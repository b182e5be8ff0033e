"""Whether kernels pay beside what Spark must gather anyway."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from execution_engine.engines.gathering import AskedStatistic, Keyed, kernels_pay
from execution_engine.metrics.definition import Grouping
from execution_engine.metrics.states.statistics import Gather, Statistic

KEYS = Keyed(grouping=Grouping(columns=("id",)))
COUNTS = st.integers(0, 40)
ROWS = st.integers(1, 10**9)
TASKS = st.integers(1, 4_000)
SIZES = st.booleans()


def sums(count: int, of: str = "a") -> list[AskedStatistic]:
    return [AskedStatistic(statistic=Statistic(gather=Gather.SUM, of=(f"{of}{at}",))) for at in range(count)]


def sketch(of: str, gather: Gather = Gather.HLL) -> AskedStatistic:
    return AskedStatistic(statistic=Statistic(gather=gather, of=(of,)))


@given(count=COUNTS, rows=ROWS, tasks=TASKS, together=SIZES)
def test_where_nothing_is_left_to_spark_the_kernels_pay(count: int, rows: int, tasks: int, together: bool) -> None:
    assert kernels_pay(sums(count), [], [], rows=rows, tasks=tasks, together=together) or count == 0


@given(count=COUNTS, rows=ROWS, tasks=TASKS, together=SIZES)
def test_who_pays_for_some_pays_for_one_more_and_for_more_rows(
    count: int, rows: int, tasks: int, together: bool
) -> None:
    left = sums(3, "left")
    if kernels_pay(sums(count), [], left, rows=rows, tasks=tasks, together=together):
        assert kernels_pay(sums(count + 1), [], left, rows=rows, tasks=tasks, together=together)
        assert kernels_pay(sums(count), [], left, rows=2 * rows, tasks=tasks, together=together)
    else:
        assert not kernels_pay(sums(count), [], left, rows=rows, tasks=tasks + 1, together=together)


@pytest.mark.parametrize(
    ("rows", "tasks", "least"), [(10_000, 1, 33), (1_000_000, 2, 9), (10_000_000, 16, 5), (1_000_000_000, 1_600, 5)]
)
def test_beside_what_is_sparks_kernels_pay_from_some_values_on(rows: int, tasks: int, least: int) -> None:
    for count, pay in ((least - 1, False), (least, True)):
        together = rows == 10_000
        assert kernels_pay(sums(count), [], sums(10, "left"), rows=rows, tasks=tasks, together=together) is pay


def of_a_million(asked: list[AskedStatistic], keyed: list[Keyed], left: list[AskedStatistic | Keyed]) -> bool:
    return kernels_pay(asked, keyed, left, rows=1_000_000, tasks=2, together=False)


def test_kernels_pay_where_they_save_spark_a_job_that_reads_all_rows() -> None:
    assert not of_a_million(sums(1), [], [*sums(1, "left")])
    assert of_a_million(sums(1), [KEYS], [*sums(1, "left")])
    assert of_a_million([sketch("a")], [], [*sums(1, "left")])
    assert of_a_million(sums(1), [], [sketch("left", Gather.KLL)])
    assert of_a_million(sums(1), [], [KEYS])
    assert not of_a_million([sketch("a")], [], [sketch("left", Gather.KLL)])


def of_a_small_table(asked: list[AskedStatistic], keyed: list[Keyed], left: list[AskedStatistic | Keyed]) -> bool:
    return kernels_pay(asked, keyed, left, rows=10_000, tasks=1, together=True)


def test_of_a_small_table_spark_gathers_groupings_along() -> None:
    assert not of_a_small_table(sums(1), [KEYS], [*sums(1, "left")])
    assert not of_a_small_table(sums(1), [], [KEYS])
    assert of_a_small_table(sums(33), [KEYS], [KEYS])
