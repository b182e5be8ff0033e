"""Whether the scheduler is alive: each sweep leaves a beat, and whoever looks can tell how long there was none."""

import os
import socket
from dataclasses import dataclass
from datetime import datetime, timedelta

from assay.clock import database_now
from assay.config import config
from assay.models import Beat, Pull, Round
from assay.queue.flow import STAGES
from assay.time.durations import next_time

MISSED = 3  # intervals without a sweep
SHORTEST_SILENCE = timedelta(seconds=15)  # a sweep takes seconds where the broker is slow to answer
FORGOTTEN_AFTER = timedelta(days=1)  # beats of hosts that are gone


@dataclass(frozen=True, kw_only=True)
class Scheduler:
    """What is known of the schedulers now; ``swept_at`` is None where none has ever swept."""

    swept_at: datetime | None
    interval: timedelta
    now: datetime

    @property
    def silence(self) -> timedelta | None:
        """How long ago the last sweep was; None where there was none."""
        return None if self.swept_at is None else max(self.now - self.swept_at, timedelta(0))

    @property
    def is_silent(self) -> bool:
        """Whether no scheduler has swept for three of its intervals, and for 15 seconds at least."""
        return self.silence is None or self.silence > max(MISSED * self.interval, SHORTEST_SILENCE)


def beat(interval: timedelta) -> None:
    """Note that this process has swept just now, and forget hosts that have not for a day."""
    now, host = database_now(), socket.gethostname()
    _, is_new = Beat.objects.update_or_create(
        host=host, defaults={"pid": os.getpid(), "swept_at": now, "interval": interval}
    )
    if is_new:
        Beat.objects.filter(swept_at__lt=now - FORGOTTEN_AFTER).delete()


def scheduler() -> Scheduler | None:
    """The scheduler that has swept last; None in the embedded set-up, which needs none."""
    if not config().broker_url:
        return None
    last = Beat.objects.order_by("-swept_at").first()
    if last is None:
        return Scheduler(swept_at=None, interval=timedelta(0), now=database_now())
    return Scheduler(swept_at=last.swept_at, interval=last.interval, now=database_now())


# What comes round by time has a row that its stage claims: whatever runs for long makes it as it starts.


def begin_rounds(now: datetime) -> None:
    """Make the rows that the stages with a cadence and the stage *pull* claim, unless they are there."""
    present = set(Round.objects.values_list("name", flat=True))
    missing = [stage for stage in STAGES if stage.cadence and stage.name not in present]
    rows = [Round(name=stage.name, due_at=stage.next_round(now)) for stage in missing]
    Round.objects.bulk_create(rows, ignore_conflicts=True)
    begin_pulling(now)


def begin_pulling(now: datetime) -> None:
    """Make the rows that the stage *pull* claims, unless they are there; take those away of which nothing is read."""
    names = cadences().keys()
    Pull.objects.exclude(name__in=names).delete()
    present = set(Pull.objects.values_list("name", flat=True))
    rows = [Pull(name=name, due_at=now) for name in names if name not in present]
    Pull.objects.bulk_create(rows, ignore_conflicts=True)


def cadences() -> dict[str, str]:
    """How often each source is read that is read by itself, by the names of ``Pull``."""
    files = {"": config().catalog_every} if config().catalog_path else {}
    return files | {provider.name: provider.every for provider in config().provider_list}


def bring_back(now: datetime) -> None:
    """Read each source no later than its cadence has it, though a clock was ahead when it was read last."""
    for name, cadence in cadences().items():
        coming = next_time(cadence, now)
        Pull.objects.filter(name=name, due_at__gt=coming).update(due_at=coming)
