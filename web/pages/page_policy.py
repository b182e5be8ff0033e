"""What every page has in common: it needs a login, its forms the right to use them, and a form belongs to a page."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.cache import patch_vary_headers
from django.utils.translation import get_language_from_request, override
from django.views.decorators.http import require_POST

from assay import clock
from assay.access import Action
from web.access.throttles import SAFE
from web.access.typed import ask_to_log_in
from web.access.who import refused
from web.api.problems import is_api
from web.shown.status import ENGLISH

View = Callable[..., HttpResponseBase]


class Told(str):
    """A message of our own that a page for errors shows; what Django says of models and addresses it does not."""

    is_told = True


def page(view: View) -> View:
    """The view as a page: for known users."""
    return login_required(view)


def form_of(name: str, *parts: str) -> Callable[[View], View]:
    """The view as what a form does on the page ``name``, whose address has these ``parts`` of the form's own.

    Whoever opens its address is sent to that page. Whoever sends it without a session logs in, and finds what they
    typed there.
    """

    def of_page(view: View) -> View:
        @wraps(view)
        def answered(request: HttpRequest, **given: object) -> HttpResponseBase:
            home = reverse(name, kwargs={part: given[part] for part in parts})
            if request.method in SAFE:
                return redirect(home)
            if not request.user.is_authenticated:
                return ask_to_log_in(request, home)
            return sent(request, **given)

        sent = require_POST(view)
        return answered

    return of_page


def demand(request: HttpRequest, action: Action, row: object) -> None:
    """Nothing where whoever asks may; else raises PermissionDenied with the reason, which is answered with 403."""
    if why_not := refused(request, action, row):
        raise PermissionDenied(why_not.text)


# What every page knows without being told by its view.


def replay(request: HttpRequest) -> dict[str, Any]:
    """The simulated now, where what is shown was lived through in a replay and its clock stands still."""
    return {"replay_at": clock.simulated_now() if request.user.is_authenticated else None}


# The language of a page: what the reader chose, else what the browser asks for, else English.
#
# Programs compare texts, so the API, and all that is no page, answers in English whatever a request asks for.


class PageLanguage:
    """Speaks the reader's language while a page is made, and English while anything else is."""

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
