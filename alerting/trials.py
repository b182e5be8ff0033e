"""Trials: whether a broken value would hold, were the slices behind what may have caused it as they usually are.

A trial is worked once for each broken result, beside the data. No notice waits for it: until it ends, sizes decide.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from django.db.models import Q

from alerting.inhibition.selectors import broken_result, broken_run
from alerting.inhibition.sizes import holds_at
from assay.catalog.selectors import sensitive_columns
from assay.queue.claims import finish

from .models import Alert, SliceSearch, SliceTrial, Standing
from .slices import attempt_search, decide_untold, parts_of, work_searches

MOST_TRIALS = 5  # windows of an alert that are tried at once, the oldest


def request_trials(standings: Iterable[Standing], causes: Iterable[Standing], now: datetime) -> None:
    """Ask whether failed values would hold without the slices that are known of what may have caused them."""
    searches = SliceSearch.objects.filter(standing__in=[cause.pk for cause in causes], ended_at__isnull=False)
    known = [search for search in searches.select_related("standing") if search.result["slices"]]
    for standing in list(standings)[:MOST_TRIALS] if known else ():
        if run := broken_run(standing):
            place = {"datacenter": standing.data_test.spoilt_datacenter, "requested_at": now}
            for search in known:
                if search.standing.window.contains(standing.window):
                    SliceTrial.objects.get_or_create(standing=standing, search=search, run=run, defaults=place)


# The stage ``weigh``.


def weigh_due(datacenter: str | None = None) -> int:
    """Work one trial, of one datacenter or of any; how many were worked."""
    return work_searches("weigh", datacenter, _try, _end)


def _try(row: SliceTrial) -> dict[str, Any]:
    return attempt_search(row, lambda: _weigh(row), lambda reason, *_: {"reason": reason})


def _end(row: SliceTrial, now: datetime, fields: Mapping[str, Any]) -> None:
    finish(row, ended_at=now, **fields)
    test = row.standing.data_test
    own = Q(dataset=test.dataset_id, category=test.category)
    causes = Alert.objects.filter(own, closed_at__isnull=True, cause__isnull=False).values_list("cause", flat=True)
    decide_untold(own | Q(cause__in=list(causes)), now)  # with it those that it may explain now


def _weigh(row: SliceTrial) -> dict[str, Any]:
    """Whether the value would hold, with the reason; None where the rows do not say it."""
    from execution_engine.slices.reading import UnableToSearch
    from execution_engine.slices.trials import WHOLE_CHANGE, metric_as_usual

    standing = row.standing
    result = broken_result(row.run, category=standing.data_test.category, tree=row.run.revision.tree)
    slices = row.search.result["slices"]
    engine, table, part, past, subject = parts_of(standing, row.datacenter)
    hidden = sensitive_columns(standing.data_test.dataset)
    values = [found["values"] for found in slices]
    seen, usual = metric_as_usual(engine, table, part, past, subject, values, sensitive=hidden)
    if holds_at(result, subject.spec, seen) is not False:
        raise UnableToSearch("its rows are others now, or its metric is not what its cells tell")
    holds = holds_at(result, subject.spec, usual)
    if holds is None:
        raise UnableToSearch("its assertion needs more than one metric")
    if not holds and sum(found["share_of_change"] or 0 for found in slices) < WHOLE_CHANGE:
        raise UnableToSearch("its cause has more than these slices")
    names = "; ".join(found["name"] for found in slices)
    end = "it would hold" if holds else "it would be broken too"
    reason = f"were {names} as usual, {end}: {subject.spec.call} = {usual:.6g} in place of {seen:.6g}"
    return {"holds": holds, "reason": reason, "columns": sorted({name for found in values for name in found})}
