"""A clock that leapt ahead and was set back: what was noted under it is brought back to the true time.

Two rules: no due time lies further ahead than its stage ever waits, and nothing has happened after now. Whoever works
the stages looks for it when it starts, when its clock stands before where it stood, and once an hour.
"""

from datetime import datetime, timedelta

import structlog
from django.utils.module_loading import import_string

from .claims import pending
from .flow import STAGES

log = structlog.get_logger(__name__)

EVERY = timedelta(hours=1)
SLACK = timedelta(minutes=5)  # two statements read the clock one after the other
_last: list[datetime] = []  # when this process looked


def is_time_to_look(last: datetime | None, now: datetime, every: timedelta | None = EVERY) -> bool:
    """Whether to look at ``now``, after having looked at ``last``; ``every`` None: only if the clock was set back."""
    return last is None or now < last or (every is not None and now >= last + every)


def look_for_leaps(now: datetime, *, in_replay: bool = False) -> None:
    """Bring back what a clock that was set back has left, if it is time to look for it.

    ``in_replay``: this process alone sets the clock, so that no leap can have come and gone since the last look.
    """
    is_time = is_time_to_look(_last[-1] if _last else None, now, None if in_replay else EVERY)
    if is_time:
        bring_back(now)
    if is_time or in_replay:
        _last[:] = [now]


def bring_back(now: datetime) -> None:
    """Let nothing be due later than it may be at ``now``; returns at once where nothing is."""
    for stage in STAGES:
        if stage.furthest is not None:
            assert stage.due
            furthest = now + stage.furthest
            too_far = pending(stage, None).filter(**{f"{stage.due}__gt": furthest + SLACK})
            if found := too_far.update(**{stage.due: furthest}):
                log.info("due times brought back", stage=stage.name, rows=found)
        if stage.bring_back:
            import_string(stage.bring_back)(now)
