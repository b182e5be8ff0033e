"""Errors as RFC 9457 has them: the kinds of problems, where each is explained, and the answer that tells of one."""

from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from types import MappingProxyType
from typing import Any

from django.http import HttpRequest, JsonResponse
from django.utils.encoding import escape_uri_path
from rest_framework.request import Request

from web.access.request_ids import known_id

MEDIA_TYPE = "application/problem+json"
DOCS = "/api/docs"  # the page that explains each kind
SEE_SCHEMA = "Correct it and send the request again; /api/docs says what is accepted."
GET_TOKEN = (
    "Send 'Authorization: Token …'. You get a token for your name and password, without a token: "
    "curl -u NAME -X POST …/api/v1/auth/login"
)


@dataclass(frozen=True, kw_only=True)
class ProblemKind:
    """What all problems of one status have in common."""

    slug: str
    title: str
    mend: str = SEE_SCHEMA

    @property
    def url(self) -> str:
        """Where the kind is explained: a reference that is relative to the API's host."""
        return f"{DOCS}#problem-{self.slug}"


KINDS: Mapping[int, ProblemKind] = MappingProxyType(
    {
        400: ProblemKind(slug="invalid-request", title="The request is not valid"),
        401: ProblemKind(slug="not-signed-in", title="Assay does not know who asks", mend=GET_TOKEN),
        403: ProblemKind(
            slug="not-allowed",
            title="You may not do this",
            mend="Ask for the permission, or send the CSRF token with the session's cookie.",
        ),
        404: ProblemKind(slug="not-found", title="This does not exist", mend="Look it up in the list of its kind."),
        405: ProblemKind(slug="wrong-method", title="The address does not take this method"),
        406: ProblemKind(slug="no-such-format", title="The answer has no such format"),
        409: ProblemKind(slug="conflict", title="The present state does not allow this"),
        413: ProblemKind(
            slug="too-large",
            title="The body is too large",
            mend="Send it in parts; an operator can raise the limit (ASSAY_BODY_BYTES).",
        ),
        415: ProblemKind(slug="unknown-body", title="The body has a format that is not read"),
        429: ProblemKind(
            slug="too-many-requests",
            title="Too many requests",
            mend="Wait as Retry-After says; an operator can raise the rate (ASSAY_RATES).",
        ),
        500: ProblemKind(
            slug="fault",
            title="Assay has failed",
            mend="Send it again; if it fails again, tell an operator the id in X-Request-ID.",
        ),
        503: ProblemKind(
            slug="database-away",
            title="The database does not answer",
            mend="Send it again after as many seconds as Retry-After says.",
        ),
    }
)


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
    request_id = known_id(request)
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
