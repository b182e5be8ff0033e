"""What pages show of states, bounds and lineage."""

import pytest
from django.utils.translation import override

from execution_engine.language.parse import parse
from web.pages.days import PlotBounds, bounds
from web.rendering.lineage import hops
from web.rendering.status import MEANINGS, WORDS, DisplayStatus, in_english, status_of
from web.templatetags.quality import local_times

BOUNDS = [
    ("row_count() >= 100", PlotBounds(low=100)),
    ("100 <= row_count()", PlotBounds(low=100)),
    ("completeness(a) > 98 %", PlotBounds(low=0.98)),
    ("freshness(complete=0.999) < 4h", PlotBounds(high=4 * 3600)),
    ("row_count() between 10 and 20", PlotBounds(low=10, high=20)),
    ("row_count() = 7", PlotBounds(low=7, high=7)),
    ("row_count() not between 10 and 20", PlotBounds()),
    ("row_count() > 1 and row_count() < 5", PlotBounds()),
    ("row_count() > row_count(ago=7d)", PlotBounds()),
    ("row_count() != 3", PlotBounds()),
    ("row_count() > 3 by city for 95 % of groups", PlotBounds(low=0.95)),
    ("row_count() > 3 by city", PlotBounds(low=1.0)),
]


@pytest.mark.parametrize(("assertion", "expected"), BOUNDS)
def test_the_bounds_of_an_assertion_are_its_literals(assertion: str, expected: PlotBounds) -> None:
    assert bounds(parse(assertion)) == expected


def test_a_waived_failure_is_shown_as_waived_and_a_waived_pass_as_pass() -> None:
    assert (status_of("FAIL", True), status_of("PASS", True)) == (DisplayStatus.WAIVED, DisplayStatus.PASS)


def test_every_status_has_a_word_and_a_meaning() -> None:
    assert set(WORDS) == set(MEANINGS) == set(DisplayStatus)


def test_a_cycle_in_the_lineage_ends_where_it_began() -> None:
    assert hops(1, {1: [2], 2: [3], 3: [1, 4], 4: [5]}, 1) == {1: 0, 2: 1, 3: 2, 4: 3}


def test_a_message_in_english_stays_marked_where_its_instants_are_local() -> None:
    with override("de"):
        text = local_times(in_english("A <b> until 2026-03-09 10:00 UTC."))
    assert text.startswith('<span lang="en">A &lt;b&gt; until <time datetime="2026-03-09T10:00Z"')
