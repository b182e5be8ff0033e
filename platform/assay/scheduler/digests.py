"""Have teams told of their week from now on: whatever runs for long says so when it starts."""

from datetime import UTC, datetime, timedelta

from assay.models import DigestRound

MORNING = 6  # o'clock UTC


def begin_digests(now: datetime) -> None:
    """Make the row that the stage *digest* claims, unless it is there."""
    DigestRound.objects.get_or_create(pk=1, defaults={"due_at": next_morning(now)})


def next_morning(now: datetime) -> datetime:
    """The next six o'clock UTC after an instant."""
    morning = now.astimezone(UTC).replace(hour=MORNING, minute=0, second=0, microsecond=0)
    return morning if morning > now else morning + timedelta(days=1)
