"""The word to the platform's on-call when the scheduler is silent."""

from datetime import datetime, timedelta

from assay import clock
from assay.config import config
from assay.scheduler.beat import scheduler

from .policy import Event
from .send import send_due
from .services import tell

TOLD_AFTER = timedelta(minutes=5)  # a restart wakes nobody


def look_after_scheduler(*, looking_since: datetime) -> bool:
    """Whether the scheduler has been silent for five minutes; on-call is told once of each silence.

    Where none has ever swept, the silence began when we began to look. As nobody hints at the notice while the
    scheduler is silent, what is due to be sent is sent here.
    """
    known = scheduler()
    if known is None or not known.is_silent or known.now - (known.swept_at or looking_since) < TOLD_AFTER:
        return False
    last = known.swept_at
    seen = f"Its last sweep was at {last:%Y-%m-%d %H:%M:%S} UTC." if last else "It has never made a sweep."
    tell(
        event=Event.PLATFORM,
        recipient=config().on_call,
        subject="Assay's scheduler has stopped: no test is run on time",
        body=f"{seen} Start `assay sweep` again; until then workers do only the work that they find by themselves.\n",
        facts={"fault": "scheduler silent", "last_sweep_at": last.isoformat() if last else None},
        key=f"scheduler:{last:%Y%m%dT%H%M%S}" if last else "scheduler:never",
        now=clock.now(),
    )
    send_due()
    return True
