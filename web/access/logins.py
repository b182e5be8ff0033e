"""Logging in and out: passwords, and how many may be guessed by name and address together, by address, by name.

What somebody typed before they had to log in is kept.
"""

from contextlib import suppress
from datetime import timedelta
from hashlib import blake2s
from typing import Any, cast
from urllib.parse import unquote

import structlog
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.backends import ModelBackend
from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.models import User
from django.contrib.auth.signals import user_logged_in, user_logged_out, user_login_failed
from django.contrib.auth.views import LoginView, LogoutView
from django.core import signing
from django.core.cache import cache
from django.dispatch import receiver
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.utils.translation import gettext
from rest_framework.exceptions import Throttled

from assay.config import parse_rate

from .throttles import SAFE, address_of, too_many

FREE_GUESSES = 3  # from each address while too many of a name came from elsewhere


class CountingBackend(ModelBackend):
    """Django's own check of names and passwords, which is refused after too many wrong ones."""

    def authenticate(
        self, request: HttpRequest | None, username: str | None = None, password: str | None = None, **kwargs: Any
    ) -> User | None:
        """The user; raises Throttled. Wrong guesses alone count: whoever knows the password may log in often."""
        if request is None or username is None:
            return super().authenticate(request, username, password, **kwargs)
        name, address = username.casefold(), address_of(request)
        guesser, framework = f"{name} {address}", cast(dict[str, Any], settings.REST_FRAMEWORK)
        counters = [  # the kind and key of each, how many it allows, and after how many seconds it is forgotten
            (kind, f"{kind}:{_digest(who)}", *parse_rate(framework["DEFAULT_THROTTLE_RATES"][kind]))
            for kind, who in {"login": guesser, "login-address": address, "login-name": name}.items()
        ]
        # with few wrong guesses from here, others cannot keep out who knows the right password
        here = f"login-here:{_digest(guesser)}"
        is_new_here = int(cache.get(here, 0)) < FREE_GUESSES
        for kind, key, most, seconds in counters:
            if cache.get(key, 0) >= most and not (kind == "login-name" and is_new_here):
                raise Throttled(wait=seconds)
        user = super().authenticate(request, username, password, **kwargs)
        if user is None:
            longest = max(seconds for _, _, _, seconds in counters)
            for key, seconds in [*((key, seconds) for _, key, _, seconds in counters), (here, longest)]:
                cache.add(key, 0, seconds)
                with suppress(ValueError):  # forgotten between the two
                    cache.incr(key)
        return user


class LoginPage(LoginView):
    """The login page, which says when there were too many guesses, and hands on what was typed before a logout."""

    template_name = "web/login.html"

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        try:
            return super().dispatch(request, *args, **kwargs)
        except Throttled as throttled:
            return too_many(getattr(throttled, "wait", None) or 0)

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        """The page after a wrong guess still holds what was typed."""
        return super().get_context_data(**kwargs) | {"typed": self.request.POST.get("typed", "")}

    def form_valid(self, form: AuthenticationForm) -> HttpResponse:
        answer = super().form_valid(form)
        keep_after_login(self.request, self.request.POST.get("typed", ""))
        return answer


login = LoginPage.as_view()
log_out = LogoutView.as_view(next_page="login")


def logout(request: HttpRequest) -> HttpResponseBase:
    """Log out, by the button alone: whoever opens the address is sent to the catalogue."""
    return redirect("catalogue") if request.method in SAFE else log_out(request)


def _digest(text: str) -> str:
    return blake2s(text.encode(errors="replace"), digest_size=16).hexdigest()


log = structlog.get_logger(__name__)


@receiver(user_logged_in)
def _signed_in(sender: object, request: HttpRequest, user: Any, **kwargs: object) -> None:
    log.info("signed in", actor=user.get_username(), ip=address_of(request))


@receiver(user_logged_out)
def _signed_out(sender: object, request: HttpRequest, user: Any, **kwargs: object) -> None:
    log.info("signed out", actor=user.get_username() if user else "", ip=address_of(request))


@receiver(user_login_failed)
def _refused(sender: object, credentials: dict[str, Any], request: HttpRequest | None = None, **kwargs: object) -> None:
    ip = address_of(request) if request else ""
    log.warning("wrong password", actor=str(credentials.get("username", ""))[:150], ip=ip)


# What somebody typed into a form that could not be taken: kept over a login, and shown once more in the same form.

IN_SESSION = "typed"
LASTS = timedelta(hours=8)  # from sending a form to logging in again
MOST = 100_000  # characters: more than all fields of any form may hold
SALT = "web.access.typed"
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
        typed: Typed = signing.loads(text, salt=SALT, max_age=LASTS)
        return typed
    except signing.BadSignature:
        return None


def ask_to_log_in(request: HttpRequest, home: str) -> HttpResponse:
    """The login page, for a form that came without a session: whoever logs in there finds what they typed."""
    sealed = signing.dumps(typed_in(request, home), salt=SALT, compress=True)  # nobody can change it
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
