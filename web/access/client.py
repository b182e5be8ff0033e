"""Where a request comes from."""

from ipaddress import ip_address
from typing import Any

from django.conf import settings
from django.http import HttpRequest
from rest_framework.request import Request


def address_of(request: HttpRequest | Request) -> str:
    """The caller's IP address; empty if it has none, as over a Unix socket."""
    remote, forwarded = request.META.get("REMOTE_ADDR", ""), request.META.get("HTTP_X_FORWARDED_FOR", "")
    rules: dict[str, Any] = settings.REST_FRAMEWORK
    return address(remote, forwarded, proxies=rules["NUM_PROXIES"] or 0)


def address(remote: str, forwarded: str, *, proxies: int) -> str:
    """``remote``, or what the outermost of our proxies has added: what is left of it, anyone can forge."""
    added = [part.strip() for part in forwarded.split(",")][-proxies:] if proxies and forwarded else []
    return next((valid for text in (*added[:1], remote) if (valid := _valid(text))), "")


def _valid(text: str) -> str:
    try:
        return str(ip_address(text))
    except ValueError:
        return ""
