"""Every address that can be asked with GET: of the resolver, with rows of the models and filters of the schema."""

import re
from collections.abc import Iterator
from functools import cache
from itertools import product
from typing import Any
from urllib.parse import quote, urlencode

from django.db.models import Max, Min
from django.urls import URLPattern, URLResolver, get_resolver
from drf_spectacular.generators import SchemaGenerator

from alerting.models import Standing
from assay.models import DataChange, Dataset, DataTest, Replica
from incident_manager.models import Incident, SpoiltWindow
from test_generator.models import RuleTemplate
from web.pages.catalogue import CatalogueForm
from web.pages.incident import COUNTED, IncidentsForm
from web.pages.reports import MINE, STATES
from web.pages.scores import SPANS

PARAMETER = re.compile(r"<(?:\w+:)?(\w+)>|\(\?P<(\w+)>(?:[^()]|\([^()]*\))*\)")
POST_ONLY = {
    "datasets/<path:name>/back-fill",
    "datasets/<path:name>/correct",
    "datasets/<path:name>/follow",
    "first-runs",
    "incidents/act",
    "datasets/<path:name>/override",
    "datasets/(?P<name>.+)/overrides/(?P<pk>\\d+)/end",
    "datasets/<path:name>/report",
    "datasets/<path:name>/suggest",
    *(f"datasets/<path:name>/tests/new/{action}" for action in ("check", "measure", "save")),
    *(f"datasets/<path:name>/tests/<int:pk>/edit/{action}" for action in ("check", "measure", "save", "retire")),
    "datasets/<path:name>/tests/<int:pk>/bind",
    "datasets/<path:name>/bindings/<int:pk>/remove",
    *(f"proposals/{action}" for action in ("preview", "onboard")),
    *(f"templates/{action}" for action in ("preview", "save", "remove")),
    "silences/<int:pk>/end",
    "silences/new",
    "admin/members/<path:name>",
    "admin/channels/<str:name>/test",
    "me/notices",
    "tokens/new",
    "tokens/<str:token>/end",
    "language",
    "logout",
}
# What messages bear, signed; tests/integration/web/test_answers.py and alerting/test_pictures.py ask.
OF_MESSAGES = {"answer/<str:token>", "charts/<str:token>.png"}
# Answers 404 for a dataset of which nobody has asked; tests/integration/web/test_suggestions.py asks.
OF_SOME = {"/api/v1/suggestions/reading"}
# Ask for a test or an assertion of a dataset, and for a window or a number of partitions, which no schema says;
# tests/integration/web/test_backtests.py and test_back_fills.py ask.
ONE_OF_TWO = {"/api/v1/backtest", "/api/v1/runs/bulk"}
# What fills the parameters of addresses, where no set of views of the API gives it away: by the address before them.
ROWS = {
    "datasets/": (Dataset, "full_name"),
    "business-metrics/": (Dataset, "full_name"),
    "incidents/": (Incident, "pk"),
    "teams/": (Dataset, "team"),
    "api/v1/datasets/": (Dataset, "full_name"),
    "api/v1/badges/": (Dataset, "full_name"),
    "api/v1/templates/": (RuleTemplate, "name"),
    "api/v1/pipelines/": (DataChange, "pipeline"),
}
ONLY: dict[str, Any] = {"business-metrics/": {"business_metric__isnull": False}}
# What the forms of pages may send; a page that is not named has no filters.
PAGE_FILTERS = {
    "": [
        {"q": "table"},
        {"q": "<i>"},
        {"page": "2"},
        {"page": "-1"},
        {"whose": "mine", "sort": "-quality", "size": "25"},
        {"column": "fare", "owner": "ada", "team": "trips"},
        {"changed": "bad", "sort": "x", "size": "7"},
        *({"tier": str(tier)} for tier in (0, 2, 9)),
        *({"status": str(value)} for value, _ in CatalogueForm.base_fields["status"].choices),  # type: ignore[attr-defined]
    ],
    "business-metrics": [{"q": "table"}, {"q": "<i>"}],
    "incidents": [
        {"q": "table"},
        {"q": "<i>"},
        {"page": "2"},
        *({"state": str(value)} for value, _ in IncidentsForm.base_fields["state"].choices),  # type: ignore[attr-defined]
        {"category": "freshness", "tier": "0"},
        {"category": "<i>", "tier": "x", "state": "no"},
        *({"counts": counts, "by": "tier", "of": "1", "page": "2"} for counts in COUNTED),
        {"counts": "bad", "from": "<i>", "by": "team", "of": "<i>"},
    ],
    "proposals": [{"name": "<i>"}],
    "coverage": [{"page": "2"}, {"page": "<i>"}],
    "tables": [{"q": "trips", "signs": "unusual", "sort": "-name"}, {"page": "<i>", "sort": "x"}],
    "scores": [
        *({"days": str(days)} for days in (*SPANS, 3)),
        *({"by": group} for group in ("tier", "team", "owner", "category", "<i>")),
    ],
    "datasets/<path:name>": [
        {"test": "x"},
        {"tab": "settings", "override": "2026-03-09", "incident": "<i>"},
        {"tab": "<i>", "page": "9"},
        {"first": "2026-03-01", "last": "2026-03-09", "datacenter": "phx"},
        {"first": "<i>"},
        {"day": "2026-03-09", "category": "completeness"},
    ],
    "admin": [{"q": "a", "page": "2"}, {"q": "<i>"}],
    "admin/tokens": [{"q": "<i>", "page": "-1"}],
    "admin/audit": [{"actor": "ada", "before": "9"}, {"kind": "dataset", "key": "<i>", "before": "x"}],
    "me": [{"whose": "followed"}, {"whose": "x", "sort": "-quality"}],
    "search": [{"q": "fare"}, {"q": "<i>"}],
    "reports": [
        *({"state": state} for state, _ in STATES),
        *({"mine": mine} for mine, _ in MINE),
        {"owner": "ada", "dataset": "<i>", "page": "-1"},
        {"state": "x", "page": "2"},
    ],
    "datasets/<path:name>/problem": [
        {"first": "2026-03-09", "last": "2026-03-09", "saw": "late"},
        {"first": "<i>", "start": "x", "datacenter": "<i>"},
    ],
    "datasets/<path:name>/columns": [
        {"text": "<i>", "page": "2"},
        {"column": "fare", "statistic": "mean"},
        {"column": "<i>", "statistic": "x"},
    ],
    "datasets/<path:name>/tests/new": [
        {"assertion": "row_count() >= 1"},
        {"assertion": "row_count( <i>", "sustain": "soon"},
        {"suggestion": "1", "report": "x"},
    ],
    "datasets/<path:name>/backtest": [
        {"assertion": "row_count() >= 1"},
        {"assertion": "anomaly(row_count(), last=8) <= 1", "category": "anomaly", "sustain": "1h"},
        {"assertion": "row_count( <i>", "start": "2026-03-01T00:00"},
        {"test": "x", "sustain": "soon"},
    ],
}
# Addresses whose parameters go together.
TOGETHER = {
    r"incidents/(?P<pk>\d+)/chart\.(?P<form>svg|png)": lambda: [
        f"incidents/{pk}/chart.svg"
        for pk in SpoiltWindow.objects.exclude(data_test=None).values_list("incident", flat=True)
    ],
    "datasets/<path:name>/tests/<int:pk>/edit": lambda: [
        f"datasets/{quote(test.dataset.full_name)}/tests/{test.pk}/edit"
        for test in DataTest.objects.select_related("dataset").filter(revision__isnull=False)
    ],
}
PAGING = ({"limit": "1"}, {"limit": "1", "offset": "1"}, {"offset": "100000"})


def addresses(*, newest: int | None = None) -> Iterator[str]:
    """Each address with each row that there is, or with so many of the API's, then with each filter."""
    demanding = {route for route, parameters in _queries().items() if any(each.get("required") for each in parameters)}
    for route, pattern in _patterns(get_resolver().url_patterns, ""):
        if route in POST_ONLY | OF_MESSAGES or not _takes_get(pattern) or f"/{route}" in demanding:
            continue
        filled = TOGETHER[route]() if route in TOGETHER else list(_filled(route, pattern))
        for address in filled[-newest:] if newest and route.startswith("api/") else filled:
            yield f"/{address}"
            for given in PAGE_FILTERS.get(route, ()):
                yield f"/{address}?{urlencode(given)}"
    yield from _filtered()


def _patterns(found: Any, before: str) -> Iterator[tuple[str, URLPattern]]:
    for each in found:
        route = before + str(each.pattern)
        if isinstance(each, URLResolver):
            yield from _patterns(each.url_patterns, route)
        else:
            yield route.replace("^", "").replace("$", "").replace(r"\Z", ""), each


def _takes_get(pattern: URLPattern) -> bool:
    view: Any = pattern.callback
    if actions := getattr(view, "actions", None):
        return "get" in actions
    shown = getattr(view, "cls", None)
    return shown is None or hasattr(shown, "get")


def _filled(route: str, pattern: URLPattern) -> Iterator[str]:
    """The address with every row in place of its parameter."""
    found = PARAMETER.search(route)
    if found is None:
        yield route
        return
    if "action" in route[found.end() :]:
        return  # what the pages' forms are sent to
    view: Any = getattr(pattern.callback, "cls", None)
    if (queryset := getattr(view, "queryset", None)) is None or route[: found.start()] in ROWS:
        model, column = ROWS[route[: found.start()]]
        rows = model._default_manager.filter(**ONLY.get(route[: found.start()], {}))
    else:
        rows, column = queryset.all(), view.lookup_field
    values = {str(value) for value in rows.order_by().values_list(column, flat=True)} - {""}  # files that came alone
    for value in sorted(values):
        yield f"{route[: found.start()]}{quote(value)}{route[found.end() :]}"


def _filtered() -> Iterator[str]:
    """Each GET of the API with each of its parameters, by its own schema: one at a time, beside what it demands."""
    for route, parameters in _queries().items():
        if route in ONE_OF_TWO | OF_SOME:
            continue
        needed = [_values(each)[:1] for each in parameters if each.get("required")]
        for base in product(*needed):
            given = dict(base)
            for extra in [{}, *({name: value} for each in parameters for name, value in _values(each))]:
                yield f"{route}?{urlencode({**given, **extra})}"
            if any(each["name"] == "limit" for each in parameters):
                yield from (f"{route}?{urlencode({**given, **paging})}" for paging in PAGING)


@cache
def _queries() -> dict[str, list[dict[str, Any]]]:
    schema = SchemaGenerator().get_schema(request=None, public=True)  # type: ignore[no-untyped-call]
    gets = {route: path["get"].get("parameters", []) for route, path in schema["paths"].items() if "get" in path}
    return {
        route: [each for each in parameters if each["in"] == "query"]
        for route, parameters in gets.items()
        if "{" not in route
    }


def _values(parameter: dict[str, Any]) -> list[tuple[str, str]]:
    """What a parameter may say: each of its choices, each dataset, or one value of its type."""
    name, shape = parameter["name"], parameter["schema"]
    if "enum" in shape:
        return [(name, str(value)) for value in shape["enum"]]
    if name == "dataset":
        return [(name, value) for value in Dataset.objects.order_by("pk").values_list("full_name", flat=True)]
    if name == "datacenter":  # one that the first dataset has
        replicas = Replica.objects.order_by("dataset", "position").values_list("datacenter", flat=True)
        return [(name, replicas.first() or "sea")]
    if shape.get("format") == "date-time":
        return [(name, _instant(name))]
    kinds = shape.get("type", "")  # several, where null is one of them
    kind = kinds[0] if isinstance(kinds, list) else kinds
    return [(name, {"boolean": "true", "integer": "1", "number": "1"}.get(kind, EXAMPLES.get(name, "x")))]


EXAMPLES = {"window": "2026-03-09T00:00:00Z/2026-03-10T00:00:00Z"}


def _instant(name: str) -> str:
    """The begin, or the end, of what standings are about."""
    ends = Standing.objects.aggregate(start=Min("window_start"), end=Max("window_end"))
    instant = ends["end" if name == "to" else "start"]
    return instant.isoformat() if instant else {"to": "2026-03-10T00:00:00Z"}.get(name, "2026-03-09T00:00:00Z")
