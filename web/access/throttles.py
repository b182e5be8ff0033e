"""How often one may ask, by what it costs us. Counted by user, so that more tokens allow no more; strangers by address.

The counters are in the memory of each process: a rate holds for one process, and reading never waits for Redis.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import wraps
from hashlib import blake2s
from ipaddress import ip_address
from math import ceil
from types import SimpleNamespace
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.utils.translation import gettext
from rest_framework.request import Request
from rest_framework.throttling import SimpleRateThrottle


def address_of(request: HttpRequest | Request) -> str:
    """The caller's IP address; empty if it has none, as over a Unix socket."""
    remote, forwarded = request.META.get("REMOTE_ADDR", ""), request.META.get("HTTP_X_FORWARDED_FOR", "")
    rules: dict[str, Any] = settings.REST_FRAMEWORK
    return address(remote, forwarded, proxies=rules["NUM_PROXIES"] or 0)


def address(remote: str, forwarded: str, *, proxies: int) -> str:
    """``remote``, or what the outermost of our proxies has added: what is left of it, anyone can forge."""
    added = [part.strip() for part in forwarded.split(",")][-proxies:] if proxies and forwarded else []
    for text in (*added[:1], remote):
        with suppress(ValueError):
            return str(ip_address(text))
    return ""


SAFE = ("GET", "HEAD", "OPTIONS")

# what costs more than its method tells: the resource and its action, or its method where it has none
COSTS: Mapping[tuple[str, str], str] = {
    ("Gate", "post"): "gate",
    ("QueryQuality", "post"): "query",
    ("Export", "get"): "query",
    ("BulkQuality", "post"): "query",
    ("Reports", "create"): "report",
    ("Runs", "create"): "run",
    ("Runs", "bulk"): "run",
    ("Incidents", "rerun"): "run",
    ("Suggestions", "create"): "run",
}


class ByCost(SimpleRateThrottle):
    """The rate of a request's kind, for whoever asks."""

    scope = "read"  # of an instance that has seen no request

    def get_cache_key(self, request: Request | HttpRequest, view: Any) -> str:
        if request.user.is_authenticated:
            return f"{self.scope}:user:{request.user.pk}"
        return f"{self.scope}:address:{blake2s(address_of(request).encode(), digest_size=16).hexdigest()}"

    def allow_request(self, request: Request, view: Any) -> bool:
        """Whether the rate still allows it; it is counted if so."""
        self.scope = cost(request, view)
        self.rate = self.get_rate()
        self.num_requests, self.duration = self.parse_rate(self.rate)
        return super().allow_request(request, view)

    def wait(self) -> float | None:
        """Seconds until another is allowed: until the oldest of those counted is forgotten."""
        return max(0.0, self.duration - (self.now - self.history[-1])) if self.history else float(self.duration or 0)


def cost(request: Request | HttpRequest, view: Any) -> str:
    """The kind of a request, which names its rate."""
    if not request.user.is_authenticated:
        return "anonymous"
    method = str(request.method)
    action = getattr(view, "action", None) or method.lower()
    usual = "read" if method in SAFE else "write"
    return COSTS.get((type(view).__name__, action)) or getattr(view, "cost", None) or usual


def costs(kind: str) -> Callable[[Callable[..., HttpResponseBase]], Callable[..., HttpResponseBase]]:
    """A page's view that counts as this kind, and answers 429 where there were too many."""

    def limited(view: Callable[..., HttpResponseBase]) -> Callable[..., HttpResponseBase]:
        @wraps(view)
        def counted(request: HttpRequest, *args: object, **kwargs: object) -> HttpResponseBase:
            throttle = ByCost()
            if throttle.allow_request(request, SimpleNamespace(cost=kind)):  # type: ignore[arg-type]
                return view(request, *args, **kwargs)
            return too_many(throttle.wait() or 0)

        return counted

    return limited


def too_many(seconds: float) -> HttpResponse:
    """The answer to a person who asks too often."""
    wait = max(1, ceil(seconds))
    text = gettext("Too many requests at once. Try again in %(count)s seconds.") % {"count": wait}
    return HttpResponse(text, status=429, content_type="text/plain", headers={"Retry-After": str(wait)})
