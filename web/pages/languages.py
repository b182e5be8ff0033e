"""The language of a page: what the reader chose, else what the browser asks for, else English.

Programs compare texts, so the API, and all that is no page, answers in English whatever a request asks for.
"""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponseBase
from django.urls import reverse
from django.utils.cache import patch_vary_headers
from django.utils.translation import get_language_from_request, override

from web.api.conventions.errors import is_api
from web.shown.words import ENGLISH


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
