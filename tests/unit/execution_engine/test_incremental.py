"""Growing tables measured by their parts: what is read, what is kept, and what comes out."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import cast

import pytest

from execution_engine.engines.protocol import Engine, Measured, MeasurementRequest, Part, ScanReport
from execution_engine.metrics.spec import MetricSpec
from execution_engine.metrics.states.states import MetricState, from_bytes
from execution_engine.outcome import Failure, Reason
from execution_engine.parts.incremental import can_merge, scan_merged, state_spec, union
from execution_engine.read_by import ReadBy
from tests.unit.execution_engine.in_memory import TABLE, KeptRollup, Lists, Memory

ROWS = MetricSpec(name="row_count")
SUM = MetricSpec(name="sum", columns=("id",))
MEAN = MetricSpec(name="mean", columns=("id",))
KEYS = MetricSpec(name="count_distinct", columns=("id",))
UNIQUE = MetricSpec(name="uniqueness", columns=("id",))
LOST = Failure(reason=Reason.UNREADABLE, detail="a file is gone")
EVERY = (ROWS, SUM, MEAN, KEYS, UNIQUE)


def scan(engine: Lists, memory: Memory, *specs: MetricSpec, prints: Mapping[str, str] | None = None) -> ScanReport:
    wanted = [MeasurementRequest(key=f"key of {spec.text}", spec=spec) for spec in specs]
    return scan_merged(cast(Engine, engine), TABLE, prints or engine.prints, wanted, memory)


def measured(engine: Lists, memory: Memory, *specs: MetricSpec) -> list[Measured | None]:
    found = scan(engine, memory, *specs).measured
    return [found.get(f"key of {spec.text}") for spec in specs]


def values(engine: Lists, memory: Memory, *specs: MetricSpec) -> list[object]:
    return [None if found is None else found.value for found in measured(engine, memory, *specs)]


def days(*rows: Sequence[int]) -> Lists:
    return Lists(rows={f"d{at}": list(some) for at, some in enumerate(rows)})


def kept(memory: Memory, spec: MetricSpec) -> list[list[str]]:
    """The partitions in each union that is kept."""
    return [list(each.prints) for each in memory.unions.get(spec.text, [])]


def test_the_whole_is_the_merge_of_its_partitions_each_read_once() -> None:
    engine, memory = days([1, 2, 2], [3], [3, 4]), Memory()
    report = scan(engine, memory, *EVERY)
    assert {key: found.value for key, found in report.measured.items()} == {
        "key of row_count()": 6,
        "key of sum(id)": 15,
        "key of mean(id)": 2.5,
        "key of count_distinct(id)": 4,
        "key of uniqueness(id)": 2 / 6,
    }
    assert (report.spark_jobs, report.fingerprint, report.read_by) == (9, None, ReadBy(kernels=3))
    assert 0 <= report.seconds < 60
    assert [unit.part for unit in engine.units] == [Part(keys=(key,)) for key in ("d0", "d1", "d2")]


def test_one_scan_of_a_partition_gathers_every_state_that_is_missing_and_no_more() -> None:
    engine, memory = days([1], [2]), Memory()
    scan(engine, memory, SUM)
    engine.units.clear()
    engine.rows["d2"] = [3]
    scan(engine, memory, SUM, UNIQUE)
    wanted = {unit.part.keys: unit.requests for unit in engine.units}
    count, total = (MeasurementRequest(key=spec.text, spec=spec, keep_state=True) for spec in (KEYS, SUM))
    assert wanted == {("d0",): (count,), ("d1",): (count,), ("d2",): (total, count)}


def test_what_is_known_is_not_read_again() -> None:
    engine, memory = days([1, 2], [3]), Memory()
    before = scan(engine, memory, *EVERY).measured
    engine.units.clear()
    memory.asked.clear()
    again = scan(engine, memory, *EVERY)
    assert memory.asked == [], "the unions hold all"
    assert (again.measured, again.spark_jobs, again.read_by, engine.read) == (before, 0, ReadBy(), [])


@pytest.mark.parametrize("spec", EVERY)
def test_a_new_partition_is_all_that_is_read(spec: MetricSpec) -> None:
    engine, memory = days([1, 2], [3]), Memory()
    scan(engine, memory, spec)
    memory.asked.clear()
    engine.rows["d2"] = [7, 7]
    assert values(engine, memory, spec) == values(days(*engine.rows.values()), Memory(), spec)
    assert engine.read == ["d0", "d1", "d2"]
    assert memory.asked == ["d2"], "the union holds the others"


@pytest.mark.parametrize("spec", EVERY)
def test_a_partition_that_was_rewritten_is_all_that_is_read(spec: MetricSpec) -> None:
    engine, memory = days([1, 2], [3], [4]), Memory()
    scan(engine, memory, spec)
    engine.rows["d1"] = [5, 5]
    assert values(engine, memory, spec) == values(days(*engine.rows.values()), Memory(), spec)
    assert engine.read == ["d0", "d1", "d2", "d1"]


def test_a_union_of_what_is_no_longer_wanted_is_left_alone() -> None:
    engine, memory = days([1], [2], [3]), Memory()
    scan(engine, memory, SUM)
    del engine.rows["d0"]
    assert values(engine, memory, SUM) == [5]
    assert engine.read == ["d0", "d1", "d2"], "its partitions are known one by one"
    assert kept(memory, SUM) == [["d1", "d2"], ["d0", "d1", "d2"]]


def test_the_largest_union_that_fits_is_taken_and_a_damaged_one_passed_over() -> None:
    engine, memory = days([1], [2]), Memory()
    scan(engine, memory, SUM)
    engine.rows |= {"d2": [3]}
    scan(engine, memory, SUM)
    memory.unions[SUM.text].reverse()
    memory.asked.clear()
    engine.rows |= {"d3": [4]}
    assert values(engine, memory, SUM) == [10]
    assert memory.asked == ["d3"]
    memory.unions[SUM.text] = [replace(each, state=None) for each in memory.unions[SUM.text][:2]] + [
        KeptRollup(prints={"d0": engine.prints["d0"]}, state=memory.saved[SUM.text, "d0", engine.prints["d0"]])
    ]
    memory.asked.clear()
    assert values(engine, memory, SUM) == [10]
    assert memory.asked == ["d1", "d2", "d3"]


def test_a_state_that_cannot_be_read_is_measured_again() -> None:
    engine, memory = days([1], [2]), Memory()
    scan(engine, memory, SUM)
    memory.unions.clear()
    memory.saved[SUM.text, "d0", engine.prints["d0"]] = b"nonsense"
    engine.units.clear()
    assert values(engine, memory, SUM) == [3]
    assert engine.read == ["d0"]


def test_a_partition_that_cannot_be_read_is_the_failure_of_what_needs_it() -> None:
    engine, memory = days([1], [2], [3]), Memory()
    engine.failing = {"d1": LOST}
    assert measured(engine, memory, SUM, UNIQUE) == [Measured(failure=LOST)] * 2
    assert (memory.saved, memory.unions) == ({}, {})


def test_a_metric_with_too_many_keys_in_a_partition_is_left_out() -> None:
    engine, memory = days([1, 2, 3], [4]), Memory()
    engine.most_keys = 2
    assert list(scan(engine, memory, UNIQUE, SUM).measured) == ["key of sum(id)"]
    assert {text for text, _, _ in memory.saved} == {SUM.text}


def test_a_partition_that_is_rewritten_while_it_is_read_is_not_kept() -> None:
    engine, memory = days([1, 2], [3]), Memory()
    engine.rewritten = {"d1": "other"}
    assert values(engine, memory, SUM, UNIQUE) == [6, 1.0]
    assert {key for _, key, _ in memory.saved} == {"d0"}
    assert memory.unions == {}
    engine.rewritten = {"d0": "other", "d1": "other"}
    engine.rows = {"d0": [5], "d1": [6]}
    memory.saved.clear()
    assert values(engine, memory, SUM) == [11]
    assert memory.saved == {}


def test_what_is_rewritten_meanwhile_is_added_to_the_union_that_is_known() -> None:
    engine, memory = days([1], [2]), Memory()
    scan(engine, memory, SUM)
    engine.rows["d2"], engine.rewritten = [4], {"d2": "other"}
    assert values(engine, memory, SUM) == [7]
    assert kept(memory, SUM) == [["d0", "d1"]]


def test_one_partition_alone_needs_no_union() -> None:
    engine, memory = days([1, 2]), Memory()
    assert values(engine, memory, SUM, KEYS) == [3, 2]
    assert memory.unions == {}


def test_statistics_come_to_the_union_at_once() -> None:
    engine, memory = days([1], [2]), Memory()
    scan(engine, memory, SUM)
    engine.rows["d2"] = [3]
    scan(engine, memory, SUM)
    assert kept(memory, SUM) == [["d0", "d1", "d2"], ["d0", "d1"]]


@pytest.mark.parametrize(("new", "is_kept"), [(12, False), (13, True)])  # eight times fewer than 100 are looked up
def test_keys_come_to_the_union_when_they_are_no_longer_few(new: int, is_kept: bool) -> None:
    engine, memory = days(range(50), range(50, 100)), Memory()
    scan(engine, memory, KEYS)
    engine.rows["d2"] = list(range(100, 100 + new))
    assert values(engine, memory, KEYS) == [100 + new]
    assert len(memory.unions[KEYS.text]) == 1 + is_kept


@pytest.mark.parametrize(("beside", "is_kept"), [(32, False), (33, True)])
def test_so_many_partitions_beside_a_union_become_one_with_it(beside: int, is_kept: bool) -> None:
    engine, memory = days(range(500), range(500, 1000)), Memory()
    scan(engine, memory, KEYS)
    engine.rows |= {f"e{at}": [at] for at in range(beside)}
    assert values(engine, memory, KEYS) == [1000]
    assert len(memory.unions[KEYS.text]) == 1 + is_kept


def test_what_is_kept_is_the_state_over_the_union() -> None:
    engine, memory = days([1, 2], [2, 3]), Memory()
    scan(engine, memory, SUM, KEYS)
    (total,), (keys,) = memory.unions[SUM.text], memory.unions[KEYS.text]
    assert total.prints == keys.prints == engine.prints
    assert from_bytes(SUM, total.load()).statistics == {"sum": 8}
    (found,) = from_bytes(KEYS, keys.load()).groupings
    assert (list(found.whole.single), list(found.whole.repeated), list(found.whole.times)) == ([1, 3], [2], [2])


def test_the_state_of_a_union_is_merged_by_the_metric_of_it() -> None:
    least = MetricSpec(name="min", columns=("id",))
    states = [MetricState(statistics={"min": value}) for value in (3, 1, 2)]
    assert union(least, states).statistics == {"min": 1}


@pytest.mark.parametrize(
    ("spec", "merges"),
    [
        (SUM, True),
        (UNIQUE, True),
        (MetricSpec(name="approx_count_distinct", columns=("id",)), True),
        (replace(SUM, by=("city",)), False),
        (MetricSpec(name="quantile", columns=("id",), arguments=(0.5,)), False),
        (MetricSpec(name="query", arguments=("select 1",)), False),
    ],
)
def test_what_follows_from_states_of_parts_can_be_merged(spec: MetricSpec, merges: bool) -> None:
    assert can_merge(spec) is merges


@pytest.mark.parametrize(
    ("name", "shares"),
    [("uniqueness", True), ("distinctness", True), ("distinct_count", True), ("entropy", True), ("sum", False)],
)
def test_metrics_of_the_same_keys_share_a_state(name: str, shares: bool) -> None:
    spec = MetricSpec(name=name, columns=("id",), where="id > 1")
    assert state_spec(spec) == (replace(KEYS, where="id > 1") if shares else spec)


def test_metrics_of_other_keys_have_a_state_of_their_own() -> None:
    keep = replace(UNIQUE, options=(("nulls", "keep"),))
    assert state_spec(keep) == keep
    mutual = MetricSpec(name="mutual_information", columns=("id", "city"))
    assert state_spec(mutual) == mutual


@pytest.mark.thorough
def test_many_partitions_are_asked_for_a_thousand_at_a_time() -> None:
    engine = days(*([at] for at in range(2500)))
    assert values(engine, Memory(), ROWS, SUM) == [2500, 2499 * 2500 / 2]
    assert engine.calls == [1000, 1000, 500]
