"""What goes wrong is answered as ``{"error": what, "where": …, "mend": …}``, whatever raised it."""

from collections.abc import Iterator
from typing import Any

from django.core.exceptions import RequestDataTooBig
from rest_framework import status
from rest_framework.exceptions import APIException, ValidationError
from rest_framework.response import Response
from rest_framework.views import exception_handler

SEE_SCHEMA = "Correct it and send the request again; /api/schema says what is accepted."
MENDS = {
    status.HTTP_401_UNAUTHORIZED: "Get a token from POST /api/v1/auth/login and send it as 'Authorization: Token …'.",
    status.HTTP_403_FORBIDDEN: "Ask for the permission, or send the CSRF token with the session's cookie.",
    status.HTTP_404_NOT_FOUND: "Look it up in the list of its kind.",
    status.HTTP_405_METHOD_NOT_ALLOWED: SEE_SCHEMA,
    status.HTTP_413_REQUEST_ENTITY_TOO_LARGE: "Send it in parts; an operator can raise the limit (ASSAY_BODY_BYTES).",
    status.HTTP_429_TOO_MANY_REQUESTS: "Wait as Retry-After says; an operator can raise the rate (ASSAY_RATES).",
}


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


def answer_error(error: Exception, context: dict[str, Any]) -> Response | None:
    """The answer for an error of ours or of the framework; None for a fault, which is answered with 500."""
    if isinstance(error, RequestDataTooBig):
        error = TooLarge()
    response = exception_handler(error, context)
    if response is None:
        return None
    if isinstance(error, Wrong):
        response.data = _body(str(error.detail), error.where, error.mend)
    elif isinstance(error, ValidationError):
        places = list(_places(error.detail))
        text = "; ".join(f"{place}: {said}" if place else said for place, said in places)
        response.data = _body(text, ", ".join(dict.fromkeys(place for place, _ in places if place)), SEE_SCHEMA)
    else:
        detail = getattr(error, "detail", None) or "Not found."
        mend = MENDS.get(response.status_code, SEE_SCHEMA)
        response.data = _body(str(detail), context["request"].path, mend)
    return response


def _body(error: str, where: str, mend: str) -> dict[str, str]:
    return {"error": error, "where": where, "mend": mend}


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
