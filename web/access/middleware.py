"""What every request gets and every answer is: an id, a policy for browsers, and no cache but the reader's own."""

import re
from collections.abc import Callable
from uuid import uuid4

import structlog
from django.http import HttpRequest
from django.http.response import HttpResponse, HttpResponseBase
from rest_framework.request import Request

UNCACHED = "private, no-store"  # pages and answers show what only some may see
# marks that reverse or nest what follows them (U+202A to U+202E, U+2066 to U+2069), plain or as JSON in a script
TURNING = re.compile(rb"\xe2(?:\x80[\xaa-\xae]|\x81[\xa6-\xa9])|\\u(?:202[a-eA-E]|206[6-9])")
REPLACEMENT = "\N{REPLACEMENT CHARACTER}".encode()


class BrowserAnswers:
    """Forbids caches to keep what says nothing of them, and shows marks that turn text around on pages as ``�``.

    A name with such a mark reads on a page as another name; the API gives it as it is.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self.get_response(request)
        response.headers.setdefault("Cache-Control", UNCACHED)
        is_page = response.headers.get("Content-Type", "").startswith("text/html")
        if is_page and isinstance(response, HttpResponse) and TURNING.search(response.content):
            response.content = TURNING.sub(REPLACEMENT, response.content)
        return response


HEADER = "X-Request-ID"
IN_META = "assay.request_id"
VALID = re.compile(r"[A-Za-z0-9._-]{8,64}")


class RequestIds:
    """Takes the caller's id where it is a plain word, else makes one; returns it and binds it to the logs."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        sent = request.headers.get(HEADER, "")
        request.META[IN_META] = id_ = sent if VALID.fullmatch(sent) else uuid4().hex
        with structlog.contextvars.bound_contextvars(request_id=id_):
            response = self.get_response(request)
        response.headers[HEADER] = id_
        return response


def request_id_of(request: Request | HttpRequest) -> str:
    """The id of this request; empty where no middleware gave it one."""
    return str(request.META.get(IN_META, ""))
