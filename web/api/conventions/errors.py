"""What goes wrong below ``/api/`` is answered as a problem of RFC 9457, whatever raised it."""

import sys
from collections.abc import Iterator, Sequence
from typing import Any

from django.core.exceptions import RequestDataTooBig
from django.http import HttpRequest, HttpResponseBase
from django.views import defaults
from rest_framework import status
from rest_framework.exceptions import APIException, MethodNotAllowed, ValidationError
from rest_framework.views import exception_handler

from assay.database.storage_errors import is_unavailable

from .problems import SEE_SCHEMA, problem_answer

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
    mend = getattr(context.get("view"), "mend_of_method", "") if isinstance(error, MethodNotAllowed) else ""
    return problem_answer(request, response.status_code, detail, mend=mend, headers=headers)


def errors_text(places: Sequence[tuple[str, str]]) -> tuple[str, str]:
    """What is wrong, and where, of the first errors; how many more there are is said."""
    first = [(place[:LONGEST_PLACE], said[:LONGEST_SENTENCE]) for place, said in places[:MOST_ERRORS]]
    texts = [f"{place}: {said}" if place else said for place, said in first]
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
            own = "" if name == "non_field_errors" else str(name)
            yield from _places(inside, ".".join(part for part in (path, own) if part))
    elif isinstance(detail, list):
        for index, inside in enumerate(detail):
            nested = isinstance(inside, dict)
            yield from _places(inside, f"{path}[{index}]" if nested else path)
    else:
        yield path, str(detail)
