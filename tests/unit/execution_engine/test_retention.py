"""When a window is beyond its dataset's retention."""

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from assay.models import Dataset
from assay.time.windows import Granularity
from execution_engine.services import expires_at, is_expired

INSTANTS = st.datetimes(datetime(2024, 1, 1), datetime(2028, 1, 1)).map(lambda instant: instant.replace(tzinfo=UTC))


@given(
    zone=st.sampled_from(["UTC", "Asia/Tokyo", "Pacific/Auckland", "America/New_York"]),
    granularity=st.sampled_from(Granularity),
    retention=st.timedeltas(timedelta(hours=1), timedelta(days=90)),
    instant=INSTANTS,
    later=st.timedeltas(timedelta(), timedelta(days=100)),
)
def test_a_window_is_expired_from_its_end_plus_the_retention_on(
    zone: str, granularity: Granularity, retention: timedelta, instant: datetime, later: timedelta
) -> None:
    dataset = Dataset(
        partition_column="datestr", granularity=granularity.value, time_zone=zone, key_format="", retention=retention
    )
    assert dataset.partitioning is not None
    window = dataset.partitioning.at(instant)
    end = expires_at(dataset, window)
    assert end is not None
    assert is_expired(dataset, window, end)
    assert not is_expired(dataset, window, end - timedelta(microseconds=1))
    assert is_expired(dataset, window, instant + later) == (instant + later >= end)


def test_without_a_retention_nothing_expires() -> None:
    dataset = Dataset(partition_column="datestr", granularity="day", time_zone="UTC", key_format="")
    assert dataset.partitioning is not None
    assert expires_at(dataset, dataset.partitioning.window("2026-03-09")) is None
