"""What can go wrong: who catches AssayError catches all of it."""

from collections.abc import Mapping
from typing import Any


class AssayError(Exception):
    """Assay gave no answer: what went wrong, where in the request, and how to mend it, as the server says it.

    ``status`` is the answer's HTTP status, or None where there was no answer. Raised as itself for an answer that this
    client cannot read, such as a page of a proxy.
    """

    def __init__(self, what: str, *, where: str = "", mend: str = "", status: int | None = None) -> None:
        self.what, self.where, self.mend, self.status = what, where, mend, status
        super().__init__(" ".join(part for part in (what, f"(where: {where})" if where else "", mend) if part))


class BadRequest(AssayError):
    """The request is wrong, or the present state of things forbids it: it fails again until it is changed."""


class NotAllowed(AssayError):
    """The token is missing, has ended, or does not allow this."""


class NotFound(AssayError):
    """The server has nothing at this address."""


class Unavailable(AssayError):
    """The server cannot be reached, has a fault or no time: the same request may succeed later."""


KINDS: Mapping[int, type[AssayError]] = {401: NotAllowed, 403: NotAllowed, 404: NotFound, 429: Unavailable}


def error_of(status: int, body: Any, address: str) -> AssayError:
    """The error for an answer of 400 or more, whose body is Assay's own shape, a problem of RFC 9457, or anything."""
    kind = KINDS.get(status, Unavailable if status >= 500 else BadRequest)
    problem = body if isinstance(body, dict) else {}
    what = problem.get("error") or problem.get("detail") or problem.get("title") or f"{address} answers {status}."
    return kind(str(what), where=str(problem.get("where") or ""), mend=str(problem.get("mend") or ""), status=status)
