import json
from collections.abc import Callable
from decimal import Decimal

import numpy as np
import pytest

from execution_engine.metrics.spec import MetricSpec
from execution_engine.metrics.states.frequencies import Counts, Frequencies
from execution_engine.metrics.states.states import MetricState, UnableToReadState, from_bytes, merged
from execution_engine.metrics.states.statistics import Gather, Statistic

MEAN = MetricSpec(name="mean", columns=("fare",))
DISTINCT = MetricSpec(name="distinct_count", columns=("city", "東"))
STATE = MetricState(statistics={"sum": 4.5, "count": 3, "moments": (3, 1.5, 0.25), "kll": b"\0bytes", "nothing": None})


def test_statistics_are_read_as_they_were_written() -> None:
    assert from_bytes(MEAN, STATE.to_bytes(MEAN)).statistics == STATE.statistics


def test_frequencies_are_read_as_they_were_written() -> None:
    counts = Counts.of(np.array([5, -1, 5, 2**62], np.int64))
    state = MetricState(groupings=(Frequencies(whole=counts), Frequencies(with_nulls=counts)))
    first, second = from_bytes(DISTINCT, state.to_bytes(DISTINCT)).groupings
    for found in (first.whole, second.with_nulls):
        assert (list(found.single), list(found.repeated), list(found.times)) == ([-1, 2**62], [5], [2])
    assert first.with_nulls.rows == second.whole.rows == 0


@pytest.mark.parametrize("at", [0, 8, 20, 60, -1])
def test_a_state_that_was_changed_is_refused(at: int) -> None:
    content = bytearray(STATE.to_bytes(MEAN))
    content[at] ^= 1
    with pytest.raises(UnableToReadState):
        from_bytes(MEAN, bytes(content))


@pytest.mark.parametrize("length", [0, 10, 45, 46, 100, -1])
def test_a_state_that_was_cut_off_is_refused(length: int) -> None:
    with pytest.raises(UnableToReadState, match="measure the part again"):
        from_bytes(MEAN, STATE.to_bytes(MEAN)[:length])


def test_a_state_of_another_metric_is_refused() -> None:
    with pytest.raises(UnableToReadState, match=r"of mean\(fare\), not of distinct_count"):
        from_bytes(DISTINCT, STATE.to_bytes(MEAN))


def test_a_state_of_another_version_is_refused() -> None:
    content = bytearray(STATE.to_bytes(MEAN))
    content[8] = 9
    with pytest.raises(UnableToReadState, match="not of version 3"):
        from_bytes(MEAN, bytes(content))


def test_a_state_begins_with_its_name_and_version_and_its_arrays_lie_on_words() -> None:
    state = MetricState(groupings=(Frequencies(whole=Counts.of(np.array([5, 5], np.int64))),))
    content = state.to_bytes(DISTINCT)
    assert content[:10] == b"ASSAYSTA\x03\x00"
    length = int.from_bytes(content[10:14], "little")
    assert (30 + length) % 8 == 0
    assert json.loads(content[30 : 30 + length]) == {
        "metric": "distinct_count(city, 東)",
        "statistics": None,
        "groupings": 1,
        "lengths": [0, 8, 8, 0, 0, 0],
    }
    assert content[30 + length :] == np.array([5, 2], "<i8").tobytes()


def test_every_kind_of_value_is_kept_as_it_is() -> None:
    values = {"a": Decimal("1.50"), "b": b"x", "c": b"yz", "d": (1.0, 2.0), "e": 2**70, "f": None, "g": 0.1}
    found = from_bytes(MEAN, MetricState(statistics=values).to_bytes(MEAN)).statistics
    assert found is not None
    assert found == values
    assert [type(value) for value in found.values()] == [type(value) for value in values.values()]
    assert from_bytes(MEAN, MetricState(statistics={}).to_bytes(MEAN)) != MetricState()
    assert from_bytes(MEAN, MetricState(statistics={}).to_bytes(MEAN)).statistics == {}


def test_states_are_merged_statistic_by_statistic_and_grouping_by_grouping() -> None:
    wanted = {"n": Statistic(gather=Gather.COUNT, of=("1",)), "least": Statistic(gather=Gather.MIN, of=("x",))}
    whole = merged(wanted, [MetricState(statistics={"n": 2, "least": 5}), MetricState(statistics={"n": 3, "least": 4})])
    assert (whole.statistics, whole.groupings) == ({"n": 5, "least": 4}, ())
    one, two = (Frequencies(whole=Counts.of(np.array(keys, np.int64))) for keys in ([1, 2], [2]))
    both = merged(None, [MetricState(groupings=(one, two)), MetricState(groupings=(two, two))])
    assert both.statistics is None
    assert [each.summary.rows for each in both.groupings] == [3, 2]
    assert [each.summary.distinct for each in both.groupings] == [2, 1]


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda content: content[:20], "the state is cut off; measure the part again"),
        (lambda content: b"x" + content[1:], "the state is not of version 3; measure the part again"),
        (lambda content: content[:8] + b"\x02" + content[9:], "the state is not of version 3; measure the part again"),
        (lambda content: content[:-1], "the state is damaged: its checksum differs; measure the part again"),
    ],
)
def test_what_is_wrong_with_a_state_is_told(spoil: Callable[[bytes], bytes], said: str) -> None:
    with pytest.raises(UnableToReadState) as refused:
        from_bytes(MEAN, spoil(STATE.to_bytes(MEAN)))
    assert str(refused.value) == said
