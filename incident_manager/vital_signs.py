"""Vital signs as people are told of them: how important a table is, what is unusual of it, and who hears of that when.

A sign opens no incident. The digest of a team has those of its week; of tables that are read much, the stage *signs*
tells their owner at once, and marks what is obsolete.
"""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Count, QuerySet

from alerting.notices.policy import Event
from alerting.services import tell
from assay.config import config
from assay.models import Dataset, Round
from assay.queue.claims import finish
from assay.queue.flow import stage
from execution_engine.models import BlastRadius, Heartbeat
from execution_engine.services import mark_obsolete, out_of_bounds

from .models import Incident, LookUp

READ_WITHIN = timedelta(days=28)  # the look-ups that count
MUCH_READ = 28  # of them: once a day


@dataclass(frozen=True, kw_only=True, order=True)
class Importance:
    """How many ask for a dataset, how many datasets stand on it, and minus its tier: the largest is the first."""

    look_ups: int
    downstreams: int
    tier: int


def importance_of(datasets: Collection[int] | None, now: datetime) -> dict[int, Importance]:
    """The importance of these datasets, or of all, by id."""
    rows = Dataset.objects.filter(missing_since=None)
    look_ups = LookUp.objects.filter(at__gte=now - READ_WITHIN)
    radii = BlastRadius.objects.all()
    if datasets is not None:
        rows, look_ups = rows.filter(pk__in=datasets), look_ups.filter(dataset__in=datasets)
        radii = radii.filter(dataset__in=datasets)
    asked = dict(look_ups.values_list("dataset").annotate(count=Count("query", distinct=True)))
    made = dict(radii.values_list("dataset", "downstreams"))
    return {
        pk: Importance(look_ups=asked.get(pk, 0), downstreams=made.get(pk, 0), tier=-tier)
        for pk, tier in rows.values_list("pk", "tier")
    }


def sentences_of(row: Heartbeat, now: datetime) -> list[str]:
    """What is unusual of a table now, in plain words; nothing of one within its bounds, or an obsolete one."""
    sentences = list[str]()
    if row.obsolete_since:
        return sentences
    if row.late_at and row.last_commit_at and row.late_at < now:
        silence = f"no commit since {row.last_commit_at:%Y-%m-%d %H:%M} UTC"
        sentences.append(f"{silence}: the next one usually comes by {row.late_at:%Y-%m-%d %H:%M} UTC")
    if row.is_unusual:
        volume = row.volume
        start = datetime.fromisoformat(volume["start"])
        when = f"{start:%Y-%m-%d}" if volume["per"] == "day" else f"{start:%Y-%m-%d %H:%M}"
        usual = f"{volume['low']:,.0f} to {volume['high']:,.0f} are usual"
        sentences.append(f"the load of {when} brought {volume['value']:,.0f} {volume['unit']}: {usual}")
    return sentences


def unusual_tables(now: datetime) -> QuerySet[Heartbeat]:
    """Those out of their bounds, of datasets that have no open incident: of these, people know already."""
    rows = Heartbeat.objects.filter(out_of_bounds(now), dataset__missing_since=None, next_look_at__isnull=False)
    open_incidents = Incident.objects.filter(resolved_at=None)
    return rows.exclude(dataset__in=open_incidents.values("dataset")).select_related("dataset")


def signs_of_team(team: str, now: datetime) -> list[str]:
    """A sentence for each table of a team that is out of its bounds, the most important table first."""
    rows = list(unusual_tables(now).filter(dataset__team=team))
    importance = importance_of([row.dataset_id for row in rows], now)
    rows.sort(key=lambda row: importance[row.dataset_id], reverse=True)
    return [f"{row.dataset.full_name}: {'; '.join(sentences_of(row, now))}" for row in rows]


def tell_signs(round_: Round, now: datetime) -> None:
    """Mark obsolete tables, and tell the owners of tables that are read much of signs that they have not heard of."""
    recent = LookUp.objects.filter(at__gte=now - READ_WITHIN)
    mark_obsolete(set(recent.order_by().values_list("dataset", flat=True).distinct()), now)
    rows = {row.dataset_id: row for row in unusual_tables(now)}
    importance = importance_of(rows, now) if rows else {}
    for pk, row in rows.items():
        if importance[pk].look_ups < MUCH_READ or row.last_commit_at is None:
            continue
        dataset, sentences = row.dataset, sentences_of(row, now)
        url = f"{config().public_url}/tables?q={dataset.full_name}"
        asked = f"It was asked for {importance[pk].look_ups} times in {READ_WITHIN.days} days."
        tell(
            event=Event.VITAL_SIGN,
            recipient=dataset.owner,
            dataset=dataset,
            is_soft=True,
            tier=dataset.tier,
            subject=f"Unusual: {dataset.full_name}: {sentences[0]}",
            body="\n".join([*sentences, asked, "No test has failed, and no incident is open.", f"Details: {url}"]),
            facts={"dataset": dataset.full_name, "signs": sentences, "url": url},
            # of one silence, or of one load
            key=f"vitals:{pk}:{row.last_commit_at.timestamp():.0f}:{len(sentences)}",
            now=now,
        )
    finish(round_, due_at=stage(round_.name).next_round(now))
