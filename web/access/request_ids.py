"""Every request has an id, by which its log lines, its entries of the audit and its answer are found together."""

import re
from collections.abc import Callable
from uuid import uuid4

import structlog
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from rest_framework.request import Request

HEADER = "X-Request-ID"
IN_META = "assay.request_id"
VALID = re.compile(r"[A-Za-z0-9._-]{8,64}")


class RequestIds:
    """Takes the caller's id where it is a plain word, else makes one; returns it and binds it to the logs."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """The answer, with the id."""
        known = request_id(request.headers.get(HEADER, ""))
        request.META[IN_META] = known
        with structlog.contextvars.bound_contextvars(request_id=known):
            response = self.get_response(request)
        response.headers[HEADER] = known
        return response


def known_id(request: Request | HttpRequest) -> str:
    """The id of this request; empty where no middleware gave it one."""
    return str(request.META.get(IN_META, ""))


def request_id(given: str) -> str:
    """What the caller says, if it is valid; else a new id."""
    return given if VALID.fullmatch(given) else uuid4().hex
