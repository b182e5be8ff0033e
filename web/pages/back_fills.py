"""A back-fill from a dataset's page: what testing its past costs, how far it is, and the button that asks for it."""

from dataclasses import dataclass
from datetime import datetime

from django.contrib import messages
from django.db.models import Count, Max, Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils.translation import gettext, ngettext

from assay import clock
from assay.access.roles import Action
from assay.database.name_keys import name_key
from assay.models import Dataset
from execution_engine.models import Run, RunReason
from execution_engine.runs.request_all import Cost
from execution_engine.services import UnableToRequest, cost_of, last_partitions, request_all
from web.access.changes import audited
from web.access.throttles import costs
from web.shown.words import in_english

from .page_policy import demand, form_of

PARTITIONS = 28


@dataclass(frozen=True, kw_only=True)
class BackFill:
    """What a back-fill of the last partitions costs; of the one asked for last, how many of its runs are judged."""

    cost: Cost | None
    done: int
    total: int

    @property
    def is_under_way(self) -> bool:
        """Whether some of its runs are not judged yet."""
        return self.done < self.total


def back_fill_of(dataset: Dataset, now: datetime) -> BackFill | None:
    """What the page says of the past; None where a dataset has no partitions."""
    if dataset.partitioning is None:
        return None
    runs = Run.objects.filter(data_test__dataset=dataset, reason=RunReason.BACKFILL)
    last = runs.aggregate(last=Max("requested_at"))["last"]
    counts = runs.filter(requested_at=last).aggregate(total=Count("pk"), done=Count("pk", Q(judged_at__isnull=False)))
    cost = cost_of(dataset, last_partitions(dataset, PARTITIONS, now), now)
    return BackFill(cost=cost, done=counts["done"], total=counts["total"])


@form_of("dataset", "name")
@costs("run")
def back_fill(request: HttpRequest, name: str) -> HttpResponse:
    """Ask for the runs of the last partitions, and return to the page."""
    dataset = get_object_or_404(Dataset.objects.prefetch_related("replicas"), name_key=name_key(name))
    demand(request, Action.RUN, dataset)
    now = clock.now()
    occasion = f"{request.user.get_username()[:40]}:{now.isoformat()}"
    try:
        with audited(request, "run.bulk", kind="dataset", key=dataset.full_name) as change:
            found = request_all(dataset, last_partitions(dataset, PARTITIONS, now), occasion=occasion, now=now)
            change.after = {"runs": [run.pk for run in found.runs]}
        count = len(found.runs)
        said = ngettext("%(count)s run is on the way.", "%(count)s runs are on the way.", count) % {"count": count}
        messages.success(request, said + " " + gettext("What they find is of the past: nobody is paged for it."))
    except UnableToRequest as unable:
        messages.error(request, in_english(f"{unable}."))
    return redirect("dataset", dataset.full_name)
