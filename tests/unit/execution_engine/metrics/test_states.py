import numpy as np
import pytest

from execution_engine.metrics.frequencies import Counts, Frequencies
from execution_engine.metrics.spec import MetricSpec
from execution_engine.metrics.states import State, UnableToReadState, from_bytes

MEAN = MetricSpec(name="mean", columns=("fare",))
DISTINCT = MetricSpec(name="distinct_count", columns=("city", "東"))
STATE = State(statistics={"sum": 4.5, "count": 3, "moments": (3, 1.5, 0.25), "kll": b"\0bytes", "nothing": None})


def test_statistics_are_read_as_they_were_written() -> None:
    assert from_bytes(MEAN, STATE.to_bytes(MEAN)).statistics == STATE.statistics


def test_frequencies_are_read_as_they_were_written() -> None:
    counts = Counts.of(np.array([5, -1, 5, 2**62], np.int64))
    state = State(groupings=(Frequencies(whole=counts), Frequencies(with_nulls=counts)))
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
