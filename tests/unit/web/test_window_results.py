"""What windows show in a chart: their unit, their words, and what broke, the worst first."""

from datetime import UTC, datetime, timedelta

import pytest

from assay.charts.drawing import PointState
from assay.charts.ticks import Unit
from assay.models import Category
from execution_engine.language.parse import parse
from web.rendering.charts import ChartUnit, WindowResult, broken_text, plot_of, unit_of

SHARE = ChartUnit(unit=Unit.SHARE)


@pytest.mark.parametrize(
    ("assertion", "category", "unit", "word"),
    [
        ("row_count() >= 0.9 * mean(row_count(), last=7)", Category.CUSTOM, Unit.COUNT, "rows"),
        ("anomaly(row_count(), last=8) <= 1", Category.ANOMALY, Unit.COUNT, "rows"),
        ("freshness(complete=0.999) < 4h", Category.FRESHNESS, Unit.LENGTH, ""),
        ("row_count() / row_count(dataset='raw.trips') between 0.999 and 1.001", Category.COMPLETENESS, Unit.SHARE, ""),
        ("sum(fare) / sum(distance) <= 120 %", Category.CUSTOM, Unit.SHARE, ""),
        ("completeness(fare) >= 0.98", Category.COLUMN, Unit.SHARE, ""),
        ("mean(fare) < 100", Category.COLUMN, Unit.NUMBER, ""),
        ("novelty() <= 1", Category.NOVELTY, Unit.NUMBER, ""),
        ("row_count() > 1 and mean(fare) < 9", Category.CUSTOM, Unit.NUMBER, ""),
    ],
)
def test_an_assertion_tells_what_its_value_is_a_number_of(
    assertion: str, category: Category, unit: Unit, word: str
) -> None:
    assert unit_of(parse(assertion), category) == ChartUnit(unit=unit, word=word)


def result(day: int, value: float | None, outcome: str, was: float | None = None) -> WindowResult:
    start = datetime(2026, 3, day, tzinfo=UTC)
    return WindowResult(
        key=f"2026-03-{day:02}", start=start, value=value, outcome=outcome, was=was, low=0.99, high=1.01
    )


@pytest.mark.parametrize(
    ("one", "text", "states"),
    [
        (result(1, 0.997, "held"), "99.7 %, held", [PointState.HELD]),
        (result(1, 0.5, "broken", 0.5), "50 %, broken, wanted at least 99 %", [PointState.BROKEN]),
        (result(1, 2.0, "broken", 2.0), "200 %, broken, wanted at most 101 %", [PointState.BROKEN]),
        (result(1, 0.997, "held", 0.5), "99.7 %, held, was broken at 50 %", [PointState.HELD, PointState.MENDED]),
        (result(1, None, "never measured"), "–, never measured", [PointState.UNKNOWN]),
    ],
)
def test_a_tooltip_says_the_window_its_value_and_what_was_wanted(
    one: WindowResult, text: str, states: list[PointState]
) -> None:
    points = one.points(SHARE)
    assert [point.text for point in points] == [f"2026-03-01: {text}"] * len(states)
    assert [point.state for point in points] == states


def test_what_broke_is_told_in_words_what_still_is_first_and_then_the_worst() -> None:
    results = [result(1, 0.9, "broken", 0.9), result(2, 1.0, "held", 0.1), result(3, 1.0, "held")]
    results += [result(day, 0.98, "broken", 0.98) for day in (4, 5, 6)]
    assert broken_text(results, SHARE).split("; ") == [
        "Broken: 2026-03-01: 90 % (wanted at least 99 %)",
        "2026-03-06: 98 % (wanted at least 99 %)",
        "2026-03-05: 98 % (wanted at least 99 %)",
        "2026-03-04: 98 % (wanted at least 99 %)",
        "and 1 more.",
    ]
    assert broken_text(results[:2], SHARE).endswith("; 2026-03-02: 10 % (wanted at least 99 %), mended.")
    assert broken_text(results[2:3], SHARE) == ""


def test_the_table_has_the_newest_window_first_and_the_chart_three_sizes() -> None:
    plot = plot_of([result(1, 1.0, "held"), result(2, 0.5, "broken", 0.5)], SHARE, title="<b>", zone=UTC)
    assert [start.day for start, *_ in plot.rows] == [2, 1]
    assert (plot.svg.count("<svg"), plot.svg.count("<title"), "<b>" in plot.svg) == (3, 3, False)
    assert len({*plot.states, "bound" if plot.has_bounds else ""}) == 3
    empty = plot_of([], SHARE, title="x", zone=UTC, period=(None, datetime(2026, 3, 1, tzinfo=UTC) + timedelta(days=1)))
    assert (empty.svg, list(empty.rows)) == ("", [])
