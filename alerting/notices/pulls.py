"""The word to the platform's on-call when the catalog cannot be read as scheduled, and when it can again."""

from datetime import datetime

from assay.config import config
from assay.models import Pull
from assay.queue.claims import finish

from .policy import Event
from .services import tell

LONGEST = 4000  # characters of what is wrong


def tell_of_pull(row: Pull, now: datetime) -> None:
    """Tell on-call once that the catalog cannot be read, and once that it can; ends the stage ``tell_of_pull``."""
    since = row.failing_since or row.told_since
    if since is None:  # it was mended before anybody was told
        finish(row, tell_at=None)
        return
    is_failing = row.failing_since is not None
    tell(
        event=Event.PLATFORM,
        recipient=config().on_call,
        subject="Assay cannot read the catalog" if is_failing else "Assay reads the catalog again",
        body=_failing(row) if is_failing else f"The fault that began at {since:%Y-%m-%d %H:%M} UTC is over.\n",
        facts={"fault": "catalog unreadable", "since": since.isoformat(), "is_over": not is_failing},
        key=f"pull:{since:%Y%m%dT%H%M%S}:{'failing' if is_failing else 'over'}",
        now=now,
    )
    finish(row, tell_at=None, told_since=since if is_failing else None)


def _failing(row: Pull) -> str:
    said = row.fault if len(row.fault) <= LONGEST else f"{row.fault[:LONGEST]} …"
    return (
        f"Assay reads {config().catalog_path} on a schedule, and refused it:\n\n{said}\n\n"
        f"The catalog stays as it was. Assay reads it again at {row.due_at:%Y-%m-%d %H:%M} UTC.\n"
    )
