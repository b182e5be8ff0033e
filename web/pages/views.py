"""The pages, server-rendered: read with the selectors, render."""

from django.contrib.auth import views as auth
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render

from assay import clock
from assay.access import Action
from assay.models import Category, Dataset
from web.logins import LoginPage
from web.pages.forms import TIERS, WantedForm
from web.pages.policy import page
from web.pages.selectors.catalogue import FILTERS, catalogue, open_incidents, summary
from web.pages.selectors.clean_time import clean_shares
from web.pages.selectors.dataset import incidents_of, live_tests, promises
from web.pages.selectors.day_grid import day_grid
from web.pages.selectors.history import history
from web.pages.selectors.incident import incident_by_id, newest_incidents, notices_of, spoilt_windows
from web.pages.selectors.lineage import lineage
from web.pages.status import MEANINGS, WORDS, Status, worst
from web.who import may

MOST_INCIDENTS = 200

login = LoginPage.as_view()
logout = auth.LogoutView.as_view(next_page="login")


@page
def catalogue_page(request: HttpRequest) -> HttpResponse:
    """Every dataset by category; of a filter's request only the matrix."""
    form, now = WantedForm(request.GET), clock.now()
    wanted = form.wanted()
    query = request.GET.copy()
    query.pop("page", None)
    context = {
        "wanted": wanted,
        "query": query.urlencode(),
        "categories": Category.values,
        "catalogue": catalogue(wanted, page=form.page_number(), now=now),
    }
    if request.headers.get("HX-Request"):
        return render(request, "web/_matrix.html", context)
    statuses = [
        (status.value, "without trouble" if status is Status.PASS else WORDS[status].lower()) for status in FILTERS
    ]
    context |= {"here": "catalogue", "now": now, "tiers": TIERS, "statuses": statuses}
    return render(request, "web/catalogue.html", {**context, "summary": summary(), "open_incidents": open_incidents()})


@page
def dataset_page(request: HttpRequest, name: str) -> HttpResponse:
    """One dataset: what it promises, how it stands, what it hangs on."""
    dataset = get_object_or_404(Dataset.objects.prefetch_related("replicas"), full_name=name)
    now, tests = clock.now(), live_tests(dataset)
    wanted = request.GET.get("test", "")
    chosen = next((live.test for live in tests if str(live.test.pk) == wanted), tests[0].test if tests else None)
    context = {
        "dataset": dataset,
        "now": now,
        "status": worst(live.status for live in tests),
        "replicas": dataset.replicas.all(),
        "promises": promises(dataset),
        "clean": clean_shares([dataset.pk], now=now)[dataset.pk],
        "grid": day_grid(dataset, now=now),
        "legend": [(status, WORDS[status], MEANINGS[status]) for status in Status if status is not Status.NONE],
        "incidents": incidents_of(dataset),
        "tests": tests,
        "gaps": dataset.gaps.filter(closed_at=None),
        "chosen": chosen,
        "may_report": may(request, Action.REPORT, dataset),
        "history": history(chosen) if chosen else None,
        "graph": lineage(dataset, now=now),
    }
    return render(request, "web/dataset.html", context)


@page
def incidents_page(request: HttpRequest) -> HttpResponse:
    """The newest incidents of all datasets, open ones first."""
    shown = newest_incidents(MOST_INCIDENTS)
    return render(request, "web/incidents.html", {"here": "incidents", "incidents": shown, "now": clock.now()})


@page
def incident_page(request: HttpRequest, pk: int) -> HttpResponse:
    """One incident: what is spoilt, why, who was told, and what can be done."""
    incident = incident_by_id(pk)
    if incident is None:
        raise Http404(f"There is no incident {pk}.")
    windows = spoilt_windows(incident)
    unhealed = [spoilt for spoilt in windows if spoilt.row.healed_at is None]
    sentences = [spoilt.standing.sentence for spoilt in (unhealed or windows) if spoilt.standing]
    context = {
        "here": "incidents",
        "incident": incident,
        "now": clock.now(),
        "windows": windows,
        "unhealed": len(unhealed),
        "may_act": may(request, Action.ACT, incident),
        "headline": sentences[0] if sentences else "",
        "effects": incident.alert.effects.all() if incident.alert else [],
        "notices": notices_of(incident),
    }
    return render(request, "web/incident.html", context)
