"""One request over HTTP, sent again where that is safe, and what can go wrong: AssayError is all of it."""

import random
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime
from typing import Any

import requests
from requests.exceptions import ChunkedEncodingError
from urllib3.exceptions import ConnectTimeoutError, NewConnectionError

BUSY = (429, 502, 503, 504)


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


@dataclass(frozen=True)
class Patience:
    """How often a request is sent again, and how many seconds lie between."""

    retries: int = 4
    first: float = 0.5
    longest: float = 60.0

    def before_next(self, failures: int, server_pause: float | None) -> float | None:
        """Seconds until the next try after so many failures, twice as long each time; None: give up.

        ``server_pause`` are those of Retry-After. They are waited out; where they are above ``longest``, it gives up.
        """
        if failures > self.retries or (server_pause or 0) > self.longest:
            return None
        return (
            server_pause
            if server_pause is not None
            else float(min(self.longest, self.first * 2 ** min(failures - 1, 20)))
        )


class Transport:
    """The connections to one server. It never follows a redirect."""

    def __init__(self, url: str, token: str, *, timeout: float, patience: Patience) -> None:
        self._url, self._timeout, self._patience = url.rstrip("/"), timeout, patience
        self._session = requests.Session()
        self._session.auth = _Token(token)  # as a header, the entry of a ~/.netrc would go before it

    def close(self) -> None:
        """Close the connections."""
        self._session.close()

    def send(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, Any] | None = None,
        body: Mapping[str, Any] | None = None,
        is_repeatable: bool = True,
    ) -> Any:
        """The JSON of the answer to ``/api/v1/PATH``; raises AssayError.

        What is not ``is_repeatable`` is sent again only if the server has not begun with it.
        """
        failures = 0
        failed: AssayError
        while True:
            try:
                answer = self._session.request(
                    method,
                    address := f"{self._url}/api/v1/{path}",
                    params=query,
                    json=body,
                    timeout=self._timeout,
                    allow_redirects=False,
                )
            except (requests.ConnectionError, requests.Timeout, ChunkedEncodingError) as error:
                is_late = isinstance(error, requests.Timeout)
                what = f"{self._url} does not answer in time" if is_late else f"Cannot reach {self._url}"
                failed = Unavailable(f"{what}: {error}", mend="Is Assay up, and is ASSAY_URL its address?")
                server_pause = None
                is_final = isinstance(error, requests.exceptions.SSLError)
                may_repeat = not is_final and (is_repeatable or _was_not_sent(error))
            except (requests.RequestException, UnicodeError) as error:
                raise AssayError(
                    f"Cannot ask {self._url}: {error}", mend="Correct ASSAY_URL, such as https://assay.example.com."
                ) from None
            else:
                if answer.status_code < 300:
                    return _json(answer, address)
                now = datetime.now(timezone.utc)
                failed, server_pause = _refused(answer, address), retry_after(answer.headers.get("Retry-After"), now)
                may_repeat = answer.status_code in BUSY if is_repeatable else answer.status_code == 429
            failures += 1
            pause = self._patience.before_next(failures, server_pause) if may_repeat else None
            if pause is None:
                raise failed
            time.sleep(pause if server_pause is not None else pause * random.uniform(0.75, 1.25))


class _Token(requests.auth.AuthBase):
    def __init__(self, token: str) -> None:
        self._token = token

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        if self._token:
            request.headers["Authorization"] = f"Token {self._token}"
        return request


def retry_after(text: str | None, now: datetime) -> float | None:
    """The seconds that a header asks for, as a number or as a date; None where it is missing or makes no sense."""
    if not text:
        return None
    if text.strip().isdecimal():
        return float(text)
    try:
        until = parsedate_to_datetime(text)
    except ValueError:
        return None
    return max(0.0, (until.replace(tzinfo=until.tzinfo or timezone.utc) - now).total_seconds())


def _was_not_sent(error: requests.RequestException) -> bool:
    """Whether the connection failed, so that the server knows nothing of the request."""
    cause = error.args[0] if error.args else None
    reason = getattr(cause, "reason", cause)
    return isinstance(reason, NewConnectionError | ConnectTimeoutError)


def _refused(answer: requests.Response, address: str) -> AssayError:
    if answer.status_code < 400:
        place = answer.headers.get("Location", "elsewhere")
        return AssayError(
            f"{address} leads to {place}.", mend="Name the address that it leads to.", status=answer.status_code
        )
    try:
        body = answer.json()
    except ValueError:
        body = None
    return error_of(answer.status_code, body, address)


def _json(answer: requests.Response, address: str) -> Any:
    try:
        return answer.json()
    except ValueError:
        raise AssayError(
            f"{address} answers with no JSON.", mend="Is ASSAY_URL the address of Assay?", status=answer.status_code
        ) from None
