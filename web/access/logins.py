"""Logging in and out: passwords, and how many may be guessed by name and address together, by address, by name."""

from contextlib import suppress
from hashlib import blake2s
from typing import Any, cast

import structlog
from django.conf import settings
from django.contrib.auth.backends import ModelBackend
from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.models import User
from django.contrib.auth.signals import user_logged_in, user_logged_out, user_login_failed
from django.contrib.auth.views import LoginView, LogoutView
from django.core.cache import cache
from django.dispatch import receiver
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect
from rest_framework.exceptions import Throttled

from assay.edge.rates import parse_rate

from .throttles import SAFE, address_of, too_many
from .typed import keep_after_login

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
