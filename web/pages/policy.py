"""What every page has in common: it needs a login, and its forms the right to use them."""

from collections.abc import Callable

from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponseBase

from assay.access import Action
from web.who import refused

View = Callable[..., HttpResponseBase]


def page(view: View) -> View:
    """The view as a page: for known users."""
    return login_required(view)


def demand(request: HttpRequest, action: Action, row: object) -> None:
    """Nothing where whoever asks may; else raises PermissionDenied with the reason, which is answered with 403."""
    if why_not := refused(request, action, row):
        raise PermissionDenied(why_not.text)
