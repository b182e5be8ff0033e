"""How far a replay is, on standard error: a bar where somebody looks at it, elsewhere a line for each simulated day."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import date, datetime

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from .days import BEGINS_AT, ENDS_AT, FIRST_DAY, ZONE

COLUMNS = (
    TextColumn("{task.description}"),
    BarColumn(),
    MofNCompleteColumn(),
    TextColumn("days"),
    TimeElapsedColumn(),
)
DAYS = (ENDS_AT.astimezone(ZONE).date() - FIRST_DAY).days  # local ones, one of which has 23 hours


@contextmanager
def progress(console: Console) -> Iterator[Callable[[datetime], None]]:
    """What is to be told each instant of a replay."""
    if not console.is_terminal:
        yield lines(lambda line: console.print(line, soft_wrap=True, highlight=False))
        return
    with Progress(*COLUMNS, console=console) as bar:
        task = bar.add_task("replaying", total=(ENDS_AT - BEGINS_AT).days)

        def seen(instant: datetime) -> None:
            today = f"{instant.astimezone(ZONE):%a %d %b %Y}"
            bar.update(task, completed=(instant - BEGINS_AT).days, description=today)

        yield seen
        bar.update(task, completed=(ENDS_AT - BEGINS_AT).days)


def lines(say: Callable[[str], object]) -> Callable[[datetime], None]:
    """What says each day when the replay comes to it, once."""
    said: list[date] = []

    def seen(instant: datetime) -> None:
        today = instant.astimezone(ZONE).date()
        if instant < ENDS_AT and today not in said:
            said.append(today)
            say(f"replaying {today:%a %d %b %Y}, day {(today - FIRST_DAY).days + 1} of {DAYS}")

    return seen
