"""Windows under the keys of their partitions."""

from datetime import timedelta

from assay.time.windows import Granularity, Partitioning, Window, keys_of, partition_name

SEOUL = Partitioning(granularity=Granularity.DAY, time_zone="Asia/Seoul")
FIRST, LAST = SEOUL.window("2026-03-09"), SEOUL.window("2026-03-12")


def test_one_partition_is_named_by_its_key() -> None:
    assert keys_of(FIRST, SEOUL) == "2026-03-09"


def test_several_are_named_by_the_first_and_the_last() -> None:
    assert keys_of(Window(start=FIRST.start, end=LAST.end), SEOUL) == "2026-03-09 – 2026-03-12"


def test_what_is_no_whole_partition_is_named_by_its_instants() -> None:
    part = Window(start=FIRST.start + timedelta(hours=1), end=FIRST.end)
    assert keys_of(part, SEOUL) == "2026-03-08 16:00 – 2026-03-09 15:00 UTC"
    assert keys_of(FIRST, None) == "2026-03-08 15:00 – 2026-03-09 15:00 UTC"


def test_a_message_names_a_partition_by_its_key_and_its_zone() -> None:
    utc = Partitioning(granularity=Granularity.HOUR)
    part = Window(start=FIRST.start + timedelta(hours=1), end=FIRST.end)
    assert partition_name(FIRST, SEOUL) == "2026-03-09 (Asia/Seoul)"
    assert partition_name(utc.at(FIRST.start), utc) == utc.key(utc.at(FIRST.start))
    assert partition_name(part, SEOUL) == "2026-03-09 01:00 – 2026-03-10 00:00 Asia/Seoul"
    assert partition_name(FIRST, None) == "2026-03-08 15:00 – 2026-03-09 15:00 UTC"
    assert partition_name(FIRST, SEOUL, whole_table=True) == "the whole table"
