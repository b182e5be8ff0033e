"""Silences: notices of what they match wait until the end; if the incident ends before, they are suppressed."""

from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Q, QuerySet

from alerting.models import Alert, Silence
from assay.models import Dataset

LONGEST = timedelta(days=90)


class UnableToSilence(ValueError):
    """A silence that must not be; ``field`` is what is wrong with it."""

    def __init__(self, text: str, *, field: str) -> None:
        super().__init__(text)
        self.field = field


@transaction.atomic
def silence(
    *,
    ends_at: datetime,
    reason: str,
    author: str,
    now: datetime,
    dataset: Dataset | None = None,
    category: str = "",
    owner: str = "",
) -> Silence:
    """A silence from now on; what is left empty matches all."""
    if dataset is None and not category and not owner:
        raise UnableToSilence("Say what to mute: a dataset, a category or an owner.", field="dataset")
    if not reason.strip():
        raise UnableToSilence("A reason is missing: say why, for the people who are not told.", field="reason")
    if ends_at <= now:
        raise UnableToSilence(f"The end has passed: it is {now:%Y-%m-%d %H:%M} UTC. Name a later one.", field="ends_at")
    if ends_at - now > LONGEST:
        latest = f"{now + LONGEST:%Y-%m-%d %H:%M} UTC"
        raise UnableToSilence(
            f"A mute lasts at most {LONGEST.days} days: end it by {latest}, and renew it then.", field="ends_at"
        )
    return Silence.objects.create(
        dataset=dataset,
        category=category,
        owner=owner,
        starts_at=now,
        ends_at=ends_at,
        author=author,
        reason=reason,
    )


@transaction.atomic
def end_silence(row: Silence, *, now: datetime) -> Silence:
    """The silence, ended now: what it held back is decided at once."""
    locked = Silence.objects.select_for_update().get(pk=row.pk)
    if locked.ends_at <= now:
        raise UnableToSilence(f"Mute {row.pk} already ended at {locked.ends_at:%Y-%m-%d %H:%M} UTC.", field="ends_at")
    locked.ends_at = now
    locked.save(update_fields=["ends_at"])
    held = Alert.objects.filter(closed_at__isnull=True, next_notice_at__gt=now)
    if locked.dataset_id is not None:
        held = held.filter(dataset=locked.dataset_id)
    if locked.category:
        held = held.filter(category=locked.category)
    held.update(next_notice_at=now)
    return locked


def silences_of(alert: Alert) -> QuerySet[Silence]:
    """Those that match an alert and lasted into its time, the oldest first."""
    rows = Silence.objects.filter(ends_at__gt=alert.opened_at).filter(Q(dataset=None) | Q(dataset=alert.dataset_id))
    return rows.filter(category__in=("", alert.category)).order_by("pk")
