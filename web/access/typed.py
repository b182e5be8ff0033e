"""What somebody typed into a form that could not be taken: kept over a login, and shown once more in the same form."""

from datetime import timedelta
from typing import Any
from urllib.parse import unquote

from django.contrib import messages
from django.contrib.auth.forms import AuthenticationForm
from django.core import signing
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext

IN_SESSION = "typed"
LASTS = timedelta(hours=8)  # from sending a form to logging in again
MOST = 100_000  # characters: more than all fields of any form may hold
SECRETS = ("csrf", "password", "token", "secret")  # parts of names of fields that are never kept


Typed = dict[str, Any]  # ``home``: the page that shows the form; ``form``: the last part of its address; its ``fields``


def typed_in(request: HttpRequest, home: str) -> Typed:
    """What this request sends; no fields where they are too long to be kept."""
    fields = {name: str(value) for name, value in request.POST.items() if not any(part in name for part in SECRETS)}
    is_long = sum(len(name) + len(value) for name, value in fields.items()) > MOST
    return {"home": home, "form": request.path.rsplit("/", 1)[-1], "fields": {} if is_long else fields}


def unseal(text: str) -> Typed | None:
    """What was sealed; None for what is too old, or was not sealed by us."""
    try:
        typed: Typed = signing.loads(text, salt=__name__, max_age=LASTS)
        return typed
    except signing.BadSignature:
        return None


def ask_to_log_in(request: HttpRequest, home: str) -> HttpResponse:
    """The login page, for a form that came without a session: whoever logs in there finds what they typed."""
    sealed = signing.dumps(typed_in(request, home), salt=__name__, compress=True)  # nobody can change it
    context = {"form": AuthenticationForm(request), "next": home, "typed": sealed}
    return render(request, "web/login.html", context, status=401)


def keep(request: HttpRequest, typed: Typed) -> None:
    """Show it in its form when its page is opened next."""
    request.session[IN_SESSION] = typed


def keep_after_login(request: HttpRequest, text: str) -> None:
    """Show what lay sealed in the form of the login, and say that nothing was saved yet."""
    typed = unseal(text)
    if typed is None:
        return
    keep(request, typed)
    if typed["fields"]:
        text = gettext("You were logged out, so nothing was done: check your text below, and send it again.")
    else:
        text = gettext("You were logged out, so nothing was done: press the button again.")
    messages.warning(request, text)


def typed_before(request: HttpRequest) -> dict[str, dict[str, str]]:
    """What was typed into a form of this page and could not be taken, by form; it is shown once only.

    A page that keeps itself new asks again without being opened.
    """
    typed: Typed = request.session.get(IN_SESSION) or {}
    if unquote(typed.get("home", "")) != request.path or "X-Live" in request.headers:
        return {}
    del request.session[IN_SESSION]
    return {typed["form"].replace("-", "_"): typed["fields"]}
