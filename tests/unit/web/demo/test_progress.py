"""How far the demo is, for whoever reads it in a log."""

import io
from datetime import timedelta

from rich.console import Console

from web.demo.replay import progress
from web.demo.world import BEGINS_AT, ENDS_AT

HOUR = timedelta(hours=1)


def said(console: Console, out: io.StringIO) -> list[str]:
    """What is written while a replay goes through its days, hour by hour."""
    with progress(console) as seen:
        for hours in range((ENDS_AT - BEGINS_AT) // HOUR + 1):
            seen(BEGINS_AT + hours * HOUR)
    return out.getvalue().splitlines()


def test_where_there_is_no_terminal_each_local_day_is_a_plain_line() -> None:
    out = io.StringIO()
    lines = said(Console(file=out), out)
    assert (len(lines), lines[:1], lines[4:5], lines[-1:]) == (
        29,
        ["replaying Wed 06 Mar 2013, day 1 of 29"],
        ["replaying Sun 10 Mar 2013, day 5 of 29"],
        ["replaying Wed 03 Apr 2013, day 29 of 29"],
    )


def test_a_terminal_shows_a_bar_instead() -> None:
    out = io.StringIO()
    lines = said(Console(file=out, force_terminal=True), out)
    assert lines
    assert not any(line.startswith("replaying Wed") for line in lines)
