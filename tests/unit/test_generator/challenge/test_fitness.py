"""What can be judged on a copy of one window is judged as it is written; of all else it is said why not."""

from datetime import UTC, datetime

import pytest

from assay.time.windows import Granularity, Partitioning
from test_generator.challenge.live_tests import ALONE, ForeignInputs, for_window, foreign_inputs, has_past, why_not

DAYS = Partitioning(granularity=Granularity.DAY, time_zone="America/New_York")
MONDAY = DAYS.at(datetime(2026, 3, 9, 12, tzinfo=UTC))


@pytest.mark.parametrize(
    "assertion",
    [
        "row_count() > 0",
        "completeness(email, where=\"country = 'US'\") >= 0.99 by city for 95 % of groups",
        "row_count() / row_count(dataset='raw.trips') between 0.99 and 1.01",
        "mean(fare) <= 2 * mean(mean(fare), last=7)",
        "anomaly(row_count(), last=60) <= 1",
        "row_count() >= 0.5 * row_count(ago=7d)",
        "1 - count_distinct(id) / row_count() <= 0",
        "referential_integrity(id, 'raw.riders') = 1",
        "compliance(\"at >= '{window.start:date}'\") = 1",
    ],
)
def test_it_can_be_judged(assertion: str) -> None:
    assert why_not(assertion) is None


@pytest.mark.parametrize(
    ("assertion", "why"),
    [
        ("freshness(complete=0.999) < 4h", "when the data came"),
        ("row_count() > 0 and freshness() < 4h", "when the data came"),
        ("query('select 1') > 0", "names tables by itself"),
        ("schema_drift(of='keys') = 0", "names and types"),
        ("unpartitioned_rows() = 0", "all partitions"),
        ("row_count() = row_count(datacenter='phx')", "datacenter phx"),
        ("keys_found(id, datacenter='phx') / distinct_count(id) >= 0.999", "datacenter phx"),
        ("sample_found('app.orders') / sample_size('app.orders') >= 0.99", "by the service alone"),
        ("row_count() = row_count(dataset='raw.trips', ago=7d)", "earlier window of raw.trips"),
        ("row_count() > mean(row_count(dataset='raw.trips'), last=7)", "past of raw.trips"),
        ("row_count() > 0.5 * row_count(ago=7d) by city", "groups"),
        ("row_count() > mean(row_count(where=\"day = '{window.start:date}'\"), last=7)", "SQL names the window"),
    ],
)
def test_of_all_else_it_is_said_why_not(assertion: str, why: str) -> None:
    assert why in str(why_not(assertion))


def test_an_earlier_window_is_a_history_of_one_value() -> None:
    written = "abs(row_count() - row_count(ago=7d)) / row_count(where='a > 1', ago=1w) < 1 %"
    read = "abs(row_count() - lag(row_count(), 1, every=7d)) / lag(row_count(where='a > 1'), 1, every=1w) < 1 %"
    assert for_window(written, MONDAY, DAYS) == read
    assert has_past(read)
    assert not has_past(written)


def test_templates_are_filled_in_by_the_tables_own_clock() -> None:
    written = "compliance(\"at >= timestamp '{window.start:datetime}' and k = '{window.start:key}'\") = 1"
    filled = "compliance(\"at >= timestamp '2026-03-09T00:00:00-04:00' and k = '2026-03-09'\") = 1"
    assert for_window(written, MONDAY, DAYS) == filled
    assert for_window(written, None, None) == written


def test_it_names_what_it_reads_beside_the_copy() -> None:
    assert foreign_inputs("row_count() > 0") == ALONE
    assert foreign_inputs("row_count() = row_count(dataset='raw.x')") == ForeignInputs(windows=frozenset({"raw.x"}))
    assert foreign_inputs("accuracy(a, 'raw.y', on='id') = 1") == ForeignInputs(whole=frozenset({"raw.y"}))
