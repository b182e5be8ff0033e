"""A wait of a command: ask again and again, more and more rarely, where somebody may watch."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import TypeVar

from rich.console import Console
from rich.markup import escape

from assay.time.durations import doubled, format_duration

T = TypeVar("T")

FIRST, MOST = timedelta(seconds=5), timedelta(seconds=60)  # between two questions


def next_pause(asked: int, *, left: timedelta, poll: timedelta | None = None) -> timedelta:
    """How long to wait after so many questions: 5 s, 10 s, … 60 s, or ``poll`` each time; no longer than what is left.

    ``asked`` counts from 1.
    """
    return min(poll or doubled(FIRST, asked - 1, most=MOST), left)


def wait_for(
    ask: Callable[[], T],
    *,
    is_settled: Callable[[T], bool],
    told: Callable[[T], str],
    longest: timedelta,
    poll: timedelta | None = None,
) -> T:
    """The first answer that is settled, or the last one within ``longest`` of real time.

    ``told`` says for people what is waited for. A terminal shows it in one line that lives; a log gets a line for each
    change.
    """
    end, asked = time.monotonic() + longest.total_seconds(), 0
    with _teller() as tell:
        while True:
            found, asked = ask(), asked + 1
            left = timedelta(seconds=end - time.monotonic())
            if is_settled(found) or left <= timedelta(0):
                return found
            tell(told(found), left)
            time.sleep(next_pause(asked, left=left, poll=poll).total_seconds())


@contextmanager
def _teller() -> Iterator[Callable[[str, timedelta], None]]:
    """Something that says on the standard error what is waited for."""
    if sys.stderr.isatty():
        with Console(stderr=True, emoji=False).status("waiting") as status:
            yield lambda text, left: status.update(f"{escape(text)} ({_rough(left)} left)")
        return
    said: set[str] = set()

    def write(text: str, left: timedelta) -> None:
        if text not in said:
            print(f"assay: waiting, at most {_rough(left)}: {text}", file=sys.stderr, flush=True)
        said.clear()
        said.add(text)

    yield write


def _rough(left: timedelta) -> str:
    return format_duration(timedelta(seconds=max(1, round(left.total_seconds()))))
