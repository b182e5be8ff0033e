"""What is proposed for a dataset, from rows that are there already; and what a policy accepts of it once a day."""

from datetime import datetime, timedelta

import structlog
from django.db import transaction

from alerting.selectors import times_to_complete
from assay.accounts import RequestOrigin, record
from assay.catalog.corrections import POLICY, UnableToCorrect, correct
from assay.catalog.selectors import slas
from assay.catalog.tellings import CORRECTION
from assay.config import config
from assay.models import AuditEntry, Category, Dataset, Round
from assay.queue.claims import finish
from assay.queue.flow import stage
from execution_engine.models import Heartbeat, TableCommit
from test_generator.models import OfferState
from test_generator.offers import UnableToSuggest, ask_for_suggestions, offers_of, reading_of, suggestion_of

from .rules import KEY, KeyTrial, ProposedValue, completion_lengths, propose_freshness, propose_key, propose_partition

LAST_WINDOWS = 60
MOST_COMMITS = 1000  # the newest
AT_ONCE = 200  # datasets, in one transaction
MOST_READINGS = 50  # of pasts that one round asks for: each takes a worker up to a minute
READ_AGAIN = timedelta(days=28)
ORIGIN = RequestOrigin(actor="assay", via=POLICY)

log = structlog.get_logger(__name__)


def proposed_values(dataset: Dataset, *, now: datetime) -> list[ProposedValue]:
    """What is proposed for fields of a dataset that neither sources nor people give."""
    if dataset.business_metric is not None:
        return []
    proposed = []
    if _lacks_key(dataset):
        types = {column["name"]: column["type"] for column in dataset.columns}
        proposed.append(propose_key(_key_trials(dataset), types))
    if not dataset.partition_column and _is_open(dataset, "partition"):
        proposed.append(_partition(dataset))
    if dataset.freshness_sla is None and _is_open(dataset, "freshness"):
        proposed.append(_freshness(dataset, now))
    return [value for value in proposed if value is not None]


def _lacks_key(dataset: Dataset) -> bool:
    return not dataset.primary_key and _is_open(dataset, KEY)


def _is_open(dataset: Dataset, field: str) -> bool:
    """Whether nobody has said that the field is to be empty."""
    return bool(dataset.origins.get(field, [""])[0] != CORRECTION)


def _key_trials(dataset: Dataset) -> list[KeyTrial]:
    return [
        KeyTrial(columns=tuple(offer.columns), fitted=offer.fitted, held=offer.held, tried=offer.tried)
        for offer in offers_of(dataset)
        if offer.state != OfferState.REJECTED and suggestion_of(offer).category == Category.DUPLICATES
    ]


def _partition(dataset: Dataset) -> ProposedValue | None:
    folders = next(iter(Heartbeat.objects.filter(dataset=dataset).values_list("folders", flat=True)), None)
    return propose_partition(**folders) if folders else None


def _freshness(dataset: Dataset, now: datetime) -> ProposedValue | None:
    """By the windows that tests have judged, or, where these are few, by its commits."""
    partitioning, home, allowed = dataset.partitioning, dataset.replicas.first(), slas(dataset).freshness
    if partitioning is None or home is None:
        return None
    times = times_to_complete(dataset, home.datacenter, LAST_WINDOWS)
    judged = [took.seconds for took in reversed(times) if took.is_known]
    if proposed := propose_freshness(judged, allowed=allowed, source="By its tests"):
        return proposed
    newest = TableCommit.objects.filter(dataset=dataset).order_by("-at").values_list("at", flat=True)
    windows = partitioning.previous(partitioning.at(now), LAST_WINDOWS)
    lengths = completion_lengths(list(reversed(newest[:MOST_COMMITS])), windows)
    return propose_freshness(lengths, allowed=allowed, source="By its commits")


def accept_by_policy(round_: Round, now: datetime) -> None:
    """Accept what is proposed for the next datasets of the tiers that the operator names; ends the stage ``accept``.

    What was accepted so once and taken back by somebody is not accepted again. Where a key lacks evidence, the past is
    asked to be read.
    """
    last, readings = round_.state.get("after", 0), round_.state.get("readings", 0)
    rows = Dataset.objects.filter(tier__in=config().accept_proposals, missing_since=None, pk__gt=last).order_by("pk")
    datasets = list(rows[:AT_ONCE])
    for dataset in datasets:
        values = proposed_values(dataset, now=now)
        if readings < MOST_READINGS and KEY not in {value.field for value in values}:
            readings += _ask_for_reading(dataset, now)
        for value in values:
            if not _was_accepted(dataset, value):
                _accept(dataset, value, now)
    if len(datasets) == AT_ONCE:
        finish(round_, due_at=now, state={"after": datasets[-1].pk, "readings": readings})
    else:
        finish(round_, due_at=stage(round_.name).next_round(now), state={})


def _ask_for_reading(dataset: Dataset, now: datetime) -> bool:
    """Whether its past is to be read now: it has no key, and its past can be read and was not for weeks."""
    reading = reading_of(dataset)
    if not _lacks_key(dataset) or (reading is not None and now - reading.asked_at < READ_AGAIN):
        return False
    try:
        ask_for_suggestions(dataset, author=ORIGIN.actor, now=now)
    except UnableToSuggest:
        return False
    return True


def _was_accepted(dataset: Dataset, proposed: ProposedValue) -> bool:
    entries = AuditEntry.objects.filter(
        object_kind="dataset", object_id=dataset.full_name, action="dataset.correct", via=ORIGIN.via
    )
    return any(entry.given.get("field") == proposed.field for entry in entries)


def _accept(dataset: Dataset, proposed: ProposedValue, now: datetime) -> None:
    """Correct the dataset; what does not fit it is left to people."""
    try:
        with transaction.atomic():
            correct(dataset.full_name, proposed.patch, now=now)
            record(
                ORIGIN,
                "dataset.correct",
                kind="dataset",
                key=dataset.full_name,
                before={proposed.field: None},
                after={proposed.field: proposed.value},
                details={
                    "policy": "ASSAY_ACCEPT_PROPOSALS",
                    "field": proposed.field,
                    "evidence": proposed.evidence,
                    "since": now.isoformat(),
                },
            )
    except UnableToCorrect as unable:
        log.warning("proposal not accepted", dataset=dataset.full_name, field=proposed.field, why=str(unable))
