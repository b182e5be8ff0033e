"""Overrides of the gate: given, ended, and those that last."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from datetime import datetime

from django.db import transaction
from django.db.models import Q, QuerySet

from alerting.notices.policy import Event
from alerting.services import tell
from assay.models import Dataset
from assay.time.windows import Window
from incident_manager.incidents.timeline import note
from incident_manager.models import GateOverride, Incident

from .overrides import Override, UnableToOverride, demand_sound, usual


@transaction.atomic
def override(
    *,
    dataset: Dataset,
    window: Window,
    reason: str,
    author: str,
    now: datetime,
    pipeline: str = "",
    ends_at: datetime | None = None,
) -> GateOverride:
    """From now on the gate only warns where it would block; raises UnableToOverride.

    Without a pipeline it is for all of them. The incidents of the window say so in their timelines, and the owner is
    told, unless the owner gave it.
    """
    until = ends_at or now + usual(dataset.tier)
    given = Override(window=window, author=author, ends_at=until, reason=reason)
    demand_sound(given, tier=dataset.tier, partitioning=dataset.partitioning, now=now)
    row = GateOverride.objects.create(
        dataset=dataset,
        pipeline=pipeline,
        window_start=window.start,
        window_end=window.end,
        starts_at=now,
        ends_at=until,
        author=author,
        reason=reason,
    )
    spoilt = Q(
        spoilt_windows__healed_at=None,
        spoilt_windows__window_start__lt=window.end,
        spoilt_windows__window_end__gt=window.start,
    )
    for incident in Incident.objects.filter(spoilt, dataset=dataset, resolved_at=None).distinct():
        note(incident, "gate overridden", now=now, actor=author, text=row.said)
    if dataset.owner != author:
        tell(
            event=Event.OVERRIDDEN,
            recipient=dataset.owner,
            subject=f"{dataset.full_name}: {author} lets pipelines read it although the gate blocks",
            body=f"{row.said}\n\nThe data stays bad for everybody who looks it up. The dataset's page can end this.\n",
            facts={"dataset": dataset.full_name, "window": window.text, "override": row.pk, "pipeline": pipeline},
            key=f"override:{row.pk}",
            now=now,
        )
    return row


@transaction.atomic
def end_override(row: GateOverride, *, now: datetime) -> GateOverride:
    """The override, ended now: the gate blocks again; raises UnableToOverride where it had ended."""
    locked = GateOverride.objects.select_for_update().get(pk=row.pk)
    if locked.ends_at <= now:
        text = f"Override {row.pk} already ended at {locked.ends_at:%Y-%m-%d %H:%M} UTC."
        raise UnableToOverride(text, field="ends_at")
    locked.ends_at = now
    locked.save(update_fields=["ends_at"])
    return locked


def lasting(dataset: Dataset, *, now: datetime) -> QuerySet[GateOverride]:
    """The overrides of a dataset that have not ended, the newest first."""
    return GateOverride.objects.filter(dataset=dataset, ends_at__gt=now).order_by("-pk")


def overrides_of(pipeline: str, datasets: Iterable[Dataset], *, now: datetime) -> Mapping[int, list[Override]]:
    """What lasts now for a pipeline, by the dataset's id, the oldest first."""
    rows = GateOverride.objects.filter(dataset__in={dataset.pk for dataset in datasets}, ends_at__gt=now)
    found: dict[int, list[Override]] = defaultdict(list)
    for row in rows.order_by("pk"):
        if row.pipeline in ("", pipeline):  # compared here, whatever a database's collation
            found[row.dataset_id].append(
                Override(window=row.window, author=row.author, ends_at=row.ends_at, reason=row.reason)
            )
    return found
