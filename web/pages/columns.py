"""The page of a dataset's columns over time."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render

from assay import clock
from assay.access.roles import Action
from assay.database.name_keys import name_key
from assay.models import Dataset
from execution_engine.runs.shown_results import Veil
from web.pages.selectors.dataset import live_tests

from .page_policy import demand, page

LONGEST = 300  # letters of what a reader types


@page
def columns_page(request: HttpRequest, name: str) -> HttpResponse:
    """What profiles say of each column over the last partitions, and of one that is chosen all they say."""
    from web.pages.selectors.columns import ColumnsWanted, shown_columns  # with it numpy, for this page alone

    dataset = get_object_or_404(Dataset.objects.prefetch_related("replicas"), name_key=name_key(name))
    demand(request, Action.READ, dataset)
    now = clock.now()
    asked = {key: request.GET.get(key, "")[:LONGEST] for key in ("text", "page", "column", "statistic")}
    shown = shown_columns(dataset, live_tests(dataset, Veil(now)), ColumnsWanted(**asked), now)
    query = request.GET.copy()
    query.pop("page", None)
    context = {"dataset": dataset, "now": now, "shown": shown, "text": asked["text"], "query": query.urlencode()}
    return render(request, "web/columns.html", context)
