"""Trials: whether a broken value would hold, were the slices behind what may have caused it as they usually are.

A trial is worked once for each broken result, beside the data. No notice waits for it: until it ends, sizes decide.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from django.db.models import Q

from alerting.inhibition.selectors import broken_result, broken_run, is_of_this_fault
from alerting.inhibition.sizes import holds_at
from alerting.verdicts.evidence import spoilt_place
from assay.catalog.selectors import home, sensitive_columns
from assay.queue.claims import finish

from .models import Alert, SliceSearch, SliceTrial, Standing
from .slices import decide_untold, parts_of, work_searches

MOST_TRIALS = 5  # windows of an alert that are tried at once, the oldest


def request_trials(standings: Iterable[Standing], causes: Iterable[Standing], now: datetime) -> None:
    """Ask whether failed values would hold without the slices that are known of what may have caused them.

    A result of the same figures as one that was tried, since the value is broken, is not tried again.
    """
    ended = SliceSearch.objects.filter(standing__in=[cause.pk for cause in causes], ended_at__isnull=False)
    dataset = "standing__data_test__dataset"
    joined = ended.select_related(dataset).prefetch_related(f"{dataset}__replicas")
    searches = [search for search in joined if search.result["slices"] and is_of_this_fault(search)]
    rows = list(standings)[:MOST_TRIALS] if searches else []
    since = {row.pk: row.broken_since or row.since for row in rows}
    known = SliceTrial.objects.filter(standing__in=rows).exclude(ended_at__isnull=False, holds=None)
    fields = known.values_list("standing", "search", "requested_at", "run__operands")
    tried = [(pk, search, operands) for pk, search, at, operands in fields if at >= since[pk]]
    trials = [
        SliceTrial(standing=row, search=search, run=run, datacenter=row.data_test.spoilt_datacenter, requested_at=now)
        for row in rows
        if (run := broken_run(row))
        for search in searches
        if (row.pk, search.pk, run.operands) not in tried and _may_cause(search.standing, row)
    ]
    SliceTrial.objects.bulk_create(trials, ignore_conflicts=True)


def _may_cause(cause: Standing, effect: Standing) -> bool:
    """Whether what is broken covers the window in the same datacenter, or in all, as what is broken at home does."""
    place = spoilt_place(cause.data_test, home(cause.data_test.dataset).datacenter)
    return cause.window.contains(effect.window) and place in ("", effect.data_test.spoilt_datacenter)


# The stage ``weigh``.


def weigh_due(datacenter: str | None = None) -> int:
    """Work one trial, of one datacenter or of any; how many were worked."""
    return work_searches("weigh", datacenter, _weigh, lambda reason, *_: {"reason": reason}, _end)


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
    values = [own["values"] for own in slices]
    seen, usual = metric_as_usual(engine, table, part, past, subject, values, sensitive=hidden)
    if holds_at(result, subject.spec, seen) is not False:
        raise UnableToSearch("its rows are others now, or its metric is not what its cells tell")
    holds = holds_at(result, subject.spec, usual)
    if holds is None:
        raise UnableToSearch("its assertion needs more than one metric")
    if not holds and sum(own["share_of_change"] or 0 for own in slices) < WHOLE_CHANGE:
        raise UnableToSearch("its cause has more than these slices")
    names = "; ".join(own["name"] for own in slices)
    end = "it would hold" if holds else "it would be broken too"
    reason = f"were {names} as usual, {end}: {subject.spec.call} = {usual:.6g} in place of {seen:.6g}"
    columns = subject.columns.union(*values)
    return {"holds": holds, "reason": reason, "columns": sorted(columns)}
