"""Ask for suggestions, keep what was found, and accept or reject it; what was rejected is remembered."""

from collections.abc import Sequence
from datetime import datetime

from django.db import transaction

from assay.catalog.profile import DatasetProfile
from assay.catalog.selectors import home, profile_of, sensitive_columns
from assay.models import Dataset, DataTest, Severity
from test_generator.data_tests.services import UnableToWrite, catalogued, checked_tree, write_data_test
from test_generator.models import Offer, OfferState, PastReading
from test_generator.suggestions.as_text import free_name
from test_generator.suggestions.decided import still_offered
from test_generator.suggestions.suggest import Suggestion

from .selectors import asserted_of, decided_of, is_hidden, suggestion_of, tells_of


class UnableToSuggest(Exception):
    """A dataset whose past cannot be read; the message says why."""


class UnableToDecide(Exception):
    """A suggestion that cannot be accepted, rejected or taken back as it stands now; the message says why."""


def ask_for_suggestions(dataset: Dataset, *, author: str, now: datetime) -> PastReading:
    """Let its past be read by the stage ``suggest``, unless that is under way; raises UnableToSuggest."""
    if dataset.business_metric is not None:
        raise UnableToSuggest(f"{dataset.full_name} is a business metric: suggestions are read from rows")
    if dataset.partitioning is None:
        raise UnableToSuggest(f"{dataset.full_name} has no partitions, and so no past to learn from")
    asked = {"datacenter": home(dataset).datacenter, "asked_at": now, "asked_by": author, "ended_at": None}
    with transaction.atomic():
        row, is_new = PastReading.objects.select_for_update().get_or_create(dataset=dataset, defaults=asked)
        if not is_new and row.ended_at is not None:
            for name, value in {**asked, "problem": "", "lease_until": None, "attempts": 0}.items():
                setattr(row, name, value)
            row.save(update_fields=[*asked, "problem", "lease_until", "attempts"])
    return row


@transaction.atomic
def keep(dataset: Dataset, found: Sequence[Suggestion], *, now: datetime) -> int:
    """Offer what was found in place of what was offered before, but for what somebody has decided of; how many."""
    Dataset.objects.select_for_update().get(pk=dataset.pk)  # one reading after the other
    forget_sensitive(dataset)
    decided, asserted = decided_of(dataset), asserted_of(dataset)
    hidden, own = sensitive_columns(dataset), profile_of(dataset)
    dataset.offers.filter(state=OfferState.OFFERED).delete()
    offered = [
        Offer(
            dataset=dataset,
            rule=one.rule,
            columns=list(one.columns),
            assertion=one.assertion,
            why=one.why,
            cost=one.cost,
            fitted=one.fitted,
            held=one.held,
            tried=one.tried,
            offered_at=now,
        )
        for one in still_offered(found, decided, asserted)
    ]
    rows = [row for row in offered if not tells_of(row, hidden) and _can_be_test(row, own)]
    Offer.objects.bulk_create(rows, batch_size=500)
    return len(rows)


def _can_be_test(row: Offer, own: DatasetProfile) -> bool:
    """Whether a test may say so: not where its readers may not see the other dataset that it names."""
    try:
        checked_tree(own, row.assertion, catalogued)
    except UnableToWrite:
        return False
    return True


def forget_sensitive(dataset: Dataset) -> None:
    """Remove what is kept of columns that are sensitive by now: it may quote their values."""
    hidden = sensitive_columns(dataset)
    if hidden:
        gone = [row.pk for row in dataset.offers.all() if tells_of(row, hidden)]
        Offer.objects.filter(pk__in=gone).delete()


@transaction.atomic
def accept_suggestion(offer: Offer, *, author: str, now: datetime) -> DataTest:
    """Make it a soft test of its dataset; raises UnableToDecide, and UnableToWrite where it does not fit any more."""
    row = _as_it_stands(offer, OfferState.OFFERED)
    suggestion = suggestion_of(row)
    row.data_test = write_data_test(
        dataset=row.dataset,
        name=free_name(suggestion.name, row.dataset.data_tests.values_list("name", flat=True)),
        assertion=row.assertion,
        category=suggestion.category,
        severity=Severity.SOFT,
        author=author,
        now=now,
    )
    _decide(row, OfferState.ACCEPTED, author=author, now=now)
    return row.data_test


@transaction.atomic
def accept_adjusted(offer: Offer, data_test: DataTest, *, author: str, now: datetime) -> None:
    """Note that somebody changed it and wrote it as this test of its dataset; raises UnableToDecide."""
    row = _as_it_stands(offer, OfferState.OFFERED)
    row.data_test = data_test
    _decide(row, OfferState.ACCEPTED, author=author, now=now)


@transaction.atomic
def reject_suggestion(offer: Offer, *, reason: str = "", author: str, now: datetime) -> None:
    """Offer neither it nor its rule on its columns again, until somebody takes that back; raises UnableToDecide."""
    row = _as_it_stands(offer, OfferState.OFFERED)
    row.reason = reason
    _decide(row, OfferState.REJECTED, author=author, now=now)


@transaction.atomic
def take_back_rejection(offer: Offer, *, author: str, now: datetime) -> None:
    """Offer again what was rejected; raises UnableToDecide."""
    row = _as_it_stands(offer, OfferState.REJECTED)
    row.reason = ""
    _decide(row, OfferState.OFFERED, author=author, now=now)


def _as_it_stands(offer: Offer, wanted: OfferState) -> Offer:
    row = Offer.objects.select_for_update().select_related("dataset").filter(pk=offer.pk).first()
    if row is None or is_hidden(row):
        raise UnableToDecide("This suggestion is offered no more: the past was read again since.")
    if row.state != wanted:
        by = f" by {row.decided_by}" if row.decided_by else ""
        raise UnableToDecide(f"This suggestion is {row.state}{by}, and not {wanted.value}.")
    return row


def _decide(row: Offer, state: OfferState, *, author: str, now: datetime) -> None:
    row.state, row.decided_by, row.decided_at = state, author, now
    row.save(update_fields=["state", "decided_by", "decided_at", "reason", "data_test"])
