"""Pages of the person who reads: what they follow."""

from collections.abc import Callable, Mapping
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

from assay.access import Action
from assay.accounts import follow, unfollow
from assay.models import Dataset
from web.access.changes import audited
from web.api.catalog import Datasets

from .page_policy import dataset_of, demand, form_of

FOLLOW_CHANGES: Mapping[str, Callable[[Any, Dataset], None]] = {"follow": follow, "unfollow": unfollow}


@form_of("dataset", "name")
def submit_follow(request: HttpRequest, name: str) -> HttpResponse:
    """Follow a dataset, or no longer, and return to its page."""
    dataset = dataset_of(name)
    demand(request, Action.FOLLOW, dataset)
    action = "follow" if request.POST.get("action") == "follow" else "unfollow"
    with audited(request, f"{Datasets.kind}.{action}", kind=Datasets.kind, key=dataset.full_name):
        FOLLOW_CHANGES[action](request.user, dataset)
    return redirect("dataset", dataset.full_name)
