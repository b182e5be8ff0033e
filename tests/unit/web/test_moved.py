"""What moved in a novel batch, drawn small."""

import re
from typing import Any

from assay.charts.drawing import SMALL_HEIGHT, SMALL_WIDTH
from web.rendering.findings import moved


def cause(**more: Any) -> dict[str, Any]:
    past = [["2026-03-09T00:00:00+00:00", 8.0], ["2026-03-10T00:00:00+00:00", 8.2], ["2026-03-11T00:00:00+00:00", 7.9]]
    return {"text": "mean of distance: 4.9", "value": 4.9, "low": 7.9, "high": 8.2, "past": past, **more}


def places_of(svg: str, kind: str) -> list[tuple[float, float]]:
    """Where its shapes of a kind begin."""
    (path,) = re.findall(f'class="{kind}" d="([^"]*)"', svg)
    return [(float(x), float(y)) for x, y in re.findall(r"M([\d.]+) ([\d.]+)", path)]


def test_a_statistic_is_drawn_with_its_past_what_is_usual_and_now() -> None:
    (one,) = moved([{"causes": [cause()]}])
    assert one.text == "mean of distance: 4.9"
    assert 'aria-label="mean of distance: 4.9"' in one.plot
    ((x, y),), ((_, first),) = places_of(one.plot, "broken"), places_of(one.plot, "series")
    assert y > first  # lower than ever: further down
    assert 0 <= x <= SMALL_WIDTH
    assert 0 <= y <= SMALL_HEIGHT
    assert 'class="allowed"' in one.plot


def test_a_past_of_one_value_that_never_changed_is_a_line() -> None:
    (one,) = moved([{"causes": [cause(past=[["a", 1.0], ["b", 1.0]], value=1.0, low=1.0, high=1.0)]}])
    assert re.search(r'class="series" d="M[\d.]+ [\d.]+l[\d.]+ 0l[\d.]+ 0"', one.plot)


def test_what_has_no_numbers_is_told_in_words_alone() -> None:
    words = moved([{"causes": [cause(value="missing", past=[]), cause(past=[])]}])
    assert [(one.text, one.plot) for one in words] == [("mean of distance: 4.9", "")] * 2
    assert moved([]) == []
