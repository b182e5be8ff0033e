"""What is offered of a dataset, what was decided, and how far the reading of its past is."""

from collections.abc import Collection

from django.db.models import QuerySet

from assay.catalog.selectors import sensitive_columns
from assay.models import Dataset
from test_generator.models import Offer, OfferState, PastReading
from test_generator.suggestions.decided import Decided
from test_generator.suggestions.suggest import Suggestion


def offers_of(dataset: Dataset) -> list[Offer]:
    """All of them in the order in which they were found, without those that tell of a sensitive column."""
    hidden = sensitive_columns(dataset)
    rows = dataset.offers.select_related("data_test").order_by("pk")
    return [row for row in rows if not tells_of(row, hidden)]


def is_hidden(offer: Offer) -> bool:
    """Whether it tells of a column that is sensitive by now."""
    return tells_of(offer, sensitive_columns(offer.dataset))


def tells_of(offer: Offer, columns: Collection[str]) -> bool:
    """Whether one of these columns, in lower case, is among its own."""
    return any(column.casefold() in columns for column in offer.columns)


def suggestion_of(offer: Offer) -> Suggestion:
    """The suggestion that it keeps."""
    return Suggestion(
        rule=offer.rule,
        columns=tuple(offer.columns),
        assertion=offer.assertion,
        why=offer.why,
        fitted=offer.fitted,
        held=offer.held,
        tried=offer.tried,
        cost=offer.cost,
    )


def reading_of(dataset: Dataset) -> PastReading | None:
    """The newest reading of its past, if somebody ever asked for one."""
    return PastReading.objects.filter(dataset=dataset).first()


def decided_of(dataset: Dataset) -> list[Decided]:
    """What was rejected, and what was accepted and is a live test still."""
    rows = dataset.offers.exclude(state=OfferState.OFFERED).exclude(pk__in=_over(dataset).values("pk"))
    return [Decided(rule=row.rule, columns=tuple(row.columns), assertion=row.assertion) for row in rows]


def asserted_of(dataset: Dataset) -> set[str]:
    """What its live tests assert."""
    live = dataset.data_tests.filter(retired_at__isnull=True, revision__isnull=False)
    return set(live.values_list("revision__assertion", flat=True))


def _over(dataset: Dataset) -> "QuerySet[Offer]":
    """Those whose test was retired: they may be offered again."""
    accepted = dataset.offers.filter(state=OfferState.ACCEPTED)
    return accepted.exclude(data_test__isnull=False, data_test__retired_at__isnull=True)
