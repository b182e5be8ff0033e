"""Who signed in, who could not, and who left: a line of the log each."""

from typing import Any

import structlog
from django.contrib.auth.signals import user_logged_in, user_logged_out, user_login_failed
from django.dispatch import receiver
from django.http import HttpRequest

from .client import address_of

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
