"""Window templates in SQL."""

from datetime import UTC, datetime

import pytest

from assay.time.windows import Granularity, Partitioning, Window
from execution_engine.language.templates import UnableToRender, faults, render, templates

NEW_YORK = Partitioning(granularity=Granularity.DAY, time_zone="America/New_York", key_format="%Y%m%d")
FIRST_OF_MARCH = NEW_YORK.window("20130301")


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("{window.start:date}", "2013-03-01"),
        ("{window.end:date}", "2013-03-02"),
        ("{window.start-7d:date}", "2013-02-22"),
        ("{window.start-1mo:date}", "2013-02-01"),
        ("{window.start-1y:date}", "2012-03-01"),
        ("{window.end+1d:key}", "20130303"),
        ("{window.start:key}", "20130301"),
        ("{window.start+4h:hour}", "2013-03-01-04"),
        ("{window.start-30m:datetime}", "2013-02-28 23:30:00"),
        ("{window.start:iso}", "2013-03-01T00:00:00-05:00"),
        ("{window.start:epoch}", "1362114000"),
    ],
)
def test_a_template_is_filled_in_by_the_clock_of_the_dataset(template: str, text: str) -> None:
    assert render(f"ds = '{template}'", FIRST_OF_MARCH, NEW_YORK) == f"ds = '{text}'"


@pytest.mark.parametrize(
    ("zone", "key", "instant"),
    [
        ("Europe/Berlin", "2026-03-28", "2026-03-29T00:00:00+01:00"),
        ("Europe/Berlin", "2026-03-29", "2026-03-30T00:00:00+02:00"),  # the clocks go forward
        ("America/New_York", "2026-11-01", "2026-11-02T00:00:00-05:00"),
        ("UTC", "2026-11-01", "2026-11-02 00:00:00"),
    ],
)
def test_a_local_time_in_a_timestamp_of_sql_is_the_instant_that_it_means(zone: str, key: str, instant: str) -> None:
    days = Partitioning(granularity=Granularity.DAY, time_zone=zone)
    window, local = days.window(key), instant[:19].replace("T", " ")

    def rendered(text: str) -> str:
        return render(text, window, days)

    assert rendered("timestamp '{window.end:datetime}'") == f"timestamp '{instant}'"
    assert rendered("at < TIMESTAMP_LTZ'{window.end:datetime}'") == f"at < TIMESTAMP_LTZ'{instant}'"
    for before in ("timestamp_ntz '", "at < '", "my_timestamp '", "timestamp 'x"):
        assert rendered(before + "{window.end:datetime}'") == f"{before}{local}'"


def test_a_step_of_days_keeps_the_local_midnight_when_clocks_change() -> None:
    after = NEW_YORK.window("20130315")  # clocks went forward on the tenth
    assert render("{window.start-7d:iso}", after, NEW_YORK) == "2013-03-08T00:00:00-05:00"


def test_a_window_of_many_partitions_has_the_keys_of_its_edges() -> None:
    whole = Window(start=datetime(2013, 1, 1, 5, tzinfo=UTC), end=datetime(2013, 2, 1, 5, tzinfo=UTC))
    assert render("{window.start:key} {window.end:key}", whole, NEW_YORK) == "20130101 20130201"


@pytest.mark.parametrize("text", ["email rlike '^[a-z]{2,3}$'", "{}", "{start:date}", "a{1}{window_start:date}"])
def test_other_braces_stay_as_they_are(text: str) -> None:
    assert render(text, FIRST_OF_MARCH, NEW_YORK) == text
    assert templates(text) == ()


@pytest.mark.parametrize(
    "text",
    [
        *("{window}", "{window.start}", "{window.middle:date}", "{window.start:day}", "{window.start-7:date}"),
        *("{window.start-7x:date}", "{window.start-7d-1d:date}", "{ window.start:date}", "{window.start:date"),
        "{window.__class__:date}",
    ],
)
def test_a_wrong_template_is_refused_and_says_what_to_write(text: str) -> None:
    assert len(list(faults(f"a = '{text}'"))) == 1
    with pytest.raises(UnableToRender, match="is no template"):
        render(text, FIRST_OF_MARCH, NEW_YORK)


@pytest.mark.parametrize(
    ("key", "template", "text"),
    [
        ("20260131", "{window.start-1mo:date}", "2025-12-31"),
        ("20260331", "{window.start-1mo:date}", "2026-02-28"),
        ("20240331", "{window.start-1mo:date}", "2024-02-29"),
        ("20240229", "{window.start-1y:date}", "2023-02-28"),
        ("20240229", "{window.start-4y:key}", "20200229"),
        ("20260309", "{window.start-1w:date}", "2026-03-02"),
        ("20260308", "{window.end-1d:iso}", "2026-03-08T00:00:00-05:00"),
        ("20261101", "{window.end-24h:datetime}", "2026-11-01 01:00:00"),
    ],
)
def test_calendar_steps_end_in_the_last_day_of_a_shorter_month(key: str, template: str, text: str) -> None:
    assert render(template, NEW_YORK.window(key), NEW_YORK) == text
