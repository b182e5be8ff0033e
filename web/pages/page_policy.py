"""What pages have in common: a login, the right to use a form, what was typed wrong, types of fields, the language."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import wraps
from typing import Any
from urllib.parse import urlencode

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseBase, QueryDict
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.utils.cache import patch_vary_headers
from django.utils.text import capfirst
from django.utils.translation import get_language_from_request, gettext, override
from django.views.decorators.http import require_POST

from assay import clock
from assay.access import Action
from assay.database.name_keys import name_key
from assay.edge.control_characters import name_fault
from assay.models import Dataset
from assay.time.durations import UnableToReadDuration, UnableToTakeInstant, parse_duration, taken
from assay.time.windows import Window
from web.access.changes import Change, audited
from web.access.logins import ask_to_log_in, keep, typed_in
from web.access.throttles import SAFE
from web.access.who import refused
from web.api.base import Rows
from web.api.problems import is_api
from web.rendering.status import ENGLISH, in_english

View = Callable[..., HttpResponseBase]
TIERS = range(6)
MOST_PAGES = 10**6
page = login_required


class PageMessage(str):
    """A message of our own that a page for errors shows; what Django says of models and addresses it does not."""

    is_told = True


def form_of(name: str, *parts: str) -> Callable[[View], View]:
    """The view as what a form does on the page ``name``, whose address has these ``parts`` of the form's own.

    Whoever opens its address is sent to that page. Whoever sends it without a session logs in, and finds what they
    typed there.
    """

    def of_page(view: View) -> View:
        @wraps(view)
        def answered(request: HttpRequest, **arguments: object) -> HttpResponseBase:
            home = reverse(name, kwargs={part: arguments[part] for part in parts})
            if request.method in SAFE:
                return redirect(home)
            if not request.user.is_authenticated:
                return ask_to_log_in(request, home)
            return require_POST(view)(request, **arguments)

        return answered

    return of_page


def demand(request: HttpRequest, action: Action, row: object) -> None:
    """Nothing where whoever asks may; else raises PermissionDenied with the reason, which is answered with 403."""
    if why_not := refused(request, action, row):
        raise PermissionDenied(why_not)


def dataset_of(name: str) -> Dataset:
    """The dataset of this name, in whatever case, with its replicas; raises Http404."""
    return get_object_or_404(Dataset.objects.prefetch_related("replicas"), name_key=name_key(name))


def override_address(dataset: Dataset, window: Window | None, incident: int | None) -> str:
    """The form that lets pipelines read a window, open and filled.

    The window is written as the form takes it: a key, or START/END where it is not one partition.
    """
    partitioning, text = dataset.partitioning, window.text if window else ""
    if window and partitioning is not None and partitioning.tile(window, 1) is not None:
        text = partitioning.key(window)
    query = urlencode({"override": text} | ({"incident": incident} if incident else {}))
    return f"{reverse('dataset', args=[dataset.full_name])}?{query}#override"


def with_query(home: str, query: QueryDict) -> str:
    """The address of a page with a query, where there is one."""
    return f"{home}?{query.urlencode()}" if query else home


@contextmanager
def changing(
    request: HttpRequest,
    rows: type[Rows],
    action: str,
    *,
    refusal: type[Exception] | tuple[type[Exception], ...],
    key: object = "",
    details: Mapping[str, Any] | None = None,
    home: str = "",
) -> Iterator[Change]:
    """A form's change to a row of the API, in the audit; a refusal is a message, and ``home`` shows what was typed."""
    try:
        with audited(
            request, f"{rows.kind}.{action}", kind=rows.kind, key=key, look=rows.picture, details=details
        ) as change:
            yield change
    except refusal as unable:
        messages.error(request, in_english(str(unable)))
        if home:
            keep(request, typed_in(request, home))


def complain(request: HttpRequest, form: forms.Form, home: str) -> HttpResponse:
    """Return to the form's page, say what is wrong with each field, and show what was typed."""
    for field, errors in form.errors.items():
        place = "" if field == "__all__" else f"{capfirst(gettext(field.replace('_', ' ')))}: "
        messages.error(request, place + " ".join(map(str, errors)))
    keep(request, typed_in(request, home))
    return redirect(home)


class FilterForm(forms.Form):
    """Filters of a page; what cannot be read filters nothing."""

    page = forms.IntegerField(required=False, min_value=1, max_value=MOST_PAGES)

    def values(self) -> dict[str, Any]:
        """The value of each field, None or empty where there is none; the page is the first one then."""
        self.is_valid()
        values: dict[str, Any] = {name: self.cleaned_data.get(name) for name in self.fields}
        return values | {"page": values["page"] or 1}


def choice_field(kind: Callable[[Any], Any], values: Any) -> forms.TypedChoiceField:
    """One of some values, or None."""
    choices = [(value, value) for value in values]
    return forms.TypedChoiceField(required=False, coerce=kind, empty_value=None, choices=choices)


class UtcField(forms.DateTimeField):
    """An instant in UTC, as ``datetime-local`` inputs send it."""

    input_formats = ("%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M", "%Y-%m-%d %H:%M:%S")

    def to_python(self, value: str | datetime | date | None) -> datetime | None:
        instant = super().to_python(value)
        try:
            return taken(instant).astimezone(UTC) if instant else None
        except UnableToTakeInstant as unable:
            raise forms.ValidationError(in_english(str(unable))) from None


@dataclass(frozen=True, kw_only=True)
class Zoom:
    """The stretch of time that an address asks a chart for; what is ``wrong`` with it, and the address of all of it."""

    start: datetime | None = None
    end: datetime | None = None
    wrong: str = ""
    whole: str = ""

    @property
    def is_zoomed(self) -> bool:
        """Whether it is not all of the time."""
        return self.start is not None or self.end is not None


def zoom_of(request: HttpRequest, part: str = "plot") -> Zoom:
    """What ``from`` and ``to`` of an address say; ``part`` is the id of what shows the chart."""
    query = request.GET.copy()
    texts = {name: query.pop(name, [""])[-1] for name in ("from", "to")}
    whole = f"?{query.urlencode()}#{part}"
    try:
        start, end = (UtcField(required=False).clean(text) for text in texts.values())
    except forms.ValidationError as error:
        text = gettext(
            "The range of time cannot be read, so all of the time is drawn: write from and to in UTC, such as "
            "2026-03-09T06:00 (%(why)s)"
        )
        return Zoom(wrong=text % {"why": " ".join(error.messages).rstrip(".")})
    if start and end and end <= start:
        return Zoom(wrong=gettext("The range of time ends before it starts: all of the time is drawn."))
    return Zoom(start=start, end=end, whole=whole)


class NameField(forms.CharField):
    """A name, without control characters."""

    def clean(self, value: Any) -> str:
        name: str = super().clean(value)
        if fault := name_fault(name):
            raise forms.ValidationError(in_english(fault))
        return name


class LengthFormField(forms.CharField):
    """A length of time such as ``4h``."""

    def clean(self, value: Any) -> Any:
        text = super().clean(value)
        try:
            return parse_duration(text) if text else None
        except UnableToReadDuration as error:
            raise forms.ValidationError(in_english(str(error))) from None


def replay(request: HttpRequest) -> dict[str, Any]:
    """For every page: the simulated now, where what is shown was lived through in a replay."""
    return {"replay_at": clock.simulated_now() if request.user.is_authenticated else None}


class PageLanguage:
    """Speaks the reader's language while a page is made, else the browser's; English while anything else is.

    Programs compare texts, so the API, and all that is no page, answers in English whatever a request asks for.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """The answer, which says its language and what that depends on."""
        if is_api(request) and request.path != reverse("api-docs"):
            with override(ENGLISH):
                return self.get_response(request)
        language = get_language_from_request(request)
        with override(language):
            response = self.get_response(request)
        response.headers.setdefault("Content-Language", language)
        patch_vary_headers(response, ("Accept-Language", "Cookie"))
        return response
