"""Which tables nothing in use reads."""

from collections.abc import Collection
from datetime import timedelta

import pytest

from execution_engine.models import Heartbeat
from execution_engine.obsolete import is_silent, unread_tables
from tests.factories import DAY, NOW


@pytest.mark.parametrize(
    ("silent", "unread"),
    [
        ({"end"}, {"end"}),
        ({"middle"}, set()),  # the end is in use
        ({"start", "middle", "end"}, {"start", "middle", "end"}),
        ({"start", "end"}, {"end"}),
        ({"above_retired"}, {"above_retired"}),
        ({"left", "right"}, {"left", "right"}),  # each is made of the other alone
    ],
)
def test_a_table_is_unread_if_only_unread_or_retired_ones_are_made_of_it(
    silent: Collection[str], unread: Collection[str]
) -> None:
    downstreams = {
        "start": ["middle"], "middle": ["end"], "above_retired": ["retired"], "left": ["right"], "right": ["left"],
    }  # fmt: skip
    assert unread_tables(silent, retired={"retired"}, downstreams=downstreams) == unread


@pytest.mark.parametrize(
    ("silence", "fault", "is_so"),
    [(90 * DAY, "", True), (90 * DAY - timedelta(seconds=1), "", False), (99 * DAY, "moved", False)],
)
def test_a_table_is_silent_without_a_commit_for_a_quarter_up_to_the_last_look(
    silence: timedelta, fault: str, *, is_so: bool
) -> None:
    assert is_silent(Heartbeat(seen_at=NOW, last_commit_at=NOW - silence, fault=fault)) is is_so
    assert not is_silent(Heartbeat(seen_at=NOW, fault=fault))
