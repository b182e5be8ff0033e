"""What every page has in common: it needs a login, and allows no script or style but our own."""

from collections.abc import Callable
from functools import wraps

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponseBase

CONTENT_SECURITY_POLICY = "; ".join(
    (
        "default-src 'self'",
        "img-src 'self' data:",
        "object-src 'none'",
        "base-uri 'none'",
        "form-action 'self'",
        "frame-ancestors 'none'",
    )
)

View = Callable[..., HttpResponseBase]


def only_ours(view: View) -> View:
    """The view, whose answers forbid the browser all foreign and inline scripts and styles."""

    @wraps(view)
    def with_policy(request: HttpRequest, *args: object, **kwargs: object) -> HttpResponseBase:
        response = view(request, *args, **kwargs)
        response.headers["Content-Security-Policy"] = CONTENT_SECURITY_POLICY
        return response

    return with_policy


def page(view: View) -> View:
    """The view as a page: for known users, under the policy."""
    return only_ours(login_required(view))
