"""Errors as RFC 9457 has them: the kinds of problems, where each is explained, and the answer that tells of one."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from django.core.exceptions import RequestDataTooBig
from django.http import HttpRequest, HttpResponseBase, JsonResponse
from django.utils.encoding import escape_uri_path
from django.views import defaults
from rest_framework import status
from rest_framework.exceptions import APIException, ValidationError
from rest_framework.request import Request
from rest_framework.views import exception_handler

from assay.database.storage_errors import is_unavailable
from web.access.middleware import request_id_of

MEDIA_TYPE = "application/problem+json"
DOCS = "/api/docs"  # the page that explains each kind
SEE_SCHEMA = "Correct it and send the request again; /api/docs says what is accepted."
GET_TOKEN = (
    "Send 'Authorization: Token …'. You get a token for your name and password, without a token: "
    "curl -u NAME -X POST …/api/v1/auth/login"
)


@dataclass(frozen=True)
class ProblemKind:
    """What all problems of one status have in common."""

    slug: str
    title: str
    mend: str = SEE_SCHEMA

    @property
    def url(self) -> str:
        """Where the kind is explained: a reference that is relative to the API's host."""
        return f"{DOCS}#problem-{self.slug}"


KINDS: Mapping[int, ProblemKind] = {
    400: ProblemKind("invalid-request", "The request is not valid"),
    401: ProblemKind("not-signed-in", "Assay does not know who asks", GET_TOKEN),
    403: ProblemKind(
        "not-allowed",
        "You may not do this",
        "Ask for the permission, or send the CSRF token with the session's cookie.",
    ),
    404: ProblemKind("not-found", "This does not exist", "Look it up in the list of its kind."),
    405: ProblemKind("wrong-method", "The address does not take this method"),
    406: ProblemKind("no-such-format", "The answer has no such format"),
    409: ProblemKind("conflict", "The present state does not allow this"),
    413: ProblemKind(
        "too-large", "The body is too large", "Send it in parts; an operator can raise the limit (ASSAY_BODY_BYTES)."
    ),
    415: ProblemKind("unknown-body", "The body has a format that is not read"),
    429: ProblemKind(
        "too-many-requests",
        "Too many requests",
        "Wait as Retry-After says; an operator can raise the rate (ASSAY_RATES).",
    ),
    500: ProblemKind(
        "fault", "Assay has failed", "Send it again; if it fails again, tell an operator the id in X-Request-ID."
    ),
    503: ProblemKind(
        "database-away", "The database does not answer", "Send it again after as many seconds as Retry-After says."
    ),
}


def problem_answer(
    request: Request | HttpRequest,
    status: int,
    detail: str,
    *,
    where: str | None = None,
    mend: str = "",
    headers: Mapping[str, str] | None = None,
) -> JsonResponse:
    """The answer that tells of one problem; ``where`` is the address, if nothing else is named.

    ``instance`` is the address with the id of the request, by which the logs tell of it too.
    """
    kind, path = KINDS.get(status), escape_uri_path(request.path)
    request_id = request_id_of(request)
    body: dict[str, Any] = {
        "type": kind.url if kind else "about:blank",
        "title": kind.title if kind else HTTPStatus(status).phrase,
        "status": status,
        "detail": detail,
        "instance": f"{path}#{request_id}" if request_id else path,
        "where": request.path if where is None else where,
        "mend": mend or (kind.mend if kind else SEE_SCHEMA),
        "error": detail,
    }
    return JsonResponse(body, status=status, headers=headers, content_type=MEDIA_TYPE)


MOST_ERRORS = 10  # that one answer lists
LONGEST_PLACE, LONGEST_SENTENCE = 200, 1_000  # characters of each
RETRY_SECONDS = 5  # after which a request may be sent again that the database did not answer


class Wrong(APIException):
    """A request that cannot be done: what is wrong, where in it, and how to mend it."""

    status_code: int

    def __init__(self, error: str, *, where: str = "", mend: str = SEE_SCHEMA, code: int = 400) -> None:
        super().__init__(error)
        self.status_code, self.where, self.mend = code, where, mend


class TooLarge(APIException):
    """A body above the limit."""

    status_code = status.HTTP_413_REQUEST_ENTITY_TOO_LARGE
    default_detail = "The body is too large."


def conflict(error: str, *, mend: str) -> Wrong:
    """What the present state of things forbids."""
    return Wrong(error, mend=mend, code=status.HTTP_409_CONFLICT)


@contextmanager
def refusing(
    *errors: type[Exception], where: str | None = None, mend: str = SEE_SCHEMA, code: int = 400
) -> Iterator[None]:
    """Answer these errors of a service as problems, at ``where``, which is else the field that the error names."""
    try:
        yield
    except errors as error:
        place = getattr(error, "field", "") if where is None else where
        raise Wrong(str(error), where=place, mend=mend, code=code) from None


def answer_error(error: Exception, context: dict[str, Any]) -> HttpResponseBase | None:
    """The answer for an error of ours or of the framework; None for a fault, which is answered with 500."""
    if isinstance(error, RequestDataTooBig):
        error = TooLarge()
    response = exception_handler(error, context)
    if response is None:
        return None
    request = context["request"]
    headers = {name: value for name, value in response.items() if name.lower() != "content-type"}
    if isinstance(error, Wrong):
        where, mend = error.where, error.mend
        return problem_answer(request, error.status_code, str(error.detail), where=where, mend=mend, headers=headers)
    if isinstance(error, ValidationError):
        text, where = errors_text(list(_places(error.detail)))
        return problem_answer(request, response.status_code, text, where=where, headers=headers)
    detail = str(getattr(error, "detail", None) or "Not found.")
    return problem_answer(request, response.status_code, detail, headers=headers)


def errors_text(places: Sequence[tuple[str, str]]) -> tuple[str, str]:
    """What is wrong, and where, of the first errors; how many more there are is said."""
    first = [(place[:LONGEST_PLACE], message[:LONGEST_SENTENCE]) for place, message in places[:MOST_ERRORS]]
    texts = [f"{place}: {message}" if place else message for place, message in first]
    more = [f"and {len(places) - len(first)} more"] if len(places) > len(first) else []
    return "; ".join([*texts, *more]), ", ".join(dict.fromkeys(place for place, _ in first if place))


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponseBase:
    """What Django refuses before any view sees it, such as a host that is not ours."""
    if is_api(request):
        return problem_answer(request, 400, "The request was refused before it was read.")
    return defaults.bad_request(request, exception)


def forbidden(request: HttpRequest, exception: Exception) -> HttpResponseBase:
    """What is forbidden outside of the views of the API."""
    if is_api(request):
        return problem_answer(request, 403, str(exception) or "This is forbidden.")
    return defaults.permission_denied(request, exception)


def not_found(request: HttpRequest, exception: Exception) -> HttpResponseBase:
    """An address that nothing answers."""
    if is_api(request):
        return problem_answer(request, 404, "Not found.")
    return defaults.page_not_found(request, exception)


def fault(request: HttpRequest) -> HttpResponseBase:
    """A fault of ours, or a database that is away; the log has what happened, the answer only says that it did.

    Django calls this while it handles the error.
    """
    is_busy = is_unavailable(sys.exception())
    code, headers = (503, {"Retry-After": str(RETRY_SECONDS)}) if is_busy else (500, {})
    if is_api(request):
        detail = "The database does not answer" if is_busy else "Assay has failed to answer"
        return problem_answer(request, code, f"{detail}; the fault is not in the request.", headers=headers)
    answer = defaults.server_error(request)
    answer.status_code = code
    for name, value in headers.items():
        answer[name] = value
    return answer


def is_api(request: HttpRequest) -> bool:
    """Whether a program asks."""
    return request.path.startswith("/api/")


def _places(detail: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Every message of a validation error with the path of its field."""
    if isinstance(detail, dict):
        for name, inside in detail.items():
            field = "" if name == "non_field_errors" else str(name)
            yield from _places(inside, ".".join(filter(None, (path, field))))
    elif isinstance(detail, list):
        for index, inside in enumerate(detail):
            yield from _places(inside, f"{path}[{index}]" if isinstance(inside, dict) else path)
    else:
        yield path, str(detail)
